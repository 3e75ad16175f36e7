package check

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"starling/lang/diagnostic"
)

// Rule is one kind of diagnostic, as tools and pages list them.
type Rule struct {
	Kind  string `json:"kind"`           // the stable word
	Doc   string `json:"doc"`            // one sentence
	Text  string `json:"text,omitempty"` // why it matters, or what else there is to know
	Wrong string `json:"wrong"`          // a script of which just this is said
	Right string `json:"right"`          // one of which nothing is
}

//go:embed rules.txt
var rulesText string

// rules is what rules.txt says. It is read once and never changes.
var rules = sync.OnceValue(func() []Rule {
	var list []Rule
	for _, block := range strings.Split(rulesText, "\n== ")[1:] {
		head, examples, _ := strings.Cut(block, "-- wrong\n")
		wrong, right, _ := strings.Cut(examples, "-- right\n")
		kind, said, _ := strings.Cut(head, "\n")
		doc, text := sentence(said)
		list = append(list, Rule{kind, doc, text, wrong, strings.TrimRight(right, "\n") + "\n"})
	}
	return list
})

// sentence is the first sentence of a text of several lines, which ends its line, and the rest.
func sentence(text string) (first, rest string) {
	first, rest, _ = strings.Cut(text, ".\n")
	return strings.ReplaceAll(first, "\n", " ") + ".", strings.ReplaceAll(strings.TrimSpace(rest), "\n", " ")
}

// Rules lists every kind that [Files], and starling/lang before it, can report.
func Rules() []Rule { return slices.Clone(rules()) }

// Render is what people read of diagnostics: the kind of each stands behind its first line, since
// --explain and a comment that ignores it want to know.
func Render(list ...diagnostic.Diagnostic) string {
	text := ""
	for _, d := range list {
		first, rest, _ := strings.Cut(d.Render(), "\n")
		if slices.ContainsFunc(rules(), func(r Rule) bool { return r.Kind == d.Kind }) {
			first += " [" + d.Kind + "]"
		}
		text += first + "\n" + rest
	}
	return text
}

// Page is all that there is to say of a kind, in Markdown, without its heading.
func (r Rule) Page() string {
	page := r.Doc + "\n"
	if r.Text != "" {
		page += "\n" + r.Text + "\n"
	}
	return page + "\nWrong:\n\n" + indented(r.Wrong) + "\nRight:\n\n" + indented(r.Right)
}

func indented(text string) string {
	var b strings.Builder
	told := strings.NewReplacer("### file ", "# The file ", "### agents ", "# starling.toml has the agents ", "### tools ", "# starling.toml has the tool servers ")
	for line := range strings.Lines(told.Replace(text)) {
		b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
	return b.String()
}
