package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"starling/stdlib/git"
)

// Head says what git rev-parse says, wherever git keeps it.
func TestHead(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	same := func(what, folder string) {
		t.Helper()
		if got, want := git.Head(folder), run("rev-parse", "HEAD"); got != want {
			t.Errorf("%s: got %q, want %s", what, got, want)
		}
	}
	if got := git.Head(dir); got != "" {
		t.Errorf("no repository: got %q", got)
	}
	run("init", "-q", "-b", "main")
	if got := git.Head(dir); got != "" {
		t.Errorf("no commit: got %q", got)
	}
	run("commit", "-q", "--allow-empty", "-m", "first")
	same("a branch", dir)
	sub := filepath.Join(dir, "sub", "folder")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	same("a folder in it", sub)
	run("pack-refs", "--all")
	same("packed", dir)
	run("commit", "-q", "--allow-empty", "-m", "second")
	same("packed and moved", dir)
	other := filepath.Join(t.TempDir(), "other")
	run("worktree", "add", "-q", "-b", "other", other)
	same("a worktree", other)
	run("checkout", "-q", "--detach")
	same("detached", dir)
}
