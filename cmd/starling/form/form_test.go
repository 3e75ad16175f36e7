package form

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"starling/lang/contract"
	"starling/runtime"
)

// sit answers a gate with lines, and gives what was shown, with the prompts.
func sit(g runtime.Gate, lines ...string) (sig runtime.Signal, shown string, err error) {
	var b bytes.Buffer
	f := Form{Say: func(text string, args ...any) { fmt.Fprintf(&b, text+"\n", args...) }}
	f.Line = func(_ context.Context, prompt string) (string, error) {
		b.WriteString(prompt)
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		b.WriteString(line + "\n")
		return line, nil
	}
	sig, err = f.Answer(context.Background(), g)
	return sig, b.String(), err
}

func options(names ...string) (list []runtime.Option) {
	for _, name := range names {
		list = append(list, runtime.Option{Name: name})
	}
	return list
}

// What somebody types at a gate: the number that stands before an option comes before the names of
// others.
func TestChoice(t *testing.T) {
	for _, test := range []struct {
		options            []runtime.Option
		line               string
		choice, reason, no string
		data               string
	}{
		{options: options("yes", "no"), line: "2 too  late", choice: "no", reason: "too  late"},
		{options: options("yes", "no"), line: "no", choice: "no"},
		{options: options("2", "1"), line: "1", choice: "2"},
		{options: options("2", "1"), line: "2", choice: "1"},
		{options: options("10", "20"), line: "20", choice: "20"},
		{options: options("yes", "other"), line: "neither of both", choice: "other", reason: "neither of both"},
		{options: options("yes", "other"), line: "3 of them", no: `got "3", want a number from 1 to 2, or a name`},
		{options: options("yes"), line: "0", no: `got "0", want a number from 1 to 1, or a name`},
		{options: options("approve"), line: "aprove", no: `or a name; did you mean "approve"?`},
		{line: `{"n": 1}`, data: `{"n":1}`},
		{line: "it is fine", data: `"it is fine"`},
	} {
		sig, shown, err := sit(runtime.Gate{Address: "RUN/a/b", Options: test.options}, test.line)
		if test.no != "" {
			if err != io.EOF || !strings.Contains(shown, test.no) {
				t.Errorf("%q of %v: got %v, shown %s", test.line, test.options, err, shown)
			}
			continue
		}
		if err != nil || sig.Choice != test.choice || sig.Reason != test.reason || string(sig.Data) != test.data || sig.Run != "RUN" || sig.Gate != "a/b" {
			t.Errorf("%q of %v: got %+v, %v", test.line, test.options, sig, err)
		}
	}
}

// What lines make of a contract, and what is said of those that do not fit.
func TestFields(t *testing.T) {
	const order = `{n: int(1..9), why: string(1..20), level: "LOW" | "HIGH" = "LOW", fast: bool?, tags?: [string]}`
	for _, test := range []struct {
		name, contract, lines, data string
		says                        []string
	}{
		{"typed", order, "3|it is fine|HIGH|yes|[\"a\"]", `{"n":3,"why":"it is fine","level":"HIGH","fast":true,"tags":["a"]}`,
			[]string{"n: int(1..9)\n", `level: "LOW" | "HIGH", "LOW" by default`, "tags: [string], may be left out"}},
		{"left out", order, "3|ok|||", `{"n":3,"why":"ok"}`, nil},
		{"null leaves out", order, "3|ok||null|null", `{"n":3,"why":"ok"}`, nil},
		{"asked again", order, "three|10|3||ok|HIGHH|HIGH|maybe|no|a|", `{"n":3,"why":"ok","level":"HIGH","fast":false}`,
			[]string{`error: n: got "three", want int(1..9)`, "error: n: got 10, want int(1..9)", "error: why: got nothing, want string(1..20)",
				`did you mean "HIGH"?`, `fast: got "maybe", want bool`, `tags: got "a", want [string]`}},
		{"a text of digits", `{zip: /[0-9]{5}/}`, "123|01234", `{"zip":"01234"}`, []string{`zip: got "123", want /[0-9]{5}/`}},
		{"a number where it may be", `{v: int | string, w: int | string}`, "7|seven", `{"v":7,"w":"seven"}`, nil},
		{"quoted", `{v: string, w: string}`, `""|"a\nb"`, `{"v":"","w":"a\nb"}`, nil},
		{"whole", order, `{"n": 3, "why": "ok"}`, `{"n":3,"why":"ok"}`, nil},
		{"whole and wrong", order, `{"n": 30, "why": "ok"}|3|ok|||`, `{"n":3,"why":"ok"}`, []string{`error: n: got`}},
		{"records in records", `{a: {b: {c: int}, d: string}, e: int}`, "1|x|2", `{"a":{"b":{"c":1},"d":"x"},"e":2}`, []string{"a.b.c: int\n", "a.d: string"}},
		{"an inner one whole", `{a: {b: {c: int}, d: string}, e: int}`, `{"b": {"c": 1}, "d": "x"}|2`, `{"a":{"b":{"c":1},"d":"x"},"e":2}`, nil},
		{"a record left out", `{a: {b: int}?, c: int}`, "|1", `{"c":1}`, nil},
		{"a record gone through", `{a: {b: int}?, c: int}`, "fill|x|2|1", `{"a":{"b":2},"c":1}`, []string{`a.b: got "x", want int`}},
		{"an odd key", `{"odd key": {b: int}}`, "x|2", `{"odd key":{"b":2}}`, []string{`["odd key"].b: got "x", want int`}},
		{"names of types", "type L = {v: int}\n{l: L, more: [L]}", `1|[{"v": 2}]`, `{"l":{"v":1},"more":[{"v":2}]}`, []string{"more: [L]"}},
		{"no record", `int(1..)`, "0|2", `2`, []string{"error: got 0, want int(1..)"}},
		{"a list", `[int]`, "1|[1]", `[1]`, nil},
		{"none", `{n: int}?`, "none", ``, nil},
		{"filled", `{n: int}?`, "what|fill|2", `{"n":2}`, []string{`got "what", want fill, none or JSON`}},
		{"not for people", `{n: int, key: string = "k" @agent}`, "2", `{"n":2}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := append([]string{"yes because"}, strings.Split(test.lines, "|")...)
			c, err := contract.Parse("", test.contract)
			if err != nil {
				t.Fatal(err)
			}
			sig, shown, err := sit(runtime.Gate{Options: options("yes"), Contract: c.String()}, lines...)
			if err != nil || string(sig.Data) != test.data || sig.Choice != "yes" || sig.Reason != "because" {
				t.Errorf("got %+v, %s, %v, shown\n%s", sig, sig.Data, err, shown)
			}
			for _, want := range test.says {
				if !strings.Contains(shown, want) {
					t.Errorf("shown is\n%s\nwant %q", shown, want)
				}
			}
		})
	}
}

// What may be edited is kept unless somebody says otherwise, and what is not touched stays.
func TestEditable(t *testing.T) {
	for _, test := range []struct{ name, contract, data, lines, sent string }{
		{"kept", "", `{"n": 1}`, "keep", ""},
		{"edited", "", `{"n": 1, "s": "7", "l": [1], "f": 1.5}`, "edit|2|8||", `{"n":2,"s":"8","l":[1],"f":1.5}`},
		{"one taken away", "", `{"n": 1, "m": 2}`, "edit|null|", `{"m":2}`},
		{"replaced", "", `{"n": 1}`, `[2]`, `[2]`},
		{"a text", "", `"one"`, `edit|two`, `"two"`},
		{"nothing there", "", `null`, `edit|two`, `"two"`},
		{"typed", `{n: int, s?: string}`, `{"n": 1, "s": "x"}`, "edit|a|2|", `{"n":2,"s":"x"}`},
		{"taken away", `{n: int, s?: string}`, `{"n": 1, "s": "x"}`, "edit||null", `{"n":1}`},
		{"beside it", `{n: int, *: any}`, `{"m": [2], "n": 1}`, "edit|3", `{"m":[2],"n":3}`},
		{"inside", `{a: {b: int, c: int}}`, `{"a": {"b": 1, "c": 2}}`, `edit|fill||5`, `{"a":{"b":1,"c":5}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := runtime.Gate{Options: options("yes"), Contract: test.contract, Editable: true, Data: json.RawMessage(test.data)}
			sig, shown, err := sit(g, append([]string{"1"}, strings.Split(test.lines, "|")...)...)
			if err != nil || string(sig.Data) != test.sent {
				t.Errorf("got %s, %v, want %s, shown\n%s", sig.Data, err, test.sent, shown)
			}
		})
	}
}

// Wherever the input ends or a line is empty, nothing is sent.
func TestLeft(t *testing.T) {
	form := runtime.Gate{Options: options("yes"), Contract: `{n: int, s: string}`}
	for _, lines := range [][]string{nil, {"yes"}, {"yes", "1"}, {"yes", "x"}, {"yes", "", ""}} {
		if _, shown, err := sit(form, lines...); err != io.EOF {
			t.Errorf("%q: got %v, shown %s", lines, err, shown)
		}
	}
	for _, g := range []runtime.Gate{form, {}, {Contract: "int"}, {Contract: "{n: int}?"}, {Editable: true}} {
		if _, _, err := sit(g, " "); !errors.Is(err, ErrLeft) {
			t.Errorf("%+v: got %v", g, err)
		}
	}
}

// Whatever is typed, what comes of it fits the contract, and the input is read no further than its
// end.
func FuzzAnswer(f *testing.F) {
	f.Add(`{n: int(1..9), r: {s: string?}?, t: [any] = []}`, "yes\n3\nfill\nx\n[1]", true, `{"n": 1}`)
	f.Add("type T = {v: int, t: T?}\nT", "yes\n1\nfill\n2\nnull", false, `null`)
	f.Fuzz(func(t *testing.T, text, lines string, editable bool, data string) {
		c, err := contract.Parse("", text)
		if err != nil {
			return
		}
		g := runtime.Gate{Options: options("yes"), Contract: c.String(), Editable: editable, Data: json.RawMessage(data)}
		sig, _, err := sit(g, strings.Split(lines, "\n")...)
		if err != nil || sig.Data == nil {
			return
		}
		v, err := contract.FromJSON(sig.Data)
		if err != nil {
			t.Fatal(err)
		}
		if _, wrong := c.Check(v); len(wrong) > 0 {
			t.Errorf("%s: %s was taken: %v", text, sig.Data, wrong)
		}
	})
}
