package process

import (
	"fmt"
	"os"

	"starling/stdlib/sandbox"
)

// A path that does not exist cannot be closed by a sandbox: nothing can be mounted there, and who
// may change a folder may make files in it. So the guard looks for what has come to be when all is
// over.

// absentOf lists the paths that a policy protects and that there are none of.
func absentOf(p *sandbox.Policy) []string {
	var absent []string
	if p == nil {
		return nil
	}
	for _, path := range p.Protect {
		if _, err := os.Lstat(path); os.IsNotExist(err) {
			absent = append(absent, path)
		}
	}
	return absent
}

// setAside renames what has come to be at these paths, and returns the new names. Nothing is
// removed: it may be somebody else who made it.
func setAside(paths []string) []string {
	var aside []string
	for _, path := range paths {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		name := path + ".set-aside"
		for n := 2; ; n++ {
			if _, err := os.Lstat(name); err != nil {
				break
			}
			name = fmt.Sprintf("%s.set-aside-%d", path, n)
		}
		if os.Rename(path, name) != nil {
			name = path
		}
		aside = append(aside, name)
	}
	return aside
}
