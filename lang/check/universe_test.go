package check_test

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/check"
	"starling/lang/effect"
)

// aboutArguments recognises how go.starlark.net complains of the number or the names of arguments.
var aboutArguments = regexp.MustCompile(`got \d+ arguments?, want|got \d+ positional|missing argument|unexpected keyword|does not accept keyword|multiple values|want exactly|at least one|requires|at most \d|must provide|accepts`)

// What check knows of the universe's builtins must agree with what they accept.
func TestUniverseSignaturesAgreeWithTheReference(t *testing.T) {
	var calls []string
	for _, args := range []string{"", "[]", "[], len", "[], len, True", "[], len, True, 0", "[], len, True, 0, 0"} { // of types that sorted takes
		calls = append(calls, args)
		for _, name := range []string{"x", "base", "key", "reverse", "sep", "iterable", "start", "default", "name", "nonesuch"} {
			value := map[string]string{"key": "len", "reverse": "True", "sep": `""`}[name]
			calls = append(calls, strings.TrimPrefix(args+", "+name+" = "+cmp.Or(value, "0"), ", "))
		}
	}
	for name, v := range starlark.Universe {
		if _, ok := v.(*starlark.Builtin); !ok {
			continue
		}
		for _, args := range calls {
			source := name + "(" + args + ")\n"
			_, err := starlark.EvalOptions(&syntax.FileOptions{Set: true}, &starlark.Thread{Print: func(*starlark.Thread, string) {}}, "x.star", source, nil)
			want := err != nil && aboutArguments.MatchString(err.Error())
			found, types := checkSource(t, source)
			if got := len(found) > 0; got != want || len(types) > 0 && err == nil {
				t.Errorf("%s: check says %q and %q, the reference %v", strings.TrimSpace(source), found, types, err)
			}
		}
	}
}

// So must what it knows of methods.
func TestMethodSignaturesAgreeWithTheReference(t *testing.T) {
	for receiver, v := range map[string]starlark.HasAttrs{`"a"`: starlark.String(""), `b"a"`: starlark.Bytes(""), "[0]": new(starlark.List),
		"{0: 0}": new(starlark.Dict), "set([0])": new(starlark.Set)} {
		for _, name := range v.AttrNames() {
			for _, args := range []string{"", "0", "0, 0", "0, 0, 0", "0, 0, 0, 0", "x = 0", "key = 0", "sep = 0", "iterable = []"} {
				source := receiver + "." + name + "(" + args + ")\n"
				said := referenceSays(source)
				want := aboutArguments.MatchString(said)
				found, types := checkSource(t, source)
				if got := len(found) > 0; got != want || len(types) > 0 && said == works {
					t.Errorf("%s: check says %q and %q, the reference %s", strings.TrimSpace(source), found, types, said)
				}
			}
		}
	}
}

const works = "works"

// referenceSays is the error of a source on go.starlark.net, which crashes where a method of a set
// lacks its only argument.
func referenceSays(source string) (said string) {
	defer func() {
		if recover() != nil {
			said = "got 0 arguments, want 1"
		}
	}()
	if _, err := starlark.EvalOptions(&syntax.FileOptions{Set: true}, new(starlark.Thread), "x.star", source, nil); err != nil {
		return err.Error()
	}
	return works
}

// checkSource is what check says of the number and the names of arguments, and of their types.
func checkSource(t *testing.T, source string) (number, types []string) {
	t.Helper()
	f, err := (&syntax.FileOptions{Set: true}).Parse("x.star", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolve.File(f, func(string) bool { return false }, starlark.Universe.Has); err != nil {
		t.Fatal(err)
	}
	for _, d := range check.Files([]*check.File{{Name: "x.star", Source: source, Tree: f}}, &effect.Environment{}, check.Project{}) {
		switch d.Kind {
		case "bad_type", "not_iterable":
			types = append(types, fmt.Sprint(d))
		default:
			number = append(number, fmt.Sprint(d))
		}
	}
	return number, types
}
