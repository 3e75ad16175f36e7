package graph

import (
	"cmp"
	"fmt"
	"regexp"
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
	r := reader{env: env, defs: map[string]*syntax.DefStmt{}, held: map[string]syntax.Expr{},
		roles: map[string]string{}, within: map[string]bool{}}
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
	once(g.Nodes, map[string]bool{})
	return g, nil
}

// small is how many nodes a function may have to be drawn wherever it is called.
const small = 3

// once leaves of calls of a function that does the same each time the first, unless it is small.
func once(nodes []*Node, drawn map[string]bool) {
	for _, n := range nodes {
		if n.Kind == "call" && n.count() > small {
			what := n.told()
			if drawn[what] {
				n.Nodes, n.Note = nil, "as above"
			}
			drawn[what] = true
		}
		once(n.Nodes, drawn)
	}
}

// count is how many nodes are in a node.
func (n *Node) count() (all int) {
	for _, below := range n.Nodes {
		all += 1 + below.count()
	}
	return all
}

// told is a node with all that is in it, as text.
func (n *Node) told() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %q %s(", n.Kind, n.Name, n.Note, n.Where)
	for _, below := range n.Nodes {
		b.WriteString(below.told())
	}
	return b.String() + ")"
}

// reader walks the syntax of a script in the order in which it would be executed.
type reader struct {
	env    *effect.Environment
	defs   map[string]*syntax.DefStmt
	held   map[string]syntax.Expr // what a variable was last given, in the order of reading
	roles  map[string]string      // the name of the role that a variable holds
	within map[string]bool        // functions that are being followed
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
		case *syntax.LoadStmt:
			for i, from := range s.From {
				if def := r.defs[from.Name]; def != nil {
					r.defs[s.To[i].Name] = def
				}
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
		nodes := r.expr(s.RHS)
		if name, ok := s.LHS.(*syntax.Ident); ok && s.Op == syntax.EQ {
			r.held[name.Name] = s.RHS
		}
		return nodes
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
	if dot, ok := c.Fn.(*syntax.DotExpr); ok {
		nodes = r.expr(dot.X)
	}
	for _, a := range c.Args {
		nodes = append(nodes, r.expr(value(a))...)
	}
	if name == "parallel" && r.defs[name] == nil && len(c.Args) > 0 {
		return append(nodes, r.parallel(argument(c, 0, "branches"), argument(c, -1, "over")))
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
	if name := dotted(e); r.effect(name) { // as in attempt(http.get, url)
		return []*Node{{Kind: name, Name: name, Where: place(e)}}
	}
	switch f := e.(type) {
	case *syntax.LambdaExpr:
		return r.expr(f.Body)
	case *syntax.Ident:
		return r.named(f.Name, func() []*Node {
			if def := r.defs[f.Name]; def != nil {
				return boxed("call", f.Name, r.block(def.Body))
			}
			return r.function(r.held[f.Name])
		})
	case *syntax.ParenExpr:
		return r.function(f.X)
	case *syntax.TupleExpr: // (f, argument)
		if len(f.List) > 0 {
			return r.function(f.List[0])
		}
	case *syntax.CallExpr:
		return r.made(f.Fn)
	}
	return nil
}

// named follows a name, unless it is being followed.
func (r *reader) named(name string, follow func() []*Node) []*Node {
	if r.within[name] {
		return nil
	}
	r.within[name] = true
	defer delete(r.within, name)
	return follow()
}

// made is what a function does that another one, maker, returns.
func (r *reader) made(maker syntax.Expr) []*Node {
	switch f := maker.(type) {
	case *syntax.ParenExpr:
		return r.made(f.X)
	case *syntax.LambdaExpr:
		if inner, ok := f.Body.(*syntax.LambdaExpr); ok {
			return r.function(inner)
		}
	case *syntax.Ident:
		def := r.defs[f.Name]
		if def == nil {
			return nil
		}
		for _, s := range def.Body {
			switch s := s.(type) {
			case *syntax.DefStmt:
				r.defs[s.Name.Name] = s
			case *syntax.ReturnStmt:
				switch s.Result.(type) {
				case *syntax.LambdaExpr, *syntax.Ident:
					return r.function(s.Result)
				}
			}
		}
	}
	return nil
}

// parallel is a box of branches beside each other: functions in a list or a dict, or one of them
// for each element of over.
func (r *reader) parallel(of, over syntax.Expr) *Node {
	p := &Node{Kind: "parallel", Name: "parallel", Fans: true}
	branch := func(name string, f syntax.Expr) {
		nodes := r.function(f)
		if len(nodes) == 1 && nodes[0].Kind == "call" {
			nodes = nodes[0].Nodes
		}
		p.Nodes = append(p.Nodes, boxed("branch", name, nodes)...)
	}
	if name, ok := of.(*syntax.Ident); ok && r.defs[name.Name] == nil && r.held[name.Name] != nil {
		of = r.held[name.Name]
	}
	switch f := of.(type) {
	case *syntax.ListExpr:
		for _, f := range f.List {
			branch(text(f), f)
		}
	case *syntax.DictExpr:
		for _, e := range f.List {
			entry := e.(*syntax.DictEntry)
			branch(label(entry.Key), entry.Value)
		}
	case *syntax.Comprehension:
		if clause, ok := f.Clauses[0].(*syntax.ForClause); ok {
			body := f.Body
			if entry, isEntry := body.(*syntax.DictEntry); isEntry {
				body = entry.Value
			}
			branch("each "+text(clause.Vars)+" in "+text(clause.X), body)
		}
	default:
		if over != nil {
			branch("each of "+text(over), of)
		}
	}
	if len(p.Nodes) == 0 {
		p.Note = text(of) // how many there are is known when it runs
	}
	return p
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
	n := &Node{Kind: name, Name: name, Where: place(c)}
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
		n.Name = label(first)
		if target := literal(argument(c, -1, "target")); target != "" {
			n.Note = "for " + target
		}
	case "run":
		n.Name = label(first)
	default:
		n.Note = text(first)
		if b, ok := first.(*syntax.BinaryExpr); ok && b.Op == syntax.PERCENT {
			n.Note = label(first)
		}
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
	return label(e)
}

// place is the line where an expression stands, as in diagnostics.
func place(e syntax.Expr) string {
	start, _ := e.Span()
	return fmt.Sprintf("%s:%d", start.Filename(), start.Line)
}

// verb is what a text that is put together has in place of a value.
var verb = regexp.MustCompile(`%(\([^)]*\))?[a-z]`)

// label is the text that an expression gives, with dots for what is not known before it runs.
func label(e syntax.Expr) string {
	if b, ok := e.(*syntax.BinaryExpr); ok {
		switch b.Op {
		case syntax.PERCENT:
			if format := literal(b.X); format != "" {
				return short(verb.ReplaceAllString(format, "…"))
			}
		case syntax.PLUS:
			if left, right := literal(b.X), literal(b.Y); left != "" || right != "" {
				return short(cmp.Or(left, "…") + cmp.Or(right, "…"))
			}
		}
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
