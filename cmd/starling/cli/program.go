package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"starling/cmd/starling/place"
	"strings"
)

// programWord says how a shell calls this program again: by its name, if that is what the shell
// finds; by its path as it was written; or, for a binary that `go run` has built and will remove,
// by the same `go run`.
func programWord(arg0 string) string {
	self, err := os.Executable()
	if err != nil {
		return shellWord(arg0)
	}
	if strings.Contains(self, string(filepath.Separator)+"go-build") {
		return goRun()
	}
	name := filepath.Base(arg0)
	if found, err := exec.LookPath(name); err == nil && sameFile(found, self) {
		return shellWord(name)
	}
	return shellWord(arg0)
}

// goRun is the `go run` that works from the current directory, or from anywhere in the module.
func goRun() string {
	if place.Exists(filepath.Join("cmd", "starling", "main.go")) {
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
