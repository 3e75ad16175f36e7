package lang

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
)

// contract reads `inputs = contract("…")` from the syntax tree, without running anything, and
// compares it with main's parameters.
func (p *Program) contract(u *unit, main *syntax.DefStmt) diagnostic.List {
	literal, list := u.inputs()
	if literal == nil {
		return list
	}
	c, err := contract.ParseLiteral(u.module.Name, string(u.module.Source), literal)
	if err != nil {
		var wrong diagnostic.List
		errors.As(err, &wrong)
		return append(list, wrong...)
	}
	p.Inputs = c
	fields, record := c.Fields()
	if !record {
		return append(list, u.module.problem("inputs", literal.TokenPos, len([]rune(literal.Raw)), "inputs must be a record {…}: inputs have names"))
	}
	if main == nil {
		return list
	}
	r := inputRule{u: u, literal: literal, fields: fields, params: map[string]*syntax.Ident{}}
	r.compare(main, c.Open())
	return append(list, r.found...)
}

// inputs finds the literal of the one statement. Whatever else gives inputs a value at the top
// level is refused.
func (u *unit) inputs() (*syntax.Literal, diagnostic.List) {
	var literal *syntax.Literal
	var list diagnostic.List
	statements := map[*syntax.Ident]*syntax.Literal{}
	for _, s := range u.tree.Stmts {
		if a, ok := s.(*syntax.AssignStmt); ok && a.Op == syntax.EQ {
			if id, ok := a.LHS.(*syntax.Ident); ok {
				statements[id] = contractLiteral(a.RHS)
			}
		}
	}
	for _, at := range topLevelBindings(u.tree, "inputs") {
		l := statements[at]
		switch {
		case l == nil:
			d := u.module.problem("inputs", at.NamePos, len("inputs"), `inputs must be one statement of the form inputs = contract("{…}")`)
			d.Hint = "the text of the contract must stand there itself: it is read without running the script"
			list = append(list, d)
		case literal != nil:
			list = append(list, u.module.problem("inputs", at.NamePos, len("inputs"), "inputs is stated twice"))
		default:
			literal = l
		}
	}
	return literal, list
}

// contractLiteral is the text in an expression `contract("…")`, nil for any other.
func contractLiteral(e syntax.Expr) *syntax.Literal {
	call, ok := e.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 || !isPredeclared(call.Fn, "contract") {
		return nil
	}
	l, ok := call.Args[0].(*syntax.Literal)
	if !ok || l.Token != syntax.STRING {
		return nil
	}
	return l
}

// inputRule compares a contract with main's parameters: the names must be the same, and each
// default stands in one place, the contract, where the command line can see it. What may stay
// absent, `name?` and `*`, can reach main through **kwargs only.
type inputRule struct {
	u       *unit
	literal *syntax.Literal
	fields  []contract.Field
	params  map[string]*syntax.Ident
	kwargs  bool
	found   diagnostic.List
}

func (r *inputRule) compare(main *syntax.DefStmt, open bool) {
	var names []string
	for _, p := range main.Params {
		switch q := p.(type) {
		case *syntax.Ident:
			r.params[q.Name] = q
			names = append(names, q.Name)
		case *syntax.BinaryExpr:
			id := q.X.(*syntax.Ident)
			r.params[id.Name] = id
			names = append(names, id.Name)
			r.preset(id)
		case *syntax.UnaryExpr:
			r.kwargs = r.kwargs || q.Op == syntax.STARSTAR
		}
	}
	for _, f := range r.fields {
		r.field(f, names)
	}
	if open && !r.kwargs {
		r.inContract("*", "inputs of any name are admitted: main needs **kwargs to take them", "")
	}
	for _, name := range names {
		r.param(name)
	}
}

func (r *inputRule) field(f contract.Field, params []string) {
	switch {
	case f.Optional && !r.kwargs:
		r.inContract(f.Name, f.Name+"? may be absent: main needs **kwargs to take it", "write "+f.Name+": "+f.Type+"? for a parameter that is then None")
	case !f.Optional && r.params[f.Name] == nil:
		hint := diagnostic.DidYouMean(f.Name, params)
		if hint == "" {
			hint = "the fields of inputs and the parameters of main are the same names"
		}
		r.inContract(f.Name, "main has no parameter "+f.Name, hint)
	}
}

// preset refuses a default in main.
func (r *inputRule) preset(id *syntax.Ident) {
	d := r.u.module.problem("inputs", id.NamePos, len([]rune(id.Name)), "the default of "+id.Name+" belongs into inputs")
	d.Hint = "write it there: " + id.Name + ": … = …"
	r.found = append(r.found, d)
}

// param refuses a parameter that the contract does not declare, or declares as one that may stay
// absent.
func (r *inputRule) param(name string) {
	names := make([]string, len(r.fields))
	for i, f := range r.fields {
		names[i] = f.Name
	}
	at := r.params[name]
	d := r.u.module.problem("inputs", at.NamePos, len([]rune(name)), "inputs does not declare "+name)
	if i := slices.Index(names, name); i < 0 {
		d.Hint = diagnostic.DidYouMean(name, names)
	} else if r.fields[i].Optional {
		d.Message = name + " may be absent: it reaches main in **kwargs, not as a parameter"
	} else {
		return
	}
	r.found = append(r.found, d)
}

// inContract reports a problem with a field, at its name inside the contract's text.
func (r *inputRule) inContract(field, message, hint string) {
	pos := r.literal.TokenPos
	at, size := fieldIn(r.literal.Raw, field)
	for _, c := range r.literal.Raw[:at] {
		pos.Col++
		if c == '\n' {
			pos.Line, pos.Col = pos.Line+1, 1
		}
	}
	d := r.u.module.problem("inputs", pos, size, message)
	d.Hint = hint
	r.found = append(r.found, d)
}

// fieldIn finds the name of a field of the outermost record in the text of a literal, and its
// length in runes: the last word of that name which stands one bracket deep before a colon, since
// type definitions come first. Should there be none, it is the literal as a whole.
func fieldIn(raw, field string) (at, size int) {
	at, size = 0, len([]rune(raw))
	depth := 0
	for i := strings.IndexAny(raw, `'"`) + 1; i < len(raw); {
		n := pieceLen(raw[i:])
		switch piece := strings.ReplaceAll(raw[i:i+n], `\`, ""); piece {
		case "{", "[", "(":
			depth++
		case "}", "]", ")":
			depth--
		case field, strconv.Quote(field):
			if after := strings.TrimLeft(raw[i+n:], "? \t\n"); depth == 1 && strings.HasPrefix(after, ":") {
				at, size = i, len([]rune(raw[i:i+n]))
			}
		}
		i += n
	}
	return at, size
}

// pieceLen is the length of the token of a contract at the start of s, the inside of a Starlark
// literal: quotes may have a \ before them.
func pieceLen(s string) int {
	if n := wordLen(s); n > 0 {
		return n
	}
	for _, quote := range []string{`\"`, `"`, `/`} {
		if rest, ok := strings.CutPrefix(s, quote); ok {
			if i := strings.Index(rest, quote); i >= 0 {
				return i + 2*len(quote)
			}
		}
	}
	if s[0] == '#' {
		return max(1, strings.IndexByte(s+"\n", '\n'))
	}
	return 1
}
