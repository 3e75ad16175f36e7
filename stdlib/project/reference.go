package project

import (
	_ "embed" // of the comment of this package
	"strings"
)

//go:embed doc.go
var comment string

// Reference is what there is to say of the project file, from the comment of this package: an
// example, and every key with what it takes, its default and its meaning.
func Reference() string {
	_, text, _ := strings.Cut(comment, "\tfake =")
	text, _, _ = strings.Cut("\tfake ="+text, "package project")
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "//"), " ")
		b.WriteString(strings.ReplaceAll(line, "\t", "    "))
	}
	return b.String()
}
