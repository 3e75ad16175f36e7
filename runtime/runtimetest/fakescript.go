package runtimetest

import (
	"encoding/json"
	"fmt"

	"go.starlark.net/syntax"

	"starling/runtime"
)

// A script of a Fake has one function:
//
//	def main(name, other = "default"):
//	    print("text", name)
//	    d = gate("review", prompt = "?", options = ["yes", "no"], target = "ann", data = {}, schema = contract("{note: string}"))
//	    r = agent("worker")
//	    fail("text")
//	    return {"choice": d.choice, "reply": r.text}
//
// each line of which may come any number of times, in any order. Expressions are literals, names,
// and names with one attribute.

// fakeLine is one statement of main.
type fakeLine struct {
	verb   string // print, gate, agent, fail, return
	assign string // variable that takes the result, "" for none
	args   []syntax.Expr
	named  map[string]syntax.Expr
}

// fakeScript is a parsed script.
type fakeScript struct {
	params []fakeParam
	lines  []fakeLine
}

type fakeParam struct {
	name  string
	value syntax.Expr // default, nil for none
}

// parseFake reads a script, refusing all that is not in the sliver.
func parseFake(name string, source []byte) (*fakeScript, error) {
	file, err := new(syntax.FileOptions).Parse(name, source, 0)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrCheckFailed, "%v", err)
	}
	s := new(fakeScript)
	for _, stmt := range file.Stmts {
		def, ok := stmt.(*syntax.DefStmt)
		if !ok || def.Name.Name != "main" {
			return nil, notInFake(stmt)
		}
		if err := s.define(def); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func notInFake(n syntax.Node) error {
	start, _ := n.Span()
	return runtime.Refusef(runtime.ErrCheckFailed, "%s: the fake engine does not know this", start)
}

func (s *fakeScript) define(def *syntax.DefStmt) error {
	for _, p := range def.Params {
		switch p := p.(type) {
		case *syntax.Ident:
			s.params = append(s.params, fakeParam{p.Name, nil})
		case *syntax.BinaryExpr:
			s.params = append(s.params, fakeParam{p.X.(*syntax.Ident).Name, p.Y})
		default:
			return notInFake(p)
		}
	}
	for _, stmt := range def.Body {
		line, err := lineOf(stmt)
		if err != nil {
			return err
		}
		s.lines = append(s.lines, line)
	}
	return nil
}

func lineOf(stmt syntax.Stmt) (fakeLine, error) {
	switch stmt := stmt.(type) {
	case *syntax.ReturnStmt:
		return fakeLine{verb: "return", args: []syntax.Expr{stmt.Result}}, nil
	case *syntax.ExprStmt:
		return callOf(stmt.X, "")
	case *syntax.AssignStmt:
		if name, ok := stmt.LHS.(*syntax.Ident); ok {
			return callOf(stmt.RHS, name.Name)
		}
	}
	return fakeLine{}, notInFake(stmt)
}

func callOf(x syntax.Expr, assign string) (fakeLine, error) {
	call, ok := x.(*syntax.CallExpr)
	if !ok {
		return fakeLine{}, notInFake(x)
	}
	line := fakeLine{verb: call.Fn.(*syntax.Ident).Name, assign: assign, named: map[string]syntax.Expr{}}
	for _, arg := range call.Args {
		if named, ok := arg.(*syntax.BinaryExpr); ok && named.Op == syntax.EQ {
			line.named[named.X.(*syntax.Ident).Name] = named.Y
		} else {
			line.args = append(line.args, arg)
		}
	}
	return line, nil
}

// bind matches inputs with the parameters of main.
func (s *fakeScript) bind(inputs json.RawMessage) (map[string]any, error) {
	given := map[string]any{}
	if len(inputs) > 0 {
		if err := json.Unmarshal(inputs, &given); err != nil {
			return nil, runtime.Refusef(runtime.ErrBadInput, "the inputs are not a JSON object: %v", err)
		}
	}
	vars := map[string]any{}
	for _, p := range s.params {
		v, ok := given[p.name]
		switch {
		case ok:
		case p.value == nil:
			return nil, runtime.Refusef(runtime.ErrBadInput, "input %q is missing", p.name)
		default:
			v = value(p.value, nil)
		}
		vars[p.name] = v
		delete(given, p.name)
	}
	for name := range given {
		return nil, runtime.Refusef(runtime.ErrBadInput, "there is no input %q", name)
	}
	return vars, nil
}

// value evaluates an expression to what JSON can hold.
func value(x syntax.Expr, vars map[string]any) any {
	switch x := x.(type) {
	case *syntax.Literal:
		return x.Value
	case *syntax.Ident:
		return vars[x.Name]
	case *syntax.DotExpr:
		fields, _ := value(x.X, vars).(map[string]any)
		return fields[x.Name.Name]
	case *syntax.ListExpr:
		list := []any{}
		for _, e := range x.List {
			list = append(list, value(e, vars))
		}
		return list
	case *syntax.DictExpr:
		dict := map[string]any{}
		for _, e := range x.List {
			entry := e.(*syntax.DictEntry)
			dict[fmt.Sprint(value(entry.Key, vars))] = value(entry.Value, vars)
		}
		return dict
	case *syntax.CallExpr: // contract("{name: string}")
		return value(x.Args[0], vars)
	}
	return nil
}

// text evaluates an argument that is text, "" for one that is absent.
func (l fakeLine) text(name string, vars map[string]any) string {
	if x := l.named[name]; x != nil {
		return fmt.Sprint(value(x, vars))
	}
	return ""
}
