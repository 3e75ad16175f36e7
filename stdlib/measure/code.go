package measure

import (
	"bytes"
	"path"
)

// Code is what source files hold: lines of each kind, and how often they branch. Complexity is
// that of scc, an estimate of the cyclomatic one by the words that branch (if, for, case, &&, …).
type Code struct {
	Language   string
	Code       int
	Comments   int
	Blank      int
	Complexity int
}

// docstrings are triple-quoted texts, behind what may hide one.
var docstrings = pattern(hash + "|" + triple + "|" + quotes)

// withoutQuotes is a source with the letters in triple-quoted texts replaced: scc takes any quote
// in a docstring for its end, and all that comes behind it for a text.
func withoutQuotes(language string, content []byte) []byte {
	if language != "Python" {
		return content
	}
	return docstrings().ReplaceAllFunc(content, func(token []byte) []byte {
		if len(token) < 6 || token[0] == '#' || token[1] != token[0] {
			return token
		}
		replaced := bytes.Clone(token)
		for i := 3; i < len(token)-3; i++ {
			if token[i] > ' ' {
				replaced[i] = 'x'
			}
		}
		return replaced
	})
}

// MeasureCode measures a source file. ok is false for what is none: of no language that scc knows,
// binary, or of a language that does not branch, such as Markdown and JSON.
func MeasureCode(name string, content []byte) (c Code, ok bool) {
	known := languages()
	l := known.of(path.Base(name), content)
	if l == nil || len(l.Branches) == 0 {
		return c, false
	}
	content = withoutQuotes(l.name, content)
	n := counter{text: content, tokens: l.tokens(), last: len(content) - 1, code: Code{Language: l.name}}
	n.count()
	return n.code, !n.binary
}
