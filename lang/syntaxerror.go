package lang

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/foreign"
)

// The parser speaks of one token, mostly as "got X, want Y", and gives the place where the token
// ends, for a missing expression where it begins. syntaxProblem finds the token's extent again, so
// that the caret stands under it, and adds a hint for what people bring along from other languages
// and for brackets that were left open.
func syntaxProblem(m *Module, err syntax.Error) diagnostic.Diagnostic {
	source := string(m.Source)
	at := diagnostic.Offset(source, int(err.Pos.Line), int(err.Pos.Col))
	d := diagnostic.Diagnostic{Kind: "syntax", Message: err.Msg}
	start, end := at, at+1
	if got, want, ok := gotWant(err.Msg); ok {
		d.Message, d.Got, d.Want = "", got, strings.Replace(want, "primary", "an", 1)
		if want == "primary expression" && got != "end of file" && got != "outdent" {
			end = start + max(1, wordLen(source[start:]))
		} else {
			start, end = tokenBefore(source, at, got)
		}
	}
	d.Hint = cmp.Or(unknownHere(source, start, end, d), unfinished(d), openBracket(m, start, d))
	d = d.At(m.Name, source, start, end)
	d.Fix = ourWord(source, start, end, d)
	return d
}

// ourWord writes the word of this language for one of another that was recognised.
func ourWord(source string, start, end int, d diagnostic.Diagnostic) diagnostic.Edit {
	edit := diagnostic.Edit{Line: d.Line, Col: d.Col, EndLine: d.Line, EndCol: d.EndCol}
	switch d.Hint {
	case "write and", "write or": // the second of two signs
		edit.Col--
		edit.Text = spaced(source[:start-1], strings.TrimPrefix(d.Hint, "write "), source[end:])
	case "write not":
		edit.Text = "not "
		edit.EndCol += len(source[end:]) - len(strings.TrimLeft(source[end:], " "))
	case "write elif":
		from := strings.LastIndex(source[:start], "else")
		if strings.TrimSpace(source[from:start]) != "else" {
			return diagnostic.Edit{}
		}
		edit.Col -= start - from
		edit.Text = "elif"
	default:
		return diagnostic.Edit{}
	}
	return edit
}

// spaced is a word between two texts, with blanks where there are none.
func spaced(before, word, behind string) string {
	if !strings.HasSuffix(before, " ") {
		word = " " + word
	}
	if !strings.HasPrefix(behind, " ") {
		word += " "
	}
	return word
}

// gotWant takes the parser's usual message apart.
func gotWant(msg string) (got, want string, ok bool) {
	rest, ok := strings.CutPrefix(msg, "got ")
	if !ok {
		return "", "", false
	}
	if i := strings.LastIndex(rest, ", want "); i >= 0 {
		return rest[:i], rest[i+len(", want "):], true
	}
	return "", "", false
}

// tokenBefore is the extent of the token, described as the parser does, that ends at an offset.
func tokenBefore(source string, at int, got string) (start, end int) {
	switch got {
	case "newline":
		start = len(strings.TrimRight(source[:at], "\r\n"))
		return start, start
	case "end of file", "outdent":
		if at == len(source) {
			at = len(strings.TrimRight(source, " \t\r\n"))
		}
		return at, at
	case "indent":
		return at, at
	case "identifier", "int literal", "float literal":
		return at - len(source[:at]) + len(strings.TrimRightFunc(source[:at], isWordRune)), at
	case "string literal", "bytes literal":
		return stringBefore(source, at), at
	}
	return max(0, at-len(strings.Trim(got, "'"))), at
}

// stringBefore is where the string literal that ends at an offset begins, or its last line does.
func stringBefore(source string, at int) int {
	if at == 0 {
		return 0
	}
	line := strings.LastIndexByte(source[:at-1], '\n') + 1
	start := strings.LastIndexByte(source[line:at-1], source[at-1])
	if start < 0 {
		return line
	}
	return line + start
}

func isWordRune(r rune) bool {
	return r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf
}

func wordLen(s string) int { return len(s) - len(strings.TrimLeftFunc(s, isWordRune)) }

// unknownHere is the hint for a piece of another language, "" if it is not recognised.
func unknownHere(source string, start, end int, d diagnostic.Diagnostic) string {
	token := source[min(start, len(source)):min(end, len(source))]
	if hint := foreign.Word(token); hint != "" {
		return hint
	}
	line := strings.TrimLeft(source[strings.LastIndexByte(source[:start], '\n')+1:], " \t")
	first := line[:wordLen(line)]
	if hint := foreign.Word(first); hint != "" && d.Want == "newline" {
		return hint
	}
	switch before := source[:start]; {
	case d.Got == "string literal" && (strings.HasSuffix(before, "f") || strings.HasSuffix(before, "F")):
		return `there are no f-strings; write "… {}".format(x)`
	case first == "def" && (token == ":" && d.Want == "')'" && wordLen(source[start-1:]) > 0 || token == "-" && d.Want == "':'"):
		return "there are no type annotations"
	case d.Got == "'='" && d.Want == "':'":
		return "== compares"
	case d.Got == "newline" && (strings.HasSuffix(source[:start], "++") || strings.HasSuffix(source[:start], "--")):
		sign := source[start-1 : start]
		return "write " + strings.TrimRight(first, "+-") + " " + sign + "= 1"
	case d.Got == "if" && d.Want == "':'" && first == "else":
		return "write elif"
	case strings.Contains(d.Message, "does not associate"):
		return "join two comparisons with and"
	}
	return foreign.Sign(token, source[:start])
}

// unfinished is the hint for a piece of this language that lacks something.
func unfinished(d diagnostic.Diagnostic) string {
	switch {
	case strings.HasPrefix(d.Message, "unexpected newline in string"):
		return `close the quote, or write """ around a text of several lines`
	case strings.HasPrefix(d.Message, "invalid escape"):
		return `write \\ for a backslash, or r"…" for a text without escapes`
	case strings.HasPrefix(d.Message, "load statement must import"):
		return `name what is loaded: load("file.star", "name")`
	case strings.HasPrefix(d.Message, "conditional expression without else"):
		return "write: x if condition else y"
	case strings.HasPrefix(d.Message, "unindent does not match"):
		return "begin it in the column of the lines above that it belongs with"
	case d.Got == "indent":
		return "the statements of a block begin in one column; this one is further right than the one before it"
	case d.Want == "indent":
		return "the body of a block is indented; pass is one that does nothing"
	}
	return ""
}

// openBracket is the hint where something else stands in place of a comma or a closing bracket, or
// the text ends: usually a bracket was not closed further up.
func openBracket(m *Module, offset int, d diagnostic.Diagnostic) string {
	if !strings.ContainsAny(d.Want, ",)]}") && d.Got != "end of file" && d.Got != "outdent" {
		return ""
	}
	source := string(m.Source)
	var stack []int
	for i := 0; i < offset; i++ {
		switch source[i] {
		case '#':
			i += max(0, strings.IndexByte(source[i:]+"\n", '\n')-1)
		case '"', '\'':
			i += stringLen(source[i:]) - 1
		case '(', '[', '{':
			stack = append(stack, i)
		case ')', ']', '}':
			stack = stack[:max(0, len(stack)-1)]
		}
	}
	if len(stack) == 0 {
		return ""
	}
	open := stack[len(stack)-1]
	if d.Got != "end of file" && d.Got != "outdent" && !strings.Contains(source[open:offset], "\n") {
		return "" // it is in view
	}
	at := diagnostic.Diagnostic{}.At(m.Name, source, open, open+1)
	return "is the " + source[open:open+1] + " at " + at.Where() + " not closed, or a comma missing?"
}

// stringLen is the length of the string literal at the start of s.
func stringLen(s string) int {
	quote := s[:1]
	if strings.HasPrefix(s, quote+quote+quote) {
		quote = s[:3]
	}
	for i := len(quote); i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote)
		}
	}
	return len(s)
}
