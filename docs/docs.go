// Package docs has the texts of this folder, for the pages that `starling doc` makes of them.
package docs

import (
	"embed"
	"io/fs"
)

//go:embed *.md
var files embed.FS

// Texts are the texts in Markdown, by their paths in the repository: "docs/tutorial.md".
func Texts() (map[string]string, error) {
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts["docs/"+name] = string(text)
	}
	return texts, nil
}
