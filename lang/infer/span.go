package infer

import (
	"math"
	"strconv"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// What contracts say of numbers and of lengths, and what follows for those who compare them. Only a
// contract gives bounds, since it is held; what is computed from a bounded number has none.

// span is a range of numbers, both ends inclusive. The zero span says nothing.
type span struct {
	low, high float64
	bound     bool
}

// everything is where a number is of which nothing is known.
var everything = span{low: math.Inf(-1), high: math.Inf(1)}

// spanOf are the bounds that a shape states.
func spanOf(s *contract.Shape) span {
	if s.Low == nil && s.High == nil {
		return span{}
	}
	low, known := boundOf(s.Low, everything.low)
	high, also := boundOf(s.High, everything.high)
	if !known || !also {
		return span{}
	}
	return span{low, high, true}
}

// boundOf is a bound as a float, false for one that is not exactly that.
func boundOf(v starlark.Value, none float64) (float64, bool) {
	switch v := v.(type) {
	case nil:
		return none, true
	case starlark.Float:
		return float64(v), true
	case starlark.Int:
		return exactFloat(v.String())
	}
	return 0, false
}

// exactFloat is a whole number as a float, false where floats are too coarse for it.
func exactFloat(digits string) (float64, bool) {
	n, err := strconv.ParseInt(digits, 10, 64)
	const most = 1 << 53
	return float64(n), err == nil && n < most && n > -most
}

// String is the span as contracts write it.
func (s span) String() string {
	if !s.bound {
		return ""
	}
	end := func(x float64) string {
		if math.IsInf(x, 0) {
			return ""
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return "(" + end(s.low) + ".." + end(s.high) + ")"
}

// meets tells whether two spans have a number in common.
func (s span) meets(t span) bool { return s.low <= t.high && t.low <= s.high }

// extent is where an atom lies: of a number itself, of a text its length.
func (a atom) extent() span {
	switch {
	case a.span.bound:
		return a.span
	case a.exact && a.kind == text:
		n := float64(utf8.RuneCountInString(a.lit))
		return span{low: n, high: n}
	case a.exact && a.kind == integer:
		if n, ok := exactFloat(a.lit); ok {
			return span{low: n, high: n}
		}
	}
	return everything
}

// length is len(x): within the bounds of the contract that x has.
func (a *analysis) length(_ *effect.Builtin, g *arguments, args bound, _ *flow) Type {
	x := args["x"].typ
	if !x.known() || g.loose() {
		return anyInt
	}
	var t Type
	for _, at := range x.atoms {
		s := at.span
		if o := at.obj; at.kind == list && o.shaped != nil && !o.lent && !o.gains && !o.loses {
			s = spanOf(o.shaped)
		}
		if s.bound {
			s.low = max(s.low, 0)
		}
		t = join(t, of(atom{kind: integer, span: s}))
	}
	return t
}

// ordering says of a comparison that the bounds of a contract decide how it comes out.
func (a *analysis) ordering(e *syntax.BinaryExpr, x, y Type) {
	if x.durations() && onlyKind(y, text) || y.durations() && onlyKind(x, text) {
		a.warn("bad_operand", e, diagnostic.Diagnostic{Message: "durations are texts, and compared letter by letter", Hint: "time.duration(d) is the number of seconds of one"})
		return
	}
	left, bounded := extents(e.X, x)
	right, also := extents(e.Y, y)
	if left == nil || right == nil || !bounded && !also {
		return
	}
	always, never := true, true
	for _, p := range left {
		for _, q := range right {
			yes, no := compared(e.Op, p, q)
			always, never = always && yes, never && no
		}
	}
	if !always && !never {
		return
	}
	said := "this never holds"
	if always {
		said = "this always holds"
	}
	subject, t := e.X, x
	if !bounded {
		subject, t = e.Y, y
	}
	a.warn("never_equal", e, diagnostic.Diagnostic{Message: said + ": " + a.file.briefly(subject) + " is " + t.String(), Note: a.origin(subject, t),
		Hint: "compare with a number within the bounds, or leave it out"})
}

// durations tells whether every value of a type is a duration, as a contract says.
func (t Type) durations() bool {
	for _, at := range t.atoms {
		if !at.formed() || at.lit != "duration" {
			return false
		}
	}
	return t.known()
}

// extents are where the numbers of an operand lie, nil if it may be anything else; bounded tells
// whether a contract says so of all of them.
func extents(e syntax.Expr, t Type) (spans []span, bounded bool) {
	if l, ok := way.Unparen(e).(*syntax.Literal); ok && l.Token == syntax.FLOAT {
		n, _ := l.Value.(float64)
		return []span{{low: n, high: n}}, false
	}
	bounded = t.known()
	for _, at := range t.atoms {
		if !number(at) {
			return nil, false
		}
		spans = append(spans, at.extent())
		bounded = bounded && at.span.bound
	}
	return spans, bounded
}

// compared tells whether numbers of two spans always compare like this, and whether they never do.
func compared(op syntax.Token, p, q span) (always, never bool) {
	switch op {
	case syntax.GT:
		return p.low > q.high, p.high <= q.low
	case syntax.GE:
		return p.low >= q.high, p.high < q.low
	case syntax.LT:
		return compared(syntax.GT, q, p)
	case syntax.LE:
		return compared(syntax.GE, q, p)
	}
	return false, false
}
