package contract

import (
	"fmt"
	"math"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// A check is one walk down type and value together. Each node of the type looks at the value before
// it and gives two things: the value it becomes, and problems with paths relative to it. Whoever
// contains the value puts its own step before these paths on the way up (problems.add), so a path
// costs nothing until something is wrong, and a union can try a branch and forget what it said.
//
// A node gives either a value or problems, and whoever has problems gives no thought to the values
// beside them: a list with a bad element is not handed on, but its other elements are still looked
// at, because every problem is wanted.
//
// The walk keeps three things besides: the nest of containers it is in, for cycles and depth; a
// count of elements, for values that share parts and are small in memory only; and what unions
// found (union.go).

// Bounds of a checked value beyond those of its type. Values come from other agents too: a list
// that holds one list twice, which holds one list twice, has more elements sixty levels down than
// there are atoms.
const (
	maxAnyDepth = 512     // levels within any, which has no type that could bound them
	maxElements = 1 << 20 // elements and entries, each counted as often as it is visited
)

// Check gives the value that v becomes under the contract, or every problem that it has, in the
// order of the type.
//
// The new value shares no list or dict with v: defaults are filled in, the keys of records stand in
// declared order and undeclared ones after them, tuples are lists, 3.0 is 3 where an int is wanted.
// v may hold None, bool, int, float, string, bytes, lists, tuples and dicts with string keys,
// nested in each other at most MaxDepth deep, within any at most 512, and at most 1,048,576
// elements in all. Under any, a [Plainer] stays what it is. Nothing else is admitted, nor is a
// container that holds itself.
func (c *Contract) Check(v starlark.Value) (starlark.Value, Violations) {
	return c.CheckAs(Validate, v)
}

// CheckAs is Check for a value that was made for the schema of a profile. Under Strict a null
// stands for the absence of a name? key, the only way in which that schema can be answered without
// it.
func (c *Contract) CheckAs(p Profile, v starlark.Value) (starlark.Value, Violations) {
	return newChecker(p, Agents).run(c.root, v)
}

// Redact is what an audience may see of a value of the contract: the checked value without the
// fields that are hidden from it, at any depth. A value that the contract does not admit is not
// shown at all: its violations are returned, and they may quote from it.
func (c *Contract) Redact(v starlark.Value, to Audience) (starlark.Value, Violations) {
	return newChecker(Validate, to).run(c.root, v)
}

// A checker is one pass over one value, by one goroutine.
type checker struct {
	nest
	profile  Profile
	audience Audience
	elements int
	unions   map[visit]verdict
}

func newChecker(p Profile, a Audience) *checker { return &checker{profile: p, audience: a} }

// run is a whole check: the outcome for a caller.
func (c *checker) run(t typ, v starlark.Value) (starlark.Value, Violations) {
	checked, bad := t.check(c, v)
	if !bad.none() {
		return nil, bad.violations()
	}
	return checked, nil
}

// spend counts one more element and says whether there are too many.
func (c *checker) spend() bool {
	c.elements++
	return c.elements > maxElements
}

func tooLarge() problems {
	return problem("a larger value", fmt.Sprintf("at most %d elements", maxElements), "")
}

// Under any the levels are those of the value alone, so they have a bound of their own; what is a
// Plainer is immutable and needs no copy.
func (anyType) check(c *checker, v starlark.Value) (starlark.Value, problems) {
	switch v := v.(type) {
	case starlark.NoneType, starlark.Bool, starlark.Int, starlark.Bytes, Plainer:
		return v, problems{}
	case starlark.String:
		return (&stringType{}).check(c, v)
	case starlark.Float:
		return (&numberType{}).check(c, v)
	case *starlark.List, starlark.Tuple:
		return c.elementsOf(v.(starlark.Indexable), anyType{}, maxAnyDepth)
	case *starlark.Dict:
		return c.entriesOf(v, anyType{}, maxAnyDepth)
	}
	return nil, problem(describe(v), "plain data", "")
}

func (nullType) check(_ *checker, v starlark.Value) (starlark.Value, problems) {
	if v != starlark.None {
		return nil, problem(describe(v), "null", "")
	}
	return v, problems{}
}

func (t boolType) check(_ *checker, v starlark.Value) (starlark.Value, problems) {
	if _, ok := v.(starlark.Bool); !ok {
		return nil, problem(describe(v), "bool", unquoteHint(t, v))
	}
	return v, problems{}
}

// A float that is whole becomes an int where an int is wanted, and only there: number says nothing
// of its notation.
func (t *numberType) check(_ *checker, v starlark.Value) (starlark.Value, problems) {
	n := v
	switch x := v.(type) {
	case starlark.Int:
	case starlark.Float:
		whole := float64(x) == math.Trunc(float64(x)) && !math.IsInf(float64(x), 0)
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) || t.whole && !whole {
			return nil, problem(describe(v), brief(t), "")
		}
		if t.whole {
			n = wholeNumber(x)
		}
	default:
		return nil, problem(describe(v), brief(t), unquoteHint(t, v))
	}
	if !t.limits.hold(n) {
		return nil, problem(describe(v), brief(t), "")
	}
	return n, problems{}
}

// wholeNumber converts a finite float without a fraction.
func wholeNumber(f starlark.Float) starlark.Int {
	i, err := starlark.NumberToInt(f)
	if err != nil {
		panic(err) // the caller has looked
	}
	return i
}

// unquoteHint helps whoever wrote "3" where 3 is wanted.
func unquoteHint(t typ, v starlark.Value) string {
	s, ok := v.(starlark.String)
	if !ok {
		return ""
	}
	if plain, err := FromJSON([]byte(s)); err == nil {
		if _, bad := t.check(newChecker(Validate, Agents), plain); bad.none() {
			return "write it without quotes"
		}
	}
	return ""
}

// textOf gives v if it is a string of valid UTF-8; t is the type that wants it.
func textOf(v starlark.Value, t typ) (string, problems) {
	s, ok := v.(starlark.String)
	if !ok {
		return "", problem(describe(v), brief(t), "")
	}
	if !utf8.ValidString(string(s)) {
		return "", notText(brief(t))
	}
	return string(s), problems{}
}

func notText(want string) problems {
	return problem("a string that is not UTF-8", want, "bytes hold what is not text")
}

func (t *stringType) check(_ *checker, v starlark.Value) (starlark.Value, problems) {
	s, bad := textOf(v, t)
	if !bad.none() {
		return nil, bad
	}
	if n := utf8.RuneCountInString(s); !t.limits.holdCount(n) {
		return nil, problem(fmt.Sprintf("a string of length %d", n), t.limits.length(), "")
	}
	return v, problems{}
}

func (t *formatType) check(_ *checker, v starlark.Value) (starlark.Value, problems) {
	s, bad := textOf(v, t)
	if !bad.none() {
		return nil, bad
	}
	if !t.admits(s) {
		return nil, problem(describe(v), t.name, "such as "+t.example)
	}
	return v, problems{}
}

func (t *patternType) check(_ *checker, v starlark.Value) (starlark.Value, problems) {
	s, bad := textOf(v, t)
	if !bad.none() {
		return nil, bad
	}
	if !t.whole.MatchString(s) {
		return nil, problem(describe(v), brief(t), "")
	}
	return v, problems{}
}

// The literal itself is the outcome, so that 3.0 becomes 3 where the contract says 3.
func (t *literalType) check(_ *checker, v starlark.Value) (starlark.Value, problems) {
	if !t.admits(v) {
		return nil, problem(describe(v), brief(t), misspelled(v, []typ{t}))
	}
	return t.value, problems{}
}

// admits compares numbers by value, so that 3.0 is 3, and nothing else across types.
func (t *literalType) admits(v starlark.Value) bool {
	switch v.(type) {
	case starlark.String, starlark.Bool:
		return v == t.value
	case starlark.Int, starlark.Float:
		equal, err := starlark.Equal(v, t.value)
		return equal && err == nil
	}
	return false
}

func (t *optionalType) check(c *checker, v starlark.Value) (starlark.Value, problems) {
	if v == starlark.None {
		return v, problems{}
	}
	return t.inner.check(c, v)
}

func (t *refType) check(c *checker, v starlark.Value) (starlark.Value, problems) {
	return t.target.check(c, v)
}
