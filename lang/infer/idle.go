package infer

import (
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// What has no consequence: values that nobody uses, and changes of a copy that nobody keeps.

// idle: a statement has a value and does nothing.
func (a *analysis) idle(e syntax.Expr, w *flow) {
	if !a.saying || a.muted() || a.fn == nil && !a.file.Pure {
		return
	}
	switch e := way.Unparen(e).(type) {
	case *syntax.CallExpr:
		a.idleCall(e, w)
	case *syntax.BinaryExpr:
		if e.Op != syntax.AND && e.Op != syntax.OR {
			a.unusedValue(e, "what this gives is not used", idleHint(e))
		}
	case *syntax.Ident, *syntax.DotExpr, *syntax.IndexExpr:
		t := a.quietly(e, w)
		if at, ok := t.only(); ok && callable(at) {
			a.unusedValue(e, "this is not called", "write "+a.file.briefly(e)+"()")
			return
		}
		if !way.MayCall(e) {
			a.unusedValue(e, "what this gives is not used", "")
		}
	case *syntax.ListExpr, *syntax.DictExpr, *syntax.TupleExpr, *syntax.LambdaExpr:
		if !way.MayCall(e) {
			a.unusedValue(e, "what this gives is not used", "")
		}
	}
}

func (a *analysis) unusedValue(e syntax.Expr, message, hint string) {
	a.warn("unused_value", e, diagnostic.Diagnostic{Message: message, Hint: hint})
}

func idleHint(e *syntax.BinaryExpr) string {
	if e.Op == syntax.EQL {
		return "x = y gives a value to x, x == y compares"
	}
	return ""
}

// forTheError are functions without effect that may be called to see whether they fail, or that
// call others.
var forTheError = map[string]bool{"attempt": true, "budget": true, "parallel": true, "fail": true, "contract": true, "contract.parse": true, "json.decode": true,
	"yaml.decode": true, "int": true, "float": true, "time.parse": true, "time.duration": true, "list.index": true, "string.index": true, "string.rindex": true,
	"dict.pop": true, "dict.popitem": true, "dict.setdefault": true, "list.pop": true, "set.pop": true, "getattr": true, "forever": true}

// idleCall: a call of a function without effect gives what nobody uses.
func (a *analysis) idleCall(e *syntax.CallExpr, w *flow) {
	f := a.quietly(e.Fn, w)
	if dot, ok := e.Fn.(*syntax.DotExpr); ok && f.any && ofTextsAlone[dot.Name.Name] {
		a.unusedValue(e, "what "+dot.Name.Name+" gives is not used", "a text never changes; keep the new one: s = "+a.file.briefly(e))
		return
	}
	at, ok := f.only()
	if !ok || at.kind != builtin && at.kind != method || forTheError[at.obj.path] || strings.HasPrefix(at.obj.path, "assert.") {
		return
	}
	b := signature(at.obj)
	if b == nil || b.Class != effect.Pure || b.Result == "" || b.Result == "None" || at.kind == method && at.obj.path == "Handle.decision" {
		return
	}
	for _, x := range e.Args {
		if n, ok := x.(*syntax.BinaryExpr); ok && n.Op == syntax.EQ && n.X.(*syntax.Ident).Name == "key" {
			return // which is called
		}
	}
	name, call := nameOf(e), a.file.briefly(e)
	hint := ""
	switch {
	case b.Result == "Verdict":
		hint = "it does something where on_event gives it back: return " + call
	case at.kind == method && strings.HasPrefix(at.obj.path, "string."):
		hint = "a text never changes; keep the new one: s = " + call
	case name == "sorted" || name == "reversed":
		hint = name + " gives a new list: xs = " + call
	}
	a.unusedValue(e, "what "+name+" gives is not used", hint)
}

// ofTextsAlone are methods that nothing but a text has.
var ofTextsAlone = map[string]bool{"strip": true, "lstrip": true, "rstrip": true, "upper": true, "lower": true, "replace": true, "split": true, "splitlines": true,
	"title": true, "capitalize": true, "removeprefix": true, "removesuffix": true}

// copying are the functions that give a copy of what is kept elsewhere, and how a change is kept.
var copying = map[string]string{"memory.vars.get": "memory.vars.set", "memory.project.get": "memory.project.set", "memory.vars.all": "memory.vars.set",
	"memory.project.all": "memory.project.set", "queue.all": "queue.release"}

// lost: a copy is changed that nobody has a name for.
func (a *analysis) lost(receiver syntax.Expr, n syntax.Node, w *flow) {
	call, ok := way.Unparen(receiver).(*syntax.CallExpr)
	if !ok || !a.saying {
		return
	}
	at, ok := a.quietly(call.Fn, w).only()
	if !ok || at.kind != builtin || copying[at.obj.path] == "" {
		return
	}
	a.warn("lost_change", n, diagnostic.Diagnostic{Message: "what " + at.obj.path + " gives is a copy: the change is lost",
		Hint: "give it a name, change that, and keep it with " + copying[at.obj.path]})
}

// changing are the methods that change what they are called on.
var changing = map[string]bool{"append": true, "insert": true, "extend": true, "remove": true, "clear": true, "update": true, "add": true, "discard": true,
	"pop": true, "popitem": true, "setdefault": true}
