package stdlib

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/effect"
)

// assertModule says what must hold in a test. What does not raises at the call, with what was got
// and what was wanted.
func assertModule() *starlarkstruct.Module {
	got := effect.Param{Name: "got", Nullable: true, Doc: "What there is."}
	want := effect.Param{Name: "want", Nullable: true, Doc: "What there should be."}
	return &starlarkstruct.Module{Name: "assert", Members: members(
		assertion("eq", "That two values are equal. Of lists and dicts the error names the places where they differ, and of long texts the lines.", assertEqual, got, want),
		assertion("ne", "That two values differ.", assertDifferent, got, effect.Param{Name: "other", Nullable: true, Doc: "What it must not be."}),
		assertion("true", "That a value is true.", assertTrue, got),
		assertion("false", "That a value is false.", assertFalse, got),
		assertion("contains", "That a text has a part, a list an element, or a dict a key.", assertContains, got,
			effect.Param{Name: "part", Nullable: true, Doc: "What must be in it."}),
		assertion("len", "That a value has so many elements.", assertLen, got, effect.Param{Name: "want", Type: "int", Most: 1 << 30, Doc: "How many."}),
		assertion("matches", "That a regular expression matches somewhere in a text.", assertMatches, got,
			effect.Param{Name: "pattern", Type: "string", Doc: "The expression, as re.search takes it."}),
		assertion("fails", "That an Outcome or a Result is an error, such as that of attempt(fn, …) or run(…, on_error = \"return\"). Gives the error.", assertFails,
			effect.Param{Name: "outcome", Type: "Outcome|Result", Doc: "What must have failed."},
			effect.Param{Name: "pattern", Type: "string", Default: "None", Doc: "A regular expression that must match somewhere in the message."},
			effect.Param{Name: "kind", Type: "string", Default: "None", KeywordOnly: true, Doc: "The kind of the error, such as \"timeout\"."}),
		snapshotBuiltin(),
	)}
}

// assertion puts the name of the function before what is wrong, for in a list of failures that is
// all there is of the call.
func assertion(name, doc string, holds func(c *effect.Call) (starlark.Value, error), params ...effect.Param) *effect.Builtin {
	params = append(params, effect.Param{Name: "message", Type: "string", Default: "None", KeywordOnly: true, Doc: "What stands before the error."})
	return &effect.Builtin{
		FullName: "assert." + name, Doc: doc, Params: params,
		Pure: func(c *effect.Call) (starlark.Value, error) {
			v, err := holds(c)
			if err != nil {
				return nil, effect.Errorf(effect.KindScript, "%sassert.%s: %v", before(c.Text("message", "")), name, err)
			}
			if v == nil {
				v = starlark.None
			}
			return v, nil
		},
	}
}

// before is what stands before an error that has a message of the author's.
func before(message string) string {
	if message == "" {
		return ""
	}
	return message + ": "
}

func assertEqual(c *effect.Call) (starlark.Value, error) {
	got, want := c.Get("got"), c.Get("want")
	equal, err := starlark.Equal(got, want)
	if err != nil || equal {
		return nil, err
	}
	return nil, Difference(got, want)
}

func assertDifferent(c *effect.Call) (starlark.Value, error) {
	equal, err := starlark.Equal(c.Get("got"), c.Get("other"))
	if err == nil && equal {
		err = fmt.Errorf("got %s, want anything else", short(c.Get("got")))
	}
	return nil, err
}

func assertTrue(c *effect.Call) (starlark.Value, error)  { return nil, assertTruth(c, true) }
func assertFalse(c *effect.Call) (starlark.Value, error) { return nil, assertTruth(c, false) }

func assertTruth(c *effect.Call, want bool) error {
	got := c.Get("got")
	if r, ok := got.(*effect.Record); ok {
		if err := r.TruthError(); err != nil {
			return err
		}
	}
	if bool(got.Truth()) != want {
		return fmt.Errorf("got %s, want something %s", short(got), strings.ToLower(starlark.Bool(want).String()))
	}
	return nil
}

func assertContains(c *effect.Call) (starlark.Value, error) {
	got, part := c.Get("got"), c.Get("part")
	found, err := starlark.Binary(syntax.IN, part, got)
	if err == nil && !bool(found.Truth()) {
		err = fmt.Errorf("got %s, want %s in it", short(got), short(part))
	}
	return nil, err
}

func assertLen(c *effect.Call) (starlark.Value, error) {
	want, err := c.Count("want", 0)
	if err != nil {
		return nil, err
	}
	n := starlark.Len(c.Get("got"))
	if n < 0 {
		return nil, fmt.Errorf("got %s, which has no length", c.Get("got").Type())
	}
	if n != want {
		return nil, fmt.Errorf("got %d elements, want %d: %s", n, want, short(c.Get("got")))
	}
	return nil, nil
}

func assertMatches(c *effect.Call) (starlark.Value, error) {
	text, ok := starlark.AsString(c.Get("got"))
	if !ok {
		return nil, fmt.Errorf("got %s, want string", c.Get("got").Type())
	}
	return nil, matching(text, c.Text("pattern", ""))
}

func matching(text, pattern string) error {
	p, err := regexp.Compile(pattern)
	if err == nil && !p.MatchString(text) {
		err = fmt.Errorf("got %s, want a match of %q", short(starlark.String(text)), pattern)
	}
	return err
}

func assertFails(c *effect.Call) (starlark.Value, error) {
	outcome := c.Get("outcome").(*effect.Record)
	if outcome.Truth() {
		return nil, fmt.Errorf("got %s, want an error", short(outcome))
	}
	failed, ok := outcome.Field("error").(*effect.Record)
	if !ok {
		return nil, fmt.Errorf("got %s, which has no error", short(outcome))
	}
	kind, _ := starlark.AsString(failed.Field("kind"))
	if want := c.Text("kind", kind); kind != want {
		return nil, fmt.Errorf("got an error of kind %q, want %q: %s", kind, want, failed.Field("message"))
	}
	message, _ := starlark.AsString(failed.Field("message"))
	return failed, matching(message, c.Text("pattern", ""))
}

// named is how many places an error names at which two values differ.
const named = 10

// Difference is the error of two values that are not equal: with the way to each place where they
// differ.
func Difference(got, want starlark.Value) error {
	var d differences
	d.compare("", got, want)
	switch {
	case len(d) == 1:
		return errors.New(d[0])
	case len(d) > named:
		d = append(d[:named:named], fmt.Sprintf("and %d places more", len(d)-named))
	}
	return fmt.Errorf("they differ in several places\n  %s", strings.Join(d, "\n  "))
}

// differences are the places where two values differ, each in a line or more.
type differences []string

func (d *differences) add(path, format string, args ...any) {
	if path != "" {
		path += ": "
	}
	*d = append(*d, path+fmt.Sprintf(format, args...))
}

// compare adds the places where two values differ, which are not equal.
func (d *differences) compare(path string, got, want starlark.Value) {
	switch g := got.(type) {
	case starlark.String:
		if w, ok := want.(starlark.String); ok && strings.Contains(string(g), "\n") && strings.Contains(string(w), "\n") {
			d.add(path, "the texts differ\n%s", lineDifference(string(w), string(g)))
			return
		}
	case *starlark.List:
		if w, ok := want.(*starlark.List); ok && g.Len() == w.Len() {
			for i := range g.Len() {
				if equal, err := starlark.Equal(g.Index(i), w.Index(i)); err == nil && !equal {
					d.compare(fmt.Sprintf("%s[%d]", path, i), g.Index(i), w.Index(i))
				}
			}
			return
		}
	case *starlark.Dict:
		if w, ok := want.(*starlark.Dict); ok {
			d.entries(path, g, w)
			return
		}
	}
	d.add(path, "got %s, want %s", short(got), short(want))
}

func (d *differences) entries(path string, got, want *starlark.Dict) {
	before := len(*d)
	for k, w := range want.Entries() {
		way := fmt.Sprintf("%s[%s]", path, k)
		if g, found, _ := got.Get(k); !found {
			d.add(way, "got no such key, want %s", short(w))
		} else if equal, err := starlark.Equal(g, w); err == nil && !equal {
			d.compare(way, g, w)
		}
	}
	for k, g := range got.Entries() {
		if _, found, _ := want.Get(k); !found {
			d.add(fmt.Sprintf("%s[%s]", path, k), "got %s, want no such key", short(g))
		}
	}
	if len(*d) == before {
		d.add(path, "they differ") // what is not equal to itself
	}
}

// maxDiff bounds the lines of a difference of two texts that an error shows.
const maxDiff = 40

// lineDifference shows two texts line by line, what was wanted with - and what was got with +.
func lineDifference(want, got string) string {
	lines := strings.Split(strings.TrimSuffix(udiff.Unified("want", "got", want, got), "\n"), "\n")
	if len(lines) > maxDiff {
		lines = append(lines[:maxDiff:maxDiff], fmt.Sprintf("… and %d lines more", len(lines)-maxDiff))
	}
	return "  " + strings.Join(lines, "\n  ")
}

// shown is how much of a value an error shows, in runes.
const shown = 300

func short(v starlark.Value) string {
	text := []rune(v.String())
	if len(text) > shown {
		return string(text[:shown]) + "…"
	}
	return string(text)
}
