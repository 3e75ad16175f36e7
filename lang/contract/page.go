package contract

import (
	_ "embed" // of the page
	"regexp"
	"strings"
)

// Page is the page that says what a contract can be, in Markdown.
//
//go:embed grammar.md
var Page string

// typeRow is a row of the page that says what a word admits.
var typeRow = regexp.MustCompile("(?m)^\\| ((?:`[a-z]+`(?:, )?)+) \\| (.*) \\|$")

// Words are the types that have a name by themselves, in the order of the page, and what each
// admits.
func Words() (names []string, admit map[string]string) {
	admit = map[string]string{}
	for _, row := range typeRow.FindAllStringSubmatch(Page, -1) {
		said := strings.Split(row[2], "; ")
		words := strings.Split(row[1], ", ")
		for i, w := range words {
			w = strings.Trim(w, "`")
			names = append(names, w)
			if admit[w] = row[2]; len(words) == len(said) {
				admit[w] = said[i]
			}
		}
	}
	return names, admit
}
