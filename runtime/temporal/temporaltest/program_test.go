package temporaltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"starling/runtime/runtimetest"
)

// The sessions of testdata play the real program with a server and workers that are processes. The
// project of each names a queue of its own.
func TestSessions(t *testing.T) { play(t, "testdata", nil) }

// Those of testdata/postgres have a database beside the server.
func TestSessionsWithADatabase(t *testing.T) {
	play(t, "testdata/postgres", runtimetest.StartPostgres(t))
}

// play plays the sessions of a folder.
func play(t *testing.T, dir string, database *runtimetest.Postgres) {
	t.Helper()
	programs := t.TempDir()
	out, err := exec.Command("go", "build", "-C", "..", "-o", programs, "./cmd/starling-temporal").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("PATH", programs+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return filepath.WalkDir(env.WorkDir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.Name() != "starling.toml" {
					return err
				}
				return place(path, database)
			})
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "query": func(ts *testscript.TestScript, _ bool, args []string) {
			fmt.Fprintln(ts.Stdout(), database.Query(args[0]))
		}},
	})
}

// The session that types what docs/database.md shows for Temporal is made of the page.
func TestCommandsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/database.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "\nOn Temporal,")
	_, block, _ = strings.Cut(block, "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	commands := strings.Split(strings.TrimSpace(regexp.MustCompile(` *#.*`).ReplaceAllString(block, "")), "\n")
	if len(commands) != 3 {
		t.Fatalf("docs/database.md shows %q, want three commands", commands)
	}
	dir := t.TempDir()
	session := fmt.Sprintf(pageSession, strings.TrimSuffix(commands[0], " &"), commands[1], commands[2])
	if err := os.WriteFile(filepath.Join(dir, "page.txtar"), []byte(session), 0o600); err != nil {
		t.Fatal(err)
	}
	play(t, dir, nil)
}

// pageSession plays three commands.
const pageSession = `
exec %s &worker&
exits 3 %s
exec %s
exec starling-temporal wait @last --timeout 60s
exec starling-temporal show @last --json
stdout '"output":"approve"'
kill -INT worker
-- starling.toml --
[engine]
temporal = "SERVER"
namespace = "NAMESPACE"
queue = "QUEUE"
-- review.star --
def main():
    return gate("review", options = ["approve", "reject"]).choice
`

// place writes into a project where the server is, and the database.
func place(path string, database *runtimetest.Postgres) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	port := 0
	if database != nil {
		port = database.Port
	}
	at := strings.NewReplacer("PORT", fmt.Sprint(port), "SERVER", served.GetFrontendHostPort(), "NAMESPACE", served.GetDefaultNamespace(), "QUEUE", fmt.Sprintf("q%d", queues.Add(1)))
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
