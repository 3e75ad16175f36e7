package git_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"starling/stdlib/git"
	"starling/stdlib/process"
)

// TestMain is five programs: the guard, one that rolls back, one that serves branches and one that
// keeps a shell, which may be killed at it, and the tests.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	if dir := os.Getenv("TEST_ROLLBACK"); dir != "" {
		if _, _, err := open(dir).Rollback(context.Background(), "c", "u", 1); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv("TEST_TREES"); dir != "" {
		if _, err := play(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv("TEST_KEPT"); dir != "" {
		if err := keep(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(dir string) *git.Repository {
	return opened(git.Options{Workspace: dir, Store: filepath.Join(dir, ".starling")})
}

func opened(o git.Options) *git.Repository {
	r, err := git.Open(o)
	if err != nil {
		panic(err)
	}
	return r
}

// open opens the user's repository until the test ends.
func (u user) open() *git.Repository {
	r := open(u.dir)
	u.t.Cleanup(r.Close)
	return r
}

// user is somebody's repository with work of every kind in it.
type user struct {
	t   *testing.T
	dir string
}

func newUser(t *testing.T, init ...string) user {
	u := user{t, t.TempDir()}
	u.git(append([]string{"init", "-q", "-b", "main"}, init...)...)
	u.git("config", "user.name", "Ada")
	u.git("config", "user.email", "ada@example.org")
	u.git("config", "core.autocrlf", "input") // what is restored is bytes all the same
	u.write(".gitignore", "*.log\nbuild/\n")
	u.write("kept.txt", "kept\n")
	u.write("src/staged.go", "old\n")
	u.write("src/edited.go", "old\n")
	u.write("src/deleted.go", "old\n")
	u.write("tool.sh", "#!/bin/sh\n")
	u.must(os.Chmod(u.path("tool.sh"), 0o755))
	u.git("add", "-A")
	u.git("commit", "-q", "-m", "first")

	u.write("src/staged.go", "staged\n")
	u.git("add", "src/staged.go")
	u.write("src/staged.go", "staged and edited\r\n")
	u.write("src/edited.go", "edited\r\nmixed\n")
	u.must(os.Remove(u.path("src/deleted.go")))
	u.write("notes/with space é.txt", "untracked\x00bytes\xff")
	u.write(`"quoted" name`, "untracked")
	u.write("two\nlines/of\na name", "untracked\n")
	u.must(os.Symlink("kept.txt", u.path("link")))
	u.write("secret.log", "ignored")
	u.write("build/out", "ignored")
	u.write(".starling/.gitignore", "*")
	u.write(".starling/badger/log", "store")
	return u
}

func (u user) path(name string) string { return filepath.Join(u.dir, name) }

func (u user) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

func (u user) write(name, content string) {
	u.t.Helper()
	u.must(errors.Join(os.MkdirAll(filepath.Dir(u.path(name)), 0o755), os.WriteFile(u.path(name), []byte(content), 0o644)))
}

func (u user) git(args ...string) string {
	u.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = u.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		u.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// agent does everything at once: it edits, adds, removes, swaps kinds, changes what is ignored,
// stages and commits on another branch.
func (u user) agent() {
	u.write("kept.txt", "agent\n")
	u.git("checkout", "-q", "-b", "agent")
	u.git("add", "-A")
	u.git("commit", "-q", "-m", "agent's")
	u.write("src/edited.go", "agent\n")
	u.write("src/deleted.go", "back\n")
	u.write("new/deep/file", "agent\n")
	u.write("hidden.tmp", "agent\n")
	u.write(".gitignore", "*.tmp\n") // now its own files are ignored and the user's are not
	u.write("notes/.gitignore", "*\n")
	u.git("add", "-f", "secret.log", "build/out")
	u.must(os.RemoveAll(u.path("notes/with space é.txt")))
	u.must(os.Remove(u.path("link")))
	u.write("link/inside", "a folder now")
	u.must(os.RemoveAll(u.path("src")))
	u.must(os.Symlink("/etc", u.path("src")))
	u.must(os.Chmod(u.path("tool.sh"), 0o644))
}

// everything is all that a user can see: files with their kinds, HEAD, branches, status and index.
func (u user) everything() string {
	u.t.Helper()
	var s bytes.Buffer
	err := filepath.WalkDir(u.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		u.must(err)
		info, err := d.Info()
		u.must(err)
		content := []byte{}
		switch {
		case info.Mode().IsRegular():
			content, err = os.ReadFile(path)
		case info.Mode()&fs.ModeSymlink != 0:
			var target string
			target, err = os.Readlink(path)
			content = []byte(target)
		}
		if !d.IsDir() {
			fmt.Fprintf(&s, "%s %v %q\n", strings.TrimPrefix(path, u.dir), info.Mode(), content)
		}
		return err
	})
	u.must(err)
	s.WriteString(u.git("status", "--porcelain=v2", "--branch", "--ignored"))
	s.WriteString(u.git("ls-files", "--stage"))
	s.WriteString(u.git("rev-parse", "HEAD", "main"))
	return s.String()
}

func TestRollback(t *testing.T) {
	u := newUser(t)
	r := u.open()
	before := u.everything()
	u.must(r.Checkpoint(t.Context(), "c"))
	if now := u.everything(); now != before {
		t.Fatalf("the checkpoint changed\n%s\nto\n%s", before, now)
	}
	u.agent()
	patch, _, err := r.Rollback(t.Context(), "c", "u", 1)
	u.must(err)
	if now := u.everything(); now != before {
		t.Errorf("got\n%s\nwant\n%s", now, before)
	}
	for _, want := range []string{"+agent", "new/deep/file", "src/staged.go"} {
		if !strings.Contains(patch, want) {
			t.Errorf("what the agent did lacks %q:\n%s", want, patch)
		}
	}
	r.Close()
	u.noFolder()
	if out := u.git("log", "--format=%s", "refs/starling/undone/u"); !strings.Contains(out, "agent's") {
		t.Errorf("the agent's commit is not kept: %s", out)
	}
	u.must(r.Checkpoint(t.Context(), "c")) // done already
	if _, _, err := r.Rollback(t.Context(), "c", "u", 2); err != nil || u.everything() != before {
		t.Errorf("again: %v\n%s", err, u.everything())
	}
	if _, _, err := r.Rollback(t.Context(), "none", "u", 1); !errors.Is(err, git.ErrNoCheckpoint) {
		t.Errorf("got %v", err)
	}
}

// However many files and links there are, they are kept by few commands.
func TestCheckpointOfManyLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts programs, for long: the gate plays it without the race detector")
	}
	u := newUser(t)
	for i := range 50 {
		u.must(os.Symlink(fmt.Sprint("to ", i), u.path(fmt.Sprint("link", i))))
	}
	before, count, r := u.everything(), u.counted(), u.open()
	u.must(r.Checkpoint(t.Context(), "c"))
	if n := count(); n < 5 || n > 25 {
		t.Errorf("it took %d commands", n)
	}
	u.must(errors.Join(os.Remove(u.path("link7")), os.Remove(u.path("link8")), os.Symlink("elsewhere", u.path("link8"))))
	if _, _, err := r.Rollback(t.Context(), "c", "u", 1); err != nil || u.everything() != before {
		t.Errorf("%v\n%s\nwant\n%s", err, u.everything(), before)
	}
}

var kills = flag.Int("kills", 3, "at how many of its commands of git something is killed; all for -1")

// Killed at any of its commands of git, a rollback is finished by doing it again: nothing of the
// user's is lost, and nothing is half done.
func TestRollbackSIGKILL(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts programs, for long: the gate plays it without the race detector")
	}
	killAtSome(t, func(t *testing.T, n int) int {
		u := newUser(t)
		r := u.open()
		before := u.everything()
		u.must(r.Checkpoint(t.Context(), "c"))
		r.Close()
		u.agent()
		commands, cut := u.cutAt(n, "TEST_ROLLBACK")
		if cut {
			patch, _, err := r.Rollback(t.Context(), "c", "u", 2)
			if err != nil || !strings.Contains(patch, "new/deep/file") {
				t.Fatalf("%v; what the agent did: %s", err, patch)
			}
			r.Close()
			u.noFolder() // that of the one that was killed included
		}
		if now := u.everything(); now != before {
			t.Fatalf("got\n%s\nwant\n%s", now, before)
		}
		return commands
	})
}

// killAtSome kills at some of the commands of git that there are: at the n-th, and says how many
// there were until then.
func killAtSome(t *testing.T, killAt func(t *testing.T, n int) (commands int)) {
	total := killAt(t, 1<<30)
	if total < 15 {
		t.Fatalf("there are %d commands of git, which cannot be all", total)
	}
	seed := time.Now().UnixNano()
	order := rand.New(rand.NewPCG(uint64(seed), 0)).Perm(total)
	if *kills >= 0 {
		order = order[:min(total, *kills)]
	}
	t.Logf("killed at %d of %d commands, drawn with %d", len(order), total, seed)
	for _, n := range order {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			if killAt(t, n+1) != n+1 {
				t.Error("it was not killed")
			}
		})
	}
}

// cutAt lets another process do something, which the variable says, and kills it at its n-th
// command of git. It tells how many there were until then.
func (u user) cutAt(n int, variable string) (commands int, cut bool) {
	real, err := exec.LookPath("git")
	u.must(err)
	bin := u.t.TempDir()
	owner := filepath.Join(u.dir, ".git", "owner")
	wrapper := fmt.Sprintf("#!/bin/sh\necho x >> %[1]s.count\nif [ $(wc -l < %[1]s.count) -eq %[2]d ]; then echo kill > %[1]s.kill; while :; do sleep 1; done; fi\nexec %[3]s \"$@\"\n",
		owner, n, real)
	u.must(os.WriteFile(filepath.Join(bin, "git"), []byte(wrapper), 0o755))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+u.dir, "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Stderr = os.Stderr
	u.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	cut = killed(owner+".kill", cmd, ended)
	count, _ := os.ReadFile(owner + ".count")
	return bytes.Count(count, []byte("\n")), cut
}

// killed kills the owner when the sign is there, and says whether it came.
func killed(sign string, cmd *exec.Cmd, ended chan error) bool {
	for {
		select {
		case <-ended:
			return false
		default:
		}
		if _, err := os.Stat(sign); err == nil {
			cmd.Process.Kill()
			<-ended
			return true
		}
		goruntime.Gosched()
	}
}

// A commit that is killed with its git leaves git's lock. The next attempt of the step removes that
// one, and no other.
func TestCommitAfterItsGitWasKilled(t *testing.T) {
	u := newUser(t)
	r := u.open()
	u.write("kept.txt", "agent\n")
	note, lock := u.path(".git/starling-commit"), u.path(".git/index.lock")
	u.must(os.WriteFile(note, []byte("run/commit"), 0o600))
	u.must(os.WriteFile(lock, nil, 0o644))
	commit, err := r.Commit(t.Context(), "run/commit", "kept", "", nil)
	if err != nil || commit == "" {
		t.Errorf("got %q, %v", commit, err)
	}
	for _, path := range []string{note, lock} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	for what, lay := range map[string]func(now time.Time){
		"of another step":        func(time.Time) { u.must(os.WriteFile(note, []byte("run/other"), 0o600)) },
		"from before the commit": func(now time.Time) { u.must(os.Chtimes(lock, now, now.Add(-time.Minute))) },
		"from long after":        func(now time.Time) { u.must(os.Chtimes(note, now, now.Add(-time.Minute))) },
	} {
		t.Run(what, func(t *testing.T) {
			u.write("kept.txt", what)
			u.must(os.WriteFile(note, []byte("run/next"), 0o600))
			u.must(os.WriteFile(lock, []byte("somebody's"), 0o644))
			lay(time.Now())
			ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer stop()
			if _, err := r.Commit(ctx, "run/next", "next", "", nil); err == nil {
				t.Error("it has committed")
			}
			if held, _ := os.ReadFile(lock); string(held) != "somebody's" {
				t.Errorf("the lock holds %q", held)
			}
			u.must(os.Remove(lock))
		})
	}
}

func TestBusyRepository(t *testing.T) {
	u := newUser(t)
	r := u.open()
	u.must(r.Checkpoint(t.Context(), "c"))
	u.write("kept.txt", "agent\n")
	lock := u.path(".git/index.lock")
	u.must(os.WriteFile(lock, []byte("somebody's"), 0o644))
	before, _ := os.ReadFile(u.path("kept.txt"))
	_, _, err := r.Rollback(t.Context(), "c", "u", 1)
	if !errors.Is(err, git.ErrBusy) || !strings.Contains(err.Error(), lock) {
		t.Errorf("got %v", err)
	}
	if after, _ := os.ReadFile(u.path("kept.txt")); !bytes.Equal(after, before) {
		t.Error("it is half rolled back")
	}
	if held, _ := os.ReadFile(lock); string(held) != "somebody's" {
		t.Errorf("the lock holds %q", held)
	}
}

func TestUnfinishedMerge(t *testing.T) {
	u := newUser(t)
	u.must(os.WriteFile(u.path(".git/MERGE_HEAD"), []byte(u.git("rev-parse", "HEAD")), 0o644))
	if err := u.open().Checkpoint(t.Context(), "c"); !errors.Is(err, git.ErrUnfinished) {
		t.Errorf("got %v", err)
	}
}

func TestDiffAndCommit(t *testing.T) {
	u := newUser(t)
	r := u.open()
	u.must(r.Checkpoint(t.Context(), "c"))
	u.write("src/new.go", "new\n")
	u.write("kept.txt", "changed\n")
	patch, paths, err := r.Diff(t.Context(), "c")
	if got := fmt.Sprint(paths); err != nil || got != "[kept.txt src/new.go]" || !strings.Contains(patch, "-kept\n+changed\n") {
		t.Errorf("got %s, %v\n%s", got, err, patch)
	}
	staged := u.git("show", ":src/staged.go")
	commit, err := r.Commit(t.Context(), "run/step", "The agent's work", "c", nil)
	u.must(err)
	if got := u.git("show", "--format=%an %s", "--name-status", commit); got != "Ada The agent's work\n\nM\tkept.txt\nA\tsrc/new.go\n" {
		t.Errorf("got %s", got)
	}
	if u.git("show", ":src/staged.go") != staged {
		t.Error("what the user had staged is not staged any more")
	}
	if again, err := r.Commit(t.Context(), "run/step", "The agent's work", "c", nil); again != commit || err != nil {
		t.Errorf("got %s, %v, want %s", again, err, commit)
	}
	u.must(r.Checkpoint(t.Context(), "d"))
	if nothing, err := r.Commit(t.Context(), "run/other", "nothing", "d", nil); nothing != "" || err != nil {
		t.Errorf("got %s, %v", nothing, err)
	}
}

// A submodule stays as it is, and is never among what has changed.
func TestSubmodule(t *testing.T) {
	u := newUser(t)
	inner := user{t, u.path("vendor/inner")}
	u.must(os.MkdirAll(inner.dir, 0o755))
	inner.git("init", "-q", "-b", "main")
	inner.git("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "--allow-empty", "-m", "first")
	u.git("add", "vendor/inner")
	u.git("commit", "-q", "-m", "with a submodule")
	r := u.open()
	if _, err := r.Commit(t.Context(), "run/all", "all of it", "", nil); err != nil {
		t.Fatal(err)
	}
	patch, paths, err := r.Diff(t.Context(), "")
	if err != nil || fmt.Sprint(paths) != "[src/edited.go src/staged.go]" || strings.Contains(patch, "inner") { // the ends of lines of those
		t.Errorf("when all is committed: %v, %v\n%s", paths, err, patch)
	}
	if nothing, err := r.Commit(t.Context(), "run/step", "nothing", "", nil); nothing != "" || err != nil {
		t.Errorf("nothing to commit: got %q, %v", nothing, err)
	}
	if files, err := r.Files(t.Context()); err != nil || slices.Contains(files, "vendor/inner") || !slices.Contains(files, "kept.txt") {
		t.Errorf("the files: %v, %v", files, err)
	}
	u.must(r.Checkpoint(t.Context(), "c"))
	inner.write("new", "in the submodule")
	u.write("kept.txt", "changed\n")
	if _, paths, err := r.Rollback(t.Context(), "c", "u", 1); err != nil || fmt.Sprint(paths) != "[kept.txt]" {
		t.Errorf("the rollback: %v, %v", paths, err)
	}
	if got := u.git("ls-tree", "HEAD", "vendor/inner"); !strings.HasPrefix(got, "160000 commit ") {
		t.Errorf("the submodule is committed as %q", got)
	}
	if _, err := os.Stat(inner.path("new")); err != nil {
		t.Errorf("what was made in the submodule: %v", err)
	}
}

// A repository without a commit, and one whose working tree is one of several.
func TestOtherRepositories(t *testing.T) {
	u := user{t, t.TempDir()}
	u.git("init", "-q", "-b", "main")
	u.write("a", "a")
	r := u.open()
	u.must(r.Checkpoint(t.Context(), "c"))
	u.write("b", "b")
	if commit, err := r.Commit(t.Context(), "k", "first", "", nil); commit == "" || err != nil {
		t.Fatalf("got %q, %v", commit, err)
	}
	_, _, err := r.Rollback(t.Context(), "c", "u", 1)
	u.must(err)
	if got := u.git("status", "--porcelain=v2", "--branch"); got != "# branch.oid (initial)\n# branch.head main\n? a\n" {
		t.Errorf("got %s", got)
	}

	main := newUser(t)
	tree := user{t, filepath.Join(t.TempDir(), "tree")}
	main.git("worktree", "add", "-q", "-b", "other", tree.dir)
	r = tree.open()
	tree.write("x", "x")
	u.must(r.Checkpoint(t.Context(), "c"))
	tree.write("x", "y")
	_, _, err = r.Rollback(t.Context(), "c", "u", 1)
	u.must(err)
	if x, _ := os.ReadFile(tree.path("x")); string(x) != "x" {
		t.Errorf("got %q", x)
	}
	if _, err := git.Open(git.Options{Workspace: t.TempDir()}); !errors.Is(err, git.ErrNoRepository) {
		t.Errorf("got %v", err)
	}
}

// An agent may have left the repository in the middle of a merge, with paths that are not merged in
// the index.
func TestRollbackOfAMerge(t *testing.T) {
	u := newUser(t)
	r := u.open()
	before := u.everything()
	u.must(r.Checkpoint(t.Context(), "c"))
	u.git("stash", "-q", "--include-untracked")
	u.git("checkout", "-q", "-b", "other")
	u.write("kept.txt", "other\n")
	u.git("commit", "-qam", "other")
	u.git("checkout", "-q", "main")
	u.write("kept.txt", "main\n")
	u.git("commit", "-qam", "second")
	merge := exec.Command("git", "merge", "-q", "other")
	merge.Dir = u.dir
	if err := merge.Run(); err == nil {
		t.Fatal("there is no conflict")
	}
	patch, _, err := r.Rollback(t.Context(), "c", "u", 1)
	u.must(err)
	if now := u.everything(); now != before {
		t.Errorf("got\n%s\nwant\n%s", now, before)
	}
	if !strings.Contains(patch, "<<<<<<<") {
		t.Errorf("what was undone lacks the conflict:\n%s", patch)
	}
	if _, err := os.Stat(u.path(".git/MERGE_HEAD")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the merge goes on: %v", err)
	}
}

// Some files are restored, and nothing else: what else has changed stays, and so do index and HEAD.
func TestRestore(t *testing.T) {
	u := newUser(t)
	u.write("a", "one\n")
	u.write("sub/b", "one\n")
	u.git("add", "-A")
	u.git("commit", "-qm", "first")
	r := u.open()
	if err := r.Checkpoint(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a": "two\n", "sub/b": "two\n", "sub/new": "new\n", "other": "new\n"} {
		u.write(name, text)
	}
	u.git("add", "a")
	before := u.git("status", "--porcelain")
	_, changed, err := r.Restore(t.Context(), "c", "u", 1, []string{"sub/b", "sub/new", "nothing"})
	if err != nil || strings.Join(changed, " ") != "sub/b sub/new" {
		t.Fatalf("got %q, %v", changed, err)
	}
	want := strings.NewReplacer(" M sub/b\n", "", "?? sub/new\n", "").Replace(before)
	held := ""
	for _, name := range []string{"a", "sub/b", "src/edited.go"} {
		text, err := os.ReadFile(u.path(name))
		u.must(err)
		held += string(text)
	}
	if got := u.git("status", "--porcelain"); got != want || held != "two\none\nedited\r\nmixed\n" {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, changed, err = r.Restore(t.Context(), "c", "u", 2, []string{"sub/b"}); err != nil || len(changed) != 2 {
		t.Errorf("again: got %q, %v; what was there at first is kept under its name", changed, err)
	}
	if _, _, err := r.Restore(t.Context(), "nothing", "v", 1, []string{"a"}); !errors.Is(err, git.ErrNoCheckpoint) {
		t.Errorf("got %v", err)
	}
}
