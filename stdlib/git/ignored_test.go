package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"starling/stdlib/git"
)

const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55"

// TestIgnoredIsPutBack leaves what git does not see in each way that there is: new, changed, gone,
// swapped for a link, hidden by new rules, in a repository within the repository.
func TestIgnoredIsPutBack(t *testing.T) {
	u := newUser(t)
	u.write("secret.env.log", "key=1\n")
	u.must(os.Chmod(u.path("secret.env.log"), 0o600))
	past := time.Unix(1_000_000_000, 0)
	u.must(os.Chtimes(u.path("secret.env.log"), past, past))
	u.write("build/bin/tool", "real\n")
	u.must(os.Symlink("tool", u.path("build/bin/link")))
	u.write("build/gone", "there\n")
	u.write("cache.log/"+"CACHEDIR.TAG", cacheTag)
	u.write("cache.log/one", "1")
	u.write("cache.log/two", "2")
	u.write("running.log", "1\n")
	r, ctx := u.open(), context.Background()
	u.must(r.Checkpoint(ctx, "before"))
	u.must(r.KeepIgnored(ctx, "before"))

	u.write("secret.env.log", "key=2\n")
	u.must(os.Remove(u.path("build/bin/link")))
	u.must(os.Symlink("/bin/true", u.path("build/bin/link")))
	u.must(os.Remove(u.path("build/gone")))
	u.must(os.RemoveAll(u.path("secret.log")))
	u.write("secret.log/as/a/folder", "x")
	u.write("build/new/deep.py", "x")
	u.write("cache.log/one", "changed")
	u.write("running.log", "2\n")
	u.write(".git/info/exclude", "conftest.py\nkept.txt\nnotes/\n")
	u.write("conftest.py", "x")
	u.git("init", "-q", "vendor")
	u.write("vendor/sitecustomize.py", "x")

	want := []string{"build/bin/link", "build/gone", "build/new/deep.py", "cache.log/one", "conftest.py", "secret.env.log", "secret.log", "secret.log/as/a/folder", "vendor/sitecustomize.py"}
	for _, again := range []bool{false, true} { // as after a crash
		files, left, err := r.RestoreIgnored(ctx, "before", "undo", []string{"running.*"})
		u.must(err)
		if again {
			want = nil
		}
		if !slices.Equal(files, want) || len(left) > 0 {
			t.Errorf("put back %q, left %q; want %q", files, left, want)
		}
	}
	for path, want := range map[string]string{
		"secret.env.log": "key=1\n", "build/gone": "there\n", "secret.log": "ignored", "cache.log/two": "2", "running.log": "2\n",
		"build/bin/link": "real\n", "notes/with space é.txt": "untracked\x00bytes\xff", "kept.txt": "kept\n",
		".starling/ignored/undone/undo/conftest.py": "x", ".starling/ignored/undone/undo/secret.env.log": "key=2\n",
	} {
		if got, err := os.ReadFile(u.path(path)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", path, got, err, want)
		}
	}
	for _, gone := range []string{"conftest.py", "build/new", "cache.log/one", "vendor/sitecustomize.py"} {
		if _, err := os.Lstat(u.path(gone)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	info, err := os.Stat(u.path("secret.env.log"))
	u.must(err)
	if info.Mode().Perm() != 0o600 || !info.ModTime().Equal(past) {
		t.Errorf("got permissions %v and time %v", info.Mode(), info.ModTime())
	}
}

// TestIgnoredThatIsTooLarge changes, and removes, files of which only a digest was kept.
func TestIgnoredThatIsTooLarge(t *testing.T) {
	u := newUser(t)
	for _, name := range []string{"changed.log", "gone.log", "same.log"} {
		u.write(name, strings.Repeat("x", 17<<20))
	}
	r, ctx := u.open(), context.Background()
	u.must(r.Checkpoint(ctx, "before"))
	u.must(r.KeepIgnored(ctx, "before"))
	u.write("changed.log", strings.Repeat("x", 17<<20-1)+"y")
	u.must(os.Remove(u.path("gone.log")))
	files, left, err := r.RestoreIgnored(ctx, "before", "undo", nil)
	if want := []string{"changed.log", "gone.log"}; err != nil || len(files) > 0 || !slices.Equal(left, want) {
		t.Errorf("put back %q, left %q, %v; want none and %q", files, left, err, want)
	}
	if _, _, err := r.RestoreIgnored(ctx, "other", "undo", nil); !errors.Is(err, git.ErrNoCheckpoint) {
		t.Errorf("a checkpoint that was not made: got %v", err)
	}
}

// TestIgnoredIsForgotten keeps what checkpoints of the last month need, and no more.
func TestIgnoredIsForgotten(t *testing.T) {
	u := newUser(t)
	r, ctx := u.open(), context.Background()
	keep := func(name, content string) {
		u.write("secret.log", content)
		u.must(r.Checkpoint(ctx, name))
		u.must(r.KeepIgnored(ctx, name))
	}
	keep("old", "first")
	keep("new", "second")
	long := time.Now().AddDate(0, -2, 0)
	u.must(os.Chtimes(u.path(".starling/ignored/old.json"), long, long))
	keep("newest", "second")
	objects, err := filepath.Glob(u.path(".starling/ignored/objects/*"))
	u.must(err)
	if len(objects) != 2 { // secret.log and build/out
		t.Errorf("kept %q", objects)
	}
	if _, _, err := r.RestoreIgnored(ctx, "old", "u", nil); !errors.Is(err, git.ErrNoCheckpoint) {
		t.Errorf("got %v", err)
	}
	u.write("secret.log", "third")
	_, _, err = r.RestoreIgnored(ctx, "new", "u", nil)
	u.must(err)
	if got, _ := os.ReadFile(u.path("secret.log")); string(got) != "second" {
		t.Errorf("got %q", got)
	}
}
