package contract

import (
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// A contract is laid out token by token: lines stay as their author has broken them, what is
// between the tokens of a line does not. So comments stay where they are, and the tokens are the
// same ones.

// Layout gives a contract's text with the blanks that it should have. Lines behind the first begin
// with indent, and four blanks more for each line whose brackets are open. A text that is not of
// the grammar is given back as it is.
func Layout(text, indent string) string {
	if _, err := parseTokens(scan(text)); err != nil || len(text) > MaxText {
		return text
	}
	all := pieces(text)
	var b strings.Builder
	var open []int // on which line each bracket that is open was opened
	line := 0
	for i, p := range all {
		var before piece
		if i > 0 {
			before = all[i-1]
		}
		switch {
		case p.breaks > 0:
			line++
			b.WriteString(strings.Repeat("\n", min(p.breaks, 2)))
			b.WriteString(indent + strings.Repeat("    ", levels(open[:max(0, len(open)-closers(all[i:]))])+hanging(before, p)))
		case i > 0:
			b.WriteString(between(before, p))
		}
		b.WriteString(p.value)
		switch {
		case p.kind != tokenSign:
		case closes(p.value) != "":
			open = append(open, line)
		case opens(p.value) != "":
			open = open[:max(0, len(open)-1)]
		}
	}
	if end := text[len(strings.TrimRight(text, " \t\r\n")):]; strings.Contains(end, "\n") {
		b.WriteString("\n" + indent)
	}
	return b.String()
}

// levels is how many lines have opened brackets that are open.
func levels(open []int) int { return len(slices.Compact(slices.Clone(open))) }

// closers is how many brackets close where tokens begin.
func closers(all []piece) int {
	n := 0
	for n < len(all) && all[n].kind == tokenSign && opens(all[n].value) != "" && (n == 0 || all[n].breaks == 0) {
		n++
	}
	return n
}

// Tokens are those of a contract's text, with its comments: all that counts in it.
func Tokens(text string) []string {
	var all []string
	for _, p := range pieces(text) {
		all = append(all, p.value)
	}
	return all
}

// piece is a token or a comment, and how many lines end in front of it.
type piece struct {
	kind   lexer.TokenType // tokenComment for a comment
	value  string
	breaks int
}

const tokenComment lexer.TokenType = -100

func pieces(text string) []piece {
	var all []piece
	breaks := 0
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case c == '\n':
			breaks++
			at++
		case c == ' ' || c == '\t' || c == '\r':
			at++
		case c == '#':
			line, _, _ := strings.Cut(text[at:], "\n")
			all = append(all, piece{tokenComment, strings.TrimRight(line, " \t\r"), breaks})
			at, breaks = at+len(line), 0
		default:
			kind, size := next(text[at:])
			all = append(all, piece{kind, text[at : at+size], breaks})
			at, breaks = at+size, 0
		}
	}
	return all
}

// hanging is 1 for a line that goes on with a type that the line before has begun.
func hanging(before, p piece) int {
	if p.value == "|" || slices.Contains([]string{"|", "=", ":"}, before.value) && before.kind == tokenSign {
		return 1
	}
	return 0
}

// between is what stands between two tokens of one line.
func between(before, p piece) string {
	switch {
	case p.kind == tokenComment:
		return "  "
	case before.kind == tokenSign && strings.Contains("[{(..@", before.value),
		p.kind == tokenSign && strings.Contains("]}),:?..", p.value),
		p.value == "(" && bounded(before):
		return ""
	}
	return " "
}

// bounded tells whether what stands in front of a ( is a type, whose bounds follow.
func bounded(before piece) bool {
	return before.kind == tokenIdent || before.value == "]"
}
