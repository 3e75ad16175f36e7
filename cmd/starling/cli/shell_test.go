package cli

import (
	"encoding/json"
	"slices"
	"testing"

	"starling/cmd/starling/form"
	"starling/runtime"
)

func TestAnswers(t *testing.T) {
	c := &call{program: "go run ./cmd/starling", dirFlag: "a b", storeFlag: "s", getenv: nothingSet}
	for _, test := range []struct {
		name string
		gate runtime.Gate
		want []string
	}{
		{"options", runtime.Gate{Address: "r/g", Options: []runtime.Option{{Name: "approve"}, {Name: "reject"}, {Name: "later"}}},
			[]string{"approve r/g", "reject r/g", "signal r/g --choice later"}},
		{"a target", runtime.Gate{Address: "r/g", Target: "the lead", Options: []runtime.Option{{Name: "approve"}}},
			[]string{"approve r/g --as 'the lead'"}},
		{"free form", runtime.Gate{Address: "r/g"}, []string{`signal r/g --data '"..."'`}},
		{"a schema", runtime.Gate{Address: "r/g#2", Schema: json.RawMessage(
			`{"type":"object","required":["n","who"],"properties":{"n":{"type":"integer","minimum":2},"who":{"type":"string"},"x":{"type":"null"}}}`)},
			[]string{`signal 'r/g#2' --data '{"n":2,"who":"..."}'`}},
	} {
		var got []string
		for _, line := range c.answers(test.gate) {
			got = append(got, line[len("go run ./cmd/starling -C 'a b' --store s "):])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func nothingSet(string) (string, bool) { return "", false }

func TestSample(t *testing.T) {
	for _, test := range []struct{ schema, want string }{
		{`null`, `"..."`},
		{``, `"..."`},
		{`{"enum":["HIGH","LOW"]}`, `"HIGH"`},
		{`{"const":3}`, `3`},
		{`{"anyOf":[{"type":"boolean"},{"type":"null"}]}`, `true`},
		{`{"type":["integer","null"]}`, `0`},
		{`{"type":"array","minItems":2,"items":{"type":"string"}}`, `["..."]`},
		{`{"type":"array","items":{"type":"string"}}`, `[]`},
		{`{"type":"array","minItems":1}`, `[]`},
		{`{"type":"object","properties":{"b":{},"a":{"default":7}}}`, `{"a":7}`},
	} {
		if got := form.Sample(json.RawMessage(test.schema)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.schema, got, test.want)
		}
	}
}
