// Package gallery has scripts that people need, each with its tests, to copy and change. They are
// in the program, for `starling new`.
//
// An example NAME is the two files NAME.star and NAME_test.star. The first begins with a comment:
// what the script does, in sentences, and behind an empty line how it is run. The functions of the
// second that are no tests play its agents, for --fake.
package gallery

import (
	"embed"
	"regexp"
	"strings"
)

//go:embed *.star
var files embed.FS

// What the names of an example's files end with.
const (
	scriptSuffix = ".star"
	testSuffix   = "_test.star"
)

// Example is one of the scripts.
type Example struct {
	Name    string `json:"name"`
	Summary string `json:"summary"` // what it does, in one line
	Script  string `json:"-"`       // the text of NAME.star
	Test    string `json:"-"`       // the text of NAME_test.star
}

// Examples lists all, by name.
func Examples() ([]Example, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var all []Example
	for _, entry := range entries {
		name, script := strings.CutSuffix(entry.Name(), scriptSuffix)
		if !script || strings.HasSuffix(entry.Name(), testSuffix) {
			continue
		}
		e, err := read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func read(name string) (Example, error) {
	script, err := files.ReadFile(name + scriptSuffix)
	if err != nil {
		return Example{}, err
	}
	test, err := files.ReadFile(name + testSuffix)
	if err != nil {
		return Example{}, err
	}
	return Example{name, summary(string(script)), string(script), string(test)}, nil
}

// summary is the first paragraph of the comment that a script begins with.
func summary(script string) string {
	var words []string
	for line := range strings.Lines(script) {
		text, comment := strings.CutPrefix(line, "#")
		if text = strings.TrimSpace(text); !comment || text == "" {
			break
		}
		words = append(words, text)
	}
	return strings.Join(words, " ")
}

// As is the example under another name: what names its files, and the run of its script, names
// those of the new one.
func (e Example) As(name string) Example {
	named := regexp.MustCompile(`\b` + e.Name + `((?:_test)?\.star\b)|(of = "|answer\(")` + e.Name + `(["/])`)
	renamed := func(text string) string { return named.ReplaceAllString(text, "${2}"+name+"${1}${3}") }
	return Example{name, e.Summary, renamed(e.Script), renamed(e.Test)}
}

// Runs are the command lines by which the script says that it is run.
func (e Example) Runs() (lines []string) {
	for line := range strings.Lines(e.Script) {
		text, comment := strings.CutPrefix(line, "#")
		if !comment {
			break
		}
		if text, command := strings.CutPrefix(text, "   "); command {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return lines
}
