package contract

import (
	"regexp"

	"go.starlark.net/starlark"
)

// A typ is a node of a resolved contract. Nodes are made by the resolver and never change
// afterwards, so a contract may be used by many goroutines. What can be done with a node is spread
// over the files named after it: check.go and union.go, print.go, schema.go; what needs only a look
// at the kind of a node is a type switch.
type typ interface {
	// check gives the value that v becomes under this type, or what is wrong with it; paths are
	// relative to v.
	check(c *checker, v starlark.Value) (starlark.Value, problems)
	// print appends the canonical text.
	print(p *printer)
	// schema gives the JSON Schema of the type; path is where it stands, for the list of what had
	// to be left out.
	schema(w *schemaWriter, path string) *starlark.Dict
}

type (
	anyType  struct{}
	nullType struct{}
	boolType struct{}

	// numberType is number, or int when whole.
	numberType struct {
		whole  bool
		limits limits
	}

	// stringType counts its limits in code points.
	stringType struct{ limits limits }

	// formatType is one of the strings with a form of their own: url, path, duration, timestamp.
	formatType struct{ *format }

	// patternType keeps the source between the slashes and the expression that matches it against a
	// whole string.
	patternType struct {
		source string
		whole  *regexp.Regexp
	}

	// literalType admits one string, number or boolean.
	literalType struct{ value starlark.Value }

	listType struct {
		elem   typ
		limits limits
	}

	// mapType is {string: T}.
	mapType struct{ elem typ }

	// recordType has its members in declared order. rest is the type of undeclared keys, nil when
	// there may be none.
	recordType struct {
		members []*member
		index   map[string]*member
		rest    typ
	}

	// unionType has at least two branches, none of them a union or optional itself; names may stand
	// for some. leaves are its alternatives, set when all names are resolved.
	unionType struct{ branches, leaves []typ }

	// optionalType is T?: null is admitted, and as the type of a field it may be absent.
	optionalType struct{ inner typ }

	// refType is the use of a named type.
	refType struct{ *named }
)

// named is a definition: type name = target.
type named struct {
	name   string
	target typ
}

// A member is a field of a record.
type member struct {
	name      string
	key       starlark.Value // the name again, as dicts want it
	typ       typ
	optional  bool           // name?: may be absent, and stays so
	agentOnly bool           // @agent: hidden from people
	written   starlark.Value // the default as written; nil without one
	preset    starlark.Value // the default as the field's type made it; frozen
}

// required says whether a record without the field is refused.
func (m *member) required() bool {
	if m.optional || m.preset != nil {
		return false
	}
	_, optional := resolved(m.typ).(*optionalType)
	return !optional
}

// resolved follows names to what they stand for. Names that go round in a circle are refused when a
// contract is parsed.
func resolved(t typ) typ {
	for {
		ref, ok := t.(*refType)
		if !ok {
			return t
		}
		t = ref.target
	}
}

// alternatives are the types one of which a value of t has: the branches of unions, optionals (the
// inner type and null) and names, as far as they go. A name counts where it first stands; without
// that rule, names that use each other could make the list longer than any memory.
func alternatives(t typ) []typ { return alternativesOf(t, map[*named]bool{}) }

func alternativesOf(t typ, seen map[*named]bool) []typ {
	switch t := t.(type) {
	case *refType:
		if seen[t.named] {
			return nil
		}
		seen[t.named] = true
		return alternativesOf(t.target, seen)
	case *unionType:
		var all []typ
		for _, b := range t.branches {
			all = append(all, alternativesOf(b, seen)...)
		}
		return all
	case *optionalType:
		return append(alternativesOf(t.inner, seen), nullType{})
	}
	return []typ{t}
}

// admitsNull says whether null is a value of t.
func admitsNull(t typ) bool {
	for _, a := range alternatives(t) {
		switch a.(type) {
		case anyType, nullType:
			return true
		}
	}
	return false
}

// admitsString says whether some string is a value of t.
func admitsString(t typ) bool {
	for _, a := range alternatives(t) {
		switch a := a.(type) {
		case anyType, *stringType, *formatType, *patternType:
			return true
		case *literalType:
			if _, ok := a.value.(starlark.String); ok {
				return true
			}
		}
	}
	return false
}
