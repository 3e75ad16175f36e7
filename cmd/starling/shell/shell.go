// Package shell writes commands that are meant to be copied into a shell, a second terminal's most
// often: every word of them is quoted for POSIX shells, and history expansion, which only single
// quotes stop, is thought of.
package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Word quotes one word, if it needs it.
func Word(s string) string {
	if s != "" && strings.IndexFunc(s, special) < 0 && s[0] != '~' && s[0] != '=' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// special tells the runes that some shell gives a meaning to. What is not known to be plain is
// special.
func special(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("_-./:@%+,=~", r)
}

// Line joins words to a command, quoting each.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Word(w)
	}
	return strings.Join(quoted, " ")
}

// Program says how a shell calls this program again: by its name, if that is what the shell
// finds; by its path as it was written; or, for a binary that `go run` has built and will remove,
// by the same `go run`.
func Program(arg0 string) string {
	self, err := os.Executable()
	if err != nil {
		return Word(arg0)
	}
	if strings.Contains(self, string(filepath.Separator)+"go-build") {
		return goRun()
	}
	name := filepath.Base(arg0)
	if found, err := exec.LookPath(name); err == nil && sameFile(found, self) {
		return Word(name)
	}
	return Word(arg0)
}

// goRun is the `go run` that works from the current directory, or from anywhere in the module.
func goRun() string {
	if isFile(filepath.Join("cmd", "starling", "main.go")) {
		return "go run ./cmd/starling"
	}
	return "go run starling/cmd/starling"
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
