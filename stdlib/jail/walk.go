package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	maxLinks = 40   // of one path, as in the kernel
	maxDepth = 4000 // folders
	keptOpen = 64   // of those above a place; the workspace's is open besides
)

// way says how a path is walked.
type way struct {
	follow bool // the last component too, if it is a link
	make   bool // folders that are missing on the way
}

// place is a name in a folder that was reached from the workspace.
type place struct {
	tree *Tree
	dirs []*os.Root    // the folders down to it, the workspace's first; nil for one that was closed
	path []string      // their names, without the workspace
	seen []os.FileInfo // what they were
	name string        // within the last of them; "." for the workspace itself
	info os.FileInfo   // of what is there; nil if nothing is
}

func (p *place) dir() *os.Root { return p.dirs[len(p.dirs)-1] }

func (p *place) close() {
	for len(p.dirs) > 1 {
		p.leave()
	}
}

// leave forgets the last folder.
func (p *place) leave() {
	n := len(p.path) - 1
	p.shut(n + 1)
	p.dirs, p.path, p.seen = p.dirs[:n+1], p.path[:n], p.seen[:n]
}

// shut closes a folder.
func (p *place) shut(n int) {
	if p.dirs[n] != nil {
		p.dirs[n].Close()
		p.dirs[n] = nil
	}
}

// up goes to the folder above. Only the last folders are kept open, or one that is deep would take
// all descriptors: where it was closed it is opened again, and must be the one that it was.
func (p *place) up() error {
	p.leave()
	if p.dir() != nil {
		return nil
	}
	for n := 1; n < len(p.dirs); n++ {
		sub, err := p.dirs[n-1].OpenRoot(p.path[n-1])
		if err != nil {
			return err
		}
		p.dirs[n] = sub
		info, err := sub.Stat(".")
		if err != nil {
			return err
		}
		if !os.SameFile(info, p.seen[n-1]) {
			return errChanged
		}
		p.thin(n)
	}
	return nil
}

// thin closes the folder that is too far above one.
func (p *place) thin(n int) {
	if far := n - keptOpen; far > 0 {
		p.shut(far)
	}
}

// down opens a folder and makes sure that it is the one that was seen, and not the store.
func (p *place) down(name string, seen os.FileInfo) error {
	if len(p.dirs) > maxDepth {
		return fmt.Errorf("%w: it is more than %d folders deep", ErrTooLarge, maxDepth)
	}
	sub, err := p.dir().OpenRoot(name)
	if err != nil {
		return err
	}
	p.dirs, p.path, p.seen = append(p.dirs, sub), append(p.path, name), append(p.seen, seen)
	p.thin(len(p.dirs) - 1)
	info, err := sub.Stat(".")
	switch {
	case err != nil:
		return err
	case !os.SameFile(info, seen):
		return errChanged
	case p.tree.isStore(info):
		return ErrStore
	}
	return nil
}

// walk finds what a path leads to. The place must be closed. Nothing being there is no error;
// something missing on the way is.
func (t *Tree) walk(to string, w way) (*place, error) {
	if err := Check(to); err != nil {
		return nil, err
	}
	p := &place{tree: t, dirs: []*os.Root{t.root}}
	if err := p.follow(strings.Split(to, "/"), w); err != nil {
		p.close()
		return nil, &Error{to, err}
	}
	return p, nil
}

func (p *place) follow(rest []string, w way) error {
	links := 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(p.dirs) == 1 {
				return ErrOutside
			}
			if err := p.up(); err != nil {
				return err
			}
			continue
		}
		info, err := p.look(name, w.make && len(rest) > 0)
		last := len(rest) == 0
		switch {
		case last && errors.Is(err, fs.ErrNotExist):
			p.name = name
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0 && (!last || w.follow):
			if links++; links > maxLinks {
				return syscall.ELOOP
			}
			target, err := p.target(name)
			if err != nil {
				return err
			}
			rest = append(target, rest...)
		case last:
			return p.arrive(name, info)
		default:
			if err := p.down(name, info); err != nil {
				return err
			}
		}
	}
	p.name = "."
	var err error
	p.info, err = p.dir().Stat(".")
	return err
}

// Reach tells whether a path may be read, or with change be changed, by somebody else: nil also
// where nothing is there yet. It looks at this moment; what is there may be another thing when they
// come to it.
func (t *Tree) Reach(path string, change bool) error {
	p, err := t.walk(path, way{follow: true})
	if errors.Is(err, fs.ErrNotExist) && !slices.Contains(strings.Split(path, "/"), "..") {
		err = nil // below a folder that is not there nothing leads anywhere
	}
	if err == nil && change {
		err = t.mayChange(p, path)
	}
	if p != nil {
		p.close()
	}
	var named *Error
	if err == nil || errors.As(err, &named) {
		return err
	}
	return &Error{path, err}
}

// mayChange refuses what decides what runs may do and what holds the store; a place of which
// nothing is known is nil.
func (t *Tree) mayChange(p *place, path string) error {
	if p == nil {
		return t.rights.Check(path)
	}
	switch {
	case p.name == "." && len(p.dirs) == 1:
		return errFolderInUse
	case p.info != nil && t.holdsStore(p.info):
		return ErrStore
	}
	return p.checkChange()
}

// Folder returns the path of a folder of the workspace with all links followed.
func (t *Tree) Folder(path string) (string, error) {
	p, err := t.walk(path, way{follow: true})
	if err != nil {
		return "", err
	}
	defer p.close()
	switch {
	case p.info == nil:
		return "", &Error{path, fs.ErrNotExist}
	case !p.info.IsDir():
		return "", &Error{path, fmt.Errorf("%w: it is a %s, wanted a folder", ErrKind, kind(p.info.Mode()))}
	}
	return filepath.Join(append(append([]string{t.root.Name()}, p.path...), p.name)...), nil
}

// look says what a name is, making a folder of it if that is wanted.
func (p *place) look(name string, make bool) (os.FileInfo, error) {
	info, err := p.dir().Lstat(name)
	if make && errors.Is(err, fs.ErrNotExist) {
		if err := p.dir().Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		info, err = p.dir().Lstat(name)
	}
	return info, err
}

func (p *place) target(name string) ([]string, error) {
	target, err := p.dir().Readlink(name)
	if err == nil && path.IsAbs(target) {
		err = ErrOutside
	}
	return strings.Split(target, "/"), err
}

func (p *place) arrive(name string, info os.FileInfo) error {
	p.name, p.info = name, info
	if p.tree.isStore(info) {
		return ErrStore
	}
	return nil
}
