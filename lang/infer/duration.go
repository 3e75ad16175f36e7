package infer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
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
			a.computedDuration(o, p, x.node)
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

// computedDuration: whatever is put into a text that is computed here, it is no duration.
func (a *analysis) computedDuration(o *object, p *effect.Param, e syntax.Expr) {
	from := e
	if id, ok := unparen(e).(*syntax.Ident); ok && len(a.writes[variable(id)]) == 1 {
		if written, ok := a.writes[variable(id)][0].(*syntax.Ident); ok && a.values[written] != nil {
			from = a.values[written]
		}
	}
	forms := forms(from)
	if len(forms) == 0 || slices.ContainsFunc(forms, func(s string) bool { _, err := contract.ParseDuration(s); return err == nil }) {
		return
	}
	d := diagnostic.Diagnostic{Message: o.path + ": for parameter " + p.Name + ": what is computed is no duration", Got: "such as " + strconv.Quote(forms[0]),
		Want: `a number with a unit (ns us ms s m h d), such as "90s", "2h" or "1d"`, Hint: `write a unit right behind the number, as in "%dh" % hours`}
	a.warn("bad_duration", e, d)
}

// durationParts are what may stand in the place of a value in a duration.
var durationParts = []string{"4", "4h", ""}

var slot = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[a-z%]|\{[^{}]*\}`) })

// forms are the texts that an expression may make, as far as a duration can tell them apart: nil
// where nothing of the text stands there.
func forms(e syntax.Expr) []string {
	switch e := unparen(e).(type) {
	case *syntax.Literal:
		if s, ok := e.Value.(string); ok {
			return []string{s}
		}
	case *syntax.BinaryExpr:
		if template, ok := unparen(e.X).(*syntax.Literal); ok && e.Op == syntax.PERCENT {
			return filled(template, "%")
		}
		if e.Op == syntax.PLUS {
			return sum(e)
		}
	case *syntax.CallExpr:
		if method, ok := unparen(e.Fn).(*syntax.DotExpr); ok && method.Name.Name == "format" {
			if template, ok := unparen(method.X).(*syntax.Literal); ok {
				return filled(template, "{")
			}
		}
	}
	return nil
}

// sum are the forms of x + y, where one of them is known.
func sum(e *syntax.BinaryExpr) (all []string) {
	x, y := forms(e.X), forms(e.Y)
	if x == nil && y == nil {
		return nil
	}
	for _, left := range orAny(x) {
		for _, right := range orAny(y) {
			all = append(all, left+right)
		}
	}
	return all
}

func orAny(forms []string) []string {
	if forms == nil {
		return durationParts
	}
	return forms
}

// filled are the texts that a template with up to two places makes.
func filled(l *syntax.Literal, begin string) []string {
	template, ok := l.Value.(string)
	if !ok {
		return nil
	}
	places := 0
	for _, m := range slot().FindAllString(template, -1) {
		switch {
		case m == "%%" || !strings.HasPrefix(m, begin):
		case m != "%d" && m != "%s" && m != "%r" && begin == "%":
			return nil
		default:
			places++
		}
	}
	if places == 0 || places > 2 {
		return nil
	}
	all := []string{template}
	for range places {
		var next []string
		for _, text := range all {
			next = append(next, fillFirst(text, begin)...)
		}
		all = next
	}
	return all
}

// fillFirst puts into the first place of a template what may stand there.
func fillFirst(template, begin string) (all []string) {
	for _, at := range slot().FindAllStringIndex(template, -1) {
		place := template[at[0]:at[1]]
		if place == "%%" || !strings.HasPrefix(place, begin) {
			continue
		}
		parts := durationParts
		if place == "%d" {
			parts = parts[:1]
		}
		for _, part := range parts {
			all = append(all, template[:at[0]]+part+template[at[1]:])
		}
		return all
	}
	return nil
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
