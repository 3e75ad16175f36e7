// Package clash finds out where branches that changed files have changed the same ones. A change is
// a tuple of a commit and a tuple of the paths, or None.
package clash

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// Between finds the branches that changed paths which others have changed too, and those paths. A
// folder that one has put where another has a file counts.
func Between(changes *starlark.List) (sides []int, paths []string) {
	all := map[string]bool{}
	clash := make([]bool, changes.Len())
	for i := range changes.Len() {
		for j := range i {
			a, b := changes.Index(i), changes.Index(j)
			for _, p := range append(Shared(a, b), Shared(b, a)...) {
				clash[i], clash[j], all[p] = true, true, true
			}
		}
	}
	for i, is := range clash {
		if is {
			sides = append(sides, i)
		}
	}
	return sides, slices.Sorted(maps.Keys(all))
}

// Shared lists the paths in which two changes meet.
func Shared(a, b starlark.Value) []string {
	above := map[string]bool{} // what b has changed: true; a folder above that: false
	for p := range pathsOf(b) {
		for up := parentOf(p); up != ""; up = parentOf(up) {
			if !above[up] {
				above[up] = false
			}
		}
		above[p] = true
	}
	var list []string
	for p := range pathsOf(a) {
		_, met := above[p]
		for up := parentOf(p); up != "" && !met; up = parentOf(up) {
			met = above[up]
		}
		if met {
			list = append(list, p)
		}
	}
	return list
}

func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// pathsOf goes through the paths of a change, which is a tuple of the commit and a tuple of these.
func pathsOf(change starlark.Value) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		t, ok := change.(starlark.Tuple)
		if !ok {
			return
		}
		for _, v := range t[1].(starlark.Tuple) {
			if p, _ := starlark.AsString(v); !yield(p) {
				return
			}
		}
	}
}

// Listed names the first of some paths.
func Listed(paths starlark.Value) string {
	const most = 5
	var texts []string
	if list, ok := paths.(*starlark.List); ok {
		for v := range list.Elements() {
			s, _ := starlark.AsString(v)
			texts = append(texts, s)
		}
	}
	if more := len(texts) - most; more > 0 {
		texts = append(texts[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
