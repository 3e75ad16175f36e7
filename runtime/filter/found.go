package filter

import (
	"math"

	"starling/runtime"
)

// found are the fields by which an index finds runs.
func found() []field {
	return []field{
		{name: "label", named: true, doc: "value of the label with this name", example: "label.team = web", kind: text, of: label},
		{name: "input", named: true, doc: "an input, or a value within it: input.pr.number", example: "input.pr = 7", kind: scalar, facts: true,
			of: factOf("input", func(f *runtime.Facts) []runtime.Fact { return f.Inputs })},
		{name: "output", named: true, doc: "what the run has returned; output.NAME for a value within it", example: "output.shipped = true", kind: scalar, facts: true,
			of: factOf("output", func(f *runtime.Facts) []runtime.Fact { return f.Output })},
		{name: "agent", doc: "an agent that was asked in the run", example: "agent = judge", kind: text, facts: true, terms: equals("agent"),
			values: ofFacts(func(f *runtime.Facts) []string { return f.Agents })},
		{name: "cost", doc: "what agents have cost in the run, child runs aside, in US dollars", example: "cost > 0.50", kind: money, facts: true, terms: costs,
			values: func(s *subject) []value {
				if s.run.Facts == nil {
					return nil
				}
				return []value{{number: s.run.Facts.MicroUSD}}
			}},
		{name: "definition", doc: "NAME, or NAME@VERSION, that the run was started from", example: "definition = triage", kind: text, terms: equals("definition"),
			values: func(s *subject) []value { return texts(runtime.DefinitionIn(s.run.Script)) }},
	}
}

// label makes the field of one label.
func label(f field, name string) *field {
	f.name = "label." + name
	f.terms = equals(f.name)
	f.values = func(s *subject) []value {
		if v, ok := s.run.Labels[name]; ok {
			return []value{{text: v}}
		}
		return nil
	}
	return &f
}

// factOf makes the field of one path below inputs or the output; "" is the output itself.
func factOf(prefix string, in func(*runtime.Facts) []runtime.Fact) func(field, string) *field {
	return func(f field, path string) *field {
		if f.name = prefix; path != "" {
			f.name += "." + path
		}
		f.terms = equals(f.name)
		f.values = ofFacts(func(facts *runtime.Facts) (list []string) {
			for _, one := range in(facts) {
				if one.Path == path {
					list = append(list, one.Value)
				}
			}
			return list
		})
		return &f
	}
}

func ofFacts(of func(*runtime.Facts) []string) func(*subject) []value {
	return func(s *subject) []value {
		if s.run.Facts == nil {
			return nil
		}
		return texts(of(s.run.Facts))
	}
}

func texts(list []string) (values []value) {
	for _, t := range list {
		values = append(values, value{text: t})
	}
	return values
}

// equals are the terms of a field that has a value.
func equals(name string) func(relation, value) []string {
	return func(r relation, want value) []string {
		if r != equal || len(want.text) > runtime.MaxFact {
			return nil
		}
		return []string{runtime.Term(name, want.text)}
	}
}

// costs are the terms of a cost. What has cost nothing has none.
func costs(r relation, want value) []string {
	switch {
	case want.number <= 0 || r == less || r == atMost:
		return nil
	case r == equal:
		return runtime.CostTerms(want.number, want.number)
	}
	return runtime.CostTerms(want.number, math.MaxInt64)
}

// narrow collects the terms of conditions in a chain of "and" which is the whole filter: what it
// means meets each of them.
func (r *reading) narrow() (terms [][]string) {
	for _, c := range r.chain() {
		if f := fieldNamed(r.fields, c.Field.Value); f.terms != nil {
			if any := r.termsOf(f, c); any != nil {
				terms = append(terms, any)
			}
		}
	}
	return terms
}

// termsOf are those by which an index finds all that a condition on a field holds for, nil for
// none.
func (r *reading) termsOf(f *field, c *condition) (any []string) {
	switch {
	case c.In != nil:
		for _, one := range c.In {
			v, _ := r.value(f, one.Token) // it was read before, here and below
			terms := f.terms(equal, v)
			if terms == nil {
				return nil
			}
			any = append(any, terms...)
		}
	case c.Operator != nil && !operators[c.Operator.Value].negated:
		v, _ := r.value(f, *c.Value)
		any = f.terms(operators[c.Operator.Value].relation, v)
	}
	return any
}
