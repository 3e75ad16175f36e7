package cli

import (
	"cmp"
	"os"
	"path/filepath"

	"starling/runtime"
)

const (
	projectFile  = "starling.toml"
	storeFolder  = ".starling"
	storeEnv     = "STARLING_STORE"
	repositoryOf = ".git"
)

// place is where a command works. All paths are absolute.
type place struct {
	work    string // the current directory
	root    string // the project: where starling.toml is, else the current directory
	project string // the path of starling.toml, "" without one
	store   string // the directory of the store
}

// findPlace finds project and store: the store is the one that is asked for, else .starling in the
// project.
func findPlace(store string) (*place, error) {
	work, err := os.Getwd()
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrInternal, "cannot tell the current directory: %v", err)
	}
	p := &place{work: work, root: work}
	if dir, ok := findProject(work); ok {
		p.root, p.project = dir, filepath.Join(dir, projectFile)
	}
	p.store, err = filepath.Abs(cmp.Or(store, filepath.Join(p.root, storeFolder)))
	return p, err
}

// findProject looks for starling.toml from dir upward, to the root of the repository and no
// further.
func findProject(dir string) (string, bool) {
	for {
		if exists(filepath.Join(dir, projectFile)) {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir || exists(filepath.Join(dir, repositoryOf)) {
			return "", false
		}
		dir = up
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
