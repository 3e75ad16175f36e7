// Package sources reads and lists the files of scripts, in the one way that all verbs and the
// editors' server share.
package sources

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"starling/lang"
	"starling/runtime"
)

// Below lists the files of a folder and below whose names end with .star, in the order of their
// names; none of a folder whose name begins with a dot. What can be read is listed beside an error.
func Below(folder string) (found []string, problem error) {
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			problem = cmp.Or(problem, err)
			if entry != nil && entry.IsDir() {
				return filepath.SkipDir
			}
		case entry.IsDir() && path != folder && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.Type().IsRegular() && strings.HasSuffix(path, runtime.ScriptSuffix):
			found = append(found, path)
		}
		return nil
	})
	return found, cmp.Or(problem, err)
}

// Read reads a file that can be a script, wherever a link leads.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = fits(info)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Of serves the files below a folder; symbolic links do not lead out of it.
func Of(root *os.Root) lang.Source {
	return func(name string) ([]byte, error) {
		path := filepath.FromSlash(name)
		info, err := root.Stat(path)
		if err == nil {
			err = fits(info)
		}
		if err != nil {
			return nil, err
		}
		return root.ReadFile(path)
	}
}

// fits refuses what cannot be a script, before it is read.
func fits(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a file")
	case info.Size() > lang.MaxSource:
		return fmt.Errorf("it has %d bytes, want at most %d", info.Size(), lang.MaxSource)
	}
	return nil
}
