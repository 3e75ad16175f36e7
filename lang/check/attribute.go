package check

import (
	"cmp"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// attribute refuses names that a predeclared module does not have, nor a value whose type the text
// shows.
func (c *checker) attribute(dot *syntax.DotExpr) {
	what, has := "", []string(nil)
	if base, ok := way.Predeclared(dot.X); ok {
		v, _ := c.env.Lookup(base)
		module, ok := v.(*starlarkstruct.Module)
		if !ok {
			return
		}
		what, has = base, module.Members.Keys()
	} else if v := c.sample(dot.X); v != nil && c.broken { // else its type is inferred
		what, has = v.Type(), v.AttrNames()
	}
	if what == "" || contains(has, dot.Name.Name) {
		return
	}
	c.at("unknown_attribute", dot.Name, diagnostic.Diagnostic{
		Message: what + " has no ." + dot.Name.Name,
		Hint:    cmp.Or(diagnostic.Meant(dot.Name.Name, has), attributesOf(what, has)),
	})
}

// manyAttributes is how many names a hint does not list any more.
const manyAttributes = 12

// attributesOf says which attributes there are, or where that is written.
func attributesOf(what string, has []string) string {
	if len(has) > manyAttributes {
		return "starling doc " + what + " says what it has"
	}
	return "it has " + strings.Join(has, ", ")
}

// sample is a value with the attributes that the value of an expression will have, nil if the text
// does not show its type: it is a literal, a call of a builtin that says what it gives, or a
// variable that has no other value.
func (c *checker) sample(e syntax.Expr) starlark.HasAttrs {
	if s, ok := c.names.only(e); ok && s.kind == assigned && s.value != nil {
		if c.sampled[s.value] {
			return nil // it is made of itself: x = x.strip()
		}
		c.sampled[s.value] = true
		defer delete(c.sampled, s.value)
		e = s.value
	}
	if call, ok := way.Unparen(e).(*syntax.CallExpr); ok {
		return c.result(call)
	}
	return sampleOf(typeOf(e))
}

// result is a sample of what a call gives, if what is called says so. A call that asks for a handle
// gives something else.
func (c *checker) result(call *syntax.CallExpr) starlark.HasAttrs {
	args := argumentsOf(call)
	if sig := c.signature(call.Fn); sig != nil && !args.starStar && args.byName("wait") == nil {
		return sampleOf(sig.result)
	}
	return nil
}

// sampleOf is a value of a type, nil if the type is not one whose attributes are known.
func sampleOf(typ string) starlark.HasAttrs {
	switch typ {
	case "string":
		return starlark.String("")
	case "bytes":
		return starlark.Bytes("")
	case "list":
		return new(starlark.List)
	case "dict":
		return new(starlark.Dict)
	case "set":
		return new(starlark.Set)
	}
	if t := effect.TypeNamed(typ); t != nil {
		return effect.NewRecord(t, make([]starlark.Value, len(t.Fields))...)
	}
	return nil
}
