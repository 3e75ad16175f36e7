package stdlib_test

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/langtest"
)

// What is decoded is encoded to a text that means the same.
func FuzzYAML(f *testing.F) {
	for _, text := range []string{
		"", "a: 1", "- a\n- [b, {c: d}]\n", "|\n  a\n   b\n\n", "\"\\t\\0\\u2028\"", "? 1\n: .inf\n", "0777", "0o17", "-0", "1_000", "+1", "~", "''", "' '", "\" \\n\"",
		"key: >\n  folded\n  text\n", "a: 'x: y # z'", "{a: {b: {c: []}}}", "- -1.5e-7\n- 1e400", "\"\\n a\"", "\"a \\nb\"", "---\n", "&a [*a]", "%YAML 1.2\n---\na",
		"[[[[", "a: b: c", "\ta", "\"\\uFEFF\"", "no", "2026-01-31T10:00:00Z", "=", "<<", "- !!str 1", "!!binary aGk=", "\"- x\\n- y\\n\"", "\"#\\n\"", "\"\\r\\n\"",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := callPure(t, "yaml.decode", starlark.String(text))
		if err != nil {
			return
		}
		again, err := callPure(t, "yaml.encode", v)
		if err != nil {
			if strings.Contains(err.Error(), "not UTF-8") || strings.Contains(err.Error(), "nested deeper") {
				return
			}
			t.Fatalf("%q: %v", text, err)
		}
		w, err := callPure(t, "yaml.decode", again)
		if err != nil {
			t.Fatalf("%q: %q: %v", text, again, err)
		}
		if v.String() != w.String() {
			t.Fatalf("%q means %s, and %q means %s", text, v, again, w)
		}
	})
}

// The size that is charged bounds the text that is made.
func TestEncodedYAMLHasItsSize(t *testing.T) {
	deep := starlark.Value(starlark.String("x\ny\n"))
	for range 400 {
		deep = starlark.NewList([]starlark.Value{deep})
	}
	for _, v := range []starlark.Value{deep, starlark.String(strings.Repeat("\x01", 100)), starlark.None, starlark.MakeInt(1).Lsh(2000), starlark.NewDict(0)} {
		b, _ := newDesk().env.Lookup("yaml.encode")
		text, err := callPure(t, "yaml.encode", v)
		if err != nil {
			t.Fatal(err)
		}
		size := sizeOf(t, b, v)
		if n := int64(len(text.(starlark.String))); n > size {
			t.Errorf("%d bytes are made, %d are charged", n, size)
		}
	}
	if _, err := callPure(t, "yaml.decode", starlark.String(strings.Repeat("[", 5<<20))); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("got %v, want a limit", err)
	}
	loop := starlark.NewList(nil)
	loop.Append(loop)
	if _, err := callPure(t, "yaml.encode", loop); err == nil || !strings.Contains(err.Error(), "contains itself") {
		t.Errorf("got %v, want an error for a value that contains itself", err)
	}
}

// TestTextsOfCollidingKeysAreRefused: reading them would take minutes that no step is charged for.
func TestTextsOfCollidingKeysAreRefused(t *testing.T) {
	keys := langtest.Colliding(5000)
	for _, c := range []struct{ builtin, text string }{
		{"json.decode", `{"` + strings.Join(keys, `":1,"`) + `":1}`},
		{"json.decode", `{"` + strings.Join(keys, `":1,"`) + `":1e999}`}, // which the reference is asked for
		{"yaml.decode", `"` + strings.Join(keys, "\": 1\n\"") + `": 1`},
	} {
		if v, err := callPure(t, c.builtin, starlark.String(c.text)); err == nil || !strings.Contains(err.Error(), "5000 keys of one dict were chosen") &&
			!strings.Contains(err.Error(), "5001 keys of one dict were chosen") {
			t.Errorf("%s: got %.20v, %v", c.builtin, v, err)
		}
	}
}
