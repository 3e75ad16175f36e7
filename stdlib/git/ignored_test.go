package git_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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
	u.git("init", "-q", "old.log")
	u.write(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n")
	u.must(os.Chmod(u.path(".git/hooks/pre-push"), 0o755))
	u.write(".git/modules/a/sub/HEAD", "ref: refs/heads/main\n")
	u.write(".git/modules/a/sub/config", "[core]\n")
	settings, err := os.ReadFile(u.path(".git/config"))
	u.must(err)
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
	head, err := os.ReadFile(u.path("vendor/.git/HEAD"))
	u.must(err)
	u.git("config", "core.hooksPath", "notes")
	u.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch /tmp/owned\n")
	u.write(".git/hooks/pre-push", "#!/bin/sh\ntouch /tmp/owned\n")
	u.write(".git/modules/a/sub/config", "[core]\n\tfsmonitor = touch /tmp/owned\n")
	u.write("old.log/.git/hooks/post-checkout", "#!/bin/sh\ntouch /tmp/owned\n")

	want := []string{".git/config", ".git/hooks/pre-commit", ".git/hooks/pre-push", ".git/info/exclude", ".git/modules/a/sub/config",
		"build/bin/link", "build/gone", "build/new/deep.py", "cache.log/one", "conftest.py", "old.log/.git/hooks/post-checkout",
		"secret.env.log", "secret.log", "secret.log/as/a/folder", "vendor/.git", "vendor/sitecustomize.py"}
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
		".git/config": string(settings), ".git/hooks/pre-push": "#!/bin/sh\nexit 0\n", ".git/modules/a/sub/config": "[core]\n",
		".starling/ignored/undone/undo/vendor/.git/HEAD": string(head), ".starling/ignored/undone/undo/.git/hooks/pre-commit": "#!/bin/sh\ntouch /tmp/owned\n",
		".starling/ignored/undone/undo/conftest.py": "x", ".starling/ignored/undone/undo/secret.env.log": "key=2\n",
	} {
		if got, err := os.ReadFile(u.path(path)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", path, got, err, want)
		}
	}
	for _, gone := range []string{"conftest.py", "build/new", "cache.log/one", "vendor", ".git/hooks/pre-commit", "old.log/.git/hooks/post-checkout"} {
		if _, err := os.Lstat(u.path(gone)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	if info, err := os.Stat(u.path(".git/hooks/pre-push")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the hook has %v, %v", info, err)
	}
	if _, err := os.Stat(u.path("old.log/.git/HEAD")); err != nil {
		t.Errorf("a repository that was there: %v", err)
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

// TestSettingsOfAnOlderCheckpoint: a checkpoint of a version that did not look at what decides in
// repositories says nothing of it.
func TestSettingsOfAnOlderCheckpoint(t *testing.T) {
	u := newUser(t)
	u.git("init", "-q", "own.log")
	r, ctx := u.open(), context.Background()
	u.must(r.Checkpoint(ctx, "before"))
	u.must(r.KeepIgnored(ctx, "before"))
	file := u.path(".starling/ignored/before.json")
	text, err := os.ReadFile(file)
	u.must(err)
	var kept struct {
		Files map[string]json.RawMessage `json:"files"`
		Seen  []string                   `json:"seen"`
	}
	u.must(json.Unmarshal(text, &kept))
	maps.DeleteFunc(kept.Files, func(path string, _ json.RawMessage) bool { return strings.Contains(path, ".git") })
	text, err = json.Marshal(kept)
	u.must(err)
	u.must(os.WriteFile(file, text, 0o600))
	u.git("config", "user.nickname", "ada")
	u.write("new.log", "x")
	files, left, err := r.RestoreIgnored(ctx, "before", "undo", nil)
	if want := []string{"new.log"}; err != nil || !slices.Equal(files, want) || len(left) > 0 {
		t.Errorf("put back %q, left %q, %v; want %q", files, left, err, want)
	}
	if _, err := os.Stat(u.path("own.log/.git/HEAD")); err != nil {
		t.Error(err)
	}
}

// TestSettingsOfALinkedTree: what decides for a linked tree lies in the repository that it is of.
func TestSettingsOfALinkedTree(t *testing.T) {
	u := newUser(t)
	tree := filepath.Join(t.TempDir(), "tree")
	u.git("worktree", "add", "-q", tree)
	r, err := git.Open(git.Options{Workspace: tree, Store: t.TempDir()})
	u.must(err)
	defer r.Close()
	ctx := context.Background()
	u.must(r.Checkpoint(ctx, "before"))
	u.must(r.KeepIgnored(ctx, "before"))
	u.git("config", "core.hooksPath", "/tmp")
	own := u.path(".git/worktrees/tree/config.worktree")
	u.must(os.WriteFile(own, []byte("[core]\n\tpager = touch /tmp/owned\n"), 0o600))
	files, left, err := r.RestoreIgnored(ctx, "before", "undo", nil)
	if want := []string{".git/config", ".git/worktrees/tree/config.worktree"}; err != nil || !slices.Equal(files, want) || len(left) > 0 {
		t.Errorf("put back %q, left %q, %v; want %q", files, left, err, want)
	}
	if _, err := os.Stat(own); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
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
	if len(objects) != 4 { // secret.log, build/out, .git/config and .git/info/exclude
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

// TestIgnoredThatIsAPipe puts pipes where files were, or where git would run them: nobody waits
// for somebody who writes into one.
func TestIgnoredThatIsAPipe(t *testing.T) {
	u := newUser(t)
	u.write("secret.env.log", "key=1\n")
	u.write(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n")
	r := u.open()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	u.must(r.Checkpoint(ctx, "before"))
	u.must(r.KeepIgnored(ctx, "before"))
	u.must(os.MkdirAll(u.path("vendor"), 0o755))
	for _, name := range []string{"secret.env.log", "new.log", ".git/hooks/pre-push", "vendor/.git"} {
		u.must(errors.Join(os.RemoveAll(u.path(name)), syscall.Mkfifo(u.path(name), 0o600)))
	}
	type restored struct {
		files, left []string
		err         error
	}
	done := make(chan restored, 1)
	go func() {
		var got restored
		got.files, got.left, got.err = r.RestoreIgnored(ctx, "before", "undo", nil)
		done <- got
	}()
	select {
	case got := <-done:
		want := []string{".git/hooks/pre-push", "secret.env.log", "vendor/.git"}
		if got.err != nil || !slices.Equal(got.files, want) || len(got.left) > 0 {
			t.Errorf("put back %q, left %q, %v; want %q", got.files, got.left, got.err, want)
		}
	case <-ctx.Done():
		t.Fatal("it waits for somebody who writes into a pipe")
	}
	for path, want := range map[string]string{"secret.env.log": "key=1\n", ".git/hooks/pre-push": "#!/bin/sh\nexit 0\n"} {
		if got, err := os.ReadFile(u.path(path)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
}
