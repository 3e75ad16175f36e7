package repl

import (
	"strings"
	"testing"
)

// TestFold: a value stays on a line that has room for it, is broken up where it has not, and is
// shortened where it is long. One that the session has cut is laid out, too.
func TestFold(t *testing.T) {
	numbers := "[" + strings.Repeat("1, ", 99) + "1]"
	for _, c := range []struct {
		value, want string
		left        bool
	}{
		{`[1, {"a": (2,)}]`, `[1, {"a": (2,)}]`, false},
		{`{"first": "twelve bytes", "second": [1, 2]}`, "{\n  \"first\": \"twelve bytes\",\n  \"second\": [1, 2],\n}", false},
		{numbers, "[\n" + strings.Repeat("  1, 1, 1, 1, 1, 1, 1, 1, 1,\n", 5) +
			"  … 1, 1, 1, 1, 1, 1, 1, 1,\n  1, 1, 1, 1, 1, 1, 1,\n]", true},
		{`["` + strings.Repeat("é", 2000) + `"]`, "[\n  \"" + strings.Repeat("é", 749) + "…" + strings.Repeat("é", 249) + "\",\n]", true},
		{`[1, [2, {"three": "fo...`, "[\n  1,\n  [2, {\"three\": \"fo, …}, …],\n  …\n]", true},
		{`[1, 2...`, "[1, 2, …]", true},
	} {
		if got, left := fold(c.value, 30); got != c.want || left != c.left {
			t.Errorf("%s\ngot  %s, %v\nwant %s, %v", c.value, got, left, c.want, c.left)
		}
	}
}

// FuzzFold: no text is too strange, and what is not shortened loses nothing but space.
func FuzzFold(f *testing.F) {
	for _, seed := range []string{`[1, {"a": ("b",)}]`, `[[[`, `"\`, `)`, `{"a": [1, 2...`, "…", ", ,"} {
		f.Add(seed, 30)
	}
	bare := strings.NewReplacer(" ", "", "\n", "", ",", "")
	f.Fuzz(func(t *testing.T, value string, width int) {
		got, left := fold(value, width)
		if !left && bare.Replace(got) != bare.Replace(value) {
			t.Errorf("%q at %d columns is %q", value, width, got)
		}
	})
}
