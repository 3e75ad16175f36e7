package check

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/foreign"
	"starling/lang/way"
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
				Want:    p.Wanted(),
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
	switch e := way.Unparen(e).(type) {
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
	l, ok := way.Unparen(arg).(*syntax.Literal)
	switch {
	case p.Type == "contract" && ok:
		return "write contract(" + l.Raw + ")"
	case p.Type == "contract":
		return `a contract is a text, such as contract("{name: string, tags: [string]}")`
	case p.Type == "duration" && ok:
		return contract.WithUnit(l.Raw)
	case p.Type == "duration":
		return `a duration is a text with a unit, such as "90s" or "2h"`
	case p.Type == "callable" && p.Name == "key" && ok && l.Token == syntax.STRING:
		return "write lambda x: x[" + l.Raw + "]"
	}
	if s, ok := text(arg); ok {
		return textHint(p, s)
	}
	return ""
}

// textHint is how an argument is written that is in a text.
func textHint(p effect.Param, s string) string {
	switch {
	case p.Type == "int" || p.Type == "number":
		if _, err := strconv.Atoi(s); err == nil {
			return "write " + s + ", without quotes"
		}
		if _, err := strconv.ParseFloat(s, 64); err == nil && p.Type == "number" {
			return "write " + s + ", without quotes"
		}
	case strings.Contains(p.Type, "list") && (p.Name == "argv" || p.Name == "cmd"):
		return "each word is a text of its own: " + listOf(strings.Fields(s))
	case strings.Contains(p.Type, "list"):
		return "write " + listOf([]string{s})
	}
	return ""
}

// listOf is a list of texts as it is written.
func listOf(words []string) string {
	for i, w := range words {
		words[i] = strconv.Quote(w)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// asName is the nearest to a text that is a name, "" where there is none.
func asName(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_':
			return r
		}
		return '-'
	}, s)
	name = strings.Trim(name, "-._")
	if effect.CheckName(name) != nil {
		return ""
	}
	return "write " + strconv.Quote(name)
}

// text checks a literal string argument.
func (c *checker) text(sig *signature, p effect.Param, arg syntax.Expr, s string) {
	d := diagnostic.Diagnostic{Message: sig.name + ": for parameter " + p.Name, Got: fmt.Sprintf("%q", s)}
	switch {
	case len(p.OneOf) > 0 && !slices.Contains(p.OneOf, s):
		d.Want = "one of " + strings.Join(p.OneOf, ", ")
		d.Hint = diagnostic.Meant(s, p.OneOf)
		c.at("bad_choice", arg, d)
	case sig.name == "schedule.set" && (p.Name == "cron" || p.Name == "zone" || p.Name == "every"):
		c.timetable(sig, p, arg, s)
	case p.Type == "duration":
		c.duration(sig, p, arg, s)
	case p.Name == "pattern" && strings.HasPrefix(sig.name, "re."):
		if err := c.unreadable(sig.name, p.Name, s); err != nil {
			c.at("bad_pattern", arg, diagnostic.Diagnostic{Message: err.Error(), Hint: "in r\"…\" a backslash stands for itself; \\( is a bracket of the text"})
		}
	case sig.effect && (p.Name == "name" || p.Name == "queue") || (p.Name == "who" || p.Name == "to" || p.Name == "sender") && (sig.name == "agent" || sig.name == "handoff"):
		if err := effect.CheckName(s); err != nil {
			c.at("bad_name", arg, diagnostic.Diagnostic{Message: d.Message + ": " + err.Error(), Hint: asName(s)})
		}
	}
}

// unreadable asks a function itself what is wrong with an argument, all others being the empty
// text. A function that can be asked says how large a call is before it does anything.
func (c *checker) unreadable(name, param, s string) error {
	v, _ := c.env.Lookup(name)
	b, ok := v.(*effect.Builtin)
	if !ok || b.Size == nil {
		return nil
	}
	var args []effect.Keyword
	for _, p := range b.Params {
		if p.Default == "" {
			args = append(args, effect.Keyword{Name: p.Name, Value: starlark.String("")})
		}
		if p.Name == param {
			args[len(args)-1].Value = starlark.String(s)
		}
	}
	call, err := b.Bind(nil, args)
	if err == nil {
		_, err = b.Size(call)
	}
	return err
}

// text is the value of a literal string.
func text(e syntax.Expr) (string, bool) {
	l, ok := way.Unparen(e).(*syntax.Literal)
	if !ok || l.Token != syntax.STRING {
		return "", false
	}
	return l.Value.(string), true
}

// typeOf is the Starlark type of an expression that shows it, "" for any other.
func typeOf(e syntax.Expr) string {
	switch e := way.Unparen(e).(type) {
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

// admits tells whether a parameter takes a value of the type of a literal; see [effect.Param].
func admits(types, got string) bool {
	return effect.Admits(types, got, func(class string) bool {
		switch class {
		case "callable":
			return got == "function"
		case "iterable":
			return got == "list" || got == "dict" || got == "tuple"
		case "hashable":
			return got != "list" && got != "dict"
		}
		return !contains([]string{"int", "float", "bool", "NoneType", "function"}, got) // sized
	})
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
		l, ok := way.Unparen(e).(*syntax.Literal)
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
		l, ok := way.Unparen(arg).(*syntax.Literal)
		if !ok || l.Token != syntax.STRING {
			continue
		}
		_, err := contract.ParseLiteral(c.file.Name, c.file.Source, l)
		var list diagnostic.List
		if !errors.As(err, &list) {
			continue
		}
		for _, d := range list {
			d.Hint, d.Fix = cmp.Or(foreignType(d), d.Hint), ourType(d)
			c.found = append(c.found, d)
		}
	}
}

// foreignType is the hint for a contract that is written as another language writes types, "" for
// any other mistake.
func foreignType(d diagnostic.Diagnostic) string {
	line := []rune(d.Text)
	if d.Col < 1 || d.Col > len(line) {
		return ""
	}
	before, behind := strings.TrimRight(string(line[:d.Col-1]), " "), string(line[d.Col-1:])
	word := before[strings.LastIndexFunc(before, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
	switch {
	case word == "optional":
		return "what may be missing is written T?, such as string?"
	case d.Got == "True" || d.Got == "False":
		return "write " + strings.ToLower(d.Got)
	case d.Got == "None":
		return "write null"
	}
	if !strings.HasPrefix(behind, "[") && !strings.HasPrefix(behind, "<") {
		return ""
	}
	if word == "" {
		return ""
	}
	return cmp.Or(foreign.Type(word), "a list is written ["+word+"]")
}
