package infer

import (
	"math/big"
	"slices"
	"strconv"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/way"
)

// shaped is the type of values that a contract has checked. They are new values, made at the node.
func (a *analysis) shaped(s *contract.Shape, at syntax.Node, why string) Type {
	switch s.Form {
	case contract.Null:
		return noneOf(a.optionalNone(at, s, why))
	case contract.Bool:
		return anyBool
	case contract.Int:
		return of(atom{kind: integer, span: spanOf(s)})
	case contract.Number:
		return of(atom{kind: integer, span: spanOf(s)}, atom{kind: float, span: spanOf(s)})
	case contract.Text:
		if s.Low != nil || s.High != nil {
			return of(atom{kind: text, span: spanOf(s)})
		}
		return texts(s.Brief)
	case contract.Literal:
		return valueType(s.Value)
	case contract.Union:
		var t Type
		for _, e := range s.Either {
			t = join(t, a.shaped(e, at, why))
		}
		return t
	case contract.List, contract.Map, contract.Record:
		return a.shapedObject(s, at, why)
	}
	return unknown
}

func (a *analysis) optionalNone(at syntax.Node, s *contract.Shape, why string) *object {
	o := a.object(none, at, [2]any{s, why})
	o.why = why
	return o
}

// valueType is the type of a literal of a contract.
func valueType(v starlark.Value) Type {
	switch v := v.(type) {
	case starlark.String:
		return exactly(text, string(v))
	case starlark.Bool:
		return exactly(boolean, v.String())
	case starlark.Int:
		return exactly(integer, v.String())
	case starlark.Float:
		return join(anyFloat, anyInt)
	case starlark.NoneType:
		return noneType
	}
	return unknown
}

func (a *analysis) shapedObject(s *contract.Shape, at syntax.Node, why string) Type {
	k := dict
	if s.Form == contract.List {
		k = list
	}
	key := place{at, s}
	if o := a.objects[key]; o != nil {
		return made(o) // also within itself
	}
	o := a.object(k, at, s)
	o.shaped = s
	if _, main := at.(*syntax.DefStmt); main {
		o.made = false // an input: the run makes it
	}
	switch s.Form {
	case contract.List:
		a.put(o, a.shaped(s.Elem, at, why))
	case contract.Map:
		a.enter(o, anyText, a.shaped(s.Elem, at, why), at)
	default:
		for _, m := range s.Members {
			a.entry(o, m.Name, a.shaped(m.Type, at, "the contract says that "+m.Name+" may be missing"), !m.Absent, nil)
		}
		if s.Rest != nil {
			a.enter(o, anyText, a.shaped(s.Rest, at, why), at)
		}
	}
	return made(o)
}

// breach is how a value breaks a contract.
type breach struct {
	path, got, want string
	perhaps         bool // it does not break it where a list or a dict is empty, or on another way
	hint            string
	word            string      // the one of several texts that breaks it, in quotes
	node            syntax.Node // where it stands, nil if that is not known
	put             string      // the key by which it is put there on some way, "" where it is there from the beginning
}

// breaks finds how every value of a type breaks a contract, nil if some may not, unless the others
// are words that stand in the text and are none of those that the contract lists.
func (a *analysis) breaks(t Type, s *contract.Shape, path string, depth int) *breach {
	if !t.known() || depth == 0 {
		return nil
	}
	var first, word *breach
	fits, may := false, false
	for _, at := range t.atoms {
		b := a.atomBreaks(at, s, path, depth)
		if b == nil {
			fits = true
			continue
		}
		may = may || b.perhaps
		if word == nil && at.kind == text && at.exact && at.lit != "" && listsWords(s) {
			word = b
		}
		if first == nil {
			first = b
		}
	}
	if fits {
		first = word
	}
	if first == nil {
		return nil
	}
	first.perhaps = fits || may
	if first == word && fits && first.path == path {
		first.word = first.got
	} else if first.path == path && len(t.atoms) > 1 {
		first.got = t.String()
	}
	return first
}

// worse is the breach to tell of two: the first, unless the second alone is certain.
func worse(first, second *breach) *breach {
	if first == nil || second != nil && first.perhaps && !second.perhaps {
		return second
	}
	return first
}

// listsWords tells whether a type is one of a few texts.
func listsWords(s *contract.Shape) bool {
	return s.Form == contract.Union && !slices.ContainsFunc(s.Either, func(e *contract.Shape) bool {
		_, word := e.Value.(starlark.String)
		return !word && e.Form != contract.Null
	})
}

func (a *analysis) atomBreaks(at atom, s *contract.Shape, path string, depth int) *breach {
	wrong := &breach{path: path, got: of(at).String(), want: s.Brief}
	if at.kind == opaque || at.kind == module || at.kind == record && a.encoded {
		return nil
	}
	fits := false
	switch s.Form {
	case contract.Any:
		return nil
	case contract.Null:
		fits = at.kind == none
	case contract.Bool:
		fits = at.kind == boolean
	case contract.Int, contract.Number:
		fits = number(at) && exactlyFits(at, s) // 3.0 is an int
	case contract.Text:
		fits = at.kind == text && exactlyFits(at, s)
	case contract.Literal:
		fits = mayEqual(at, valueType(s.Value))
	case contract.Union:
		return a.eitherBreaks(at, s, wrong, path, depth)
	case contract.List:
		fits = at.kind == list || at.kind == tuple
		if fits {
			return a.itemsBreak(at, s, path, depth)
		}
	case contract.Map, contract.Record:
		fits = at.kind == dict
		if fits && s.Form == contract.Record && !at.obj.lent {
			return a.fieldsBreak(at.obj, s, path, depth)
		}
		if fits && s.Form == contract.Map {
			return a.valuesBreak(at, s, path, depth)
		}
	}
	if fits {
		return nil
	}
	if numeric := s.Form == contract.Int || s.Form == contract.Number; numeric && at.kind == text {
		wrong.hint = "int(s) is the number of a text"
		if at.exact && quotedNumber(at.lit) {
			wrong.hint = "write it without quotes"
		}
	}
	return wrong
}

func quotedNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// exactlyFits tells whether the one value that an atom is may be of a type, with its bounds and its
// form; of an atom that is not known so well it is true.
func exactlyFits(at atom, s *contract.Shape) bool {
	switch {
	case !at.exact:
		return true
	case at.kind == text:
		return s.Takes(starlark.String(at.lit))
	}
	n, ok := new(big.Int).SetString(at.lit, 10)
	return !ok || s.Takes(starlark.MakeBigInt(n))
}

func (a *analysis) eitherBreaks(at atom, s *contract.Shape, wrong *breach, path string, depth int) *breach {
	var only *breach
	deep := 0
	for _, e := range s.Either {
		b := a.atomBreaks(at, e, path, depth-1)
		if b == nil {
			return nil
		}
		wrong.perhaps = wrong.perhaps || b.perhaps
		if b.path != path {
			only = b
			deep++
		}
	}
	if deep == 1 {
		only.perhaps = wrong.perhaps
		return only
	}
	var words []string
	for _, e := range s.Either {
		if word, ok := e.Value.(starlark.String); ok {
			words = append(words, string(word))
		}
	}
	if at.exact && at.kind == text {
		wrong.hint = diagnostic.Meant(at.lit, words)
	}
	if len(words) == len(s.Either) {
		wrong.want = oneOf(words)
	}
	return wrong
}

// itemsBreak finds an element that is wrong, or that there are too many or too few.
func (a *analysis) itemsBreak(at atom, s *contract.Shape, path string, depth int) *breach {
	least, most := at.size()
	if n := spanOf(s); n.bound && (float64(most) < n.low || float64(least) > n.high) {
		return &breach{path: path, got: "a list of " + sizeOf(at), want: s.Brief}
	}
	if parts := at.obj.parts(); parts != nil {
		var worst *breach
		for i, t := range parts {
			worst = worse(worst, a.breaks(t, s.Elem, path+"["+itoa(i)+"]", depth-1))
		}
		return worst
	}
	return somewhere(a.breaks(at.obj.elements(), s.Elem, path+"[…]", depth-1), least)
}

// valuesBreak finds a value that is wrong in every dict of the object.
func (a *analysis) valuesBreak(at atom, s *contract.Shape, path string, depth int) *breach {
	least, _ := at.size()
	return somewhere(a.breaks(at.obj.values(), s.Elem, path+"[…]", depth-1), least)
}

// somewhere is a breach of elements of which there are so many at least.
func somewhere(b *breach, least int) *breach {
	if b != nil && least == 0 {
		b.perhaps = true
	}
	return b
}

// fieldsBreak finds a field that is too many, missing, or wrong in every dict of the object.
func (a *analysis) fieldsBreak(o *object, s *contract.Shape, path string, depth int) *breach {
	if b := a.undeclared(o, s, path); b != nil {
		return b
	}
	var worst *breach
	for _, m := range s.Members {
		f := o.fields[m.Name]
		switch {
		case f == nil && m.Required && !o.textKeys():
			worst = worse(worst, &breach{path: path, got: "no " + m.Name, want: m.Type.Brief})
		case f != nil && (f.must || a.putBefore(o, f)) && !o.loses && !o.textKeys():
			b := a.breaks(f.typ, m.Type, path+"."+m.Name, depth-1)
			if b != nil && b.node == nil {
				b.node = f.at
			}
			if b != nil && !f.must {
				b.perhaps, b.put = true, m.Name
			}
			worst = worse(worst, b)
		}
	}
	return worst
}

// undeclared finds a field that a contract does not have.
func (a *analysis) undeclared(o *object, s *contract.Shape, path string) *breach {
	if s.Rest != nil || o.loses {
		return nil
	}
	var names, free []string
	for _, m := range s.Members {
		names = append(names, m.Name)
		if o.fields[m.Name] == nil {
			free = append(free, m.Name)
		}
	}
	for _, k := range o.order {
		f := o.fields[k]
		if slices.Contains(names, k) || !f.must && !a.putBefore(o, f) {
			continue
		}
		b := &breach{path: path + "." + k, got: "a field that the contract does not have", want: oneOf(names), node: f.at, hint: diagnostic.Meant(k, free)}
		if entry, ok := f.at.(*syntax.DictEntry); ok {
			b.node = entry.Key
		}
		if index, ok := f.at.(*syntax.IndexExpr); ok {
			b.node = index.Y
		}
		if !f.must {
			b.perhaps, b.put = true, k
		}
		return b
	}
	return nil
}

// putBefore tells whether a key may have been put into a dict when it is held against a contract:
// above in the same function, or by the function that makes the dict and gives it back.
func (a *analysis) putBefore(o *object, f *field) bool {
	if f.must || !f.put || o.lent || a.holding == nil || a.fn == nil {
		return false
	}
	if o.home == a.fn.region {
		return way.Follows(a.fn.decl.Body, way.Start(f.at), way.Start(a.holding))
	}
	for _, maker := range a.calls {
		if maker.region == o.home && maker.file == o.file {
			return way.Holds(maker.node, way.Start(f.at)) && maker.result.holds(&atom{kind: dict, obj: o})
		}
	}
	return false
}
