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
)

// Some files of a workspace decide what runs may do there, and what is executed for them: whoever
// writes them has every right. So nobody changes them through a tree, whatever else they may
// change. They are told by their names, in any folder and without regard to case, and, where the
// project names programs, by path and by identity.

// ErrRights is why a path is not changed that decides what runs may do.
var ErrRights = errors.New("it decides what runs may do and what is run for them, " +
	"so no script changes it; edit it by hand")

// rightsNames are the names that decide, as components of a path at any depth. Below .claude the
// knowledge base is as any other folder.
//
//	starling.toml                      which programs are agents, and what is granted to whom
//	.starling, .starling-trees         a store, and the trees of its branches; see ErrStore
//	.git                               has hooks and commands for git; see ErrRepository
//	.claude, .codex, .gemini           what coding agents run in this folder: hooks, permissions
//	.mcp.json                          and which servers they start
var rightsNames = [...]string{"starling.toml", ".claude", ".codex", ".gemini", ".mcp.json"}

// storeNames are those of stores and of what is kept beside them.
var storeNames = [...]string{".starling", ".starling-trees"}

// knowledge is the folder below .claude that holds text and nothing else.
const knowledge = "knowledge"

// Rights tells which paths of a workspace decide what runs may do. The zero value knows the names
// that always do. It is not changed once it is made.
type Rights struct {
	paths    []string // of programs and the like, relative to the workspace, cleaned
	patterns []string // as in [Match]
}

// NewRights is Rights that knows paths, relative to the workspace with slashes, and patterns as
// well.
func NewRights(paths, patterns []string) Rights { return Rights{paths, patterns} }

// Check refuses a path, relative to the workspace with slashes, that decides what runs may do: with
// [ErrRights], [ErrRepository] for git's own files, [ErrStore] for a store's. It looks at names
// alone.
func (r Rights) Check(name string) error {
	parts := strings.Split(path.Clean(name), "/")
	for i, part := range parts {
		switch {
		case sameName(part, repository):
			return ErrRepository
		case slices.ContainsFunc(storeNames[:], func(n string) bool { return sameName(part, n) }):
			return ErrStore
		case sameName(part, ".claude") && i+1 < len(parts) && sameName(parts[i+1], knowledge):
		case slices.ContainsFunc(rightsNames[:], func(n string) bool { return sameName(part, n) }):
			return ErrRights
		}
	}
	for _, p := range r.paths {
		if sameName(path.Clean(name), p) {
			return ErrRights
		}
	}
	for i := range parts { // a folder that matches stands for what is below it
		if r.matches(strings.Join(parts[:i+1], "/")) {
			return ErrRights
		}
	}
	return nil
}

func (r Rights) matches(name string) bool {
	return slices.ContainsFunc(r.patterns, func(p string) bool {
		return Match(strings.ToLower(p), strings.ToLower(strings.Map(visible, name)))
	})
}

// sameName compares as the most forgiving file systems do: without case, and without the characters
// that HFS+ leaves out of names.
func sameName(a, b string) bool {
	return strings.EqualFold(strings.Map(visible, a), strings.Map(visible, b))
}

// visible drops what HFS+ ignores in names: next_hfs_char in git's utf8.c has the same list.
func visible(c rune) rune {
	switch {
	case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f,
		c == 0xfeff:
		return -1
	}
	return c
}

// Files lists what decides in a workspace, as absolute paths, for who can only be told of paths:
// all that has a fixed place there, and what matches the patterns. What is not there is listed,
// too; names that are looked for in every folder are listed for the topmost one. A folder that a
// path leads to is left out: it was given as one to work in.
func (r Rights) Files(workspace string) []string {
	var list []string
	for _, name := range rightsNames {
		if name == ".claude" {
			list = append(list, claudeFiles(workspace)...)
			continue
		}
		list = append(list, filepath.Join(workspace, name))
	}
	for _, p := range r.paths {
		file := filepath.Join(workspace, filepath.FromSlash(p))
		if info, err := os.Stat(file); err != nil || !info.IsDir() {
			list = append(list, file)
		}
	}
	for _, p := range r.matching(workspace) {
		list = append(list, filepath.Join(workspace, filepath.FromSlash(p)))
	}
	return list
}

// matching lists what matches the patterns. Where there is too much of it, none: each path is still
// refused by its name.
func (r Rights) matching(workspace string) (list []string) {
	t, err := Open(workspace, "", r)
	if err != nil || len(r.patterns) == 0 {
		return nil
	}
	defer t.Close()
	for _, p := range r.patterns {
		found, _ := t.Glob(p)
		list = append(list, found...)
	}
	return list
}

// claudeFiles are what is in .claude beside the knowledge base, and what usually decides, whether
// it is there or not.
func claudeFiles(workspace string) []string {
	dir := filepath.Join(workspace, ".claude")
	names := []string{"settings.json", "settings.local.json"}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !sameName(e.Name(), knowledge) && !slices.Contains(names, e.Name()) {
			names = append(names, e.Name())
		}
	}
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	return names
}

// checkChange refuses a place that decides what runs may do, by where links have led and by what is
// there: names differ by file system, and a file may have several.
func (p *place) checkChange() error {
	if err := p.tree.rights.Check(p.whole()); err != nil {
		return err
	}
	there := p.tree.decisive()
	for _, folder := range p.seen {
		if among(there, folder) {
			return ErrRights
		}
	}
	if p.info != nil && among(there, p.info) {
		return ErrRights
	}
	return nil
}

// whole is the path of the place in the workspace, with no links in it.
func (p *place) whole() string {
	return strings.Join(append(p.path[:len(p.path):len(p.path)], p.name), "/")
}

// checkRemoval refuses also a folder that holds what decides.
func (p *place) checkRemoval(all bool) error {
	if err := p.checkChange(); err != nil || !all || !p.info.IsDir() {
		return err
	}
	sub, err := p.dir().OpenRoot(p.name)
	if err != nil {
		return err
	}
	defer sub.Close()
	visited := 0
	return fs.WalkDir(sub.FS(), ".", func(below string, _ fs.DirEntry, err error) error {
		if visited++; err == nil && visited > maxVisited {
			err = fmt.Errorf("%w: it holds more than %d entries", ErrTooLarge, maxVisited)
		}
		if err == nil && below != "." {
			if err = p.tree.rights.Check(path.Join(p.whole(), below)); err != nil {
				err = fmt.Errorf("it holds %s: %w", below, err)
			}
		}
		return err
	})
}

// decisive is what is there of the files that decide.
func (t *Tree) decisive() []os.FileInfo {
	var list []os.FileInfo
	for i, name := range slices.Concat(t.rights.paths, []string{repository}, rightsNames[:]) {
		info, err := t.root.Stat(filepath.FromSlash(name))
		if err != nil || info.IsDir() && (i < len(t.rights.paths) || name == ".claude") {
			continue // not there, a folder to work in, or one of which a part does not decide
		}
		list = append(list, info)
	}
	return list
}

func among(list []os.FileInfo, info os.FileInfo) bool {
	return slices.ContainsFunc(list, func(i os.FileInfo) bool { return os.SameFile(i, info) })
}
