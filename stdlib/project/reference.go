package project

import (
	_ "embed" // of the comment of this package
	"regexp"
	"slices"
	"strings"
	"sync"
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

// Example is a project file to begin with.
func Example() string {
	text, _, _ := strings.Cut(Reference(), "\nThese are all the keys")
	return strings.ReplaceAll(strings.TrimPrefix(text, "    "), "\n    ", "\n")
}

// Key is one key of the project file. In a path NAME, SCRIPT and MODEL stand for any name.
type Key struct {
	Path    string // "agents.NAME.backend"
	Takes   string // in words: "list of names", `"deny", "ask"`
	Default string
	Doc     string
}

// Keys are all the keys of the project file, as [Reference] lists them.
func Keys() []Key { return slices.Clone(keys()) }

// keys is read once and never changes.
var keys = sync.OnceValue(func() []Key {
	_, table, _ := strings.Cut(comment, "//\tkey ")
	table, _, _ = strings.Cut(table, "\n//\n")
	var list []Key
	for _, line := range strings.Split(table, "\n")[1:] {
		line = strings.TrimPrefix(line, "//\t")
		cells := columns.Split(strings.TrimSpace(line), -1)
		if strings.HasPrefix(line, " ") {
			list[len(list)-1].goOn(cells)
			continue
		}
		path, rest, _ := strings.Cut(line, " ")
		cells = append(columns.Split(strings.TrimSpace(rest), 3), "", "")
		list = append(list, Key{path, cells[0], cells[1], cells[2]})
	}
	return list
})

// columns is what stands between the columns of the table.
var columns = regexp.MustCompile(` {2,}`)

// goOn adds a further line of the table: of its last column, and of what the key takes where a list
// goes on.
func (k *Key) goOn(cells []string) {
	if strings.HasSuffix(k.Takes, ",") {
		k.Takes += " " + cells[0]
		cells = cells[1:]
	}
	if len(cells) > 0 {
		k.Doc += " " + cells[len(cells)-1]
	}
}
