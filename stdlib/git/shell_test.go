package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
)

// firstly puts a git in front of the real one that does something else when it is called for the
// first time, with $1 a file to make.
func (u user) firstly(script string) (sign string) {
	u.t.Helper()
	real, err := exec.LookPath("git")
	u.must(err)
	bin := u.t.TempDir()
	sign = filepath.Join(u.dir, ".git", "sign")
	u.must(os.WriteFile(filepath.Join(bin, "git"), fmt.Appendf(nil, "#!/bin/sh\nif ! test -e %[1]s; then echo > %[1]s; %[2]s; fi\nexec %[3]s \"$@\"\n", sign, script, real), 0o755))
	u.t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return sign
}

// counted counts the commands of git from now on, until it is asked.
func (u user) counted() (count func() int) {
	list := filepath.Join(u.dir, ".git", "commands")
	u.firstly(fmt.Sprintf("rm %[1]s/.git/sign; echo x >> %[1]s/.git/commands", u.dir))
	return func() int {
		text, err := os.ReadFile(list)
		u.must(err)
		return strings.Count(string(text), "x")
	}
}

// noFolder wants no folder of a shell to be left.
func (u user) noFolder() {
	u.t.Helper()
	left, err := filepath.Glob(u.path(".git/starling-*"))
	u.must(err)
	if len(left) > 0 {
		u.t.Errorf("left behind: %v", left)
	}
}

// Who gives up has ended git when they are told so, and may go on with another context.
func TestGitIsGivenUp(t *testing.T) {
	u := newUser(t)
	r := u.open()
	sign := u.firstly("exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for _, err := os.Stat(sign); err != nil; _, err = os.Stat(sign) {
			goruntime.Gosched()
		}
		cancel()
	}()
	if err := r.Checkpoint(ctx, "c"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	u.noFolder()
	u.must(r.Checkpoint(t.Context(), "c"))
	r.Close()
	u.noFolder()
}

func TestGitIsKilledWithItsShell(t *testing.T) {
	u := newUser(t)
	r := u.open()
	u.firstly("kill -KILL $PPID")
	if err := r.Checkpoint(t.Context(), "c"); err == nil || err.Error() != "the shell that git runs in ended early (exit code -1 SIGKILL)" {
		t.Errorf("got %v", err)
	}
	u.must(r.Checkpoint(t.Context(), "c"))
}

// What is given to git reaches it as it is, whatever it means to a shell.
func TestGitIsToldAnything(t *testing.T) {
	u := user{t, filepath.Join(t.TempDir(), "it's $HOME")}
	u.must(os.Mkdir(u.dir, 0o755))
	u.git("init", "-q", "-b", "main")
	const message = "it's\n\n$(date) `date` \\ \"so\"; exit 3"
	u.write("a 'b' $c", "x")
	commit, err := u.open().Commit(t.Context(), "k", message, "", []string{"a 'b' $c"})
	u.must(err)
	if got := u.git("show", "--format=%B", "--name-only", "-z", commit); !strings.Contains(got, message) || !strings.HasSuffix(got, "a 'b' $c\x00") {
		t.Errorf("got %q", got)
	}
}

// What only reads needs no right to write.
func TestRepositoryThatMayOnlyBeRead(t *testing.T) {
	u := newUser(t)
	u.must(os.Chmod(u.path(".git"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(u.path(".git"), 0o755) })
	files, err := u.open().Files(t.Context())
	if err != nil || !slices.Contains(files, "kept.txt") {
		t.Errorf("got %v, %v", files, err)
	}
}
