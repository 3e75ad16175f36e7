package effect_test

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

func TestOverlapping(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"**", "src/a.go", true},
		{"src/**", "docs/**", false},
		{"src", "src/auth/login.go", true},
		{"src/", "src", true},
		{"src/auth", "src/auther", false},
		{"src/*.go", "src/*.md", false},
		{"src/*.go", "src/a*", true},
		{"src/*_test.go", "src/?.go", false},
		{"**/README.md", "docs", true},
		{"**/*.md", "src/*.go", true}, // a folder x.go may hold a file y.md
		{"src/**/*.go", "docs/**/*.go", false},
		{"src/[ab].go", "src/c.go", true}, // not looked into
		{`src/\*.go`, "src/x.go", true},
		{"*/x", "src/y", false},
		{"a*b*c", "abxc", true},
		{"a*b*c", "acb", false},
		{".", "x", true},
		{"é*", "éa", true},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if _, _, got := effect.Overlapping(pair[:1], pair[1:]); got != c.want {
				t.Errorf("%s and %s: got %v, want %v", pair[0], pair[1], got, c.want)
			}
		}
	}
}

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		patterns, path string
		want           bool
	}{
		{"src", "src/auth/login.go", true},
		{"src/*.go", "src/a.go", true},
		{"src/*.go", "src/auth/a.go", false},
		{"src/**/*.go", "src/a.go", true},
		{"docs src/[ab].go", "src/c.go", false},
		{"docs src/[ab].go", "src/b.go", true},
		{"**", "any/thing", true},
		{"", "any", false},
	} {
		if got := effect.Claims(strings.Fields(c.patterns), c.path); got != c.want {
			t.Errorf("%q of %s: got %v, want %v", c.patterns, c.path, got, c.want)
		}
	}
}

// Whatever one pattern claims that the other does too, they overlap.
func FuzzOverlapping(f *testing.F) {
	f.Add("src/*.go", "**/a*", "src/a.go")
	f.Add("a?c", "[a-z]*", "abc/d")
	f.Fuzz(func(t *testing.T, a, b, name string) {
		if len(a)+len(b) > 60 || strings.Count(a+b, "**") > 4 {
			return // roles take no such patterns
		}
		if effect.Claims([]string{a}, name) && effect.Claims([]string{b}, name) {
			if _, _, ok := effect.Overlapping([]string{a}, []string{b}); !ok {
				t.Errorf("%q and %q both claim %q, and do not overlap", a, b, name)
			}
		}
	})
}

func TestIdentities(t *testing.T) {
	field := func(r *effect.RecordType, values map[string]string) *effect.Record {
		fields := make([]starlark.Value, len(r.Fields))
		for i, name := range r.Fields {
			fields[i] = starlark.String(values[name])
		}
		return effect.NewRecord(r, fields...)
	}
	result := field(effect.ResultType, map[string]string{"agent": "maker", "backend": "claude"})
	decision := field(effect.DecisionType, map[string]string{"by": "ada"})
	for _, c := range []struct {
		value starlark.Value
		want  string
	}{
		{starlark.String("ada"), "ada"},
		{result, "maker claude"},
		{list(starlark.String("x"), decision, result), "x ada maker claude"},
		{starlark.None, ""},
		{starlark.MakeInt(1), "not"},
		{list(list()), "not"},
		{list(starlark.None), "not"},
		{field(effect.EventType, nil), "not"},
	} {
		names, ok := effect.Identities(c.value)
		got := strings.Join(names, " ")
		if !ok {
			got = "not"
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.value, got, c.want)
		}
	}
}
