package contract

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
	"go.starlark.net/starlark"

	"starling/lang/diagnostic"
)

// Between the syntax tree and the types stand all rules that are not of grammar: that names are
// defined, and once; that ranges bind and bind something that has a length or a value; that
// defaults fit. They are kept out of the grammar even where it could state them (two marks of one
// kind, a map with a second key), because a rule that is checked here has a message of its own, and
// one that is part of the grammar only says what it expected.

// scalars are the types that have a name by themselves, in the order in which messages list them.
func scalars() []string {
	return []string{"string", "int", "number", "bool", "null", "any", "url", "path", "duration", "timestamp"}
}

// reserved says whether a word has a meaning where a type is due, so that no type can be defined by
// its name.
func reserved(word string) bool {
	return word == "type" || word == "true" || word == "false" || slices.Contains(scalars(), word)
}

// A resolver turns the syntax tree into types: it looks names up, reads literals, and refuses what
// the grammar cannot. It goes on after an error, with the type any in place of what was wrong, so
// that all errors of a text are found.
type resolver struct {
	*errorList
	definitions []*named
	byName      map[string]*named
	places      map[*named]lexer.Token
	unions      []*unionType
	defaults    []pendingDefault
}

// pendingDefault is a default that is checked when all types are known.
type pendingDefault struct {
	member *member
	tokens []lexer.Token
}

// resolve declares all names before it looks into any definition, since they may be used before
// they are defined. What follows names (the search for endless types, alternatives, the check of
// defaults) waits until all are sound.
func resolve(tree *document, errs *errorList) *Contract {
	r := &resolver{errorList: errs, byName: map[string]*named{}, places: map[*named]lexer.Token{}}
	for _, d := range tree.Definitions {
		r.declare(d)
	}
	for i, d := range tree.Definitions {
		r.definitions[i].target = r.expression(d.Type)
	}
	c := &Contract{definitions: r.definitions, root: r.expression(tree.Root)}
	if len(r.found) == 0 {
		r.refuseEndless()
	}
	if len(r.found) == 0 {
		for _, u := range r.unions {
			u.leaves = alternatives(u)
		}
		r.checkDefaults()
		c.text = canonical(c)
	}
	return c
}

// declare makes a name known. A name that is taken is reported, and its definition still resolved
// for its own errors.
func (r *resolver) declare(d *definition) {
	n := &named{name: d.Name.Value}
	r.definitions = append(r.definitions, n)
	switch first := r.byName[n.name]; {
	case reserved(n.name):
		r.at(d.Name, diagnostic.Diagnostic{Message: quote(n.name) + " is a word of the language and cannot be defined"})
	case first != nil:
		r.at(d.Name, diagnostic.Diagnostic{
			Message: "type " + n.name + " is defined twice",
			Hint:    "the first definition is at " + r.position(r.places[first].Pos.Offset),
		})
	default:
		r.byName[n.name] = n
		r.places[n] = d.Name
	}
}

func (r *resolver) expression(e *expression) typ {
	if len(e.Rest) == 0 {
		return r.term(e.First)
	}
	var branches []typ
	seen := map[string]bool{}
	for _, t := range append([]*term{e.First}, e.Rest...) {
		branches = append(branches, r.branch(t, seen)...)
	}
	u := &unionType{branches: branches}
	r.unions = append(r.unions, u)
	return u
}

// branch resolves one side of a union; a union in parentheses is taken apart.
func (r *resolver) branch(t *term, seen map[string]bool) []typ {
	before := len(r.found)
	parts := []typ{r.term(t)}
	sound := len(r.found) == before
	if u, ok := parts[0].(*unionType); ok {
		parts = u.branches
	}
	for _, p := range parts {
		if _, ok := p.(*optionalType); ok {
			r.under(t.Tokens, diagnostic.Diagnostic{
				Message: "? belongs to a whole type, not to one side of |",
				Hint:    "write (A | B)? or A | B | null",
			})
		}
		text := printed(p)
		if seen[text] && sound {
			r.under(t.Tokens, diagnostic.Diagnostic{Message: shorten(text, 40) + " stands twice in one union"})
		}
		seen[text] = true
	}
	return parts
}

// term puts range and ? around an atom. (T?)? is T?.
func (r *resolver) term(t *term) typ {
	base := r.limited(r.atom(t), t.Interval)
	if _, already := base.(*optionalType); t.Optional != nil && !already {
		return &optionalType{base}
	}
	return base
}

func (r *resolver) atom(t *term) typ {
	switch {
	case t.Name != nil:
		return r.name(*t.Name)
	case t.Text != nil:
		return &literalType{r.text(*t.Text)}
	case t.Number != nil:
		return &literalType{r.number(*t.Number)}
	case t.Pattern != nil:
		return r.pattern(*t.Pattern)
	case t.List != nil:
		return &listType{elem: r.expression(t.List)}
	case t.Record != nil:
		return r.braces(t.Record)
	}
	return r.expression(t.Group)
}

func (r *resolver) name(t lexer.Token) typ {
	switch name := t.Value; name {
	case "string":
		return &stringType{}
	case "int", "number":
		return &numberType{whole: name == "int"}
	case "bool":
		return boolType{}
	case "null":
		return nullType{}
	case "any":
		return anyType{}
	case "true", "false":
		return &literalType{starlark.Bool(name == "true")}
	default:
		if f := formats()[name]; f != nil {
			return &formatType{f}
		}
		if n := r.byName[name]; n != nil {
			return &refType{n}
		}
	}
	r.at(t, diagnostic.Diagnostic{Message: "unknown type " + shorten(t.Value, 40), Hint: r.typeHint(t.Value)})
	return anyType{}
}

// typeHint helps with an unknown type: other languages' names first, then what is spelled nearly
// the same.
func (r *resolver) typeHint(name string) string {
	switch name {
	case "str", "text":
		return `did you mean "string"?`
	case "integer":
		return `did you mean "int"?`
	case "float", "double":
		return `did you mean "number"?`
	case "boolean":
		return `did you mean "bool"?`
	case "None", "nil":
		return `did you mean "null"?`
	case "True", "False":
		return `did you mean "` + strings.ToLower(name) + `"?`
	case "datetime", "date", "time":
		return `did you mean "timestamp"?`
	case "list", "array":
		return "a list is written [T]"
	case "dict", "map", "object":
		return "a map is written {string: T}, a record {name: T}"
	}
	defined := slices.Sorted(maps.Keys(r.byName))
	types := slices.Concat(scalars(), defined)
	if hint := diagnostic.DidYouMean(name, append(types, "true", "false")); hint != "" {
		return hint
	}
	return "a text is written " + quote(shorten(name, 40)) + "; the types are " + shorten(strings.Join(types, ", "), 120)
}

// pattern compiles twice: alone, for a message without our own brackets and so that the pattern
// cannot close them, and within them, for use.
func (r *resolver) pattern(t lexer.Token) typ {
	source := t.Value[1 : len(t.Value)-1]
	if source == "" {
		r.at(t, diagnostic.Diagnostic{Message: "the pattern is empty", Hint: `a comment begins with #`})
		return anyType{}
	}
	whole, err := regexp.Compile(`\A(?:` + source + `)\z`)
	if _, alone := regexp.Compile(source); alone != nil {
		err = alone // without our own brackets in the message, or closed by them
	}
	if err != nil {
		message := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		r.at(t, diagnostic.Diagnostic{Message: "the pattern is not RE2: " + shorten(message, 200)})
		return anyType{}
	}
	return &patternType{source, whole}
}

// limited puts a range on a type that has none yet and can have one.
func (r *resolver) limited(t typ, i *interval) typ {
	if i == nil {
		return t
	}
	l := r.limits(i, t)
	switch t := t.(type) {
	case *numberType:
		r.refuseSecond(t.limits, i)
		return &numberType{t.whole, l}
	case *stringType:
		r.refuseSecond(t.limits, i)
		return &stringType{l}
	case *listType:
		r.refuseSecond(t.limits, i)
		return &listType{t.elem, l}
	}
	r.under(i.Tokens, diagnostic.Diagnostic{
		Message: shorten(printed(t), 40) + " takes no range",
		Hint:    "int and number take one for the value, string for the code points, [T] for the items",
	})
	return t
}

func (r *resolver) refuseSecond(first limits, i *interval) {
	if !first.none() {
		r.under(i.Tokens, diagnostic.Diagnostic{Message: "there is a range already"})
	}
}

// limits reads a range for the type t.
func (r *resolver) limits(i *interval, t typ) limits {
	var l limits
	if i.Low != nil {
		l.low = r.bound(*i.Low, t)
	}
	if i.High != nil {
		l.high = r.bound(*i.High, t)
	}
	switch {
	case l.none():
		r.under(i.Tokens, diagnostic.Diagnostic{Message: "the range has no bound", Hint: "write (1..), (..80) or (1..80)"})
	case l.low != nil && l.high != nil && !atMost(l.low, l.high):
		r.under(i.Tokens, diagnostic.Diagnostic{Message: "the range is empty"})
	}
	return l
}

// bound reads one bound: whole for an int, whole and not negative for a length.
func (r *resolver) bound(t lexer.Token, of typ) starlark.Value {
	n := r.number(t)
	_, whole := n.(starlark.Int)
	number, isNumber := of.(*numberType)
	switch {
	case isNumber && number.whole && !whole:
		r.at(t, diagnostic.Diagnostic{Message: "a bound of an int is a whole number", Got: t.Value})
	case !isNumber && (!whole || t.Value[0] == '-'):
		r.at(t, diagnostic.Diagnostic{Message: "a length is a whole number from 0", Got: t.Value})
	}
	return n
}
