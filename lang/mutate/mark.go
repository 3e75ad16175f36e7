package mutate

import (
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// Mark is what an author says of mutants that no test can notice, in a comment at the end of their
// line, or alone in the lines before it:
//
//	# mutate: equivalent, REASON
//	# mutate: equivalent KIND, REASON
//
// It holds for the mutants of the line that survive, with a kind for those of that kind.
type Mark struct {
	Line   int  // that it is about
	At     int  // the line of the comment
	Kind   Kind // "" for any
	Reason string
}

// Covers tells whether a mark speaks of a mutant.
func (k Mark) Covers(m *Mutant) bool {
	return k.Line == m.Line && (k.Kind == "" || k.Kind == m.Kind)
}

// markForm is what a mark looks like.
const markForm = `"# mutate: equivalent, REASON", or "# mutate: equivalent KIND, REASON"`

// Marks lists the marks of a file. The error is a diagnostic.List: marks without a reason, of a
// kind that there is not, or that say something else.
func Marks(name string, source []byte) ([]Mark, error) {
	l, tree, err := parse(name, source)
	if err != nil {
		return nil, err
	}
	text, inText := l.text, l.texts(tree)
	comment := regexp.MustCompile(`#[ \t]*mutate:([^\n]*)`)
	var marks []Mark
	var wrong diagnostic.List
	for _, at := range comment.FindAllStringSubmatchIndex(text, -1) {
		if inText(at[0]) {
			continue
		}
		k, problem := readMark(strings.TrimSpace(text[at[2]:at[3]]))
		if problem != "" {
			d := diagnostic.Diagnostic{Kind: "mutate", Message: problem, Want: markForm}
			wrong = append(wrong, d.At(name, text, at[0], at[1]))
		}
		k.At, _ = l.place(at[0])
		k.Line = codeLine(text, k.At)
		marks = append(marks, k)
	}
	return marks, wrong.Err()
}

// readMark reads what stands behind the colon.
func readMark(said string) (k Mark, problem string) {
	what, reason, _ := strings.Cut(said, ",")
	words := strings.Fields(what)
	if len(words) == 0 || words[0] != "equivalent" || len(words) > 2 {
		return k, "a mark says that mutants of its line are equivalent, and why"
	}
	if k.Reason = strings.TrimSpace(reason); k.Reason == "" {
		return k, "a mark needs a reason"
	}
	if len(words) == 1 {
		return k, ""
	}
	var kinds []string
	for _, kind := range Kinds() {
		if string(kind) == words[1] {
			k.Kind = kind
			return k, ""
		}
		kinds = append(kinds, string(kind))
	}
	return k, fmt.Sprintf("there is no kind %q of mutants: %s", words[1], strings.Join(kinds, ", "))
}

// codeLine is the line that a comment is about: its own, or the next one with code if it stands
// alone.
func codeLine(text string, at int) int {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if i+1 >= at && line != "" && line[0] != '#' {
			return i + 1
		}
	}
	return at
}

// texts tells whether a byte lies in a text of the script, where no comment is.
func (l *lister) texts(tree *syntax.File) func(at int) bool {
	var spans [][2]int
	syntax.Walk(tree, func(n syntax.Node) bool {
		if literal, ok := n.(*syntax.Literal); ok {
			spans = append(spans, [2]int{l.start(literal), l.end(literal)})
		}
		return true
	})
	return func(at int) bool {
		for _, s := range spans {
			if s[0] <= at && at < s[1] {
				return true
			}
		}
		return false
	}
}
