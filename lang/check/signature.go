package check

import (
	"cmp"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/effect"
)

// signature is what may be passed to a callable.
type signature struct {
	name       string // as messages show it
	text       string // how the call is written, for the hint
	params     []effect.Param
	positional bool // parameters cannot be passed by name
	effect     bool // the parameters are those of a builtin that is an effect
}

func (s *signature) hint() string { return "the signature is " + s.text }

// signature finds what a call may pass, nil if that is not known.
func (c *checker) signature(fn syntax.Expr) *signature {
	if name, value := c.builtin(fn); value != nil {
		return builtinSignature(name, value)
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
	return defSignature(def)
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

// builtinSignature knows every builtin but the members of go.starlark.net's own modules, which declare nothing.
func builtinSignature(name string, value starlark.Value) *signature {
	if b, ok := value.(*effect.Builtin); ok {
		return &signature{name: name, text: b.Signature(), params: b.Params, effect: b.Class != effect.Pure}
	}
	return cmp.Or(native(name), universal(name))
}

// defSignature reads a def.
func defSignature(def *syntax.DefStmt) *signature {
	s := &signature{name: def.Name.Name}
	star := false
	texts := make([]string, len(def.Params))
	for i, p := range def.Params {
		q, text := defParam(p)
		texts[i] = text
		q.KeywordOnly = star && !q.Keywords
		star = star || strings.HasPrefix(text, "*")
		if q.Name != "" {
			s.params = append(s.params, q)
		}
	}
	s.text = s.name + "(" + strings.Join(texts, ", ") + ")"
	return s
}

// defParam is one parameter of a def, and how it is written. A bare * has no name.
func defParam(p syntax.Expr) (q effect.Param, text string) {
	switch p := p.(type) {
	case *syntax.Ident:
		return effect.Param{Name: p.Name}, p.Name
	case *syntax.BinaryExpr:
		name := p.X.(*syntax.Ident).Name
		return effect.Param{Name: name, Default: "…"}, name + " = …"
	}
	star := p.(*syntax.UnaryExpr)
	if star.X == nil {
		return effect.Param{}, "*"
	}
	name := star.X.(*syntax.Ident).Name
	return effect.Param{Name: name, Variadic: star.Op == syntax.STAR, Keywords: star.Op == syntax.STARSTAR}, star.Op.String() + name
}

// native gives the parameters of the machine's own functions, which are part of the language and not of the environment.
func native(name string) *signature {
	optional := func(names ...string) (list []effect.Param) {
		for _, n := range names {
			list = append(list, effect.Param{Name: n, Default: "None", KeywordOnly: true})
		}
		return list
	}
	switch name {
	case "parallel":
		return named(name, `parallel(branches, over = None, *, limit, wait = "all", on_error = "cancel", isolation, on_conflict = "gate")`,
			append([]effect.Param{{Name: "branches"}, {Name: "over", Default: "None"}}, optional("limit", "wait", "on_error", "isolation", "on_conflict")...)...)
	case "attempt":
		return named(name, "attempt(fn, *args, **kwargs)",
			effect.Param{Name: "fn"}, effect.Param{Name: "args", Variadic: true}, effect.Param{Name: "kwargs", Keywords: true})
	case "budget":
		return named(name, `budget(fn, *, usd, tokens, calls, on_reached = "fail")`,
			append([]effect.Param{{Name: "fn"}}, optional("usd", "tokens", "calls", "on_reached")...)...)
	case "forever":
		return named(name, "forever()")
	}
	return nil
}

// universal gives the parameters of the builtins of go.starlark.net, which are not declared as data there. A test compares this table with
// what they accept.
func universal(name string) *signature {
	switch name {
	case "abs", "all", "any", "bytes", "chr", "dir", "hash", "len", "ord", "repr", "reversed", "str", "type":
		return positional(name, 1, "x")
	case "bool", "float", "list", "set", "tuple":
		return positional(name, 0, "x")
	case "enumerate":
		return positional(name, 1, "x", "start")
	case "getattr":
		return positional(name, 2, "x", "name", "default")
	case "hasattr":
		return positional(name, 2, "x", "name")
	case "range":
		return positional(name, 1, "start_or_stop", "stop", "step")
	case "zip":
		return named(name, "zip(*args)", effect.Param{Name: "args", Variadic: true})
	case "dict":
		s := named(name, "dict(x, **kwargs)", effect.Param{Name: "x", Default: "[]"}, effect.Param{Name: "kwargs", Keywords: true})
		s.positional = true
		return s
	case "int":
		return named(name, "int(x, base = 10)", effect.Param{Name: "x"}, effect.Param{Name: "base", Default: "10"})
	case "sorted":
		return named(name, "sorted(iterable, key = None, reverse = False)",
			effect.Param{Name: "iterable"}, effect.Param{Name: "key", Default: "None"}, effect.Param{Name: "reverse", Default: "False"})
	case "max", "min":
		return named(name, name+"(*args, key = None)", // the first of args must be there; its name here is none that a call could use
			effect.Param{Name: "a value"}, effect.Param{Name: "args", Variadic: true}, effect.Param{Name: "key", Default: "None", KeywordOnly: true})
	case "fail", "print":
		return named(name, name+`(*args, sep = " ")`,
			effect.Param{Name: "args", Variadic: true}, effect.Param{Name: "sep", Default: `" "`, KeywordOnly: true})
	}
	return nil
}

// positional is a signature of which the first required parameters must be passed, all of them without names.
func positional(name string, required int, params ...string) *signature {
	s := &signature{name: name, positional: true}
	text := name + "("
	for i, p := range params {
		q := effect.Param{Name: p}
		if i > 0 {
			text += ", "
		}
		text += p
		if i >= required {
			q.Default = "None"
			text += " = …"
		}
		s.params = append(s.params, q)
	}
	s.text = text + ")"
	return s
}

func named(name, text string, params ...effect.Param) *signature {
	return &signature{name: name, text: text, params: params}
}
