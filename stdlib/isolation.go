package stdlib

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/git"
)

// What parallel(isolation = "worktree") asks for. The requests are of kind "workspace" and the
// machine's own; each finds what an earlier attempt of it has done. What a branch began with and
// made stays in the repository under refs/starling/branches/RUN.

// errNotOwned refuses what a branch has changed.
var errNotOwned = errors.New("not owned")

const (
	maxChanged  = 10_000    // paths that a branch may change
	maxConflict = 192 << 10 // bytes of contents and patches that those who decide on a conflict are shown
)

// reference is where something of the run is kept: what belongs to a branch, or to a step.
func (w *repositoryRequest) reference(address string) string {
	return w.attempt.Run + "/" + effect.TreeName(address)
}

func forkTrees(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	commit, err := w.Fork(ctx, w.reference(w.attempt.Step))
	return starlark.String(commit), err
}

func openTree(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	return starlark.None, w.OpenTree(ctx, effect.TreeName(w.args.Text("branch")), w.args.Text("began"))
}

// closeTree keeps what a branch has made, and refuses it where that is not what its agents own.
func closeTree(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	branch, began := w.args.Text("branch"), w.args.Text("began")
	made, err := w.CloseTree(ctx, effect.TreeName(branch), w.reference(branch), began)
	if err != nil {
		return nil, err
	}
	if len(made.Paths) > maxChanged {
		return nil, fmt.Errorf("branch %s has changed %d files, the most are %d; have git ignore what is generated. What it made is kept as %s", branch, len(made.Paths), maxChanged, git.BranchRefs+w.reference(branch))
	}
	if err := w.owned(branch, made.Paths); err != nil {
		return nil, err
	}
	patch, err := w.Patch(ctx, began, made.Commit)
	w.blobs["changes.patch"] = []byte(patch)
	d := new(starlark.Dict)
	set(d, "commit", starlark.String(made.Commit))
	set(d, "files", textList(made.Paths))
	return d, err
}

func (w *repositoryRequest) owned(branch string, paths []string) error {
	if len(w.attempt.Owns) == 0 {
		return nil
	}
	foreign := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return effect.Claims(w.attempt.Owns, p) })
	if len(foreign) == 0 {
		return nil
	}
	return fmt.Errorf("%w: branch %s has changed %s; the agents asked in it own %s. What it made is kept as %s", errNotOwned, branch, strings.Join(foreign[:min(len(foreign), 5)], ", "),
		strings.Join(w.attempt.Owns, ", "), git.BranchRefs+w.reference(branch))
}

// compareTrees shows those who decide how branches differ that have changed the same paths. Who was
// stopped for that has its tree no more: it may be long until somebody decides.
func compareTrees(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	if _, err := dropTrees(ctx, w); err != nil {
		return nil, err
	}
	var labels, sides []string
	w.args.Sub("sides").Each(func(label string, _ effect.View) {
		labels, sides = append(labels, label), append(sides, w.args.Sub("sides").Text(label))
	})
	paths := w.args.Texts("paths")
	c, err := w.Compare(ctx, w.args.Text("began"), sides, paths)
	if err != nil {
		return nil, err
	}
	room := maxConflict / (len(paths) + len(labels))
	base, branches := new(starlark.Dict), new(starlark.Dict)
	for _, p := range paths {
		if text, there := c.Base[p]; there {
			set(base, p, starlark.String(beginning(text, room)))
		}
	}
	for i, label := range labels {
		set(branches, label, starlark.String(beginning(c.Patches[i], room)))
		w.blobs[patchName(label, i)] = []byte(c.Patches[i])
	}
	d := new(starlark.Dict)
	set(d, "files", textList(paths))
	set(d, "base", base)
	set(d, "branches", branches)
	set(d, "merges", starlark.Bool(c.Merges))
	return d, nil
}

func patchName(label string, i int) string {
	name := label + ".patch"
	if effect.CheckName(name) != nil {
		return fmt.Sprintf("branch-%d.diff", i) // which no name of another gives
	}
	return name
}

// beginning is as much of a text as there is room for.
func beginning(text string, room int) string {
	cut := ""
	if len(text) > room {
		text, cut = text[:room], "\n(cut: the whole is an artifact, or in the repository)\n"
	}
	return strings.ToValidUTF8(text, "\uFFFD") + cut
}

// set puts an entry into a dict that nobody else has.
func set(d *starlark.Dict, key string, v starlark.Value) {
	if err := d.SetKey(starlark.String(strings.ToValidUTF8(key, "\uFFFD")), v); err != nil {
		panic("stdlib: " + err.Error())
	}
}

// foldTrees puts together what the branches of a round have made.
func foldTrees(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	began := w.args.Text("began")
	commit, err := w.Fold(ctx, w.reference(w.attempt.Step), began, w.args.Texts("sides"), w.args.Flag("merge"))
	if err != nil {
		return nil, err
	}
	_, err = dropTrees(ctx, w)
	return starlark.String(commit), err
}

func dropTrees(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	return starlark.None, w.DropTrees(ctx, effect.TreeName(w.args.Text("path"))+"+", w.attempt.Run, w.args.Text("began"))
}

func applyTrees(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	began, head := w.args.Text("began"), w.args.Text("head")
	paths, err := w.Apply(ctx, began, head)
	if errors.Is(err, git.ErrMoved) {
		err = fmt.Errorf("%w. Nothing was changed there; what the branches made is commit %s: git diff %.12s %.12s", err, head, began, head)
	}
	if err != nil {
		return nil, err
	}
	patch, err := w.Patch(ctx, began, head)
	w.blobs["applied.patch"] = []byte(patch)
	return textList(paths[:min(len(paths), maxChanged)]), err
}

// trees knows who is at work in the trees of branches: nobody is when one is closed or removed.
type trees struct {
	mu    sync.Mutex // guards busy
	busy  map[string]int
	quiet *sync.Cond
}

func newTrees() *trees {
	t := &trees{busy: map[string]int{}}
	t.quiet = sync.NewCond(&t.mu)
	return t
}

// within has attempts that belong into the tree of a branch made there, if it is there.
func (t *trees) within(h *effect.Handler) *effect.Handler {
	inner := *h
	inner.Perform = func(ctx context.Context, a *effect.Attempt) effect.Reply {
		if a.Tree == "" {
			return h.Perform(ctx, a)
		}
		dir := a.Settings.Workspace
		defer t.enter(dir)()
		if _, err := os.Stat(dir); err != nil {
			return effect.Reply{Err: effect.Errorf(effect.KindEffect, "%s: %v: %s", a.Step, git.ErrNoTree, dir)}
		}
		return h.Perform(ctx, a)
	}
	return &inner
}

func (t *trees) enter(dir string) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy[dir]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.busy[dir]--; t.busy[dir] == 0 {
			delete(t.busy, dir)
		}
		t.quiet.Broadcast()
	}
}

// leave waits until nobody is at work in the trees that a request removes, and tells whether that
// came before ctx ended. Whoever still is has been told to end.
func (t *trees) leave(ctx context.Context, a *effect.Attempt) bool {
	args := effect.ViewOf(a.Args)
	switch args.Text("do") {
	case effect.TreeClose:
		return t.wait(ctx, func(dir string) bool { return dir == filepath.Join(a.Trees, effect.TreeName(args.Text("branch"))) })
	case effect.TreeCompare, effect.TreeFold, effect.TreeDrop:
		return t.wait(ctx, func(dir string) bool {
			return strings.HasPrefix(dir, filepath.Join(a.Trees, effect.TreeName(args.Text("path"))+"+"))
		})
	}
	return true
}

func (t *trees) wait(ctx context.Context, concerns func(dir string) bool) bool {
	stop := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.quiet.Broadcast()
	})
	defer stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.concerned(concerns) && ctx.Err() == nil {
		t.quiet.Wait()
	}
	return ctx.Err() == nil
}

func (t *trees) concerned(concerns func(dir string) bool) bool {
	for dir := range t.busy {
		if concerns(dir) {
			return true
		}
	}
	return false
}

// tidy is effect.Environment.Tidy.
func (t *trees) tidy(folder string, ended func(run string) bool) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() || !ended(e.Name()) {
			continue
		}
		dir := filepath.Join(folder, e.Name())
		t.wait(context.Background(), func(tree string) bool { return filepath.Dir(tree) == dir })
		err = cmp.Or(err, git.RemoveTrees(dir))
	}
	return err
}
