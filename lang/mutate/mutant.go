package mutate

import (
	"cmp"
	"slices"
	"strings"
)

// Kind says what sort of change a mutant is.
type Kind string

// The kinds.
const (
	Condition  Kind = "condition"  // a condition is negated
	Comparison Kind = "comparison" // the opposite comparison, or an order with or without its bound
	Logic      Kind = "logic"      // `and` for `or`, and the reverse
	Arithmetic Kind = "arithmetic" // another operator, or the right side of a sum dropped
	Constant   Kind = "constant"   // another number, text or truth value
	Statement  Kind = "statement"  // a statement is dropped, or a loop goes over nothing
	Value      Kind = "value"      // None is assigned
	Return     Kind = "return"     // None is returned
	Branch     Kind = "branch"     // the branches of a conditional expression are swapped
	Argument   Kind = "argument"   // an argument is dropped
)

// Kinds lists all of them.
func Kinds() []Kind {
	return []Kind{Condition, Comparison, Logic, Arithmetic, Constant,
		Statement, Value, Return, Branch, Argument}
}

// Mutant is one change of a text.
type Mutant struct {
	Kind               Kind
	Line               int    // where the change begins, from 1
	Column             int    // in characters, from 1
	EndLine, EndColumn int    // behind what it replaces
	Before             string // what stands there
	After              string // what stands there then, as many lines

	offset int // in bytes
}

// Apply makes the change in the text that the mutant was listed for.
func (m *Mutant) Apply(source []byte) []byte {
	out := make([]byte, 0, len(source)+len(m.After))
	out = append(out, source[:m.offset]...)
	out = append(out, m.After...)
	return append(out, source[m.offset+len(m.Before):]...)
}

// File lists the mutants of a file, in the order of its text, each once. name is for errors: those
// of the parser, or a diagnostic.List.
func File(name string, source []byte) ([]Mutant, error) {
	l, tree, err := parse(name, source)
	if err != nil {
		return nil, err
	}
	l.stmts(tree.Stmts)
	slices.SortStableFunc(l.found, func(a, b Mutant) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(len(a.Before), len(b.Before)),
			strings.Compare(a.After, b.After))
	})
	return slices.CompactFunc(l.found, func(a, b Mutant) bool {
		return a.offset == b.offset && a.Before == b.Before && a.After == b.After
	}), nil
}
