package contract

import (
	"cmp"

	"github.com/alecthomas/participle/v2/lexer"
	"go.starlark.net/starlark"

	"starling/lang/diagnostic"
)

// braces resolves what stands in { }: a map if its one key is the word string, else a record.
func (r *resolver) braces(b *record) typ {
	fields := r.fields(b)
	for _, f := range fields {
		if f.Key.Value == "string" {
			return r.mapOf(f, len(fields))
		}
	}
	t := &recordType{index: map[string]*member{}}
	for _, f := range fields {
		if f.Key.Value == "*" {
			r.rest(t, f)
		} else {
			r.member(t, f)
		}
	}
	return t
}

// fields flattens the comma-separated list, refusing a comma that nothing stands before.
func (r *resolver) fields(b *record) []*field {
	var all []*field
	previous := b.First
	if previous != nil {
		all = append(all, previous)
	}
	for _, next := range b.Rest {
		if previous == nil {
			r.strayComma(next.Comma)
		}
		if previous = next.Field; previous != nil {
			all = append(all, previous)
		}
	}
	return all
}

func (r *resolver) strayComma(comma lexer.Token) {
	r.at(comma, diagnostic.Diagnostic{Message: `nothing stands before this ","`})
}

func (r *resolver) mapOf(f *field, fields int) typ {
	switch {
	case fields > 1:
		r.at(f.Key, diagnostic.Diagnostic{
			Message: "{string: T} is a map and has no other fields",
			Hint:    `a field of that name is written "string"`,
		})
	case f.Optional != nil || len(f.Marks) > 0:
		r.at(f.Key, diagnostic.Diagnostic{
			Message: "{string: T} is a map: it takes no ?, default or audience",
			Hint:    `a field of that name is written "string"`,
		})
	}
	return &mapType{r.expression(f.Type)}
}

// rest reads *: T, the type of all keys that are not declared.
func (r *resolver) rest(t *recordType, f *field) {
	switch {
	case t.rest != nil:
		r.at(f.Key, diagnostic.Diagnostic{Message: "* stands twice in one record"})
	case f.Optional != nil || len(f.Marks) > 0:
		r.at(f.Key, diagnostic.Diagnostic{Message: "* takes no ?, default or audience", Hint: "write *: any"})
	}
	t.rest = r.expression(f.Type)
}

// member adds a field to its record. One that is defined twice is added all the same; the contract
// is refused.
func (r *resolver) member(t *recordType, f *field) {
	m := &member{name: f.Key.Value, optional: f.Optional != nil}
	if f.Key.Type == tokenString {
		m.name = string(r.text(f.Key))
	}
	if t.index[m.name] != nil {
		r.at(f.Key, diagnostic.Diagnostic{Message: "field " + keyText(m.name) + " is defined twice in one record"})
	}
	m.key = starlark.String(m.name)
	m.typ = r.expression(f.Type)
	for _, mark := range f.Marks {
		if mark.Default != nil {
			r.preset(m, mark)
		} else {
			r.audience(m, *mark.Audience)
		}
	}
	t.members = append(t.members, m)
	t.index[m.name] = m
}

// preset reads a default; whether it fits is seen when all types are known.
func (r *resolver) preset(m *member, k *mark) {
	switch {
	case m.written != nil:
		r.at(k.Sign, diagnostic.Diagnostic{Message: "field " + keyText(m.name) + " has two defaults"})
	case m.optional:
		r.at(k.Sign, diagnostic.Diagnostic{
			Message: "field " + keyText(m.name) + "? has a default and so is never absent",
			Hint:    "leave out the ? or the default",
		})
	}
	m.written = r.value(k.Default)
	r.defaults = append(r.defaults, pendingDefault{m, k.Default.Tokens})
}

func (r *resolver) audience(m *member, t lexer.Token) {
	switch {
	case t.Value != string(Agents):
		hint := diagnostic.DidYouMean(t.Value, []string{string(Agents)})
		r.at(t, diagnostic.Diagnostic{Message: "unknown audience", Got: "@" + t.Value, Want: "@agent", Hint: hint})
	case m.agentOnly:
		r.at(t, diagnostic.Diagnostic{Message: "@agent stands twice"})
	}
	m.agentOnly = true
}

// checkDefaults makes of each default the value that its type makes of it.
func (r *resolver) checkDefaults() {
	for _, p := range r.defaults {
		v, bad := newChecker(Validate, Agents).run(p.member.typ, p.member.written)
		for _, one := range bad {
			d := one.Diagnostic()
			d.Message = "the default does not fit its type"
			d.Hint = cmp.Or(d.Hint, presetHint(p.member))
			r.under(p.tokens, d)
		}
		if len(bad) == 0 {
			v.Freeze()
			p.member.preset = v
		}
	}
}

// presetHint is what to write in place of a default that does not fit, where that is known.
func presetHint(m *member) string {
	if _, ok := m.typ.(*optionalType); ok {
		return "leave it out: a field with ? is null without a default"
	}
	return ""
}
