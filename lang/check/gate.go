package check

import (
	"maps"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// fallback refuses a literal fallback that is not among literal options.
func (c *checker) fallback(bound map[string]syntax.Expr) {
	choice, ok := text(orNone(bound["fallback"]))
	if !ok {
		return
	}
	options, ok := optionNames(orNone(bound["options"]))
	if !ok || contains(options, choice) {
		return
	}
	c.at("bad_fallback", bound["fallback"], diagnostic.Diagnostic{
		Message: "the fallback is not one of the options",
		Got:     `"` + choice + `"`,
		Want:    "one of " + strings.Join(options, ", "),
		Hint:    diagnostic.Meant(choice, options),
	})
}

// options refuses literal options that no gate can have: a name that cannot be typed after
// --choice,
// and a description that is no text.
func (c *checker) options(e syntax.Expr) {
	name := func(e syntax.Expr) {
		if s, ok := text(e); ok {
			if err := effect.CheckName(s); err != nil {
				c.at("bad_name", e, diagnostic.Diagnostic{Message: "gate: for parameter options: " + err.Error(), Hint: strings.Replace(asName(s), "write", "such as", 1)}) // no mend: the script may compare with it
			}
		}
	}
	for _, e := range elements(e) {
		name(e)
	}
	d, _ := way.Unparen(orNone(e)).(*syntax.DictExpr)
	if d == nil {
		return
	}
	for _, entry := range d.List {
		entry := entry.(*syntax.DictEntry)
		name(entry.Key)
		if typ := typeOf(entry.Value); typ != "" && typ != "string" {
			c.at("bad_type", entry.Value, diagnostic.Diagnostic{Message: "gate: for parameter options", Got: typ, Want: "the description of the option"})
		}
	}
}

// escalation refuses what is literally no pair of target and duration, and warns of a target that
// is never asked.
func (c *checker) escalation(bound map[string]syntax.Expr) {
	chain := bound["escalate"]
	if none(chain) {
		return
	}
	if target := bound["target"]; !none(target) {
		c.at("unasked", target, diagnostic.Diagnostic{
			Severity: diagnostic.Warning,
			Message:  "gate: the target is never asked, because escalate says who is",
			Hint:     "put it first in escalate, with its duration",
		})
	}
	for _, stage := range elements(chain) {
		pair := elements(stage)
		if typ := typeOf(stage); typ == "" || len(pair) == 2 && maybeText(pair[0]) && maybeDuration(pair[1]) {
			continue
		}
		c.at("bad_type", stage, diagnostic.Diagnostic{Message: "gate: for parameter escalate", Want: `a pair of target and duration, such as ("lead", "1h")`})
	}
}

// elements lists what stands in a literal list or tuple.
func elements(e syntax.Expr) []syntax.Expr {
	switch e := way.Unparen(e).(type) {
	case *syntax.ListExpr:
		return e.List
	case *syntax.TupleExpr:
		return e.List
	}
	return nil
}

// maybeText tells whether an expression may give a text that is not empty.
func maybeText(e syntax.Expr) bool {
	s, ok := text(e)
	return typeOf(e) == "" || ok && s != ""
}

// maybeDuration tells whether an expression may give a duration above zero.
func maybeDuration(e syntax.Expr) bool {
	s, ok := text(e)
	if !ok {
		return typeOf(e) == ""
	}
	d, err := contract.ParseDuration(s)
	return err == nil && d > 0
}

// orNone lets an argument that was not passed be looked at.
func orNone(e syntax.Expr) syntax.Expr {
	if e == nil {
		return new(syntax.Ident)
	}
	return e
}

// optionNames lists the options of a gate, if all stand literally in the text and there is one.
func optionNames(e syntax.Expr) (names []string, ok bool) {
	var elems []syntax.Expr
	switch e := way.Unparen(e).(type) {
	case *syntax.ListExpr:
		elems = e.List
	case *syntax.DictExpr:
		for _, entry := range e.List {
			elems = append(elems, entry.(*syntax.DictEntry).Key)
		}
	}
	for _, elem := range elems {
		s, ok := text(elem)
		if !ok {
			return nil, false
		}
		names = append(names, s)
	}
	return names, len(names) > 0
}

// asks is the gate with several options whose Decision is all that a variable is given, nil where
// it is given anything else.
func (c *checker) asks(v *syntax.Ident) *syntax.CallExpr {
	s, ok := c.names.only(v)
	if !ok || s.kind != assigned {
		return nil
	}
	call, ok := way.Unparen(s.value).(*syntax.CallExpr)
	if !ok || !c.calls(call, "gate") {
		return nil
	}
	args := argumentsOf(call)
	if names, _ := optionNames(orNone(args.byName("options"))); len(names) < 2 || !none(args.byName("wait")) || args.starStar {
		return nil
	}
	return call
}

// unreadChoices warns of gates of whose Decision is only read who decided, when and why.
func (c *checker) unreadChoices() {
	beside := map[*syntax.Ident]int{}
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		if dot, ok := n.(*syntax.DotExpr); ok && contains([]string{"by", "via", "at", "reason", "timed_out"}, dot.Name.Name) {
			if id, ok := way.Unparen(dot.X).(*syntax.Ident); ok {
				beside[way.Variable(id)]++
			}
		}
		return true
	})
	for _, v := range c.names.order {
		if n := c.names.reads[v]; n > 0 && n == beside[v] {
			c.unreadChoice(v)
		}
	}
}

// unreadChoice warns of the gate of whose choice nobody hears by way of a variable, if it is one,
// and tells whether it is.
func (c *checker) unreadChoice(v *syntax.Ident) bool {
	gate := c.asks(v)
	if gate == nil {
		return false
	}
	args := argumentsOf(gate)
	options, _ := optionNames(args.byName("options"))
	c.at("unread_choice", gate.Fn, diagnostic.Diagnostic{
		Severity: diagnostic.Warning,
		Message:  "nobody reads what is chosen",
		Want:     "a look at " + v.Name + ".choice",
		Hint:     "whatever is answered, the script goes on in the same way; ask: if " + v.Name + `.choice == "` + options[0] + `"`,
	})
	return true
}

// gates is the set of gates that have been opened on the way to a place, by name.
type gates map[string]*syntax.Literal

// open notes the gates that an expression opens, in the order of the text, and warns of a name that
// was opened before on the same way: its second opening has the address NAME#2. The two sides of a
// conditional expression are two ways; the body of a lambda is none.
func (c *checker) open(seen gates, e syntax.Expr) {
	if e == nil {
		return
	}
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr:
			c.open(gates{}, n.Body)
			return false
		case *syntax.CondExpr:
			c.open(seen, n.Cond)
			other := maps.Clone(seen)
			c.open(seen, n.True)
			c.open(other, n.False)
			maps.Copy(seen, other)
			return false
		case *syntax.CallExpr:
			c.openGate(seen, n)
		}
		return true
	})
}

func (c *checker) openGate(seen gates, call *syntax.CallExpr) {
	if !c.calls(call, "gate") {
		return
	}
	l, name := gateName(call)
	if l == nil {
		return
	}
	first := seen[name]
	if first == nil {
		seen[name] = l
		return
	}
	c.at("duplicate_gate", l, diagnostic.Diagnostic{
		Severity: diagnostic.Warning,
		Message:  "the gate " + l.Raw + " is opened before, on line " + itoa(first.TokenPos.Line),
		Hint:     "its address is then " + name + "#2; two gates are easier to tell apart by two names",
	})
}

// gateName is the literal name of a gate, nil if it is computed.
func gateName(call *syntax.CallExpr) (*syntax.Literal, string) {
	args := argumentsOf(call)
	arg := args.byName("name")
	if arg == nil && len(args.positional) > 0 {
		arg = args.positional[0]
	}
	s, ok := text(orNone(arg))
	if !ok {
		return nil, ""
	}
	return way.Unparen(arg).(*syntax.Literal), s
}
