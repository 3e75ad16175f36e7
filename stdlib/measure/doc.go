// Package measure reads what programs report of a project: the results of its tests, how much of
// it they cover, what a scanner has found, what its files hold. Everything here is a function of
// its arguments: nothing is started and no file is opened.
//
// A report that is cut, that breaks its format or that says of nothing that it was tried is an
// error ([ErrUnreadable], [ErrNothing]) and never an empty result: who measures nothing must not
// take that for a good measure. All readers take time and memory in proportion to the text; ids
// together are bounded by [MaxIDs] bytes.
package measure

import "errors"

var (
	// ErrUnreadable is a text that is not in the format that was named, or not whole.
	ErrUnreadable = errors.New("cannot be read")
	// ErrNothing is a report of no test that passed or failed.
	ErrNothing = errors.New("no test was run")
	// ErrLarge is a report of more than can be handed on.
	ErrLarge = errors.New("too large")
)
