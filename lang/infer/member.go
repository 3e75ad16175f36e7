package infer

import (
	"slices"

	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/lang/way"
)

// TypeOf is what was inferred of an expression, false where nothing is known of it: it is never
// reached, or nobody asked for types of expressions (see [Inspect]).
func (r *Result) TypeOf(e syntax.Expr) (Type, bool) {
	t, ok := r.a.seen[e]
	return t, ok && !t.empty()
}

// hidden: what is read of a parameter is what a module of the same name has.
func (a *analysis) hidden(e *syntax.DotExpr) {
	id, ok := way.Unparen(e.X).(*syntax.Ident)
	if !ok || way.Variable(id) == nil || !a.saying || a.fn == nil || len(a.fn.mentioned(id)) == 0 {
		return // only a parameter may have the name by chance
	}
	if !a.hides(id, e.Name.Name) {
		return
	}
	for _, has := range methods() {
		if contains(has, e.Name.Name) {
			return
		}
	}
	a.warn("unknown_attribute", e.X, hiding(id.Name))
}

func hiding(module string) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		Message: module + " is a variable here, and hides the module " + module, Hint: "give the variable another name"}
}

// hides tells whether a variable has the name of a module that has the attribute.
func (a *analysis) hides(id *syntax.Ident, attribute string) bool {
	m, ok := a.world.Names[id.Name].(*starlarkstruct.Module)
	return ok && way.Variable(id) != nil && m.Members[attribute] != nil
}

// Known tells whether the type says all that can be seen at the place.
func (t Type) Known() bool { return t.known() }

// Member is something that a value has: an attribute, or an entry of a dict.
type Member struct {
	Name string
	Path string // under which it is documented: "string.split", "Result.text", "http.get"; "" for an entry
	Type string // of an entry or a field, "" where it is not known
}

// Members are the attributes that values of the type have, in the order of their names.
func (t Type) Members() []Member {
	var list []Member
	for _, at := range t.atoms {
		if !at.closed() {
			continue
		}
		owner := kindNames[at.kind]
		switch at.kind {
		case module:
			owner = at.obj.path
		case record:
			owner = at.obj.form.Name
		}
		for _, name := range at.attributes() {
			list = append(list, Member{name, owner + "." + name, doc.FieldType(owner, name)})
		}
	}
	return unique(list)
}

// Keys are the entries that are known of dicts of the type.
func (t Type) Keys() []Member {
	var list []Member
	for _, at := range t.atoms {
		if at.kind == dict {
			for _, name := range at.obj.order {
				list = append(list, Member{Name: name, Type: at.obj.fields[name].typ.String()})
			}
		}
	}
	return unique(list)
}

// Texts are the single texts that are among the values of the type: options, words of an enum.
func (t Type) Texts() []string {
	var list []string
	for _, at := range t.atoms {
		if at.kind == text && at.exact {
			list = append(list, at.lit)
		}
	}
	slices.Sort(list)
	return list
}

// Path is the name of the builtin or method that the type is, as it is documented; "" for any
// other.
func (t Type) Path() string {
	at, ok := t.only()
	if !ok || at.obj == nil || at.kind != builtin && at.kind != method && at.kind != module {
		return ""
	}
	return at.obj.path
}

func unique(list []Member) []Member {
	slices.SortStableFunc(list, func(x, y Member) int {
		if x.Name < y.Name {
			return -1
		}
		if x.Name > y.Name {
			return 1
		}
		return 0
	})
	return slices.CompactFunc(list, func(x, y Member) bool { return x.Name == y.Name })
}
