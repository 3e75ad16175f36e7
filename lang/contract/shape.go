package contract

import (
	"go.starlark.net/starlark"
)

// A Form is what kind of type a Shape is.
type Form uint8

// The forms. Texts with a form of their own, and those that match a pattern, are Text.
const (
	Any Form = iota
	Null
	Bool
	Int
	Number
	Text
	Literal
	List
	Map
	Record
	Union
)

// A Shape is the structure of a type, for those who reason about values that they do not have yet.
// Shapes of recursive types refer to themselves; one node of a contract always gives the same
// Shape within one call of [Contract.Shape].
type Shape struct {
	Form    Form
	Value   starlark.Value // of a Literal
	Elem    *Shape         // of a List or a Map
	Members []Member       // of a Record, in declared order
	Rest    *Shape         // of a Record: what undeclared keys hold, nil where there may be none
	Either  []*Shape       // of a Union: its alternatives
	Brief   string         // the type as it is written

	// The bounds, both inclusive, of an Int or Number, and of the length of a Text or List; nil
	// where there is none.
	Low, High starlark.Value

	checks typ
}

// Takes tells whether a value is one of the type.
func (s *Shape) Takes(v starlark.Value) bool {
	_, bad := s.checks.check(newChecker(Validate, Agents), v)
	return bad.none()
}

// A Member is a field of a record.
type Member struct {
	Name     string
	Type     *Shape
	Required bool // the record is refused without it
	Absent   bool // name?: it may be missing from what was checked
}

// Shape is the structure of the contract.
func (c *Contract) Shape() *Shape {
	s := shaper{}
	return s.shape(c.root)
}

// shaper remembers what it has made, so that recursive types end.
type shaper map[typ]*Shape

func (s shaper) shape(t typ) *Shape {
	t = resolved(t)
	if known := s[t]; known != nil {
		return known
	}
	made := &Shape{Brief: brief(t), checks: t}
	s[t] = made
	switch t := t.(type) {
	case nullType:
		made.Form = Null
	case boolType:
		made.Form = Bool
	case *numberType:
		made.Form = Number
		if t.whole {
			made.Form = Int
		}
		made.Low, made.High = t.limits.low, t.limits.high
	case *stringType:
		made.Form, made.Low, made.High = Text, t.limits.low, t.limits.high
	case *formatType, *patternType:
		made.Form = Text
	case *literalType:
		made.Form, made.Value = Literal, t.value
	case *listType:
		made.Form, made.Elem = List, s.shape(t.elem)
		made.Low, made.High = t.limits.low, t.limits.high
	case *mapType:
		made.Form, made.Elem = Map, s.shape(t.elem)
	case *recordType:
		s.record(made, t)
	case *unionType:
		made.Form = Union
		for _, b := range t.branches {
			made.Either = append(made.Either, s.shape(b))
		}
	case *optionalType:
		made.Form, made.Either = Union, []*Shape{s.shape(t.inner), s.shape(nullType{})}
	}
	return made
}

func (s shaper) record(made *Shape, t *recordType) {
	made.Form = Record
	for _, m := range t.members {
		made.Members = append(made.Members, Member{Name: m.name, Type: s.shape(m.typ), Required: m.required(), Absent: m.optional})
	}
	if t.rest != nil {
		made.Rest = s.shape(t.rest)
	}
}
