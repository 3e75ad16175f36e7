package check

import (
	"regexp"
	"strings"
	"sync"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// lost warns of lists and dicts that a function makes and changes, and that nothing ever reads.
func (c *checker) lost() {
	changes := map[*syntax.Ident]syntax.Node{}
	count := map[*syntax.Ident]int{}
	note := func(e syntax.Expr, n syntax.Node) {
		if id, ok := way.Unparen(e).(*syntax.Ident); ok && way.Variable(id) != nil {
			v := way.Variable(id)
			count[v]++
			if changes[v] == nil {
				changes[v] = n
			}
		}
	}
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ExprStmt:
			if call, ok := way.Unparen(n.X).(*syntax.CallExpr); ok {
				if dot, ok := call.Fn.(*syntax.DotExpr); ok && contains(changing, dot.Name.Name) {
					note(dot.X, n)
				}
			}
		case *syntax.AssignStmt:
			if at, ok := way.Unparen(n.LHS).(*syntax.IndexExpr); ok {
				note(at.X, n)
			}
		}
		return true
	})
	for _, v := range c.names.order {
		if count[v] == 0 || count[v] != c.names.reads[v] || scope(v) != resolve.Local || strings.HasPrefix(v.Name, "_") {
			continue
		}
		if kept, ok := c.made(v); ok {
			c.lostChange(v, changes[v], kept)
		}
	}
}

func (c *checker) lostChange(v *syntax.Ident, at syntax.Node, kept string) {
	d := diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: v.Name + " is changed and never read", Hint: "nothing comes of it; return it, or leave it out"}
	if kept != "" {
		d.Hint = "it is a copy of what is kept: write " + kept + "(…, " + v.Name + ")"
	}
	c.at("lost_change", at, d)
}

// changing are methods that change what they are called on.
var changing = []string{"append", "insert", "extend", "remove", "clear", "update", "add", "discard", "pop", "popitem", "setdefault"}

// made tells whether all that a variable is given is made there, and nobody else has it; and where
// it is a copy of what is kept elsewhere, what keeps it.
func (c *checker) made(v *syntax.Ident) (kept string, ok bool) {
	for _, s := range c.names.sites[v] {
		if s.kind != assigned {
			return "", false
		}
		switch e := way.Unparen(s.value).(type) {
		case *syntax.ListExpr, *syntax.DictExpr, *syntax.Comprehension:
		case *syntax.CallExpr:
			name, _ := c.builtin(e.Fn)
			switch name {
			case "list", "dict", "set", "sorted", "reversed", "json.decode":
			case "memory.vars.get", "memory.project.get":
				kept = strings.TrimSuffix(name, "get") + "set"
			default:
				return "", false
			}
		default:
			return "", false
		}
	}
	return kept, true
}

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([A-Za-z_][A-Za-z_0-9]*)\}`) })

// unfilled warns of a text with the name of a variable in braces that is sent as it is: Starlark
// fills texts with .format or %.
func (c *checker) unfilled() {
	global := map[string]bool{}
	for _, b := range c.file.Tree.Module.(*resolve.Module).Globals {
		global[b.First.Name] = true
	}
	c.unfilledIn(c.file.Tree.Stmts, global)
}

func (c *checker) unfilledIn(stmts []syntax.Stmt, names map[string]bool) {
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DefStmt:
				inner := map[string]bool{}
				for name := range names {
					inner[name] = true
				}
				for _, l := range n.Function.(*resolve.Function).Locals {
					inner[l.First.Name] = true
				}
				c.unfilledIn(n.Body, inner)
				return false
			case *syntax.CallExpr:
				c.unfilledCall(n, names)
			}
			return true
		})
	}
}

// unfilledCall looks at the texts that a call of an effect, or of fail, is given.
func (c *checker) unfilledCall(call *syntax.CallExpr, names map[string]bool) {
	sig := c.signature(call.Fn)
	name, _ := c.builtin(call.Fn)
	if sig == nil || !sig.effect && name != "fail" && name != "print" {
		return
	}
	for _, arg := range call.Args {
		if named, ok := arg.(*syntax.BinaryExpr); ok && named.Op == syntax.EQ {
			arg = named.Y
		}
		c.unfilledText(arg, names)
	}
	if first, ok := text(orNone(at(call.Args, 0))); ok && (name == "print" || name == "fail") && len(call.Args) > 1 && strings.Contains(first, "%") {
		if verb().MatchString(first) {
			c.at("bad_format", call.Args[0], diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: name + " does not fill a text", Hint: `write "…" % (a, b)`})
		}
	}
}

var verb = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[sdrf]`) })

func at(list []syntax.Expr, i int) syntax.Expr {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func (c *checker) unfilledText(e syntax.Expr, names map[string]bool) {
	switch e := way.Unparen(e).(type) {
	case *syntax.BinaryExpr:
		if e.Op == syntax.PLUS {
			c.unfilledText(e.X, names)
			c.unfilledText(e.Y, names)
		}
	case *syntax.Literal:
		s, ok := text(e)
		if !ok {
			return
		}
		for _, m := range placeholder().FindAllStringSubmatch(s, -1) {
			if names[m[1]] {
				c.at("bad_format", e, diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: m[0] + " stands in the text as it is, and " + m[1] + " is a variable here",
					Hint: `write "…".format(` + m[1] + " = " + m[1] + `), or "…%s…" % ` + m[1]})
				return
			}
		}
	}
}
