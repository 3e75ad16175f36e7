// Package git keeps, restores, compares and commits the work in a repository for scripts, with the
// git command and never at the price of somebody's work.
//
// A checkpoint is a commit under refs/starling/checkpoints that holds the index, byte for byte, and
// every file that is not ignored, without filters: what is not committed and what is not tracked
// included. A rollback first keeps what there is in the same way under refs/starling/undone, then
// restores files, HEAD and index. It holds git's own lock meanwhile, and is finished by simply
// being done again after a crash.
//
//	r, err := git.Open(git.Options{Workspace: dir, Store: store})
//	defer r.Close()
//	err = r.Checkpoint(ctx, "before")
//	patch, paths, err := r.Rollback(ctx, "before", "undo", 1)
//
// Git runs under a guard and in a sandbox, and executes nothing that the repository names: its
// configuration may have been written by whoever works in it, and is not read but for a few keys
// (private.go). Commits go through those filters of the user's own configuration that [Options]
// names, and through no other.
//
// # Limits
//
// The workspace must be the top of a working tree. Empty folders are neither kept nor changed, and
// neither are, but by KeepIgnored and RestoreIgnored, ignored files, repositories inside it, and
// git's own settings and hooks.
package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"starling/stdlib/jail"
	"starling/stdlib/process"
)

// Why the repository does not serve.
var (
	ErrNoRepository = errors.New("the workspace is not the top folder of a git repository; run git init there")
	ErrBusy         = errors.New("the repository is busy: another git holds its index")
	ErrUnfinished   = errors.New("the repository is in the middle of a merge, a rebase or the like; finish that first")
	ErrNoCheckpoint = errors.New("there is no such checkpoint")
	ErrNoTree       = errors.New("the worktree of this branch is not there any more; go on from before the call of parallel that it belongs to")
	ErrConflict     = errors.New("the changes overlap: git cannot merge them")
	ErrFilter       = errors.New("files go through a filter of git that is not run")
	ErrMoved        = errors.New("the workspace was changed meanwhile, at the same paths as by branches")
)

const maxOutput = 512 << 20 // bytes of one command of git

// Options say which repository, and for whom git runs.
type Options struct {
	Workspace string
	Store     string // a folder that is not there for git; "" for none
	Trees     string // the folder of the trees of a run's branches, in a folder of such folders; "" where there are none
	Lock      string // of the step, see process.Spec
	Attempt   process.Attempt
	Host      process.Host      // see process.Spec
	Rights    jail.Rights       // what is never changed in the workspace
	Filters   []string          // names of the user's filters that commits go through
	Warn      func(text string) // is told what git went without; nil tells nobody
	Keeper    *Keeper           // keeps the shell for the next request; nil ends it
}

// Repository is a working tree and its git directory. It serves one call at a time.
type Repository struct {
	o      Options
	dir    string // git's own folder of this working tree
	common string // that of all working trees
	shell  *shell

	spared   map[string]bool // paths that were left alone, see permitted
	fleeting bool            // what is written can be made again: nothing waits for the disk
}

// Open finds the repository of a workspace, which may be the tree of a branch.
func Open(o Options) (*Repository, error) {
	o.Workspace, o.Trees = resolved(o.Workspace), resolvedBelow(o.Trees) // as git writes them down
	dir := filepath.Join(o.Workspace, ".git")
	r := &Repository{o: o, dir: dir, common: dir, spared: map[string]bool{}}
	r.shell = &shell{of: r}
	if filepath.Dir(filepath.Dir(o.Workspace)) == filepath.Dir(o.Trees) { // of this run or, for a child run, of its parent
		return r, r.openTree()
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, ErrNoRepository
	}
	if !info.IsDir() {
		if r.dir, err = pointer(o.Workspace, dir, "gitdir: "); err != nil {
			return nil, err
		}
		if r.common, err = pointer(r.dir, filepath.Join(r.dir, "commondir"), ""); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// resolved is a path without links in it, as far as it is there.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); path != "" && err == nil {
		return real
	}
	return path
}

// resolvedBelow is the same of a path that may not be there yet, nor the folder that it is in.
func resolvedBelow(path string) string {
	if path == "" {
		return ""
	}
	above := filepath.Dir(path)
	return filepath.Join(resolved(filepath.Dir(above)), filepath.Base(above), filepath.Base(path))
}

// pointer reads a file that holds a path, relative to a folder.
func pointer(from, file, prefix string) (string, error) {
	text, err := os.ReadFile(file)
	path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	if err != nil || !ok {
		return "", fmt.Errorf("%w: %s leads nowhere", ErrNoRepository, file)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	return path, nil
}

// call is one command of git.
type call struct {
	set   []string // of its configuration
	args  []string
	stdin []byte
	env   []string
	code  int  // an exit code beside 0 that is an answer
	plain bool // without a workspace, and whatever .gitattributes say
}

// git runs a command and returns its standard output.
func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	return r.run(ctx, call{args: args})
}

func (r *Repository) run(ctx context.Context, c call) (string, error) {
	p, err := r.shell.private(ctx, r)
	if err == nil {
		err = p.takeHead()
	}
	if err != nil {
		return "", err
	}
	var line strings.Builder
	dir := r.o.Workspace
	if c.plain {
		dir = p.plain() // where git finds no .gitattributes
	}
	line.WriteString("cd " + quoted(dir) + " &&")
	for _, v := range slices.Concat(p.environment(c.plain), c.env) {
		name, value, _ := strings.Cut(v, "=")
		line.WriteString(" " + name + "=" + quoted(value))
	}
	line.WriteString(" git")
	if c.plain {
		line.WriteString(" --bare -c core.attributesFile=/dev/null")
	}
	for _, setting := range c.set {
		line.WriteString(" -c " + quoted(setting))
	}
	for _, arg := range c.args {
		line.WriteString(" " + quoted(arg))
	}
	a, err := r.shell.run(ctx, line.String(), c.stdin)
	if err == nil {
		err = p.returnHead()
	}
	switch {
	case err != nil:
		return "", err
	case a.code == 0 || a.code == c.code:
		return a.out, nil
	}
	return "", failure(c.args[0], a)
}

// Close ends what runs for the repository, when there is something, or gives it to the Keeper. It
// may be used again.
func (r *Repository) Close() { r.shell.close() }

// Files lists what is not ignored, tracked or not, sorted: files and links that are there.
func (r *Repository) Files(ctx context.Context) ([]string, error) {
	list, err := r.git(ctx, append([]string{"ls-files", "-z"}, strings.Fields(string(files))...)...)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.o.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folders := map[string]bool{".": true}
	paths := slices.DeleteFunc(strings.Split(list, "\x00"), func(path string) bool {
		if path == "" || strings.HasSuffix(path, "/") || r.inStore(path) {
			return true
		}
		info, err := look(root, folders, path)
		return err != nil || info.IsDir() // a submodule
	})
	slices.Sort(paths)
	return paths, nil
}

func failure(command string, a answer) error {
	said := strings.TrimSpace(a.said)
	if strings.Contains(said, ".lock': File exists") {
		return fmt.Errorf("git %s: %w: %s", command, ErrBusy, said)
	}
	return fmt.Errorf("git %s exited with %d: %s", command, a.code, said)
}

// find gives the object that a name stands for, "" if it stands for none.
func (r *Repository) find(ctx context.Context, name string) (string, error) {
	out, err := r.run(ctx, call{args: []string{"rev-parse", "--quiet", "--verify", name}, code: 1})
	return strings.TrimSpace(out), err
}

// keep writes an object.
func (r *Repository) keep(ctx context.Context, content []byte) (string, error) {
	out, err := r.run(ctx, call{args: []string{"hash-object", "-w", "--no-filters", "--stdin"}, stdin: content})
	return strings.TrimSpace(out), err
}
