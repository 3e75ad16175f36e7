package stdlib

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
)

func referenceJSON(name string, x starlark.Value) (starlark.Value, error) {
	return starlark.Call(new(starlark.Thread), json.Module.Members[name], starlark.Tuple{x}, nil)
}

// sameDecoded: the quick decoder gives what the reference gives, or gives up; it never reads what
// the reference refuses.
func sameDecoded(t *testing.T, text string) {
	t.Helper()
	got, ok, _ := decodeJSON(text)
	if !ok {
		return
	}
	want, err := referenceJSON("decode", starlark.String(text))
	if err != nil {
		t.Fatalf("decode %q: got %v, the reference says %v", text, got, err)
	}
	if got.String() != want.String() || got.Type() != want.Type() {
		t.Fatalf("decode %q: got %v, want %v", text, got, want)
	}
}

func sameEncoded(t *testing.T, v starlark.Value) {
	t.Helper()
	got, ok := encodeJSON(v)
	if !ok {
		return
	}
	want, err := referenceJSON("encode", v)
	if err != nil || starlark.String(got) != want {
		t.Fatalf("encode %v: got %s, want %v, %v", v, got, want, err)
	}
}

var jsonTexts = []string{
	`null`, `true`, `false`, ` [ 1 , 2.5 , -3 , "a" , {} , [] ] `, `{"a": 1, "b": {"a": [null]}, "a": 2}`, `""`, `"\u00e9\n\"\\"`, `"é😀"`, "\"a\nb\"", "\"é\nb\"", "\"\xff\"",
	`-`, `-0`, `01`, `-01`, `1.`, `1e5`, `1e999`, `1.5.5`, `1-2`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775809`, `123456789012345678901234567890`,
	``, ` `, `[`, `]`, `[1`, `[1,`, `[1,]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{1:2}`, `{"a" 1}`, `nul`, `nulll`, `"a`, `"a\`, `"\q"`, `1 2`, `"\ud800"`,
	`["x", "x", "xx", "xy", "yx", {"x": "x"}]`, "\t[\r\n1]\x00", `[[[[[[]]]]]]`, `{"":{"":{"":{}}}}`,
}

func TestJSONIsTheReferences(t *testing.T) {
	for _, text := range jsonTexts {
		sameDecoded(t, text)
		if v, err := referenceJSON("decode", starlark.String(text)); err == nil {
			sameEncoded(t, v)
		}
	}
	for _, v := range []starlark.Value{
		starlark.Float(1e300), starlark.Float(-0.5), starlark.Float(3), starlark.String("\x7f\x00\"\\é<&>\u2028"), starlark.Tuple{starlark.None, starlark.True},
		starlark.String("\xff"), starlark.NewList(nil), new(starlark.Dict), starlark.Tuple{},
	} {
		sameEncoded(t, v)
	}
}

// TestUsualJSONIsQuick: what programs mostly read and write is not left to the reference.
func TestUsualJSONIsQuick(t *testing.T) {
	text := `{"items":[{"id":1,"name":"ärger \"x\"","score":0.5,"tags":["a","b"],"none":null,"yes":true}],"n":-12345678901}`
	v, ok, _ := decodeJSON(text)
	if !ok {
		t.Fatal("it cannot be decoded quickly")
	}
	if _, ok := encodeJSON(v); !ok {
		t.Error("it cannot be encoded quickly")
	}
}

// TestCyclesAreLeftToTheReference: the quick encoder ends on them.
func TestCyclesAreLeftToTheReference(t *testing.T) {
	l := starlark.NewList(nil)
	for range 3 {
		if err := l.Append(starlark.Tuple{l}); err != nil {
			t.Fatal(err)
		}
	}
	if text, ok := encodeJSON(l); ok {
		t.Errorf("a cycle is encoded as %s", text)
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sameDecoded(t, text)
		if v, ok, _ := decodeJSON(text); ok {
			sameEncoded(t, v)
		}
	})
}

// TestRandomJSON mutates the texts above; the seed is printed when it fails.
func TestRandomJSON(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	defer func() {
		if t.Failed() {
			fmt.Println("seed", seed)
		}
	}()
	for range 20_000 {
		text := []byte(jsonTexts[r.IntN(len(jsonTexts))] + strings.Repeat(" ", r.IntN(2)) + jsonTexts[r.IntN(len(jsonTexts))])
		for range 1 + r.IntN(3) {
			if len(text) > 0 {
				text[r.IntN(len(text))] = `[]{}",:0123e.-+\u nultrfas`[r.IntN(26)]
			}
		}
		sameDecoded(t, string(text))
	}
}
