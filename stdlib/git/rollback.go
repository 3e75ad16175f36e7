package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	lockPatience = 5 * time.Second // how long another git may hold the index
	lockLook     = 50 * time.Millisecond
	maxPasses    = 6
)

// Rollback restores files, index and HEAD as a checkpoint has them. What there was before is kept
// first, under a name of its own, and given as a patch. Nothing is changed while somebody else
// holds the index. A rollback that a crash has cut is finished by doing it again under the same
// name; what was done in between is kept, too, under that name and the number of the attempt.
func (r *Repository) Rollback(ctx context.Context, checkpoint, name string, attempt int) (patch string, paths []string, err error) {
	s, err := r.load(ctx, checkpoints+checkpoint)
	if err != nil {
		return "", nil, err
	}
	for _, name := range []string{"rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
			return "", nil, fmt.Errorf("%w (%s)", ErrUnfinished, name)
		}
	}
	var index []byte
	if s.Index != "" {
		if index, err = r.blob(ctx, s.Index); err != nil {
			return "", nil, err
		}
	}
	lock, err := r.lock(ctx, index)
	if err != nil {
		return "", nil, err
	}
	was, err := r.captureBoth(ctx, undone+name, attempt)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("nothing was changed: %w", err), os.Remove(lock))
	}
	if err := r.restore(ctx, s, index); err != nil {
		os.Remove(lock)
		return "", nil, fmt.Errorf("the rollback is not finished, roll back again; what was there is kept under %s%s: %w", undone, name, err)
	}
	return r.between(ctx, s.Files, was.Files)
}

// Restore makes some files what a checkpoint has of them; those that it has not are removed. Index
// and HEAD stay, and so does every other file. What there was is kept as by Rollback, and the
// result is as its.
func (r *Repository) Restore(ctx context.Context, checkpoint, name string, attempt int, paths []string) (patch string, changed []string, err error) {
	s, err := r.load(ctx, checkpoints+checkpoint)
	if err != nil {
		return "", nil, err
	}
	was, err := r.captureBoth(ctx, undone+name, attempt)
	if err != nil {
		return "", nil, fmt.Errorf("nothing was changed: %w", err)
	}
	before, err := r.now(ctx)
	if err != nil {
		return "", nil, err
	}
	changes, err := r.changes(ctx, before, s.Files)
	if err != nil {
		return "", nil, err
	}
	changes = slices.DeleteFunc(changes, func(c change) bool { return !slices.Contains(paths, c.path) })
	if err := r.apply(ctx, r.permitted(changes), true); err != nil {
		return "", nil, fmt.Errorf("not all is restored, do it again; what was there is kept under %s%s: %w", undone, name, err)
	}
	now, err := r.now(ctx)
	if err != nil {
		return "", nil, err
	}
	return r.between(ctx, now, was.Files)
}

func (r *Repository) captureBoth(ctx context.Context, ref string, attempt int) (*state, error) {
	if attempt > 1 {
		if _, err := r.capture(ctx, fmt.Sprintf("%s-%d", ref, attempt)); err != nil {
			return nil, err
		}
	}
	return r.capture(ctx, ref)
}

// restore puts the index in place last: until then the lock says that somebody is at work.
func (r *Repository) restore(ctx context.Context, s *state, index []byte) error {
	if err := r.restoreFiles(ctx, s, index); err != nil {
		return err
	}
	if err := r.restoreHead(ctx, s); err != nil {
		return err
	}
	place := filepath.Join(r.dir, "index")
	if s.Index == "" {
		return errors.Join(os.RemoveAll(place), os.Remove(place+".lock"))
	}
	return os.Rename(place+".lock", place)
}

func (r *Repository) blob(ctx context.Context, id string) ([]byte, error) {
	contents, err := r.contents(ctx, []string{id})
	return contents[id], err
}

// lock takes git's own lock of the index, with the index that is to be as its content: putting it
// in place later is one rename. A lock with this very content is our own, of an attempt that a
// crash has cut.
func (r *Repository) lock(ctx context.Context, index []byte) (string, error) {
	path := filepath.Join(r.dir, "index.lock")
	made, err := r.shell.place(ctx, "lock")
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	defer os.Remove(made)
	if len(index) == 0 {
		index = []byte("starling: there is to be no index") // never put in place
	}
	_, err = f.Write(index)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return "", err
	}
	ticks := time.NewTicker(lockLook)
	defer ticks.Stop()
	for began := time.Now(); ; {
		err := os.Link(made, path) // whole, or not there
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return path, err
		}
		if held, err := os.ReadFile(path); err == nil && bytes.Equal(held, index) {
			return path, nil
		}
		if time.Since(began) > lockPatience {
			return "", fmt.Errorf("%w; nothing was changed; if no git is running, remove %s", ErrBusy, path)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-ticks.C:
		}
	}
}

// restoreFiles makes the files what a tree has. Rules of what is ignored come first: only under the
// checkpoint's own is it known which files are extra.
func (r *Repository) restoreFiles(ctx context.Context, s *state, index []byte) error {
	if err := r.restoreTree(ctx, rules, s.Rules, index); err != nil {
		return err
	}
	return r.restoreTree(ctx, files, s.Files, index)
}

func (r *Repository) restoreTree(ctx context.Context, of listing, want string, index []byte) error {
	for pass := range maxPasses {
		now, err := r.tree(ctx, of, index)
		if err != nil || now == want {
			return err
		}
		changes, err := r.changes(ctx, now, want)
		if err != nil {
			return err
		}
		if changes = r.permitted(changes); len(changes) == 0 {
			return nil
		}
		if err := r.apply(ctx, changes, pass > 0); err != nil {
			return err
		}
	}
	return errors.New("the files change while they are restored; end what works in the workspace and roll back again")
}

// change is a file that is to be something else.
type change struct {
	path    string
	mode    string // of what it is to be; "000000" for nothing
	blob    string
	was, is string // mode and blob before and after, "" for nothing
}

// changes lists what leads from one tree to another. A submodule is a repository of its own, and
// none of the files that are kept: what it stands at is no change.
func (r *Repository) changes(ctx context.Context, from, to string) ([]change, error) {
	out, err := r.git(ctx, "diff-tree", "-r", "-z", "--ignore-submodules=all", "--no-renames", "--raw", "--no-abbrev", from, to)
	if err != nil {
		return nil, err
	}
	var list []change
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(fields[i])
		if len(f) != 5 {
			return nil, fmt.Errorf("git diff-tree: got %q", fields[i])
		}
		list = append(list, change{path: fields[i+1], mode: f[1], blob: f[3], was: entryOf(strings.TrimPrefix(f[0], ":"), f[2]), is: entryOf(f[1], f[3])})
	}
	return list, nil
}

// permitted leaves out what decides what runs may do, and says so: nobody gains a right by undoing
// or merging work. By hand it can be had from the repository.
func (r *Repository) permitted(changes []change) []change {
	return slices.DeleteFunc(changes, func(c change) bool {
		err := r.o.Rights.Check(c.path)
		if err != nil && !r.spared[c.path] {
			r.spared[c.path] = true
			r.warn("%s stays as it is: %v", c.path, err)
		}
		return err != nil
	})
}

// entryOf is what a tree holds at a path, "" for nothing.
func entryOf(mode, blob string) string {
	if mode == "000000" {
		return ""
	}
	return mode + " " + blob
}

func (r *Repository) apply(ctx context.Context, changes []change, all bool) error {
	root, err := os.OpenRoot(r.o.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	var want []string
	for _, c := range changes {
		if c.is != "" {
			want = append(want, c.blob)
		}
	}
	contents, err := r.contents(ctx, want)
	if err != nil {
		return err
	}
	for _, c := range changes {
		switch {
		case c.mode != "000000":
			err = put(root, c, contents[c.blob], r.fleeting)
		case all || path.Base(c.path) == ".gitignore":
			err = drop(root, c.path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// contents reads many blobs at once.
func (r *Repository) contents(ctx context.Context, blobs []string) (map[string][]byte, error) {
	contents := map[string][]byte{}
	found, err := r.read(ctx, blobs...)
	for i, blob := range blobs {
		switch {
		case err != nil:
			return nil, err
		case found[i] == nil:
			return nil, fmt.Errorf("the repository has lost the object %s", blob)
		}
		contents[blob] = found[i].content
	}
	return contents, nil
}

// put makes a path a file or link, at once: whoever is cut has left the old one or the new one.
// What stands in the way, above it or at it, was not there in what is to be.
func put(root *os.Root, c change, content []byte, fleeting bool) error {
	if err := makeWay(root, c.path); err != nil {
		return err
	}
	info, err := root.Lstat(c.path)
	if err = unlessAbsent(err); err == nil && info != nil && info.IsDir() {
		err = root.RemoveAll(c.path)
	}
	if err != nil {
		return err
	}
	made := path.Join(path.Dir(c.path), ".starling-"+c.blob) // put in place by a rename: what is there may be a link to a file elsewhere, hard or symbolic
	if err := unlessAbsent(root.Remove(made)); err != nil {
		return err
	}
	if c.mode == "120000" {
		err = root.Symlink(string(content), made)
	} else {
		err = write(root, made, c.mode, content, info, fleeting)
	}
	if err != nil {
		return err
	}
	return root.Rename(made, c.path)
}

// makeWay makes the folders above a path.
func makeWay(root *os.Root, name string) error {
	parts := strings.Split(name, "/")
	for i := range parts[:len(parts)-1] {
		folder := strings.Join(parts[:i+1], "/")
		info, err := root.Lstat(folder)
		if err == nil && !info.IsDir() {
			err = root.Remove(folder)
			info = nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if info == nil {
			if err := root.Mkdir(folder, 0o777); err != nil {
				return err
			}
		}
	}
	return nil
}

// write makes a file; of one that was there it keeps the permissions but for the right to execute,
// which is git's.
func write(root *os.Root, name, kind string, content []byte, was fs.FileInfo, fleeting bool) error {
	mode := fs.FileMode(0o666)
	if kind == "100755" {
		mode = 0o777
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && was != nil && was.Mode().IsRegular() {
		err = f.Chmod(was.Mode().Perm()&^0o111 | mode&0o111&(was.Mode().Perm()>>2)) // whoever reads may execute
	}
	if !fleeting {
		err = errors.Join(err, f.Sync())
	}
	return errors.Join(err, f.Close())
}

// drop removes a file and the folders that it leaves empty.
func drop(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			break // it holds something
		}
	}
	return nil
}

func (r *Repository) restoreHead(ctx context.Context, s *state) error {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
			return err
		}
	}
	if s.Branch == "" {
		_, err := r.git(ctx, "update-ref", "--no-deref", "HEAD", s.Head)
		return err
	}
	if _, err := r.git(ctx, "symbolic-ref", "HEAD", s.Branch); err != nil {
		return err
	}
	if s.Head == "" { // nothing had been committed
		_, err := r.git(ctx, "update-ref", "-d", s.Branch)
		return err
	}
	_, err := r.git(ctx, "update-ref", s.Branch, s.Head)
	return err
}

// Diff is what has changed since a checkpoint or a commit, the last one for "": files that are not
// ignored, tracked or not.
func (r *Repository) Diff(ctx context.Context, since string) (patch string, paths []string, err error) {
	from, err := r.filesOf(ctx, since)
	if err != nil {
		return "", nil, err
	}
	now, err := r.now(ctx)
	if err != nil {
		return "", nil, err
	}
	return r.between(ctx, from, now)
}

// filesOf is the tree of the files of a checkpoint or a commit, "" for the last commit; an empty
// one where there is none yet.
func (r *Repository) filesOf(ctx context.Context, since string) (string, error) {
	switch {
	case isCommit(since):
		tree, err := r.find(ctx, since+"^{tree}")
		if err == nil && tree == "" {
			err = fmt.Errorf("%w: the repository has no commit %s", ErrNoCheckpoint, since)
		}
		return tree, err
	case since != "":
		s, err := r.load(ctx, checkpoints+since)
		if err != nil {
			return "", err
		}
		return s.Files, nil
	}
	tree, err := r.find(ctx, "HEAD^{tree}")
	if tree == "" && err == nil {
		tree, err = r.emptyTree(ctx)
	}
	return tree, err
}

// between is what leads from one tree to another, and the paths in it.
func (r *Repository) between(ctx context.Context, from, to string) (patch string, paths []string, err error) {
	changes, err := r.changes(ctx, from, to)
	if err != nil {
		return "", nil, err
	}
	for _, c := range changes {
		paths = append(paths, c.path)
	}
	if len(changes) > 0 {
		patch, err = r.Patch(ctx, from, to)
	}
	return patch, paths, err
}

// Patch is what leads from one tree to another, in all paths or in some. Attributes say nothing in
// it: whoever changes a file could have it shown as one that is no text.
func (r *Repository) Patch(ctx context.Context, from, to string, paths ...string) (string, error) {
	args := []string{"diff-tree", "-r", "-p", "--ignore-submodules=all", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", "-M", from, to, "--"}
	return r.run(ctx, call{args: append(args, paths...), env: []string{"GIT_LITERAL_PATHSPECS=1"}, plain: true})
}
