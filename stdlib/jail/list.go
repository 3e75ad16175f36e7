package jail

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

const (
	maxListed  = 10_000  // names that one call gives
	maxVisited = 200_000 // entries that one Glob looks at
	maxPattern = 64      // components of a pattern
)

// List names what is in a folder, sorted; the names of folders end with a slash. The store is left
// out.
func (t *Tree) List(folder string) ([]string, error) {
	p, err := t.walk(folder, way{follow: true})
	if err != nil {
		return nil, err
	}
	defer p.close()
	names, err := p.list()
	if err != nil {
		return nil, &Error{folder, err}
	}
	return names, nil
}

func (p *place) list() ([]string, error) {
	switch {
	case p.info == nil:
		return nil, fs.ErrNotExist
	case !p.info.IsDir():
		return nil, fmt.Errorf("%w: it is a %s, wanted a folder", ErrKind, kind(p.info.Mode()))
	}
	if p.name != "." {
		if err := p.down(p.name, p.info); err != nil {
			return nil, err
		}
	}
	infos, err := p.entries(maxListed)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = named(info)
	}
	return names, nil
}

func named(info os.FileInfo) string {
	if info.IsDir() {
		return info.Name() + "/"
	}
	return info.Name()
}

// entries reads the folder, sorted by name and without the store.
func (p *place) entries(limit int) ([]os.FileInfo, error) {
	d, err := p.dir().Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(list) > limit {
		return nil, fmt.Errorf("%w: it has more than %d entries", ErrTooLarge, limit)
	}
	var infos []os.FileInfo
	for _, e := range list {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since
		}
		if err != nil {
			return nil, err
		}
		if !p.tree.isStore(info) {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b os.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return infos, nil
}

// Glob lists what matches a pattern, sorted; folders end with a slash. A component is as in
// [path.Match]; ** is any number of folders. Links are not entered, and neither are the store and
// .git.
func (t *Tree) Glob(pattern string) ([]string, error) {
	if err := CheckPattern(pattern); err != nil {
		return nil, err
	}
	g := &glob{pattern: strings.Split(path.Clean(pattern), "/")}
	p := &place{tree: t, dirs: []*os.Root{t.root}}
	defer p.close()
	if err := g.in(p); err != nil {
		return nil, &Error{pattern, err}
	}
	slices.Sort(g.found)
	return g.found, nil
}

// CheckPattern refuses a pattern that could match nothing in any workspace.
func CheckPattern(pattern string) error {
	if err := Check(pattern); err != nil {
		return err
	}
	parts := strings.Split(path.Clean(pattern), "/")
	deep := 0
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return &Error{pattern, fmt.Errorf("%q is no pattern: *, ? and [a-z] stand for characters, ** for folders", part)}
		}
		if part == "**" {
			deep++
		}
	}
	if len(parts) > maxPattern || deep > 2 {
		return &Error{pattern, fmt.Errorf("a pattern has at most %d components, and two **", maxPattern)}
	}
	return nil
}

// glob is one search.
type glob struct {
	pattern []string
	found   []string
	visited int
}

func (g *glob) in(p *place) error {
	infos, err := p.entries(maxVisited - g.visited)
	if err != nil {
		return err
	}
	g.visited += len(infos)
	for _, info := range infos {
		if strings.EqualFold(info.Name(), repository) {
			continue
		}
		if err := g.at(p, info); err != nil {
			return err
		}
	}
	return nil
}

func (g *glob) at(p *place, info os.FileInfo) error {
	here := append(p.path[:len(p.path):len(p.path)], info.Name())
	whole, below := match(g.pattern, here)
	if whole {
		if len(g.found) == maxListed {
			return fmt.Errorf("%w: more than %d paths match", ErrTooLarge, maxListed)
		}
		g.found = append(g.found, strings.Join(append(here[:len(here)-1:len(here)-1], named(info)), "/"))
	}
	if !below || !info.IsDir() {
		return nil
	}
	depth := len(p.dirs)
	err := p.down(info.Name(), info)
	if err == nil {
		err = g.in(p)
	}
	for len(p.dirs) > depth {
		if lost := p.up(); lost != nil { // there is no way back to the rest
			return fmt.Errorf("the folder above %q was changed meanwhile: %v", info.Name(), lost)
		}
	}
	if errors.Is(err, errChanged) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // it went away meanwhile
	}
	return err
}

// Match tells whether a path is one that Glob with this pattern would list. What is no pattern
// matches nothing.
func Match(pattern, name string) bool {
	whole, _ := match(strings.Split(path.Clean(pattern), "/"), strings.Split(name, "/"))
	return whole
}

// match tells whether the components match, and whether something below them could.
func match(pattern, parts []string) (whole, below bool) {
	if len(pattern) == 0 {
		return len(parts) == 0, false
	}
	if pattern[0] == "**" {
		if len(pattern) == 1 || len(parts) == 0 {
			return len(pattern) == 1 && len(parts) > 0, true
		}
		whole, below = match(pattern[1:], parts)
		w, b := match(pattern, parts[1:])
		return whole || w, below || b
	}
	if len(parts) == 0 {
		return false, true
	}
	if ok, _ := path.Match(pattern[0], parts[0]); !ok {
		return false, false
	}
	return match(pattern[1:], parts[1:])
}
