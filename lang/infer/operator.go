package infer

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/effect"
	"starling/lang/way"
)

// What operators take is not written down here: the operators of the machine are asked, with a few
// values of each kind. A pair of kinds fails for certain when every pair of their values does.

// pairing is an operator between two kinds.
type pairing struct {
	op   syntax.Token
	x, y kind
}

// verdict is what an operator gives, nothing where it always fails.
type verdict []kind

// samples are values of a kind that operators may like.
func samples(k kind) []starlark.Value {
	switch k {
	case none:
		return []starlark.Value{starlark.None}
	case boolean:
		return []starlark.Value{starlark.True, starlark.False}
	case integer:
		return []starlark.Value{starlark.MakeInt(1), starlark.MakeInt(3)}
	case float:
		return []starlark.Value{starlark.Float(1.5)}
	case text:
		return []starlark.Value{starlark.String("%s"), starlark.String("")}
	case octets:
		return []starlark.Value{starlark.Bytes("a")}
	case list:
		return []starlark.Value{starlark.NewList(nil)}
	case dict:
		return []starlark.Value{new(starlark.Dict)}
	case set:
		return []starlark.Value{new(starlark.Set)}
	case tuple:
		return []starlark.Value{starlark.Tuple{}, starlark.Tuple{starlark.None}}
	case function, builtin, method:
		return []starlark.Value{starlark.Universe["len"]}
	case record:
		return []starlark.Value{effect.NewRecord(effect.OutcomeType, nil, nil, nil, nil)}
	}
	return nil
}

// operated is what x OP y can be for two kinds.
func (a *analysis) operated(op syntax.Token, x, y kind) verdict {
	p := pairing{op, x, y}
	if v, known := a.verdicts[p]; known {
		return v
	}
	v := verdict{}
	xs, ys := samples(x), samples(y)
	if xs == nil || ys == nil {
		v = nil // not known
	}
	for _, l := range xs {
		for _, r := range ys {
			if k, ok := operate(op, l, r); ok && !v.includes(k) {
				v = append(v, k)
			}
		}
	}
	a.verdicts[p] = v
	return v
}

func (v verdict) includes(k kind) bool {
	for _, w := range v {
		if w == k {
			return true
		}
	}
	return false
}

func operate(op syntax.Token, x, y starlark.Value) (kind, bool) {
	switch op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		_, err := starlark.Compare(op, x, y)
		return boolean, err == nil
	}
	v, err := starlark.Binary(op, x, y)
	if err != nil {
		return none, false
	}
	k, ok := kindOf(v)
	return k, ok
}

func kindOf(v starlark.Value) (kind, bool) {
	switch v.(type) {
	case starlark.NoneType:
		return none, true
	case starlark.Bool:
		return boolean, true
	case starlark.Int:
		return integer, true
	case starlark.Float:
		return float, true
	case starlark.String:
		return text, true
	case starlark.Bytes:
		return octets, true
	case *starlark.List:
		return list, true
	case *starlark.Dict:
		return dict, true
	case *starlark.Set:
		return set, true
	case starlark.Tuple:
		return tuple, true
	}
	return none, false
}

func (a *analysis) binaryExpr(e *syntax.BinaryExpr, w *flow) Type {
	switch e.Op {
	case syntax.AND, syntax.OR:
		return a.logical(e, w)
	}
	x := a.expr(e.X, w)
	y := a.expr(e.Y, w)
	t := a.binary(e, e.Op, x, y)
	a.comparison(e, x, y)
	a.compared(e, w)
	switch e.Op {
	case syntax.PLUS, syntax.MINUS, syntax.SLASH, syntax.SLASHSLASH, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		a.untypedInput(e.X, y)
		a.untypedInput(e.Y, x)
	}
	return t
}

// logical is x and y, x or y: the value of one of them. The truth of the last one is not asked for.
func (a *analysis) logical(e *syntax.BinaryExpr, w *flow) Type {
	_, a.falling = way.Unparen(e.Y).(*syntax.Literal)
	a.falling = a.falling && e.Op == syntax.OR
	x, yes, no := a.decide(e.X, w)
	a.falling = false
	if a.saying {
		a.written(e, e.Y)
	}
	if e.Op == syntax.AND {
		a.look(e.Y, yes)
		return join(x.falsy(), a.reached(e.Y, yes))
	}
	return join(x.truthy(), a.reached(e.Y, no))
}

// binary is x OP y.
func (a *analysis) binary(e syntax.Node, op syntax.Token, x, y Type) Type {
	t := Type{any: x.any || y.any}
	fits := t.any || x.empty() || y.empty()
	partly := t.any
	for _, p := range x.atoms {
		for _, q := range y.atoms {
			if p.secret() || q.secret() && (op != syntax.PERCENT || p.kind == text) {
				continue // nothing is made of a secret
			}
			v := a.operated(op, p.kind, q.kind)
			if v == nil {
				t, fits = join(t, unknown), true
			}
			partly = partly || v != nil && len(v) == 0
			for _, k := range v {
				t, fits = join(t, a.computed(e, op, k, p, q)), true
			}
		}
	}
	if t.any && !comparing(op) && a.hopeless(op, x, y) {
		fits = false
	}
	if t.any && comparing(op) {
		t = anyBool
	}
	if !fits {
		a.cannotOperate(e, op, x, y)
	} else if op == syntax.PERCENT {
		a.formats(e, x, y)
	} else if (!partly || !a.oneOperand(e, op, x, y)) && (x.has(none) || y.has(none)) {
		a.perhapsOperands(e, op, x, y)
	}
	if t.any {
		a.shared(x, y)
		t = a.mixed(e, op, t, x, y)
	}
	return t
}

// secret tells whether an atom is a secret.
func (a atom) secret() bool { return a.kind == opaque && a.lit == "secret" }

// hopeless tells whether an operator fails whatever the operand is that is not known.
func (a *analysis) hopeless(op syntax.Token, x, y Type) bool {
	known, left := x, true
	if x.any {
		known, left = y, false
	}
	if !known.known() {
		return false
	}
	for _, p := range known.atoms {
		for _, k := range []kind{none, boolean, integer, float, text, octets, list, dict, set, tuple, function, record} {
			v := a.operated(op, k, p.kind)
			if left {
				v = a.operated(op, p.kind, k)
			}
			if v == nil || len(v) > 0 {
				return false
			}
		}
	}
	return true
}

func comparing(op syntax.Token) bool {
	switch op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE, syntax.IN, syntax.NOT_IN:
		return true
	}
	return false
}

// shared: what a list is made of when the other operand is not known stays what it is, and is not
// followed further.
func (a *analysis) shared(x, y Type) {
	for _, t := range []Type{x, y} {
		for _, at := range t.atoms {
			if at.obj != nil {
				a.lend(at.obj.elements())
				a.lend(at.obj.values())
			}
		}
	}
}

// mixed is the type where one operand is not known.
func (a *analysis) mixed(_ syntax.Node, op syntax.Token, t, x, y Type) Type {
	if op == syntax.PERCENT && !x.any && x.known() && onlyKind(x, text) {
		return anyText
	}
	return join(t, unknown)
}

func onlyKind(t Type, k kind) bool {
	for _, at := range t.atoms {
		if at.kind != k {
			return false
		}
	}
	return t.known()
}

// computed is what an operator makes of two atoms, of a kind that it can give.
func (a *analysis) computed(e syntax.Node, op syntax.Token, k kind, p, q atom) Type {
	switch k {
	case boolean:
		return anyBool
	case list, set, dict:
		o := a.object(k, e, [2]any{"op", k})
		for _, at := range []atom{p, q} {
			if at.obj == nil {
				continue
			}
			if k == dict {
				a.absorb(o, at.obj, e)
			} else {
				a.put(o, at.obj.elements())
			}
		}
		return made(o)
	case tuple:
		return a.longer(e, op, p, q)
	}
	return of(atom{kind: k})
}

// longer is the tuple that + and * make.
func (a *analysis) longer(e syntax.Node, op syntax.Token, p, q atom) Type {
	o := a.object(tuple, e, "op")
	for _, at := range []atom{p, q} {
		if at.kind == tuple {
			a.put(o, at.obj.elements())
		}
	}
	return made(o)
}

// absorb puts all entries of one dict into another.
func (a *analysis) absorb(o, from *object, at syntax.Node) {
	for _, k := range from.order {
		a.entry(o, k, from.fields[k].typ, false, at)
	}
	if !from.key.empty() || from.lent {
		key, value := from.key, from.elem
		if from.lent {
			key, value = join(key, unknown), join(value, unknown)
		}
		a.enter(o, key.loose(), value, at)
	}
}

// augmented is what x OP= y gives. A list and a dict are changed in place.
func (a *analysis) augmented(s *syntax.AssignStmt, x, y Type, w *flow) Type {
	op := s.Op - syntax.PLUS_EQ + syntax.PLUS
	w.forget(indexed)
	var rest, t Type
	for _, at := range x.atoms {
		switch {
		case at.kind == list && op == syntax.PLUS:
			elem, ok := Type{any: y.any}, y.any || y.empty()
			for _, u := range y.atoms {
				got, fits := u.through()
				elem, ok = join(elem, got), ok || fits
			}
			a.put(at.obj, elem)
			a.set(&at.obj.gains)
			if y.any {
				a.put(at.obj, unknown)
			}
			if ok {
				t = join(t, of(at))
			} else {
				rest = join(rest, of(at))
			}
		case at.kind == dict && op == syntax.PIPE && (y.any || y.has(dict)):
			a.absorbAll(at.obj, y, s)
			t = join(t, of(at))
		default:
			rest = join(rest, of(at))
		}
	}
	if !t.empty() {
		a.changes(s, t, op.String()+"=")
	}
	if rest.empty() && !x.any {
		return t
	}
	rest.any = x.any
	if !t.empty() { // it may be all right
		defer func(saying bool) { a.saying = saying }(a.saying)
		a.saying = false
	}
	return join(t, a.binary(s, op, rest, y))
}

// absorbAll puts the entries of every dict of a type into a dict.
func (a *analysis) absorbAll(o *object, t Type, at syntax.Node) {
	for _, u := range t.atoms {
		if u.kind == dict {
			a.absorb(o, u.obj, at)
		}
	}
	if t.any {
		a.enter(o, unknown, unknown, at)
	}
}

func (a *analysis) unary(e *syntax.UnaryExpr, w *flow) Type {
	if e.X == nil {
		return unknown
	}
	if e.Op == syntax.NOT {
		t, _, _ := a.decide(e, w)
		return t
	}
	x := a.expr(e.X, w)
	if e.Op != syntax.MINUS && e.Op != syntax.PLUS && e.Op != syntax.TILDE {
		return unknown // * and ** of a call
	}
	t, fits := Type{any: x.any}, x.any || x.empty()
	for _, at := range x.atoms {
		switch {
		case at.kind == integer && e.Op == syntax.MINUS && at.exact && at.lit[0] != '-' && at.lit != "0":
			at.lit = "-" + at.lit
			t, fits = join(t, of(at)), true
		case at.kind == integer, at.kind == float && e.Op != syntax.TILDE:
			t, fits = join(t, of(atom{kind: at.kind})), true
		case at.kind == opaque, at.kind == module, at.kind == set:
			t, fits = join(t, unknown), true
		}
	}
	if !fits {
		a.cannotNegate(e, x)
	}
	return t
}
