package measure

import "path"

// Code is what source files hold: lines of each kind, and how often they branch. Complexity is
// that of scc, an estimate of the cyclomatic one by the words that branch (if, for, case, &&, …).
type Code struct {
	Language   string
	Code       int
	Comments   int
	Blank      int
	Complexity int
}

// MeasureCode measures a source file. ok is false for what is none: of no language that scc knows,
// binary, or of a language that does not branch, such as Markdown and JSON.
func MeasureCode(name string, content []byte) (c Code, ok bool) {
	known := languages()
	l := known.of(path.Base(name), content)
	if l == nil || len(l.Branches) == 0 {
		return c, false
	}
	n := counter{text: content, tokens: l.tokens(), last: len(content) - 1, code: Code{Language: l.name}}
	n.count()
	return n.code, !n.binary
}
