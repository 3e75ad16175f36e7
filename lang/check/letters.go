package check

import (
	"strconv"
	"strings"
	"unicode"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// part is what takes a beginning or an end off a text, for those methods that take letters off.
var part = map[string]string{"rstrip": "removesuffix", "lstrip": "removeprefix", "strip": "removeprefix or removesuffix"}

// letters warns of a strip of what looks like an ending or a beginning: what strip is given are
// single letters, each of which is taken off as often as it stands there.
func (c *checker) letters(call *syntax.CallExpr) {
	dot, ok := call.Fn.(*syntax.DotExpr)
	if !ok || part[dot.Name.Name] == "" || len(call.Args) != 1 {
		return
	}
	arg := call.Args[0]
	if s, ok := c.names.only(arg); ok && s.kind == assigned {
		arg = s.value
	}
	s, ok := text(arg)
	if !ok || !isPart(s) {
		return
	}
	method := dot.Name.Name
	c.at("strip_letters", call.Args[0], diagnostic.Diagnostic{Severity: diagnostic.Warning,
		Message: method + " takes off each of these letters, in any order, and not the text " + strconv.Quote(s),
		Hint:    `write ` + part[method] + "(" + strconv.Quote(s) + ")"})
}

// isPart tells whether a text looks like a part of texts and not like a set of letters: it has
// different letters, and one of them twice or a mark at one of its ends, as ".md" and "origin/" do.
func isPart(s string) bool {
	runes := []rune(strings.ToLower(s))
	letters, twice := map[rune]bool{}, false
	seen := map[rune]bool{}
	for _, r := range runes {
		twice = twice || seen[r]
		seen[r] = true
		if unicode.IsLetter(r) {
			letters[r] = true
		}
	}
	if len(letters) < 2 {
		return false
	}
	const marks = "./-_:#@"
	return twice || strings.ContainsRune(marks, runes[0]) || strings.ContainsRune(marks, runes[len(runes)-1])
}
