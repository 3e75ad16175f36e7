package filter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"starling/lang/diagnostic"
)

// test says whether a filter, or a part of one, holds.
type test func(*subject) bool

func (r *reading) anyOf(e *anyOf) test {
	tests := []test{r.allOf(e.First)}
	for _, next := range e.Rest {
		tests = append(tests, r.allOf(next))
	}
	return join(tests, true)
}

func (r *reading) allOf(e *allOf) test {
	tests := []test{r.term(e.First)}
	for _, next := range e.Rest {
		tests = append(tests, r.term(next))
	}
	return join(tests, false)
}

// join is decided by the first test that has the deciding outcome: true for or, false for and.
func join(tests []test, deciding bool) test {
	if len(tests) == 1 {
		return tests[0]
	}
	return func(s *subject) bool {
		for _, t := range tests {
			if t(s) == deciding {
				return deciding
			}
		}
		return !deciding
	}
}

func not(t test) test { return func(s *subject) bool { return !t(s) } }

func (r *reading) term(t *term) test {
	switch {
	case t.Not != nil:
		return not(r.term(t.Not))
	case t.Group != nil:
		return r.anyOf(t.Group)
	}
	return r.condition(t.Condition)
}

// condition reads one comparison. One that is wrong has been refused, and holds for everything.
func (r *reading) condition(c *condition) test {
	f := fieldNamed(r.fields, c.Field.Value)
	if f == nil {
		r.unknownField(c.Field)
		return everything
	}
	r.filter.fields[f.name] = true
	r.filter.output = r.filter.output || f.name == "output" || strings.HasPrefix(f.name, "output.")
	r.filter.facts = r.filter.facts || f.facts
	switch {
	case c.Operator != nil:
		return r.comparison(f, *c.Operator, *c.Value)
	case c.In != nil:
		return r.oneOf(f, c.In)
	case f.kind != flag:
		r.under(c.Field, diagnostic.Diagnostic{Message: f.name + " alone says nothing", Want: "an operator and a value after it", Hint: "such as " + f.example})
		return everything
	}
	return f.compare(equal, value{text: "true"})
}

func (r *reading) unknownField(t lexer.Token) {
	names := fieldNames(r.fields)
	hint := ""
	if meant := near(r.fields, t.Value); meant != "" {
		hint = "did you mean " + strconv.Quote(meant) + "?"
	}
	switch {
	case r.elsewhere != nil && fieldNamed(r.elsewhere, t.Value) != nil:
		hint = r.hint
	case hint == "":
		hint = "the fields are " + strings.Join(names, ", ")
	}
	r.under(t, diagnostic.Diagnostic{Message: strconv.Quote(clip(t.Value)) + " is not a field", Hint: hint})
}

func (r *reading) oneOf(f *field, list []*literal) test {
	var tests []test
	for _, one := range list {
		if v, ok := r.value(f, one.Token); ok {
			tests = append(tests, f.compare(equal, v))
		}
	}
	return join(tests, true)
}

func (r *reading) comparison(f *field, operator, text lexer.Token) test {
	op := operators[operator.Value]
	if !f.kind.admits(op.relation) {
		r.under(operator, diagnostic.Diagnostic{Message: fmt.Sprintf("%s is %s", f.name, f.kind.noun()), Got: operator.Value, Want: f.kind.operators()})
		return everything
	}
	v, ok := r.value(f, text)
	if !ok {
		return everything
	}
	if f.kind == scalar && op.relation > like {
		if _, wrong := number.read(v.text); wrong != nil {
			if _, err := strconv.ParseFloat(v.text, 64); err != nil {
				r.under(text, *wrong)
				return everything
			}
		}
	}
	t := f.compare(op.relation, v)
	if op.negated {
		return not(t)
	}
	return t
}

// value reads a literal as the field has its values.
func (r *reading) value(f *field, t lexer.Token) (value, bool) {
	word := t.Value
	if word[0] == '"' {
		var err error
		if word, err = strconv.Unquote(word); err != nil {
			r.under(t, diagnostic.Diagnostic{Message: "the quoted text has an escape that is none", Got: clip(t.Value)})
			return value{}, false
		}
	}
	v, wrong := f.kind.read(word)
	if wrong != nil {
		r.under(t, *wrong)
		return value{}, false
	}
	return v, true
}
