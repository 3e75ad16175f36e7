package check

import (
	"strings"
	"unicode"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/edit"
	"starling/lang/effect"
	"starling/lang/way"
)

// What mends a mistake, where only one thing can have been meant.

// unloaded takes a name out of the load statement that gives it, or the statement where it gives no
// other.
func (c *checker) unloaded(v *syntax.Ident) diagnostic.Edit {
	load := c.names.sites[v][0].load
	before, behind := way.Span(load)
	used := false
	_, last := load.Module.Span()
	made := diagnostic.Edit{}
	for i, to := range load.To {
		used = used || c.names.reads[way.Variable(to)] > 0
		quoted := load.From[i].NamePos
		quoted.Col += int32(len([]rune(load.From[i].Name))) + 1
		if to == v {
			made = edit.Put(last, quoted, "")
		}
		last = quoted
	}
	if used {
		return made
	}
	if rest := c.file.Between(behind, syntax.Position{Line: behind.Line + 1, Col: 1}); before.Col != 1 || strings.TrimSpace(rest) != "" {
		return diagnostic.Edit{}
	}
	next := behind.Line + 1
	blank := func(line int32) bool {
		return strings.TrimSpace(c.file.Between(syntax.Position{Line: line, Col: 1}, syntax.Position{Line: line + 1, Col: 1})) == ""
	}
	if blank(next) && (before.Line == 1 || blank(before.Line-1)) {
		next++
	}
	return edit.Put(before, syntax.Position{Line: next, Col: 1}, "")
}

// renamed loads under the name that is used what is called otherwise in the other file.
func renamed(load *syntax.LoadStmt, from *syntax.Ident, hint string) diagnostic.Edit {
	word, ok := diagnostic.Guess(hint)
	if !ok {
		return diagnostic.Edit{}
	}
	start, end := from.NamePos, from.NamePos
	end.Col += int32(len([]rune(from.Name)))
	for _, to := range load.To {
		if to == from { // the name that is used is the same
			start.Col--
			end.Col++
			return edit.Put(start, end, from.Name+` = "`+word+`"`)
		}
	}
	return edit.Put(start, end, word)
}

// called leaves of v = f(…) the call.
func (c *checker) called(v *syntax.Ident) diagnostic.Edit {
	s, ok := c.names.only(v)
	if !ok {
		return diagnostic.Edit{}
	}
	call, isCall := s.value.(*syntax.CallExpr)
	if !isCall {
		return diagnostic.Edit{}
	}
	if name, v := c.builtin(call.Fn); name != "" {
		if b, ok := v.(*effect.Builtin); !ok || b.Class == effect.Pure {
			return diagnostic.Edit{} // the call is of no use either
		}
	}
	return edit.Put(syntax.Start(v), syntax.Start(s.value), "")
}

// ourType writes a type of a contract as contracts do that stands there as other languages write
// it: NAME[…], at whose bracket the mistake was found.
func ourType(d diagnostic.Diagnostic) diagnostic.Edit {
	line := []rune(d.Text)
	if d.Col < 2 || d.Col > len(line) || line[d.Col-1] != '[' {
		return diagnostic.Edit{}
	}
	from, to := d.Col-1, closing(line, d.Col-1)
	for from > 0 && unicode.IsLetter(line[from-1]) {
		from--
	}
	if to < 0 || from == d.Col-1 {
		return diagnostic.Edit{}
	}
	text := inOurs(strings.ToLower(string(line[from:d.Col-1])), strings.TrimSpace(string(line[d.Col:to])))
	if text == "" {
		return diagnostic.Edit{}
	}
	return diagnostic.Edit{Line: d.Line, Col: from + 1, EndLine: d.Line, EndCol: to + 2, Text: text}
}

// closing is where the bracket closes that stands at a place, -1 if it does not on the line.
func closing(line []rune, at int) int {
	depth := 0
	for i := at; i < len(line); i++ {
		switch line[i] {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// inOurs is a type with parameters as contracts write it, "" where it is none that is known.
func inOurs(name, parameters string) string {
	nested := strings.ContainsAny(parameters, "[]{}()")
	key, value, two := strings.Cut(parameters, ",")
	switch name {
	case "list", "array", "sequence":
		return "[" + parameters + "]"
	case "optional":
		if !nested && !strings.Contains(parameters, "|") {
			return parameters + "?"
		}
	case "dict", "map", "mapping":
		if key = strings.TrimSpace(key); two && (key == "string" || key == "str") {
			return "{string: " + strings.TrimSpace(value) + "}"
		}
	case "union", "literal":
		if !nested {
			return strings.Join(strings.FieldsFunc(parameters, func(r rune) bool { return r == ',' }), " |")
		}
	}
	return ""
}
