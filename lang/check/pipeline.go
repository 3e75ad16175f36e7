package check

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// A pipeline of @std/pipeline.star is data, and most are written in the script that executes them.
// What its contract says is held against it where it is given away (starling/lang/infer). Here is
// what execute refuses beyond that, as far as the text shows it: a text may be changed before.

// doers are the keys of a step that say who does it; roots the references that are no steps.
var (
	doers = []string{"agent", "workflow", "gate", "pipeline", "call"}
	roots = []string{"query", "vars", "previous", "result"}
)

// onlyFor are the keys of a step that one transition has.
var onlyFor = map[string]string{"needs": "dag", "before": "dag", "add": "dag", "next": "conditional"}

// pipelines warns of pipelines in the text that would be refused.
func (c *checker) pipelines() {
	loads := slices.ContainsFunc(c.file.Tree.Stmts, func(s syntax.Stmt) bool {
		load, ok := s.(*syntax.LoadStmt)
		return ok && load.ModuleName() == "@std/pipeline.star"
	})
	if !loads || strings.HasSuffix(c.file.Name, "_test.star") { // tests give what is refused
		return
	}
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.DictExpr); ok {
			if steps, ok := way.Unparen(orNone(entries(d)["steps"])).(*syntax.ListExpr); ok {
				c.pipeline(entries(d), steps.List)
			}
		}
		return true
	})
}

// entries are the values of a literal dict by their literal keys.
func entries(d *syntax.DictExpr) map[string]syntax.Expr {
	all := map[string]syntax.Expr{}
	for _, e := range d.List {
		entry := e.(*syntax.DictEntry)
		if key, ok := text(entry.Key); ok {
			all[key] = entry.Value
		}
	}
	return all
}

func (c *checker) pipeline(spec map[string]syntax.Expr, steps []syntax.Expr) {
	ids, known := []string{}, true
	var all []map[string]syntax.Expr
	for _, e := range steps {
		d, ok := way.Unparen(e).(*syntax.DictExpr)
		if !ok {
			known = false
			continue
		}
		step := entries(d)
		id, ok := text(orNone(step["id"]))
		known = known && ok
		ids = append(ids, id)
		all = append(all, step)
		if len(step) == len(d.List) {
			c.doer(d, step)
		}
	}
	transition, said := text(orNone(spec["transition"]))
	if spec["transition"] == nil {
		transition, said = "sequential", true
	}
	for _, step := range all {
		for key, wanted := range onlyFor {
			if said && transition != wanted && step[key] != nil && typeOf(step[key]) != "NoneType" && !emptyList(step[key]) {
				c.badPipeline(step[key], key+" is for the transition \""+wanted+"\", and this one is \""+transition+"\"",
					`write "transition": "`+wanted+`" beside the steps`)
			}
		}
		if !known {
			continue
		}
		for _, key := range []string{"needs", "before", "next"} {
			c.stepNames(step[key], ids)
		}
		for key, e := range step {
			if key != "id" && key != "needs" && key != "pipeline" {
				c.references(e, ids)
			}
		}
	}
}

func emptyList(e syntax.Expr) bool {
	l, ok := way.Unparen(e).(*syntax.ListExpr)
	return ok && len(l.List) == 0
}

// doer looks at who does a step of which all keys are known.
func (c *checker) doer(d *syntax.DictExpr, step map[string]syntax.Expr) {
	var by []string
	for _, key := range doers {
		if step[key] != nil {
			by = append(by, key)
		}
	}
	misspelt := len(by) == 0 && slices.ContainsFunc(slices.Collect(maps.Keys(step)), func(key string) bool { return diagnostic.Meant(key, doers) != "" })
	if len(by) != 1 && step["id"] != nil && !misspelt { // else its contract says it
		c.badPipeline(d, "a step is done by one of "+strings.Join(doers, ", ")+", and this one by "+orNobody(by), "")
	}
	if step["agent"] != nil && len(c.project.Agents) > 0 {
		c.agent(step["agent"])
	}
}

func orNobody(by []string) string {
	if len(by) == 0 {
		return "nobody"
	}
	return strings.Join(by, " and ")
}

// stepNames looks for steps that a step names and that are not there.
func (c *checker) stepNames(e syntax.Expr, ids []string) {
	list := elements(orNone(e))
	if list == nil {
		list = []syntax.Expr{orNone(e)}
	}
	for _, e := range list {
		if id, ok := text(e); ok && !refers(id) && !contains(ids, id) {
			c.badPipeline(e, `no step has the id "`+id+`"`, diagnostic.Meant(id, ids), ids...)
		}
	}
}

// references looks for references to steps that are not there, in a value and in what it holds.
func (c *checker) references(e syntax.Expr, ids []string) {
	syntax.Walk(e, func(n syntax.Node) bool {
		l, ok := n.(*syntax.Literal)
		if !ok {
			return true
		}
		ref, ok := text(l)
		name, _, _ := strings.Cut(strings.TrimPrefix(ref, "$"), ".")
		if ok && refers(ref) && ref[0] == '$' && !contains(ids, name) && !contains(roots, name) {
			c.badPipeline(l, l.Raw+" is no step", diagnostic.Meant(name, ids), append(roots[:len(roots):len(roots)], ids...)...)
		}
		return true
	})
}

// refers tells whether a text of a pipeline stands for something else.
func refers(s string) bool {
	return len(s) > 1 && (s[0] == '$' || s[0] == '@') && s[1] != s[0]
}

func (c *checker) badPipeline(n syntax.Node, message, hint string, want ...string) {
	d := diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: "pipeline: " + message, Hint: hint}
	if len(want) > 0 {
		d.Want = "one of " + strings.Join(want, ", ")
	}
	c.at("bad_pipeline", n, d)
}
