package infer

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/edit"
	"starling/lang/way"
)

// What is legal and hardly meant: answers that nobody reads, replies and inputs without a contract.

// dropped: the value of a statement is not used.
func (a *analysis) dropped(e syntax.Expr, t Type) {
	call, ok := way.Unparen(e).(*syntax.CallExpr)
	at, only := t.only()
	if !ok || !only || at.obj == nil || at.obj.at != syntax.Node(call) {
		return
	}
	switch {
	case at.recordOf("Decision"):
		if f := at.obj.fields["choice"]; f != nil && len(exacts(f.typ)) > 1 {
			a.warn("unread_choice", call.Fn, diagnostic.Diagnostic{Message: "nobody reads what is chosen", Want: "d = gate(…), and a look at d.choice",
				Hint: "whatever is answered, the script goes on in the same way"})
		}
	case at.recordOf("Result") && at.obj.status == "typed":
		a.warn("unread_reply", call.Fn, diagnostic.Diagnostic{Message: "the reply has a contract, and nobody reads it", Hint: "r = agent(…), and then r.output; or leave output out"})
	}
}

// nothingKept: a variable is given what a method gives that changes its receiver.
func (a *analysis) nothingKept(s *syntax.AssignStmt, t Type, w *flow) {
	call, ok := way.Unparen(s.RHS).(*syntax.CallExpr)
	if !ok || !onlyKind(t, none) || !a.saying {
		return
	}
	dot, ok := way.Unparen(call.Fn).(*syntax.DotExpr)
	if !ok {
		return
	}
	if at, ok := a.quietly(dot.X, w).filter(func(at atom) bool { return at.kind != none }).only(); ok && (at.kind == list || at.kind == dict || at.kind == set) {
		d := diagnostic.Diagnostic{Message: dot.Name.Name + " changes the " + at.typeName() + ", and gives None", Hint: "write it as a statement: " + a.file.briefly(call)}
		if id, ok := s.LHS.(*syntax.Ident); ok && a.file.Text(dot.X) == id.Name {
			d.Fix = edit.Put(way.Start(s), way.Start(call), "")
		}
		a.warn("nothing_kept", s.RHS, d)
	}
}

// untypedReply: a field is read of a reply that no contract describes. What a program or a model
// writes is text then, and .output is None.
func (a *analysis) untypedReply(e *syntax.IndexExpr, w *flow) {
	dot, ok := way.Unparen(e.X).(*syntax.DotExpr)
	if !ok || dot.Name.Name != "output" || !a.saying || !a.file.entry || !a.file.Pure {
		return
	}
	at, ok := a.quietly(dot.X, w).only()
	if !ok || !at.recordOf("Result") || at.obj.status != "untyped" {
		return
	}
	a.later(e.X, "untyped_reply", diagnostic.Diagnostic{Message: "no contract says what this reply is: it may be text, and .output None",
		Note: "the agent is asked on " + a.line(way.Start(at.obj.at)), Hint: `say what it is, output = contract("{…}"), or read .text`})
}

// untypedInput: an input of main is used as a number, and nothing says that it is one: on the
// command line it is text.
func (a *analysis) untypedInput(e syntax.Expr, other Type) {
	id, ok := way.Unparen(e).(*syntax.Ident)
	if !ok || !a.saying || a.fn == nil || !other.known() || !a.plainInput(id) {
		return
	}
	for _, at := range other.atoms {
		if !number(at) {
			return
		}
	}
	a.later(e, "untyped_input", diagnostic.Diagnostic{Message: "the input " + id.Name + " is used as a number, and is text where it is given as -i " + id.Name + "=2",
		Hint: `declare it: inputs = contract("{` + id.Name + `: int}")`})
}

// plainInput tells whether a name is an input of the script of which no contract and no default
// says the type.
func (a *analysis) plainInput(id *syntax.Ident) bool {
	def, ok := a.fn.node.(*syntax.DefStmt)
	if !ok || def.Name.Name != "main" || a.fn.outer != nil || !a.file.entry || !a.file.Pure || a.declaredInputs() != nil {
		return false
	}
	for _, p := range a.fn.decl.Params {
		if q, ok := p.(*syntax.Ident); ok && way.Variable(q) == way.Variable(id) {
			return len(a.writes[way.Variable(id)]) == 0
		}
	}
	return false
}
