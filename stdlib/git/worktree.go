package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A branch that works apart has a working tree of its own, linked to the repository: a folder below
// Options.Trees, whose HEAD is the commit that the branch began with. What it made is kept as a
// commit under a reference before the tree goes. Everything here can be done again after a crash,
// and comes to the same.

// repositoryNote is the file beside the trees of a run that says which repository they belong to.
const repositoryNote = "repository"

// BranchRefs is where what branches began with and made is kept.
const BranchRefs = "refs/starling/branches/"

// Made is what was made of a tree: the commit that keeps it, and the paths in which it differs from
// the commit that the tree began with.
type Made struct {
	Commit string
	Paths  []string
}

// Fork keeps all files that are not ignored, as they are, in a commit on top of HEAD. Nothing else
// changes. Under a name that has been used, it has been done.
func (r *Repository) Fork(ctx context.Context, name string) (commit string, err error) {
	return r.once(ctx, name, func() (string, string, []string, error) {
		head, err := r.find(ctx, "HEAD^{commit}")
		if err != nil {
			return "", "", nil, err
		}
		tree, err := r.now(ctx)
		return tree, "The workspace as it was found, uncommitted work included", []string{head}, err
	})
}

// once keeps a commit under a reference, unless there is one.
func (r *Repository) once(ctx context.Context, name string, tree func() (tree, message string, parents []string, err error)) (commit string, err error) {
	ref := BranchRefs + name
	if commit, err = r.find(ctx, ref+"^{commit}"); err != nil || commit != "" {
		return commit, err
	}
	t, message, parents, err := tree()
	if err == nil {
		commit, err = r.commitTree(ctx, t, message, parents...)
	}
	if err != nil {
		return "", err
	}
	_, err = r.git(ctx, "update-ref", "--no-deref", ref, commit)
	return commit, err
}

func (r *Repository) commitTree(ctx context.Context, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree, "-m", message}
	for i, p := range parents {
		if p != "" && !slices.Contains(parents[:i], p) {
			args = append(args, "-p", p)
		}
	}
	out, err := r.run(ctx, call{set: []string{"user.name=Starling", "user.email=starling@localhost"}, args: args})
	return strings.TrimSpace(out), err
}

// now is the tree of the files as they are.
func (r *Repository) now(ctx context.Context) (string, error) {
	index, err := os.ReadFile(filepath.Join(r.dir, "index"))
	if err = unlessAbsent(err); err != nil {
		return "", err
	}
	return r.tree(ctx, files, index)
}

// OpenTree makes the tree of a branch anew, with the files of a commit byte for byte. One that is
// there goes.
func (r *Repository) OpenTree(ctx context.Context, name, commit string) error {
	if err := r.prepareTrees(); err != nil {
		return err
	}
	dir := filepath.Join(r.o.Trees, name)
	if err := removeTree(r.common, dir); err != nil {
		return err
	}
	if err := r.addTree(dir, commit); err != nil {
		return err
	}
	l, err := r.linked(name)
	if err != nil {
		return err
	}
	return l.fill(ctx, commit)
}

// addTree makes what git worktree add --no-checkout --detach makes. Git would run hooks, and would
// write down the private folder as the repository's.
func (r *Repository) addTree(dir, commit string) error {
	above := filepath.Join(r.common, "worktrees")
	err := errors.Join(os.MkdirAll(above, 0o777), os.MkdirAll(dir, 0o777))
	admin := filepath.Join(above, filepath.Base(dir))
	for n := 1; err == nil; n++ {
		if err = os.Mkdir(admin, 0o777); !errors.Is(err, fs.ErrExist) {
			break
		}
		admin, err = filepath.Join(above, fmt.Sprint(filepath.Base(dir), n)), nil
	}
	for _, file := range [][2]string{
		{filepath.Join(admin, "gitdir"), filepath.Join(dir, ".git")},
		// first: by it a crash's rest is found
		{filepath.Join(admin, "commondir"), filepath.Join("..", "..")},
		{filepath.Join(admin, "HEAD"), commit},
		{filepath.Join(dir, ".git"), "gitdir: " + admin},
	} {
		if err == nil {
			err = os.WriteFile(file[0], []byte(file[1]+"\n"), 0o666)
		}
	}
	return err
}

// prepareTrees makes the folder of the trees, which git is not to see, and notes whose they are
// before there is one.
func (r *Repository) prepareTrees() error {
	err := os.MkdirAll(r.o.Trees, 0o755)
	if err == nil {
		r.o.Trees, err = filepath.EvalSymlinks(r.o.Trees)
	}
	if err != nil {
		return err
	}
	r.shell.end() // it may change only the folders that were there when it began
	ignored := os.WriteFile(filepath.Join(filepath.Dir(r.o.Trees), ".gitignore"), []byte("*\n"), 0o644)
	return errors.Join(ignored, os.WriteFile(filepath.Join(r.o.Trees, repositoryNote), []byte(r.common+"\n"), 0o644))
}

// filled is how many files are written at once into a new tree.
const filled = 500

// fill writes the files of a commit into an empty tree. Git's own checkout would send them through
// filters, and they would come back as something else.
func (r *Repository) fill(ctx context.Context, commit string) error {
	if _, err := r.git(ctx, "read-tree", commit); err != nil {
		return err
	}
	empty, err := r.emptyTree(ctx)
	if err != nil {
		return err
	}
	changes, err := r.changes(ctx, empty, commit)
	if err != nil {
		return err
	}
	r.fleeting = true
	for part := range slices.Chunk(changes, filled) {
		if err := r.apply(ctx, part, true); err != nil {
			return err
		}
	}
	_, err = r.run(ctx, call{args: []string{"update-index", "-q", "--refresh"}, code: 1})
	return err
}

func (r *Repository) emptyTree(ctx context.Context) (string, error) {
	out, err := r.run(ctx, call{args: []string{"mktree"}, stdin: []byte{}})
	return strings.TrimSpace(out), err
}

// linked is the repository as it is seen from the tree of a branch.
func (r *Repository) linked(name string) (*Repository, error) {
	o := r.o
	o.Workspace = filepath.Join(o.Trees, name)
	l, err := Open(o)
	if err == nil {
		l.shell = r.shell // which may change all that lies in these trees
	}
	return l, err
}

// Folders lists git's own folders, for a sandbox: of the tree of a branch they lie outside of it.
// nil is for no repository.
func Folders(o Options) []string {
	r, err := Open(o)
	if err != nil {
		return nil
	}
	return []string{r.dir, r.common}
}

// Protected lists what decides in a workspace and in its repository, for a sandbox whose programs
// may change both: absolute paths, of which some may not be there. Who keeps them from being
// changed has to keep the folders above them, below the workspace, from being renamed.
func Protected(o Options) []string {
	list := o.Rights.Files(o.Workspace)
	folders := Folders(o)
	if len(folders) > 0 {
		modules, _ := filepath.Glob(filepath.Join(folders[1], "modules", "*"))
		trees, _ := filepath.Glob(filepath.Join(folders[1], "worktrees", "*"))
		folders = slices.Compact(slices.Concat(folders, modules, trees))
	}
	for _, dir := range folders {
		for _, name := range []string{"config", "config.worktree", "hooks", "commondir", "gitdir"} {
			list = append(list, filepath.Join(dir, name))
		}
	}
	return list
}

// openTree finds the repository of the tree of a branch. The file .git in the tree is not asked:
// whoever works there may have written it.
func (r *Repository) openTree() error {
	note, err := os.ReadFile(filepath.Join(filepath.Dir(r.o.Workspace), repositoryNote))
	if err != nil {
		return fmt.Errorf("%w: %s", ErrNoTree, r.o.Workspace)
	}
	r.common = strings.TrimSpace(string(note))
	if r.dir, err = administration(r.common, r.o.Workspace); err == nil && r.dir == "" {
		err = fmt.Errorf("%w: %s", ErrNoTree, r.o.Workspace)
	}
	return err
}

// CloseTree keeps what a branch made of its tree, which began with a commit, under a name, and
// removes the tree. Commits that were made there are kept with it.
func (r *Repository) CloseTree(ctx context.Context, name, as, began string) (*Made, error) {
	commit, err := r.once(ctx, as, func() (string, string, []string, error) {
		l, err := r.linked(name)
		if err != nil {
			return "", "", nil, err
		}
		head, err := l.find(ctx, "HEAD^{commit}")
		if err != nil {
			return "", "", nil, err
		}
		tree, err := l.now(ctx)
		return tree, "What branch " + name + " made", []string{began, head}, err
	})
	if err != nil {
		return nil, err
	}
	changes, err := r.changes(ctx, began, commit)
	if err != nil {
		return nil, err
	}
	made := &Made{Commit: commit}
	for _, c := range changes {
		made.Paths = append(made.Paths, c.path)
	}
	return made, r.discard(name)
}

// discard removes a tree and, with the last one, the folder of the trees.
func (r *Repository) discard(name string) error {
	if err := removeTree(r.common, filepath.Join(r.o.Trees, name)); err != nil {
		return err
	}
	rest, err := os.ReadDir(r.o.Trees)
	if err = unlessAbsent(err); err != nil || slices.ContainsFunc(rest, fs.DirEntry.IsDir) {
		return err
	}
	return RemoveTrees(r.o.Trees)
}

// DropTrees keeps what was made of the trees whose names begin with a prefix, each under its name
// in a folder, as far as that can be, and removes them.
func (r *Repository) DropTrees(ctx context.Context, prefix, folder, began string) error {
	entries, err := os.ReadDir(r.o.Trees)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		_, failed := r.CloseTree(ctx, e.Name(), folder+"/"+e.Name(), began)
		if ctx.Err() != nil { // it can be kept yet
			return ctx.Err()
		}
		if failed != nil {
			err = errors.Join(err, r.discard(e.Name()))
		}
	}
	return err
}

// RemoveTrees removes the folder of a run's trees with all that is in it and all that the
// repository knows of it. It runs no git. What branches made stays under its references; what was
// not kept is gone.
func RemoveTrees(trees string) error {
	trees, err := filepath.EvalSymlinks(trees)
	if err != nil {
		return unlessAbsent(err)
	}
	note, err := os.ReadFile(filepath.Join(trees, repositoryNote))
	if err = unlessAbsent(err); err == nil {
		err = removeTree(strings.TrimSpace(string(note)), trees)
	}
	above := filepath.Dir(trees)
	if rest, failed := os.ReadDir(above); failed == nil && len(rest) == 1 && rest[0].Name() == ".gitignore" {
		_ = os.Remove(filepath.Join(above, ".gitignore"))
		_ = os.Remove(above) // not if another run has begun to use it
	}
	return err
}

func unlessAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeTree removes what the repository knows of a tree, or of all in a folder of trees, and then
// that. Whoever is cut in between finds the rest by its path.
func removeTree(common, dir string) error {
	list, err := administrations(common)
	for admin, tree := range list {
		if tree == dir || strings.HasPrefix(tree, dir+string(filepath.Separator)) {
			err = errors.Join(err, os.RemoveAll(admin))
		}
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// administration is git's own folder of a linked tree, "" if there is none.
func administration(common, dir string) (string, error) {
	list, err := administrations(common)
	for admin, tree := range list {
		if tree == dir {
			return admin, nil
		}
	}
	return "", err
}

// administrations lists git's own folders of linked trees, with the trees.
func administrations(common string) (map[string]string, error) {
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	list := map[string]string{}
	for _, e := range entries {
		admin := filepath.Join(common, "worktrees", e.Name())
		if text, err := os.ReadFile(filepath.Join(admin, "gitdir")); err == nil {
			tree := strings.TrimSuffix(strings.TrimSpace(string(text)), "/.git")
			if !filepath.IsAbs(tree) { // as worktree.useRelativePaths has it
				tree = filepath.Join(admin, tree)
			}
			list[admin] = tree
		}
	}
	return list, err
}
