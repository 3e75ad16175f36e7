package lang

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"unicode"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// library is the prefix of the names that the library's Source serves.
const library = "@std/"

// maxName bounds the length of a module's name in bytes.
const maxName = 1024

// Module is one file of a bundle.
type Module struct {
	Name   string   // slash-separated and relative to the root of the bundle, or "@std/NAME.star"
	Source []byte   // its text, which must not be changed
	Hash   [32]byte // SHA-256 of Source

	loads []*Module // what it loads, in order, each once
	runs  []*Module // child scripts that it names with a literal, in order, each once

	parsed atomic.Pointer[syntax.File] // what reading has parsed, for the one who first compiles it
}

// Loads lists the modules that the module loads itself, in order, each once.
func (m *Module) Loads() []*Module { return m.loads[:len(m.loads):len(m.loads)] }

// problem makes a diagnostic about width columns of the module's text.
func (m *Module) problem(kind string, pos syntax.Position, width int, message string) diagnostic.Diagnostic {
	source := string(m.Source)
	from := diagnostic.Offset(source, int(pos.Line), int(pos.Col))
	to := diagnostic.Offset(source, int(pos.Line), int(pos.Col)+width)
	return diagnostic.Diagnostic{Kind: kind, Message: message}.At(m.Name, source, from, to)
}

// wordAt is the number of runes of the word at a place, 1 if there is none.
func (m *Module) wordAt(pos syntax.Position) int {
	source := string(m.Source)
	rest := source[diagnostic.Offset(source, int(pos.Line), int(pos.Col)):]
	return max(1, len([]rune(rest[:wordLen(rest)])))
}

// moduleName gives the name of the module that is written as name in the file from. Relative names
// start at the file's folder, and none leaves the root: neither the script's own nor the library's.
func moduleName(from, name string) (string, error) {
	root := ""
	switch {
	case name == "":
		return "", fmt.Errorf("the name is empty")
	case strings.HasPrefix(name, library):
		from, name, root = library, name[len(library):], library
	case strings.HasPrefix(name, "@"):
		return "", fmt.Errorf("unknown library; the only one is %sNAME.star", library)
	case strings.HasPrefix(from, library):
		root = library
	}
	switch {
	case path.IsAbs(name):
		return "", fmt.Errorf("the name is absolute; names are relative to the file that they stand in")
	case strings.Contains(name, `\`):
		return "", fmt.Errorf(`the name holds a \; folders are separated by /`)
	}
	joined := path.Join(path.Dir(from), name)
	if joined == ".." || strings.HasPrefix(joined, "../") || !strings.HasPrefix(joined, root) {
		return "", fmt.Errorf("the name leads out of %s", rootOf(root))
	}
	return joined, validName(joined)
}

func rootOf(root string) string {
	if root == "" {
		return "the script's root folder"
	}
	return "the library"
}

// validName refuses names that no file can have or no message can show.
func validName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("the name is longer than %d bytes", maxName)
	}
	if !fs.ValidPath(name) || name == "." || strings.IndexFunc(name, unicode.IsControl) >= 0 {
		return fmt.Errorf("%q is not a file name", name)
	}
	return nil
}
