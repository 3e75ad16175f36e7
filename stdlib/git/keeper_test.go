package git_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"starling/stdlib/git"
)

// keptUser is a user whose requests keep their shells.
type keptUser struct {
	user
	keeper *git.Keeper
	shells string // file to which each git writes the folder of its shell
}

func newKeptUser(t *testing.T) keptUser {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	u := keptUser{newUser(t), new(git.Keeper), ""}
	t.Cleanup(u.keeper.Close)
	u.firstly(fmt.Sprintf("rm %[1]s/.git/sign; dirname $GIT_DIR >> %[1]s/.git/shells", u.dir))
	u.shells = u.path(".git/shells")
	return u
}

func (u keptUser) options() git.Options {
	return git.Options{Workspace: u.dir, Store: u.path(".starling"), Keeper: u.keeper,
		Lock: u.path(".starling/locks/step")}
}

// asked serves a request and says which shells it had.
func (u keptUser) asked(o git.Options) []string {
	u.t.Helper()
	r := opened(o)
	defer r.Close()
	if err := os.Remove(u.shells); err != nil && !errors.Is(err, os.ErrNotExist) {
		u.t.Fatal(err)
	}
	files, err := r.Files(u.t.Context())
	u.must(err)
	if !slices.Contains(files, "kept.txt") {
		u.t.Errorf("got %q", files)
	}
	_, err = r.Commit(u.t.Context(), fmt.Sprint(u.t.Name(), len(files)), "so", "", []string{"kept.txt"})
	u.must(err)
	text, err := os.ReadFile(u.shells)
	u.must(err)
	return slices.Compact(strings.Fields(string(text)))
}

// One shell serves request after request, as long as a new one would be the same. It is ended, and
// another begins, where the user or the repository says something else than before, where what it
// works in was removed, where it may run filters, and where it was killed.
func TestShellIsKept(t *testing.T) {
	u := newKeptUser(t)
	first := u.asked(u.options())
	if again := u.asked(u.options()); len(first) != 1 || !slices.Equal(first, again) {
		t.Fatalf("shells %v, then %v", first, again)
	}
	if entries, err := os.ReadDir(u.path(".starling/locks")); err != nil || len(entries) != 1 {
		t.Errorf("locks: %v, %v", entries, err)
	}
	home := os.Getenv("HOME")
	write := func(path, text string) func() {
		return func() { u.must(os.WriteFile(path, []byte(text), 0o644)) }
	}
	for what, change := range map[string]func(){
		"the user has a configuration now": write(filepath.Join(home, ".gitconfig"), "[include]\n\tpath = more\n"),
		"it is another":                    write(filepath.Join(home, ".gitconfig"), "[include]\n\tpath = other\n"),
		"the repository has another":       func() { u.git("config", "user.name", "Grace") },
		"its folder is gone": func() {
			folders, err := filepath.Glob(u.path(".git/starling-git-*"))
			u.must(err)
			for _, f := range folders {
				u.must(os.RemoveAll(f))
			}
		},
		"it was killed": u.killShell,
	} {
		if what == "it was killed" && goruntime.GOOS != "linux" {
			continue // nobody knows it
		}
		before := u.asked(u.options())
		change()
		after := u.asked(u.options())
		if slices.Equal(before, after) {
			t.Errorf("%s: it was still the same shell", what)
		}
	}
	u.must(os.WriteFile(u.path("kept.txt"), []byte("new\n"), 0o644))
	u.asked(u.options())
	if who := u.git("log", "-1", "--format=%an"); !strings.HasSuffix(who, "Grace\n") {
		t.Errorf("committed by %q", who)
	}

	filtered := u.options()
	filtered.Filters = []string{"lfs"}
	if a, b := u.asked(filtered), u.asked(filtered); slices.Equal(a, b) {
		t.Error("a shell that may run filters was kept")
	}
	u.keeper.Close()
	u.noFolder()
	if entries, err := os.ReadDir(u.path(".starling/locks")); err != nil || len(entries) > 0 {
		t.Errorf("locks: %v, %v", entries, err)
	}
}

// killShell kills the shell that is kept.
func (u keptUser) killShell() {
	processes, err := filepath.Glob("/proc/[0-9]*")
	u.must(err)
	for _, p := range processes {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if dir, _ := os.Readlink(filepath.Join(p, "cwd")); dir == u.dir && string(line) == "sh\x00-s\x00" {
			u.must(exec.Command("kill", "-KILL", filepath.Base(p)).Run())
			return
		}
	}
	u.t.Fatal("no shell is kept")
}

// What the user's configuration includes is a part of it.
func TestShellOfAnIncludedConfiguration(t *testing.T) {
	u := newKeptUser(t)
	home := os.Getenv("HOME")
	u.must(os.MkdirAll(filepath.Join(home, ".config/git"), 0o755))
	u.must(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[include]\n\tpath = .config/git/more\n"), 0o644))
	u.must(os.WriteFile(filepath.Join(home, ".config/git/more"), []byte("[core]\n\teol = lf\n"), 0o644))
	before := u.asked(u.options())
	u.must(os.WriteFile(filepath.Join(home, ".config/git/more"), []byte("[core]\n\teol = crlf\n"), 0o644))
	if after := u.asked(u.options()); slices.Equal(before, after) {
		t.Error("it was still the same shell")
	}
}

// Who gives up a request has ended the shell that was kept for it; the next request has another.
func TestKeptShellIsGivenUp(t *testing.T) {
	u := newKeptUser(t)
	before := u.asked(u.options())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := opened(u.options())
	if _, err := r.Files(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.Close()
	if after := u.asked(u.options()); slices.Equal(before, after) {
		t.Error("it was still the same shell")
	}
}

// An owner that is killed while it keeps a shell leaves none: the next one has its lock.
func TestKeptShellDiesWithItsOwner(t *testing.T) {
	u := newKeptUser(t)
	self, err := os.Executable()
	u.must(err)
	owner := exec.Command(self)
	owner.Env = append(os.Environ(), "TEST_KEPT="+u.dir)
	_, err = owner.StdinPipe() // at whose end it ends
	u.must(err)
	out, err := owner.StdoutPipe()
	u.must(err)
	u.must(owner.Start())
	if line := make([]byte, 5); true {
		if _, err := io.ReadFull(out, line); err != nil || string(line) != "kept\n" {
			t.Errorf("got %q, %v", line, err)
		}
	}
	u.must(owner.Process.Kill())
	_ = owner.Wait() // it was killed
	u.asked(u.options())
	u.keeper.Close()
	u.noFolder()
}

// keep keeps a shell and waits to be killed.
func keep(dir string) error {
	r := opened(git.Options{Workspace: dir, Store: filepath.Join(dir, ".starling"), Keeper: new(git.Keeper),
		Lock: filepath.Join(dir, ".starling/locks/step")})
	if _, err := r.Files(context.Background()); err != nil {
		return err
	}
	r.Close()
	fmt.Println("kept")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
