package diagnostic

import (
	"cmp"
	"slices"
	"strings"
)

// A List is several diagnostics as one error. errors.As finds the first Diagnostic in it.
type List []Diagnostic

// Err is the list as an error, nil when it holds no diagnostic of severity Error. (A List in a
// variable of type error is never nil, even when it is empty: return Err.)
func (l List) Err() error {
	for _, d := range l {
		if d.Severity == Error {
			return l
		}
	}
	return nil
}

// Error is one line per diagnostic.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the members to errors.Is and errors.As.
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, d := range l {
		errs[i] = d
	}
	return errs
}

// Render is the rendering of each, one after the other.
func (l List) Render() string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.Render())
	}
	return b.String()
}

// Sort orders by file, line and column, and keeps the order of what stands at one place.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col),
		)
	})
}
