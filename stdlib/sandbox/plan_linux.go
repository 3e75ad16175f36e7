package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// plan is what a new root will hold of the machine's, by real paths, and the symbolic links that
// lead to them under the names that programs know.
type plan struct {
	binds map[string]uint64 // attributes by path
	links map[string]string // targets, as they are written
}

// ownFolders are folders that every new root makes for itself.
func ownFolders() []string { return []string{"/proc", "/dev", "/dev/shm", "/tmp", "/run"} }

func planOf(p Policy) plan {
	l := plan{map[string]uint64{}, map[string]string{}}
	for _, path := range p.Read {
		l.add(path, readOnly)
	}
	for _, path := range p.Write {
		l.add(path, changeable)
	}
	if p.Network {
		l.add("/etc/resolv.conf", readOnly) // often a link to a file that a service writes
	}
	return l
}

// add plans a path, unless there is nothing. The root itself stands for all that is in it.
func (l plan) add(path string, attributes uint64) {
	real, ok := l.resolve(filepath.Clean(path))
	switch {
	case !ok, slices.Contains(ownFolders(), real), within(real, "/proc"):
	case real == "/":
		entries, _ := os.ReadDir("/")
		for _, e := range entries {
			if e.Name() != "sys" {
				l.add("/"+e.Name(), attributes)
			}
		}
	case within(real, "/dev") && !within(real, "/dev/shm"): // what lies there is files, like those of /tmp
		l.binds[real] = (attributes | device) &^ changeable
		if attributes == readOnly {
			l.binds[real] = device
		}
	default:
		l.binds[real] = attributes
	}
}

// resolve is a path without symbolic links, which it plans.
func (l plan) resolve(path string) (real string, ok bool) {
	const mostLinks = 40 // as in the kernel
	rest, real := strings.Split(strings.TrimPrefix(path, "/"), "/"), "/"
	for followed := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, name)
		info, err := os.Lstat(next)
		if err != nil {
			return "", false
		}
		if info.Mode()&os.ModeSymlink == 0 {
			real = next
			continue
		}
		target, err := os.Readlink(next)
		if followed++; err != nil || followed > mostLinks {
			return "", false
		}
		l.links[next] = target
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return real, true
}

// parentsFirst sorts paths so that what is mounted later hides nothing that was mounted before.
func parentsFirst[V any](m map[string]V) []string {
	paths := make([]string, 0, len(m))
	for path := range m {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return paths
}

// holder is the bound path that a path lies in, "" for none.
func (l plan) holder(path string) string {
	holder := ""
	for bound := range l.binds {
		if within(path, bound) && len(bound) > len(holder) {
			holder = bound
		}
	}
	return holder
}
