package git_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"starling/stdlib/git"
)

// Two branches of one run work in a user's repository, each in a tree of its own.
const (
	treesOf = ".starling-trees/RUN"
	left    = "parallel+left"
	right   = "parallel+right"
)

func openWithTrees(dir string) *git.Repository {
	return opened(git.Options{Workspace: dir, Store: filepath.Join(dir, ".starling"), Trees: filepath.Join(dir, treesOf)})
}

// openWithTrees opens the user's repository until the test ends.
func (u user) openWithTrees() *git.Repository {
	r := openWithTrees(u.dir)
	u.t.Cleanup(r.Close)
	return r
}

func (u user) in(tree string) user { return user{u.t, u.path(filepath.Join(treesOf, tree))} }

// play is all that is done for two branches, each part of which may be cut and done again. It gives
// what each has changed.
func play(ctx context.Context, dir string) (changed []string, err error) {
	r := openWithTrees(dir)
	defer r.Close()
	began, err := r.Fork(ctx, "RUN/fork")
	var sides []string
	for _, name := range []string{left, right} {
		if err == nil {
			err = r.OpenTree(ctx, name, began)
		}
		if err == nil {
			err = work(filepath.Join(dir, treesOf, name), name)
		}
		var made *git.Made
		if err == nil {
			made, err = r.CloseTree(ctx, name, "RUN/"+name, began)
		}
		if err != nil {
			return nil, err
		}
		sides, changed = append(sides, made.Commit), append(changed, strings.Join(made.Paths, " "))
	}
	so, err := r.Fold(ctx, "RUN/fold", began, sides, false)
	if err == nil {
		_, err = r.Apply(ctx, began, so)
	}
	return changed, errors.Join(err, git.RemoveTrees(filepath.Join(dir, treesOf)))
}

// work is what a branch does to its files.
func work(dir, name string) error {
	write := func(name, content string) error {
		path := filepath.Join(dir, name)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
	}
	if name == right {
		return errors.Join(write("docs/a file.md", "right\r\n"), os.Remove(filepath.Join(dir, "link")), write("link/inside", "a folder"), write("x.log", "ignored"))
	}
	return errors.Join(write("src/edited.go", "left\r\n"), os.Remove(filepath.Join(dir, "kept.txt")), os.Chmod(filepath.Join(dir, "tool.sh"), 0o644),
		os.Symlink("tool.sh", filepath.Join(dir, "new link")))
}

// A branch begins with every file that is not ignored, byte for byte, and the user's repository
// does not change for that.
func TestForkAndOpenTree(t *testing.T) {
	u := newUser(t)
	before := u.everything()
	r := u.openWithTrees()
	began, err := r.Fork(t.Context(), "RUN/fork")
	u.must(err)
	u.must(r.OpenTree(t.Context(), left, began))
	tree := u.in(left)
	for _, name := range []string{"src/staged.go", "src/edited.go", "notes/with space é.txt", "tool.sh", "kept.txt"} {
		want, err := os.ReadFile(u.path(name))
		u.must(err)
		got, err := os.ReadFile(tree.path(name))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"src/deleted.go", "secret.log", "build", ".starling"} {
		if _, err := os.Lstat(tree.path(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if out := tree.git("log", "-1", "--format=%s %P"); !strings.Contains(out, strings.TrimSpace(u.git("rev-parse", "HEAD"))) {
		t.Errorf("it does not stand on HEAD: %s", out)
	}
	tree.write("junk", "of an attempt that was cut")
	u.must(r.OpenTree(t.Context(), left, began))
	if _, err := os.Lstat(tree.path("junk")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a tree that is opened again is not new: %v", err)
	}
	u.must(git.RemoveTrees(u.path(treesOf)))
	if now := u.everything(); now != before {
		t.Errorf("got\n%s\nwant\n%s", now, before)
	}
}

// What two branches changed at different paths stands in the workspace, beside what the user had
// not committed; index and HEAD are as they were.
func TestTreesAreAppliedAndGone(t *testing.T) {
	u := newUser(t)
	u.git("worktree", "add", "-q", "-b", "other", filepath.Join(t.TempDir(), "the user's own"))
	others, index := u.git("worktree", "list"), u.git("ls-files", "--stage")
	changed, err := play(t.Context(), u.dir)
	if got := fmt.Sprintf("%q", changed); err != nil || got != `["kept.txt new link src/edited.go tool.sh" "docs/a file.md link link/inside"]` {
		t.Fatalf("got %s, %v", got, err)
	}
	u.applied()
	if now := u.git("ls-files", "--stage"); now != index {
		t.Errorf("the index has changed: %s", now)
	}
	if now := u.git("worktree", "list"); now != others {
		t.Errorf("got %s, want %s", now, others)
	}
	if out := u.git("log", "--format=%s", "-1", "refs/starling/branches/RUN/"+left); !strings.Contains(out, "left") {
		t.Errorf("what the branch made is not kept: %s", out)
	}
}

// The names of objects may be longer, as in a repository of SHA-256.
func TestTreesWhereNamesAreLong(t *testing.T) {
	u := newUser(t, "--object-format=sha256")
	_, err := play(t.Context(), u.dir)
	u.must(err)
	u.applied()
}

// Git may write down where a tree is by a path from its own folder.
func TestTreeWithRelativePaths(t *testing.T) {
	u := newUser(t)
	r := u.openWithTrees()
	began, err := r.Fork(t.Context(), "RUN/fork")
	u.must(err)
	u.must(r.OpenTree(t.Context(), left, began))
	u.must(os.WriteFile(u.path(".git/worktrees/"+left+"/gitdir"), []byte("../../../"+treesOf+"/"+left+"/.git\n"), 0o644))
	u.in(left).write("new", "new")
	if made, err := r.CloseTree(t.Context(), left, "RUN/"+left, began); err != nil || fmt.Sprint(made.Paths) != "[new]" {
		t.Errorf("got %+v, %v", made, err)
	}
	if _, err := os.Stat(u.path(".git/worktrees/" + left)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("git remembers the tree: %v", err)
	}
}

// applied holds the workspace against what both branches have made.
func (u user) applied() {
	u.t.Helper()
	for name, want := range map[string]string{"src/edited.go": "left\r\n", "docs/a file.md": "right\r\n", "link/inside": "a folder", "src/staged.go": "staged and edited\r\n", "secret.log": "ignored"} {
		if got, err := os.ReadFile(u.path(name)); err != nil || string(got) != want {
			u.t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"kept.txt", "x.log", ".starling-trees", ".git/worktrees/" + left, ".git/worktrees/" + right} {
		if _, err := os.Lstat(u.path(name)); !errors.Is(err, fs.ErrNotExist) {
			u.t.Errorf("%s is there: %v", name, err)
		}
	}
	if to, err := os.Readlink(u.path("new link")); to != "tool.sh" {
		u.t.Errorf("got %q, %v", to, err)
	}
	if info, err := os.Stat(u.path("tool.sh")); err != nil || info.Mode()&0o100 != 0 {
		u.t.Errorf("got %v, %v", info.Mode(), err)
	}
}

// Killed at any of its commands of git, all of it can be done again, and comes to the same.
func TestTreesSIGKILL(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts programs, for long: the gate plays it without the race detector")
	}
	killAtSome(t, func(t *testing.T, n int) int {
		u := newUser(t)
		commands, cut := u.cutAt(n, "TEST_TREES")
		if cut {
			_, err := play(t.Context(), u.dir)
			u.must(err)
			u.noFolder()
		}
		u.applied()
		return commands
	})
}

// Two branches that changed one file: how they differ, and what git makes of them.
func TestCompareAndMerge(t *testing.T) {
	for _, c := range []struct {
		name, left, right string
		merges            bool
	}{
		{"different places", "LEFT\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\n4\n5\n6\nRIGHT\n", true},
		{"the same place", "LEFT\n2\n3\n4\n5\n6\n7\n", "RIGHT\n2\n3\n4\n5\n6\n7\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUser(t)
			u.write("lines", "1\n2\n3\n4\n5\n6\n7\n")
			r := u.openWithTrees()
			began, err := r.Fork(t.Context(), "RUN/fork")
			u.must(err)
			var sides []string
			for name, content := range map[string]string{left: c.left, right: c.right} {
				u.must(r.OpenTree(t.Context(), name, began))
				u.in(name).write("lines", content)
				u.in(name).git("-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qam", name+"'s own commit")
				made, err := r.CloseTree(t.Context(), name, "RUN/"+name, began)
				u.must(err)
				sides = append(sides, made.Commit)
			}
			got, err := r.Compare(t.Context(), began, sides, []string{"lines", "new"})
			if err != nil || got.Merges != c.merges || got.Base["lines"] != "1\n2\n3\n4\n5\n6\n7\n" || len(got.Base) != 1 || !strings.Contains(strings.Join(got.Patches, ""), "+LEFT") {
				t.Errorf("got %+v, %v", got, err)
			}
			so, err := r.Fold(t.Context(), "RUN/fold", began, sides, true)
			if c.merges != (err == nil) || !c.merges && !errors.Is(err, git.ErrConflict) {
				t.Fatalf("got %v", err)
			}
			if c.merges {
				_, err = r.Apply(t.Context(), began, so)
				if text, _ := os.ReadFile(u.path("lines")); err != nil || string(text) != "LEFT\n2\n3\n4\n5\n6\nRIGHT\n" {
					t.Errorf("got %q, %v", text, err)
				}
			}
		})
	}
}

// However many files two branches have changed, to compare them takes few commands.
func TestCompareManyFiles(t *testing.T) {
	u := newUser(t)
	var paths, sides []string
	for i := range 50 {
		paths = append(paths, fmt.Sprintf("many/%d", i))
		u.write(paths[i], fmt.Sprintf("old %d\n", i))
	}
	r := u.openWithTrees()
	began, err := r.Fork(t.Context(), "RUN/fork")
	u.must(err)
	for _, name := range []string{left, right} {
		u.must(r.OpenTree(t.Context(), name, began))
		for _, p := range paths {
			u.in(name).write(p, name)
		}
		made, err := r.CloseTree(t.Context(), name, "RUN/"+name, began)
		u.must(err)
		sides = append(sides, made.Commit)
	}
	r.Close()
	count := u.counted()
	got, err := r.Compare(t.Context(), began, sides, paths[1:])
	if err != nil || len(got.Base) != 49 || got.Base["many/7"] != "old 7\n" || got.Merges {
		t.Errorf("got %+v, %v", got, err)
	}
	if n := count(); n < 3 || n > 12 {
		t.Errorf("it took %d commands", n)
	}
	if _, err := r.Fold(t.Context(), "RUN/none", began, []string{"nobody's"}, true); err == nil || !strings.Contains(err.Error(), "git merge-tree: it knows no commit") {
		t.Errorf("got %v", err)
	}
}

// What somebody changed in the workspace meanwhile is not written over, and then nothing is.
func TestApplyIsNoThief(t *testing.T) {
	for name, change := range map[string]func(u user){
		"edited":     func(u user) { u.write("src/edited.go", "the user's\n") },
		"removed":    func(u user) { u.must(os.Remove(u.path("src/edited.go"))) },
		"in the way": func(u user) { u.write("docs", "a file where a folder is to be") },
		"a folder":   func(u user) { u.write("new link/mine.log", "ignored") },
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			r := u.openWithTrees()
			began, err := r.Fork(t.Context(), "RUN/fork")
			u.must(err)
			var sides []string
			for _, name := range []string{left, right} {
				u.must(r.OpenTree(t.Context(), name, began))
				u.must(work(u.in(name).dir, name))
				made, err := r.CloseTree(t.Context(), name, "RUN/"+name, began)
				u.must(err)
				sides = append(sides, made.Commit)
			}
			so, err := r.Fold(t.Context(), "RUN/fold", began, sides, false)
			u.must(err)
			change(u)
			before := u.everything()
			if _, err := r.Apply(t.Context(), began, so); !errors.Is(err, git.ErrMoved) {
				t.Errorf("got %v", err)
			}
			if now := u.everything(); now != before {
				t.Errorf("got\n%s\nwant\n%s", now, before)
			}
		})
	}
}

// Of a branch that did not come to its end, what it made so far is kept, its tree goes, and nobody
// else's.
func TestDropTrees(t *testing.T) {
	u := newUser(t)
	r := u.openWithTrees()
	began, err := r.Fork(t.Context(), "RUN/fork")
	u.must(err)
	for _, name := range []string{"parallel+a", "parallel+a+parallel+x", "parallel=2+a"} {
		u.must(r.OpenTree(t.Context(), name, began))
		u.in(name).write("half", name)
	}
	u.must(os.WriteFile(u.in("parallel+a").path(".git"), []byte("gitdir: /nowhere\n"), 0o644)) // whoever works there may have written it
	u.must(r.DropTrees(t.Context(), "parallel+", "RUN", began))
	if left, _ := filepath.Glob(u.path(treesOf + "/p*")); len(left) != 1 || filepath.Base(left[0]) != "parallel=2+a" {
		t.Errorf("left: %v", left)
	}
	if out := u.git("show", "refs/starling/branches/RUN/parallel+a:half"); out != "parallel+a" {
		t.Errorf("got %q", out)
	}
	if _, err := git.Open(git.Options{Workspace: u.in("parallel+a").dir, Trees: u.path(treesOf)}); !errors.Is(err, git.ErrNoTree) {
		t.Errorf("got %v", err)
	}
}

// Who is told to stop has time to keep what was made: until that is done no tree goes.
func TestDropTreesIsGivenUp(t *testing.T) {
	u := newUser(t)
	r := u.openWithTrees()
	began, err := r.Fork(t.Context(), "RUN/fork")
	u.must(err)
	u.must(r.OpenTree(t.Context(), left, began))
	u.in(left).write("half", "done")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.DropTrees(ctx, "parallel+", "RUN", began); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	u.must(r.DropTrees(t.Context(), "parallel+", "RUN", began))
	if out := u.git("show", "refs/starling/branches/RUN/"+left+":half"); out != "done" {
		t.Errorf("got %q", out)
	}
}
