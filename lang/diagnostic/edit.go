package diagnostic

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// An Edit puts a text in the place of what stands from one place of a file to another, lines and
// columns as a [Diagnostic] counts them. Nothing is replaced where both places are one. The zero
// Edit is none.
type Edit struct {
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	EndLine int    `json:"end_line"`
	EndCol  int    `json:"end_col"` // first column behind what is replaced
	Text    string `json:"text"`
}

// hinted are the hints that say word for word what to write in the place that they speak of.
var hinted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:did you mean "([^"\\]+)"\?|write \.?(\w+(?:\.\w+)?|"[^"\\]*"|contract\(.*\)|\["[^"\\]*"\]))$`)
})

// Guess is what a hint of [Meant] supposes was meant.
func Guess(hint string) (word string, ok bool) {
	m := hinted().FindStringSubmatch(hint)
	if m == nil || m[1] == "" {
		return "", false
	}
	return m[1], true
}

// Mend is the edit that does what the hint says, for a hint that says word for word what to write
// in the place of the diagnostic: a name, or a text. It is the zero Edit for any other.
func (d Diagnostic) Mend() Edit {
	m := hinted().FindStringSubmatch(d.Hint)
	line := []rune(d.Text)
	if m == nil || d.Col < 1 || d.EndCol <= d.Col || d.EndCol > len(line)+1 {
		return Edit{}
	}
	is := string(line[d.Col-1 : d.EndCol-1])
	word := cmp.Or(m[1], m[2])
	switch {
	case isWord(is) && !strings.ContainsAny(word, `"([`):
	case isText(is) && m[1] != "":
		word = is[:1] + word + is[:1]
	case isText(is) && word[0] == '"', isText(is) && strings.Contains(word, is): // as a whole, or with something around it
	default:
		return Edit{}
	}
	return Edit{d.Line, d.Col, d.Line, d.EndCol, word}
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// isText tells whether a text is a literal string without escapes.
func isText(s string) bool {
	return len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] && !strings.ContainsAny(s[1:len(s)-1], `"'\`)
}

// Apply makes edits in a text. One that reaches into another that stands before it is left out, and
// one that would take a comment away; made are those that are not.
func Apply(source string, edits []Edit) (text string, made []Edit) {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b Edit) int {
		return cmp.Or(a.Line-b.Line, a.Col-b.Col, a.EndLine-b.EndLine, a.EndCol-b.EndCol, strings.Compare(a.Text, b.Text))
	})
	var b strings.Builder
	at := 0
	for _, e := range slices.Compact(edits) {
		from, to := Offset(source, e.Line, e.Col), Offset(source, e.EndLine, e.EndCol)
		if from < at || to < from || strings.Count(source[from:to], "#") > strings.Count(e.Text, "#") {
			continue
		}
		b.WriteString(source[at:from] + e.Text)
		at, made = to, append(made, e)
	}
	return b.String() + source[at:], made
}
