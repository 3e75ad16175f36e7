package infer

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// duration: every text that an argument can be is no duration. Of one that stands in the call the
// checks of the text speak.
func (a *analysis) duration(o *object, p *effect.Param, x argument, call *syntax.CallExpr) {
	if _, here := unparen(x.node).(*syntax.Literal); here || p.Type != "duration" || !x.typ.known() {
		return
	}
	var first string
	var wrong error
	for _, at := range x.typ.atoms {
		if at.kind != text || !at.exact {
			return
		}
		_, err := contract.ParseDuration(at.lit)
		if err == nil {
			return
		}
		if wrong == nil {
			first, wrong = at.lit, err
		}
	}
	a.report("bad_duration", x.node, call, diagnostic.Diagnostic{Message: o.path + ": for parameter " + p.Name + ": " + wrong.Error(),
		Hint: DurationHint(first), Note: a.origin(x.node, x.typ)})
}

// oneOf: every text that an argument can be is none of those that the parameter takes. Of one that
// stands in the call the checks of the text speak.
func (a *analysis) oneOf(o *object, p *effect.Param, x argument, call *syntax.CallExpr) {
	texts := exactTexts(x.typ)
	if _, here := unparen(x.node).(*syntax.Literal); here || len(p.OneOf) == 0 || texts == nil {
		return
	}
	for _, s := range texts {
		if contains(p.OneOf, s) {
			return
		}
	}
	a.report("bad_choice", x.node, call, diagnostic.Diagnostic{Message: o.path + ": for parameter " + p.Name, Got: x.typ.String(), Want: oneOf(p.OneOf),
		Hint: diagnostic.Meant(texts[0], p.OneOf), Note: a.origin(x.node, x.typ)})
}

// DurationHint is what was probably meant by a text that is no duration, "" where nobody knows.
func DurationHint(s string) string { return cmp.Or(WithUnit(s), inWords(s)) }

var wordDuration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d+)\s*(s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week)s?$`)
})

// inWords is the hint for a duration that is written in words, or in weeks.
func inWords(s string) string {
	m := wordDuration().FindStringSubmatch(strings.ToLower(strings.TrimSpace(s)))
	if m == nil {
		return ""
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n > 10_000 {
		return ""
	}
	unit := m[2][:1]
	if unit == "w" {
		n, unit = 7*n, "d"
	}
	return fmt.Sprintf("did you mean \"%d%s\"?", n, unit)
}

// WithUnit is the hint for a number without a unit, "" for anything else.
func WithUnit(s string) string {
	if _, err := contract.ParseDuration(s + "s"); err != nil {
		return ""
	}
	return fmt.Sprintf("write %q for seconds, %q for minutes", s+"s", s+"m")
}
