package contract

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// limits are the bounds of a range, both inclusive; a nil bound does not bind.
type limits struct{ low, high starlark.Value }

func (l limits) none() bool { return l.low == nil && l.high == nil }

// hold says whether n, an Int or Float, lies within.
func (l limits) hold(n starlark.Value) bool {
	return (l.low == nil || atMost(l.low, n)) && (l.high == nil || atMost(n, l.high))
}

// holdCount is hold for a length.
func (l limits) holdCount(n int) bool { return l.none() || l.hold(starlark.MakeInt(n)) }

// String is the range as written: "(1..80)", or nothing.
func (l limits) String() string {
	if l.none() {
		return ""
	}
	return "(" + numberText(l.low) + ".." + numberText(l.high) + ")"
}

// length puts a range of a length into words.
func (l limits) length() string {
	low, high := numberText(l.low), numberText(l.high)
	switch {
	case high == "":
		return "a length of at least " + low
	case low == "":
		return "a length of at most " + high
	case low == high:
		return "a length of exactly " + low
	}
	return "a length of " + low + " to " + high
}

// numberText writes an Int or Float the way it is read; nil is nothing.
func numberText(n starlark.Value) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// atMost compares exactly, whatever the mixture of Int and Float.
func atMost(a, b starlark.Value) bool {
	ok, err := starlark.Compare(syntax.LE, a, b)
	if err != nil {
		panic(fmt.Sprintf("contract: comparing %s with %s: %v", a.Type(), b.Type(), err)) // both are numbers
	}
	return ok
}
