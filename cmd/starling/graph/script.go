package graph

import (
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/effect"
)

// OfScript is the graph of what a script may do. Functions of its own and of what it loads are
// followed as far as they are named; what is called by a value is not known.
func OfScript(b *lang.Bundle, env *effect.Environment) (*Graph, error) {
	r := reader{env: env, defs: map[string]*syntax.DefStmt{}, roles: map[string]string{}, within: map[string]bool{}}
	var entry *syntax.File
	for _, m := range b.Modules() {
		file, err := lang.FileOptions().Parse(m.Name, m.Source, 0)
		if err != nil {
			return nil, err
		}
		r.learn(file.Stmts)
		entry = file // the last
	}
	g := &Graph{Title: b.Entry().Name}
	if main := r.defs["main"]; main != nil {
		r.within["main"] = true
		g.Nodes = r.block(main.Body)
	} else {
		g.Nodes = r.block(entry.Stmts)
	}
	return g, nil
}

// reader walks the syntax of a script in the order in which it would be executed.
type reader struct {
	env    *effect.Environment
	defs   map[string]*syntax.DefStmt
	roles  map[string]string // the name of the role that a variable holds
	within map[string]bool   // functions that are being followed
}

// learn takes the functions and roles of a file.
func (r *reader) learn(stmts []syntax.Stmt) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.DefStmt:
			r.defs[s.Name.Name] = s
		case *syntax.AssignStmt:
			name, ok := s.LHS.(*syntax.Ident)
			call, isCall := s.RHS.(*syntax.CallExpr)
			if ok && isCall && dotted(call.Fn) == "role" {
				r.roles[name.Name] = literal(argument(call, 0, "name"))
			}
		}
	}
}

func (r *reader) block(stmts []syntax.Stmt) (nodes []*Node) {
	for _, s := range stmts {
		nodes = append(nodes, r.stmt(s)...)
	}
	return nodes
}

func (r *reader) stmt(s syntax.Stmt) []*Node {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		return r.expr(s.X)
	case *syntax.AssignStmt:
		return r.expr(s.RHS)
	case *syntax.ReturnStmt:
		return r.expr(s.Result)
	case *syntax.DefStmt:
		r.defs[s.Name.Name] = s
	case *syntax.ForStmt:
		return append(r.expr(s.X), boxed("loop", "for "+text(s.Vars)+" in "+text(s.X), r.block(s.Body))...)
	case *syntax.IfStmt:
		return append(r.expr(s.Cond), r.choice(s)...)
	}
	return nil
}

// choice is a box with a branch for each way, none where no way does anything.
func (r *reader) choice(s *syntax.IfStmt) []*Node {
	c := &Node{Kind: "choice", Name: "if " + text(s.Cond), Fans: true}
	c.Nodes = boxed("branch", "yes", r.block(s.True))
	c.Nodes = append(c.Nodes, boxed("branch", "else", r.block(s.False))...)
	if len(c.Nodes) == 0 {
		return nil
	}
	return []*Node{c}
}

// boxed is a box around nodes, none around nothing.
func boxed(kind, name string, nodes []*Node) []*Node {
	if len(nodes) == 0 {
		return nil
	}
	return []*Node{{Kind: kind, Name: name, Nodes: nodes}}
}

func (r *reader) expr(e syntax.Expr) (nodes []*Node) {
	switch e := e.(type) {
	case nil:
	case *syntax.CallExpr:
		return r.call(e)
	case *syntax.Comprehension:
		for i, clause := range e.Clauses {
			if f, ok := clause.(*syntax.ForClause); ok {
				nodes = append(nodes, r.expr(f.X)...)
				if i == 0 {
					nodes = append(nodes, boxed("loop", "for "+text(f.Vars)+" in "+text(f.X), r.expr(e.Body))...)
				}
			}
		}
	case *syntax.CondExpr:
		c := &Node{Kind: "choice", Name: "if " + text(e.Cond), Fans: true}
		c.Nodes = append(boxed("branch", "yes", r.expr(e.True)), boxed("branch", "else", r.expr(e.False))...)
		nodes = r.expr(e.Cond)
		if len(c.Nodes) > 0 {
			nodes = append(nodes, c)
		}
	case *syntax.LambdaExpr: // what it does is drawn where it is called
	default:
		for _, part := range parts(e) {
			nodes = append(nodes, r.expr(part)...)
		}
	}
	return nodes
}

// parts are the expressions that stand in another, in their order.
func parts(e syntax.Expr) []syntax.Expr {
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		return []syntax.Expr{e.X, e.Y}
	case *syntax.UnaryExpr:
		return []syntax.Expr{e.X}
	case *syntax.ParenExpr:
		return []syntax.Expr{e.X}
	case *syntax.DotExpr:
		return []syntax.Expr{e.X}
	case *syntax.IndexExpr:
		return []syntax.Expr{e.X, e.Y}
	case *syntax.SliceExpr:
		return []syntax.Expr{e.X, e.Lo, e.Hi, e.Step}
	case *syntax.ListExpr:
		return e.List
	case *syntax.TupleExpr:
		return e.List
	case *syntax.DictExpr:
		return e.List
	case *syntax.DictEntry:
		return []syntax.Expr{e.Key, e.Value}
	}
	return nil
}

// call is what a call does: its arguments first, then itself.
func (r *reader) call(c *syntax.CallExpr) (nodes []*Node) {
	name := dotted(c.Fn)
	if name == "parallel" && len(c.Args) > 0 {
		return r.parallel(c.Args[0])
	}
	if dot, ok := c.Fn.(*syntax.DotExpr); ok {
		nodes = r.expr(dot.X)
	}
	for _, a := range c.Args {
		nodes = append(nodes, r.expr(value(a))...)
	}
	if r.effect(name) {
		return append(nodes, r.step(name, c))
	}
	nodes = append(nodes, r.function(c.Fn)...)
	for _, a := range c.Args { // such as attempt(f, …): whom it calls with a function is its own affair
		nodes = append(nodes, r.function(value(a))...)
	}
	return nodes
}

// function is what a function does that is known here: one of the script's, or a lambda.
func (r *reader) function(e syntax.Expr) []*Node {
	switch f := e.(type) {
	case *syntax.LambdaExpr:
		return r.expr(f.Body)
	case *syntax.Ident:
		def := r.defs[f.Name]
		if def == nil || r.within[f.Name] {
			return nil
		}
		r.within[f.Name] = true
		defer delete(r.within, f.Name)
		return boxed("call", f.Name, r.block(def.Body))
	case *syntax.ParenExpr:
		return r.function(f.X)
	case *syntax.TupleExpr: // (f, argument)
		if len(f.List) > 0 {
			return r.function(f.List[0])
		}
	}
	return nil
}

// parallel is a box of branches beside each other.
func (r *reader) parallel(of syntax.Expr) []*Node {
	p := &Node{Kind: "parallel", Name: "parallel", Fans: true}
	branch := func(name string, f syntax.Expr) {
		nodes := r.function(f)
		if len(nodes) == 1 && nodes[0].Kind == "call" {
			nodes = nodes[0].Nodes
		}
		p.Nodes = append(p.Nodes, boxed("branch", name, nodes)...)
	}
	switch of := of.(type) {
	case *syntax.ListExpr:
		for _, f := range of.List {
			branch(text(f), f)
		}
	case *syntax.DictExpr:
		for _, e := range of.List {
			entry := e.(*syntax.DictEntry)
			branch(strings.Trim(text(entry.Key), `"`), entry.Value)
		}
	case *syntax.Comprehension:
		if f, ok := of.Clauses[0].(*syntax.ForClause); ok {
			body := of.Body
			if entry, isEntry := body.(*syntax.DictEntry); isEntry {
				body = entry.Value
			}
			branch("each "+text(f.Vars)+" in "+text(f.X), body)
		}
	}
	if len(p.Nodes) == 0 {
		p.Note = text(of) // how many there are is known when it runs
	}
	return []*Node{p}
}

// effect tells whether a call waits for the world.
func (r *reader) effect(name string) bool {
	module, attr, isAttr := strings.Cut(name, ".")
	v := r.env.Names[module]
	if m, ok := v.(*starlarkstruct.Module); ok && isAttr {
		v = m.Members[attr]
	}
	b, ok := v.(*effect.Builtin)
	return ok && b.Class == effect.Waiting && r.defs[name] == nil
}

// step is the node of an effect: its name as far as the script says it.
func (r *reader) step(name string, c *syntax.CallExpr) *Node {
	n := &Node{Kind: name, Name: name}
	first := argument(c, 0, "")
	switch name {
	case "agent", "handoff":
		who := first
		if name == "handoff" {
			who = argument(c, 0, "to")
		}
		n.Name = r.who(who)
		n.Note = name
		if task := literal(argument(c, 1, "task")); name == "agent" && task != "" {
			n.Note = short(task)
		}
	case "gate":
		n.Name = strings.Trim(text(first), `"`)
		if target := literal(argument(c, -1, "target")); target != "" {
			n.Note = "for " + target
		}
	case "run":
		n.Name = strings.Trim(text(first), `"`)
	default:
		n.Note = short(text(first))
	}
	if given := literal(argument(c, -1, "name")); given != "" {
		n.Name = given
	}
	return n
}

// who is the agent that an argument names.
func (r *reader) who(e syntax.Expr) string {
	if id, ok := e.(*syntax.Ident); ok && r.roles[id.Name] != "" {
		return r.roles[id.Name]
	}
	return strings.Trim(text(e), `"`)
}

// argument is the n-th argument of a call, or the one of a name; nil where there is none.
func argument(c *syntax.CallExpr, n int, name string) syntax.Expr {
	for i, a := range c.Args {
		if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			if id, ok := b.X.(*syntax.Ident); ok && name != "" && id.Name == name {
				return b.Y
			}
		} else if i == n {
			return a
		}
	}
	return nil
}

// value is an argument without its name.
func value(a syntax.Expr) syntax.Expr {
	if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
		return b.Y
	}
	return a
}

// dotted is a name, or a name of a module; "" for anything else.
func dotted(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Ident:
		return e.Name
	case *syntax.DotExpr:
		if x, ok := e.X.(*syntax.Ident); ok {
			return x.Name + "." + e.Name.Name
		}
	}
	return ""
}

// literal is a text that stands in the script, "" for anything else.
func literal(e syntax.Expr) string {
	if l, ok := e.(*syntax.Literal); ok {
		s, _ := l.Value.(string)
		return s
	}
	return ""
}

// text is an expression as short as it can be shown.
func text(e syntax.Expr) string {
	switch e := e.(type) {
	case nil:
		return ""
	case *syntax.Literal:
		if s, ok := e.Value.(string); ok {
			return starlark.String(short(s)).String()
		}
		return e.Raw
	case *syntax.Ident:
		return e.Name
	case *syntax.DotExpr:
		return text(e.X) + "." + e.Name.Name
	case *syntax.UnaryExpr:
		return strings.TrimSpace(e.Op.String()+" ") + " " + text(e.X)
	case *syntax.BinaryExpr:
		return short(text(e.X) + " " + e.Op.String() + " " + text(e.Y))
	case *syntax.ParenExpr:
		return text(e.X)
	case *syntax.IndexExpr:
		return short(text(e.X) + "[" + text(e.Y) + "]")
	case *syntax.CallExpr:
		return short(text(e.Fn) + "(" + listed(e.Args) + ")")
	case *syntax.TupleExpr:
		return short(listed(e.List))
	case *syntax.ListExpr:
		return short("[" + listed(e.List) + "]")
	}
	return "…"
}

func listed(list []syntax.Expr) string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = text(e)
	}
	return strings.Join(texts, ", ")
}

// short is a text on one line, cut where it is long.
func short(s string) string {
	const most = 40
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
