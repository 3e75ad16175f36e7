package check

import (
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/doc"
	"starling/lang/effect"
	"starling/lang/way"
)

// signature is what may be passed to a callable.
type signature struct {
	name   string // as messages show it
	text   string // how the call is written, for the hint
	params []effect.Param
	result string // type of what a call gives, "" if that is not known
	effect bool   // the parameters are those of a builtin that is an effect
}

func (s *signature) hint() string { return "the signature is " + s.text }

// signature finds what a call may pass, nil if that is not known.
func (c *checker) signature(fn syntax.Expr) *signature {
	if name, value := c.builtin(fn); value != nil {
		return builtinSignature(name, value)
	}
	if dot, ok := way.Unparen(fn).(*syntax.DotExpr); ok {
		return c.method(dot)
	}
	s, ok := c.names.only(fn)
	if !ok {
		return nil
	}
	def := s.def
	if s.kind == loaded {
		def = c.exported(s)
	}
	if def == nil {
		return nil
	}
	b := doc.Def(def)
	return &signature{name: b.FullName, text: b.Signature(), params: b.Params}
}

// method finds what a call of a method may pass, nil if the type of the value is not known.
func (c *checker) method(dot *syntax.DotExpr) *signature {
	v := c.sample(dot.X)
	if v == nil {
		return nil
	}
	return builtinSignature(v.Type()+"."+dot.Name.Name, nil)
}

// exported is the definition of a loaded function, nil unless it is one for certain.
func (c *checker) exported(s site) *syntax.DefStmt {
	other := c.index[c.file.Loads[s.load.ModuleName()]]
	if other == nil {
		return nil
	}
	var def *syntax.DefStmt
	for _, v := range other.order {
		if sites := other.sites[v]; v.Name == s.from && scope(v) == resolve.Global && len(sites) == 1 {
			def = sites[0].def
		}
	}
	return def
}

// builtinSignature knows every builtin but the members of go.starlark.net's own modules, which
// declare nothing.
func builtinSignature(name string, value starlark.Value) *signature {
	b, ok := value.(*effect.Builtin)
	if !ok {
		b = doc.Declared(name)
	}
	if b == nil {
		return nil
	}
	result, _, _ := strings.Cut(b.Result, "[")
	return &signature{name: name, text: b.Signature(), params: b.Params, result: result, effect: b.Class != effect.Pure}
}
