package compile

import (
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/way"
)

// Methods are the well-known method names. A Method instruction carries the index of its name in X,
// so that the machine can keep a table of direct implementations; 0 is every other name.
var Methods = [...]string{
	"", "append", "clear", "elems", "endswith", "extend", "find", "format", "get", "index", "insert", "items", "join", "keys", "lower", "lstrip", "pop",
	"remove", "replace", "rstrip", "setdefault", "split", "startswith", "strip", "upper", "update", "values",
}

func methodNumber(name string) uint8 {
	for i, m := range Methods {
		if i > 0 && m == name {
			return uint8(i)
		}
	}
	return 0
}

// arguments are those of a call, sorted by how they are evaluated: positional, named, *args,
// **kwargs.
type arguments struct {
	positional     []syntax.Expr
	names          []string
	named          []syntax.Expr
	star, starStar syntax.Expr
}

func sortArguments(call *syntax.CallExpr) arguments {
	var args arguments
	for _, arg := range call.Args {
		switch arg := arg.(type) {
		case *syntax.BinaryExpr:
			if arg.Op == syntax.EQ {
				args.names = append(args.names, arg.X.(*syntax.Ident).Name)
				args.named = append(args.named, arg.Y)
				continue
			}
		case *syntax.UnaryExpr:
			if arg.Op == syntax.STAR {
				args.star = arg.X
				continue
			}
			if arg.Op == syntax.STARSTAR {
				args.starStar = arg.X
				continue
			}
		}
		args.positional = append(args.positional, arg)
	}
	return args
}

// values lists the arguments in order of evaluation.
func (a *arguments) values() []syntax.Expr {
	values := append(append([]syntax.Expr(nil), a.positional...), a.named...)
	if a.star != nil {
		values = append(values, a.star)
	}
	if a.starStar != nil {
		values = append(values, a.starStar)
	}
	return values
}

// call compiles a call. The function and its arguments go to adjacent temporaries, where the
// callee's window will begin.
func (c *functionCompiler) call(e *syntax.CallExpr, dst int) {
	args := sortArguments(e)
	values := args.values()
	if dot, ok := way.Unparen(e.Fn).(*syntax.DotExpr); ok && len(values) == len(args.positional) {
		c.methodCall(e, dot, values, dst)
		return
	}
	base := c.push(e.Fn)
	in := Instr{Op: Call, X: uint8(len(args.positional)), A: uint16(dst), B: base}
	if len(values) > len(args.positional) {
		in.Op = CallNamed
		in.C = c.shape(e, Shape{Names: args.names, Star: args.star != nil, StarStar: args.starStar != nil})
	}
	if args.star != nil || args.starStar != nil {
		in.Op = CallSpread
	}
	c.pushAll(values)
	c.at(e.Lparen)
	c.site(c.emit(in), false, e.Lparen)
}

// methodCall compiles x.name(...): the method is looked up before the arguments are evaluated, but
// need not become a value.
func (c *functionCompiler) methodCall(e *syntax.CallExpr, dot *syntax.DotExpr, values []syntax.Expr, dst int) {
	base := c.temp()
	x, ok := c.inPlace(dot.X)
	if !ok {
		c.into(dot.X, base)
		x = uint16(base)
	}
	name := c.name16(dot.Dot, dot.Name.Name)
	c.temp() // the receiver
	c.at(dot.Dot)
	c.emit(Instr{Op: Method, X: methodNumber(dot.Name.Name), A: uint16(base), B: x, C: name})
	c.pushAll(values)
	c.at(e.Lparen)
	in := Instr{Op: CallMethod, X: uint8(len(values)), A: uint16(dst), B: uint16(base)}
	c.site(c.emit(in), false, e.Lparen)
}

// pushAll evaluates expressions into adjacent temporaries and returns the first.
func (c *functionCompiler) pushAll(values []syntax.Expr) int {
	first := c.top
	for _, v := range values {
		c.push(v)
	}
	return first
}

// shape returns the index of a call shape, which calls alike share.
func (c *functionCompiler) shape(e *syntax.CallExpr, s Shape) uint16 {
	key := strings.Join(s.Names, " ") + "/" + string([]byte{flag(s.Star), flag(s.StarStar)})
	i, ok := c.shapes[key]
	if !ok {
		i = len(c.f.Shapes)
		c.shapes[key] = i
		c.f.Shapes = append(c.f.Shapes, s)
	}
	if i > 0xffff {
		c.m.errorf(e.Lparen, "too many different calls with named arguments in one function: the limit is 65,536; split it")
	}
	return uint16(i)
}

func flag(b bool) byte {
	if b {
		return '1'
	}
	return '0'
}

// funcInto compiles a def or lambda: its defaults are evaluated here and now, and the cells of its
// free variables captured.
func (c *functionCompiler) funcInto(fn *resolve.Function, dst int) {
	mark := c.top
	c.at(fn.Pos)
	first := c.top
	c.defaults(fn)
	for _, free := range fn.FreeVars {
		t := uint16(c.temp())
		c.mark()
		if free.Scope == resolve.Free {
			c.emit(Instr{Op: Free, A: t, B: uint16(free.Index)})
		} else {
			c.emit(Instr{Op: Move, A: t, B: uint16(free.Index)}) // the cell itself
		}
	}
	ordinal := c.m.function(fn, c)
	if ordinal > 0xffff {
		c.m.errorf(fn.Pos, "too many functions in one file: the limit is 65,536")
	}
	c.emit(Instr{Op: Func, A: uint16(dst), B: uint16(first), C: uint16(ordinal)})
	c.top = mark
}

// defaults evaluates the defaults of a function; a mandatory keyword-only parameter gets a register
// that is left unset.
func (c *functionCompiler) defaults(fn *resolve.Function) {
	star := false
	for _, p := range fn.Params {
		switch p := p.(type) {
		case *syntax.BinaryExpr:
			c.push(p.Y)
		case *syntax.UnaryExpr:
			star = true
		case *syntax.Ident:
			if star {
				c.mark()
				c.emit(Instr{Op: Unset, A: uint16(c.temp())})
			}
		}
	}
}
