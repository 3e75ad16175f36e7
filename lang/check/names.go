package check

import (
	"cmp"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// The resolver says what each identifier denotes, but not the other way round: where a variable
// gets its values and whether anything reads it. One pass over the tree gathers that, and most
// rules ask it. Names of attributes, of keyword arguments and of what a load takes from the other
// file look like identifiers in the tree and have no binding; they fall out by that.
//
// A variable is known by the identifier that first binds it: the resolver shares that pointer among
// all uses, across closures too.

// siteKind is the way in which a variable gets a value.
type siteKind uint8

const (
	assigned  siteKind = iota // x = …, alone on the left
	augmented                 // x += …
	unpacked                  // one of several on the left
	looped                    // for x in …, as a statement or in a comprehension
	defined                   // def x
	parameter
	loaded // load(…, "x")
)

// site is one place that gives a variable a value.
type site struct {
	kind  siteKind
	at    *syntax.Ident
	value syntax.Expr      // for assigned and augmented
	def   *syntax.DefStmt  // for defined
	load  *syntax.LoadStmt // for loaded
	from  string           // for loaded: the name in the other file
}

// names is what one pass over a file learns about its variables.
type names struct {
	order []*syntax.Ident // variables by their first binding, in the order of the text
	sites map[*syntax.Ident][]site
	reads map[*syntax.Ident]int
	binds map[*syntax.Ident]bool // occurrences that bind rather than read
}

func indexNames(f *syntax.File) *names {
	x := &names{sites: map[*syntax.Ident][]site{}, reads: map[*syntax.Ident]int{}, binds: map[*syntax.Ident]bool{}}
	syntax.Walk(f, func(n syntax.Node) bool {
		for _, s := range sitesOf(n) {
			x.binds[s.at] = true
			x.add(s)
		}
		if id, ok := n.(*syntax.Ident); ok && !x.binds[id] && way.Variable(id) != nil {
			x.reads[way.Variable(id)]++
		}
		return true
	})
	return x
}

func (x *names) add(s site) {
	v := way.Variable(s.at)
	if v == nil {
		return
	}
	if len(x.sites[v]) == 0 {
		x.order = append(x.order, v)
	}
	x.sites[v] = append(x.sites[v], s)
}

// sitesOf lists the bindings that a node itself makes.
func sitesOf(n syntax.Node) []site {
	switch n := n.(type) {
	case *syntax.AssignStmt:
		if id, ok := way.Unparen(n.LHS).(*syntax.Ident); ok {
			kind := assigned
			if n.Op != syntax.EQ {
				kind = augmented
			}
			return []site{{kind: kind, at: id, value: n.RHS}}
		}
		return targets(n.LHS, unpacked)
	case *syntax.ForStmt:
		return targets(n.Vars, looped)
	case *syntax.ForClause:
		return targets(n.Vars, looped)
	case *syntax.DefStmt:
		return append([]site{{kind: defined, at: n.Name, def: n}}, parameters(n.Params)...)
	case *syntax.LambdaExpr:
		return parameters(n.Params)
	case *syntax.LoadStmt:
		var list []site
		for i, to := range n.To {
			list = append(list, site{kind: loaded, at: to, load: n, from: n.From[i].Name})
		}
		return list
	}
	return nil
}

// targets lists the variables on the left of an assignment.
func targets(lhs syntax.Expr, kind siteKind) []site {
	var elems []syntax.Expr
	switch lhs := way.Unparen(lhs).(type) {
	case *syntax.Ident:
		return []site{{kind: kind, at: lhs}}
	case *syntax.TupleExpr:
		elems = lhs.List
	case *syntax.ListExpr:
		elems = lhs.List
	}
	var list []site
	for _, e := range elems {
		list = append(list, targets(e, kind)...)
	}
	return list
}

func parameters(params []syntax.Expr) []site {
	var list []site
	for _, p := range params {
		switch q := p.(type) {
		case *syntax.BinaryExpr:
			p = q.X
		case *syntax.UnaryExpr:
			p = q.X
		}
		if id, ok := p.(*syntax.Ident); ok {
			list = append(list, site{kind: parameter, at: id})
		}
	}
	return list
}

func scope(id *syntax.Ident) resolve.Scope {
	b, ok := id.Binding.(*resolve.Binding)
	if !ok {
		return resolve.Undefined
	}
	return b.Scope
}

// only is the one site that gives the expression's variable a value, false if there are several or
// none.
func (x *names) only(e syntax.Expr) (site, bool) {
	id, ok := way.Unparen(e).(*syntax.Ident)
	if !ok {
		return site{}, false
	}
	sites := x.sites[way.Variable(id)]
	if len(sites) != 1 {
		return site{}, false
	}
	return sites[0], true
}

// loads refuses names that a loaded file does not define.
func (c *checker) loads() {
	for _, stmt := range c.file.Tree.Stmts {
		load, ok := stmt.(*syntax.LoadStmt)
		if !ok {
			continue
		}
		other := c.file.Loads[load.ModuleName()]
		if other == nil {
			continue
		}
		for _, from := range load.From {
			c.export(load, from, other)
		}
	}
}

// export refuses one name that another file does not define. Empty and private names are the
// resolver's to refuse.
func (c *checker) export(load *syntax.LoadStmt, from *syntax.Ident, other *File) {
	exports := exports(other.Tree)
	if contains(exports, from.Name) || from.Name == "" || from.Name[0] == '_' {
		return
	}
	hint := cmp.Or(diagnostic.Meant(from.Name, exports), offers(exports))
	c.at("unknown_export", from, diagnostic.Diagnostic{Message: other.Name + " does not define " + from.Name, Hint: hint, Fix: renamed(load, from, hint)})
}

// offers says what can be loaded from a file.
func offers(exports []string) string {
	if len(exports) == 0 {
		return "it defines nothing that can be loaded"
	}
	return "it defines " + strings.Join(exports, ", ")
}

// exports lists the names that other files may load.
func exports(f *syntax.File) []string {
	var list []string
	for _, b := range f.Module.(*resolve.Module).Globals {
		if !strings.HasPrefix(b.First.Name, "_") {
			list = append(list, b.First.Name)
		}
	}
	return list
}

// unused warns of loads and of plain local variables that nothing reads. Parameters, loop variables
// and parts of an unpacking often have to be there, and a name that starts with "_" says that it is
// not read.
func (c *checker) unused() {
	for _, v := range c.names.order {
		if c.names.reads[v] > 0 || strings.HasPrefix(v.Name, "_") {
			continue
		}
		c.unread(v, c.names.sites[v][0].kind)
	}
	c.unreadChoices()
}

// unread warns of one variable that nothing reads, by how it got its first value.
func (c *checker) unread(v *syntax.Ident, kind siteKind) {
	d := diagnostic.Diagnostic{Severity: diagnostic.Warning}
	local := scope(v) == resolve.Local || scope(v) == resolve.Cell
	switch {
	case kind == loaded:
		d.Message = v.Name + " is loaded and never used"
		d.Fix = c.unloaded(v)
		c.at("unused_load", v, d)
	case kind == assigned && local && c.unreadChoice(v):
	case kind == assigned && local:
		d.Message, d.Hint = v.Name+" is assigned and never read", "a name that starts with _ is left alone"
		d.Fix = c.called(v)
		c.at("unused_local", v, d)
	case kind == defined && local:
		d.Message = v.Name + " is defined and never used"
		c.at("unused_local", v, d)
	}
}
