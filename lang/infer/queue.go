package infer

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// What lies in a queue may come from anywhere. But a program that pushes dicts into a queue by its
// name, and takes from it by that name, nearly always takes what it has pushed: a key that none of
// these dicts has is a warning.

// push notes what the program puts into a queue.
func (a *analysis) push(b *effect.Builtin, g *arguments, args bound, w *flow) Type {
	name := ""
	if at, ok := args["queue"].typ.only(); ok && at.exact && at.kind == text && !g.loose() {
		name = at.lit
	}
	if a.pushed == nil {
		a.pushed = map[string]*object{}
	}
	o := a.pushed[name]
	if o == nil {
		o = a.object(dict, nil, "pushed "+name)
		o.why, o.name = "pushed", name
		a.pushed[name] = o
		a.grewIn(o.home)
	}
	for _, at := range args["value"].typ.atoms {
		if at.kind != dict || at.obj.textKeys() {
			a.set(&o.lent) // its keys are not known
			continue
		}
		for _, k := range at.obj.order {
			a.entry(o, k, unknown, false, nil)
		}
	}
	if args["value"].typ.any {
		a.set(&o.lent)
	}
	return a.readCall(b, "queue.push", g, args, Type{})
}

// taken is what an item of a queue may be: anything, and what the program has put there.
func (a *analysis) taken(queue Type) Type {
	at, ok := queue.only()
	o := a.pushed[at.lit]
	if !ok || !at.exact || o == nil || o.lent || a.pushed[""] != nil || len(o.order) == 0 {
		return unknown
	}
	return Type{any: true, atoms: made(o).atoms}
}

// notPushed: a key is read of what a queue gave, and nothing that the program pushes there has it.
func (a *analysis) notPushed(e *syntax.IndexExpr, x, y Type) {
	key, one := y.only()
	if !x.any || len(x.atoms) != 1 || x.atoms[0].kind != dict || x.atoms[0].obj.why != "pushed" || !one || !key.exact || key.kind != text {
		return
	}
	o := x.atoms[0].obj
	if _, there := o.under(key.lit); there {
		return
	}
	if noted := a.laterOf(nil, e, "missing_key", diagnostic.Diagnostic{Message: "nothing that this program pushes into the queue " + quote(o.name) + " has the key " + quote(key.lit),
		Want: oneOf(o.order), Hint: diagnostic.Meant(key.lit, o.order)}); noted != nil {
		noted.absent = true
	}
}
