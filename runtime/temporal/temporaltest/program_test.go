package temporaltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The sessions of testdata play the real program with a server and workers that are processes. The
// project of each names a queue of its own.
func TestSessions(t *testing.T) {
	programs := t.TempDir()
	out, err := exec.Command("go", "build", "-C", "..", "-o", programs, "./cmd/starling-temporal").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("PATH", programs+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return filepath.WalkDir(env.WorkDir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.Name() != "starling.toml" {
					return err
				}
				return place(path)
			})
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// place writes into a project where the server is.
func place(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	at := strings.NewReplacer("SERVER", served.GetFrontendHostPort(), "NAMESPACE", served.GetDefaultNamespace(), "QUEUE", fmt.Sprintf("q%d", queues.Add(1)))
	return os.WriteFile(path, []byte(at.Replace(string(text))), 0o600)
}

// exits runs a program and wants the code that it exits with.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		got = -1
		fmt.Sscanf(err.Error(), "exit status %d", &got)
	}
	if want := args[0]; fmt.Sprint(got) != want {
		ts.Fatalf("got %v, want the exit code %s", err, want)
	}
}
