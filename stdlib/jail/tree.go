// Package jail reads and changes the files of a workspace for scripts, and no other file.
//
// A path is relative to the workspace, with slashes. It is walked component by component, each
// folder opened from the one above and held against what was seen there, so that a link that
// somebody swaps in meanwhile is found. Links are followed as long as they stay within the
// workspace; an absolute one leads out by definition. The store is not there for scripts, wherever
// it lies and whatever leads to it. Files of the repository itself (.git) and what decides what
// runs may do ([Rights]) are only read.
//
//	t, err := jail.Open(workspace, store, jail.Rights{})
//	defer t.Close()
//	text, err := t.Read("notes/plan.md", 1<<20)
//
// Errors are an [*Error] that names the path as it was given and wraps [ErrOutside], [ErrStore],
// [ErrRepository], [ErrRights], [ErrTooLarge], [ErrKind], [ErrChanged] or what the system
// says, such as [fs.ErrNotExist]. A Tree may be used by many goroutines.
//
// # Limits
//
// A hard link to a file elsewhere is that file. Other programs may change the workspace at any
// time: each call sees some moment of it.
package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Why a path is not served.
var (
	ErrOutside    = errors.New("it leads out of the workspace")
	ErrStore      = errors.New("it leads into the store, which is not for scripts")
	ErrRepository = errors.New("it belongs to the repository itself, which git alone changes")
	ErrTooLarge   = errors.New("it is too large")
	ErrChanged    = errors.New("it is not what it was")
	ErrKind       = errors.New("it is of another kind") // a folder where a file is wanted, a device, a socket
	errChanged    = errors.New("it was replaced while it was opened; try again")
)

// Error is why something could not be done with a path.
type Error struct {
	Path string // as it was given
	Err  error
}

// Error is the path and the reason.
func (e *Error) Error() string { return e.Path + ": " + Reason(e.Err) }

// Unwrap makes errors.Is work.
func (e *Error) Unwrap() error { return e.Err }

// Reason is what an error says without the names that the system puts around it: they are those of
// single components.
func Reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err.Error()
	}
	return err.Error()
}

// repository is the name of what holds a repository's own files.
const repository = ".git"

// Tree is the files of a workspace.
type Tree struct {
	root   *os.Root
	store  []os.FileInfo // the store's folder, and those above it below the workspace
	rights Rights
}

// Open opens a workspace. store is the path of the store's folder, "" for none; it need not exist
// or lie in the workspace. What rights knows is not changed.
func Open(workspace, store string, rights Rights) (*Tree, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("the workspace: %w", err)
	}
	t := &Tree{root: root, rights: rights}
	if store != "" {
		t.store = lineage(workspace, store)
	}
	return t, nil
}

// lineage is the folder and all above it up to the workspace, or up to the root where it lies
// elsewhere. What does not exist has none.
func lineage(workspace, folder string) []os.FileInfo {
	top, err := os.Stat(workspace)
	path, err2 := filepath.EvalSymlinks(folder)
	if err != nil || err2 != nil {
		return nil
	}
	var list []os.FileInfo
	for {
		info, err := os.Stat(path)
		if err != nil || len(list) > 0 && os.SameFile(info, top) {
			return list
		}
		list = append(list, info)
		up := filepath.Dir(path)
		if up == path {
			return list
		}
		path = up
	}
}

// Close lets go of the workspace.
func (t *Tree) Close() error { return t.root.Close() }

func (t *Tree) isStore(info os.FileInfo) bool {
	return len(t.store) > 0 && os.SameFile(info, t.store[0])
}

// holdsStore tells whether a folder is the store or above it.
func (t *Tree) holdsStore(info os.FileInfo) bool {
	for _, s := range t.store {
		if os.SameFile(info, s) {
			return true
		}
	}
	return false
}

// Check refuses a path that cannot be one of the workspace whatever is there.
func Check(path string) error {
	depth := 0
	for _, name := range strings.Split(path, "/") {
		switch name {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return &Error{path, ErrOutside}
		}
	}
	switch {
	case path == "":
		return errors.New("got an empty path")
	case strings.HasPrefix(path, "/"):
		return &Error{path, fmt.Errorf("%w: paths are relative to it", ErrOutside)}
	case strings.IndexByte(path, 0) >= 0:
		return errors.New("a path holds no NUL byte")
	}
	return nil
}
