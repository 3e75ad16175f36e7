package check

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// literals checks the arguments of a builtin that stand literally in the text: their type, and for
// strings what the parameter admits.
func (c *checker) literals(sig *signature, bound map[string]syntax.Expr) {
	for _, p := range sig.params {
		arg := bound[p.Name]
		if arg == nil || p.Variadic || p.Keywords {
			continue
		}
		got := typeOf(arg)
		if got == "" || got == "NoneType" && p.Default != "" {
			continue
		}
		if !admits(p.Type, got) {
			c.at("bad_type", arg, diagnostic.Diagnostic{
				Message: sig.name + ": for parameter " + p.Name,
				Got:     got,
				Want:    strings.ReplaceAll(p.Type, "|", " or "),
				Hint:    typeHint(p, arg),
			})
			continue
		}
		if s, ok := text(arg); ok {
			c.text(sig, p, arg, s)
		}
		if n, ok := number(arg); ok && got == "int" && !p.Counts(n) {
			c.at("bad_range", arg, diagnostic.Diagnostic{Message: sig.name + ": for parameter " + p.Name, Got: strconv.FormatInt(n, 10), Want: p.Range()})
		}
	}
}

// number is the value of a literal int with or without a sign, as far as 64 bits hold it.
func number(e syntax.Expr) (int64, bool) {
	switch e := unparen(e).(type) {
	case *syntax.Literal:
		n, ok := e.Value.(int64)
		return n, ok
	case *syntax.UnaryExpr:
		if n, ok := number(e.X); ok && e.Op == syntax.MINUS {
			return -n, true
		}
	}
	return 0, false
}

// typeHint is how an argument of another type can be written.
func typeHint(p effect.Param, arg syntax.Expr) string {
	l, ok := unparen(arg).(*syntax.Literal)
	switch {
	case p.Type == "contract" && ok:
		return "write contract(" + l.Raw + ")"
	case p.Type == "contract":
		return `a contract is a text, such as contract("{name: string, tags: [string]}")`
	case p.Type == "duration" && ok:
		return withUnit(l.Raw)
	case p.Type == "duration":
		return `a duration is a text with a unit, such as "90s" or "2h"`
	}
	return ""
}

// text checks a literal string argument.
func (c *checker) text(sig *signature, p effect.Param, arg syntax.Expr, s string) {
	d := diagnostic.Diagnostic{Message: sig.name + ": for parameter " + p.Name, Got: fmt.Sprintf("%q", s)}
	switch {
	case len(p.OneOf) > 0 && !slices.Contains(p.OneOf, s):
		d.Want = "one of " + strings.Join(p.OneOf, ", ")
		d.Hint = diagnostic.DidYouMean(s, p.OneOf)
		c.at("bad_choice", arg, d)
	case p.Type == "duration":
		c.duration(sig, p, arg, s)
	case sig.effect && p.Name == "name":
		if err := effect.CheckName(s); err != nil {
			c.at("bad_name", arg, diagnostic.Diagnostic{Message: d.Message + ": " + err.Error()})
		}
	}
}

// text is the value of a literal string.
func text(e syntax.Expr) (string, bool) {
	l, ok := unparen(e).(*syntax.Literal)
	if !ok || l.Token != syntax.STRING {
		return "", false
	}
	return l.Value.(string), true
}

// typeOf is the Starlark type of an expression that shows it, "" for any other.
func typeOf(e syntax.Expr) string {
	switch e := unparen(e).(type) {
	case *syntax.Literal:
		return literalType(e.Token)
	case *syntax.ListExpr:
		return "list"
	case *syntax.DictExpr:
		return "dict"
	case *syntax.TupleExpr:
		return "tuple"
	case *syntax.LambdaExpr:
		return "function"
	case *syntax.Comprehension:
		if !e.Curly {
			return "list"
		}
	case *syntax.UnaryExpr:
		if t := typeOf(e.X); e.Op == syntax.MINUS && (t == "int" || t == "float") {
			return t
		}
	case *syntax.Ident:
		if scope(e) == resolve.Universal {
			return constantType(e.Name)
		}
	}
	return ""
}

func literalType(t syntax.Token) string {
	switch t {
	case syntax.STRING:
		return "string"
	case syntax.BYTES:
		return "bytes"
	case syntax.INT:
		return "int"
	}
	return "float"
}

func constantType(name string) string {
	switch name {
	case "True", "False":
		return "bool"
	case "None":
		return "NoneType"
	}
	return ""
}

// admits tells whether a parameter takes a value of the type; see [effect.Param].
func admits(types, got string) bool {
	if types == "" {
		return true
	}
	for t := range strings.SplitSeq(types, "|") {
		switch {
		case t == got, t == "any",
			t == "duration" && got == "string",
			t == "callable" && got == "function",
			t == "number" && (got == "int" || got == "float"):
			return true
		}
	}
	return false
}

// keys refuses a literal dict that has a key twice: the machine does not make one.
func (c *checker) keys(d *syntax.DictExpr) {
	keys := make([]syntax.Expr, len(d.List))
	for i, entry := range d.List {
		keys[i] = entry.(*syntax.DictEntry).Key
	}
	c.twice(keys, "the key")
}

// twice refuses literals that are there before.
func (c *checker) twice(elems []syntax.Expr, what string) {
	type value struct {
		token syntax.Token // bytes and texts are unequal
		is    any
	}
	seen := map[value]bool{}
	for _, e := range elems {
		l, ok := unparen(e).(*syntax.Literal)
		if !ok {
			continue
		}
		v := value{l.Token, l.Value}
		if n, ok := l.Value.(*big.Int); ok {
			v.is = n.String()
		}
		if seen[v] {
			c.at("duplicate_key", e, diagnostic.Diagnostic{Message: what + " " + l.Raw + " is there twice"})
		}
		seen[v] = true
	}
}

// contract checks the text of a literal contract("…"); mistakes are placed where they stand in the
// file.
func (c *checker) contract(bound map[string]syntax.Expr) {
	for _, arg := range bound {
		l, ok := unparen(arg).(*syntax.Literal)
		if !ok || l.Token != syntax.STRING {
			continue
		}
		_, err := contract.ParseLiteral(c.file.Name, c.file.Source, l)
		var list diagnostic.List
		if errors.As(err, &list) {
			c.found = append(c.found, list...)
		}
	}
}
