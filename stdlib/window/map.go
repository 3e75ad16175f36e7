package window

import (
	"fmt"
	"slices"
	"strings"
)

// treeMap lists files, sorted. A folder is opened while its lines fit into the room, those near the
// top first; a closed one is a line that says how many files it has.
func treeMap(paths []string, room int) []string {
	root := &folder{below: map[string]*folder{}}
	for _, path := range paths {
		root.add(path, path)
	}
	room -= quoted(root.line()) + 3
	level := []*folder{root}
	for len(level) > 0 {
		var next []*folder
		for _, f := range level {
			cost := -quoted(f.line()) - 3
			for _, name := range f.entries {
				cost += quoted(f.lineOf(name)) + 3 // quotes and a comma
			}
			if cost > room {
				continue
			}
			room -= cost
			f.open = true
			for _, name := range f.entries {
				if sub := f.below[name]; sub != nil {
					next = append(next, sub)
				}
			}
		}
		level = next
	}
	return root.lines(nil)
}

// folder is a folder of the map.
type folder struct {
	path    string // ends with a slash; "" for the workspace
	files   int    // in it and below
	entries []string
	below   map[string]*folder // nil for a file
	open    bool
}

func (f *folder) add(path, rest string) {
	f.files++
	name, deeper, inside := strings.Cut(rest, "/")
	if _, known := f.below[name]; !known {
		f.entries = append(f.entries, name)
		f.below[name] = nil
	}
	if !inside {
		return
	}
	if f.below[name] == nil {
		f.below[name] = &folder{path: strings.TrimSuffix(path, deeper), below: map[string]*folder{}}
	}
	f.below[name].add(path, deeper)
}

func (f *folder) line() string {
	path := f.path
	if path == "" {
		path = "./"
	}
	return fmt.Sprintf("%s (%d files)", path, f.files)
}

// lineOf is the line of an entry: a file, or a folder that is closed.
func (f *folder) lineOf(name string) string {
	if sub := f.below[name]; sub != nil {
		return sub.line()
	}
	return f.path + name
}

func (f *folder) lines(all []string) []string {
	if !f.open {
		return append(all, f.line())
	}
	for _, name := range slices.Sorted(slices.Values(f.entries)) {
		if sub := f.below[name]; sub != nil {
			all = sub.lines(all)
		} else {
			all = append(all, f.path+name)
		}
	}
	return all
}
