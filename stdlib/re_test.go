package stdlib_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// callPure calls a pure builtin, its size first, as the machine does.
func callPure(t testing.TB, name string, args ...starlark.Value) (starlark.Value, error) {
	t.Helper()
	v, ok := newDesk().env.Lookup(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	b := v.(*effect.Builtin)
	c, err := b.Bind(args, nil)
	if err != nil {
		return nil, err
	}
	if b.Size != nil {
		if _, err := b.Size(c); err != nil {
			return nil, err
		}
	}
	return b.Pure(c)
}

// Matches are found one by one from a reader; they must be those that Go finds in one go.
func FuzzMatchesAreGos(f *testing.F) {
	for _, pattern := range []string{"a", "a*", "", "^a", "a$", `\b`, `\B`, "(?m)^", "(?m)$", "(?s).", "a|ab|.*c", "(a)(b)?", `\d+`, "(?i)é", "[^a]", `\A`, `\z`, "(?U)a+"} {
		for _, text := range []string{"", "a", "aab abc", "a\nb\n\na", "éÉ 12\xffa", "日本 a語"} {
			f.Add(pattern, text)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		expr, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 1000 || len(text) > 2000 {
			return
		}
		var want []string
		for _, loc := range expr.FindAllStringSubmatchIndex(text, -1) {
			group := loc[:2]
			if len(loc) == 4 {
				group = loc[2:]
			}
			if len(loc) > 4 {
				return
			}
			if group[0] < 0 {
				group = []int{0, 0}
			}
			want = append(want, text[group[0]:group[1]])
		}
		v, err := callPure(t, "re.findall", starlark.String(pattern), starlark.String(text))
		if err != nil {
			t.Skip(err) // too much work, which other tests are about
		}
		var got []string
		for e := range v.(*starlark.List).Elements() {
			got = append(got, string(e.(starlark.String)))
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q in %q: got %q, want %q", pattern, text, got, want)
		}
	})
}

// A pattern that would take quadratic time fails as a limit, whatever is done with it.
func TestMatchingIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	text := starlark.String(strings.Repeat("a", 1<<17))
	for name, args := range map[string][]starlark.Value{
		"re.findall": {starlark.String(".*b|a"), text},
		"re.split":   {starlark.String(".*b|a"), text},
		"re.sub":     {starlark.String(".*b|a"), starlark.String(""), text},
		"re.search":  {starlark.String("(?:a?){300}b"), starlark.String(strings.Repeat("a", 1<<20))},
	} {
		_, err := callPure(t, name, args...)
		var limit *effect.Error
		if !errors.As(err, &limit) || limit.Kind != effect.KindLimit || !strings.Contains(err.Error(), name+": the matches cannot be found") {
			t.Errorf("%s: got %v, want an error of kind limit", name, err)
		}
	}
	// What is linear is not.
	if v, err := callPure(t, "re.findall", starlark.String("a+"), text); err != nil || v.(*starlark.List).Len() != 1 {
		t.Errorf("got %v, want one match", err)
	}
}

// sizeOf is what a call is charged.
func sizeOf(t testing.TB, builtin starlark.Value, args ...starlark.Value) int64 {
	t.Helper()
	b := builtin.(*effect.Builtin)
	c, err := b.Bind(args, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := b.Size(c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
