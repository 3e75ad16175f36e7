package contract

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/diagnostic"
)

// maxViolations is how many problems of one value are listed. What an agent or a person needs is
// what to mend next; a list of ten thousand is no help, and somebody else's value must not make
// ours large.
const maxViolations = 50

// A Violation is one way in which a value does not have its type. Its JSON form is what an agent is
// sent as feedback.
type Violation struct {
	Path string `json:"path"`           // `findings[2].severity`; empty for the value as a whole
	Got  string `json:"got"`            // what was there, shortened
	Want string `json:"want"`           // what would have fitted
	Hint string `json:"hint,omitempty"` // what to try
}

// Error is `path: got …, want …; hint`.
func (v Violation) Error() string { return v.Diagnostic().Error() }

// Diagnostic is the violation in the common form.
func (v Violation) Diagnostic() diagnostic.Diagnostic {
	return diagnostic.Diagnostic{Kind: "invalid", Path: v.Path, Got: v.Got, Want: v.Want, Hint: v.Hint}
}

// Violations are all the problems of one value, in the order of the type. At most 50 are listed:
// when there are more, one last member has only a Hint, "and 7 more".
type Violations []Violation

// Err is the list as an error, nil when it is empty.
func (v Violations) Err() error {
	if len(v) == 0 {
		return nil
	}
	return v
}

// Error is one line per problem.
func (v Violations) Error() string {
	lines := make([]string, len(v))
	for i := range v {
		lines[i] = v[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Paths are written as one would write them in a script: findings[2].severity. A key that is no
// identifier is written ["odd key"], so a path can always be read back, whatever the keys are; the
// value as a whole has the empty path.

// problems gathers violations while a value is checked: those that will be listed, and how many
// there are.
type problems struct {
	list  []Violation
	count int
}

func (p problems) none() bool { return p.count == 0 }

// add appends the problems of a part, whose place within the whole is step.
func (p *problems) add(step string, part problems) {
	p.count += part.count
	for _, v := range part.list {
		if len(p.list) == maxViolations {
			return
		}
		v.Path = JoinPath(step, v.Path)
		p.list = append(p.list, v)
	}
}

// inside is the problems of a part, for the whole.
func inside(step string, part problems) problems {
	var whole problems
	whole.add(step, part)
	return whole
}

// violations is the outcome for the caller.
func (p problems) violations() Violations {
	if p.count > len(p.list) {
		more := fmt.Sprintf("and %d more", p.count-len(p.list))
		return append(p.list, Violation{Hint: more})
	}
	return p.list
}

// JoinPath is the path of a part, inner within it, of the value at outer.
func JoinPath(outer, inner string) string {
	if outer == "" || inner == "" || inner[0] == '[' {
		return outer + inner
	}
	return outer + "." + inner
}

// problem is one violation of a value as a whole.
func problem(got, want, hint string) problems {
	return problems{[]Violation{{Got: got, Want: want, Hint: hint}}, 1}
}

// KeyStep is a key as part of a path.
func KeyStep(key string) string {
	if isIdentifier(key) {
		return key
	}
	return "[" + quote(key) + "]"
}

// keyText is a key as a message names it.
func keyText(key string) string {
	if isIdentifier(key) {
		return shorten(key, 40)
	}
	return quote(shorten(key, 40))
}

func indexStep(i int) string { return "[" + strconv.Itoa(i) + "]" }

func isIdentifier(s string) bool {
	return s != "" && isLetter(s[0]) && prefix(s, func(c byte) bool { return isLetter(c) || isDigit(c) }) == len(s)
}

// describe is a value as messages show it: short, in the notation of JSON, containers by their
// length only.
func describe(v starlark.Value) string {
	switch v := v.(type) {
	case starlark.NoneType:
		return "null"
	case starlark.Bool:
		return strings.ToLower(v.String())
	case starlark.String:
		return quote(shorten(string(v), 40))
	case starlark.Int, starlark.Float:
		return shorten(v.String(), 40)
	case *starlark.List, starlark.Tuple:
		return fmt.Sprintf("a list of length %d", starlark.Len(v))
	case *starlark.Dict:
		return fmt.Sprintf("a dict of length %d", v.Len())
	}
	return v.Type()
}

// shorten cuts a text to n runes, the last of which is then an ellipsis.
func shorten(s string, n int) string {
	runes := 0
	cut := 0
	for i := range s {
		if runes == n-1 {
			cut = i
		}
		if runes == n {
			return s[:cut] + "…"
		}
		runes++
	}
	return s
}
