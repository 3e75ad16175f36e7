// Package sources reads and lists the files of scripts, in the one way that all verbs and the
// editors' server share.
package sources

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"starling/lang"
	"starling/lang/diagnostic"
	"starling/runtime"
	"starling/runtime/wholefile"
)

// Below lists the files of a folder and below whose names end with .star, in the order of their
// names; none of a folder whose name begins with a dot. What can be read is listed beside an error.
func Below(folder string) ([]string, error) { return BelowUpTo(folder, math.MaxInt, math.MaxInt) }

// BelowUpTo is [Below] that has enough when it has found so many, or looked at so many files and
// folders of whatever kind.
func BelowUpTo(folder string, most, entries int) ([]string, error) {
	return ending(folder, runtime.ScriptSuffix, most, entries)
}

// Ending is [Below] of the files whose names end with suffix.
func Ending(folder, suffix string) ([]string, error) {
	return ending(folder, suffix, math.MaxInt, math.MaxInt)
}

func ending(folder, suffix string, most, entries int) (found []string, problem error) {
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		entries--
		switch {
		case entries < 0 || len(found) >= most:
			return filepath.SkipAll
		case err != nil:
			problem = cmp.Or(problem, err)
			if entry != nil && entry.IsDir() {
				return filepath.SkipDir
			}
		case entry.IsDir() && path != folder && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.Type().IsRegular() && strings.HasSuffix(path, suffix):
			found = append(found, path)
		}
		return nil
	})
	if err = cmp.Or(problem, err); err != nil {
		err = runtime.Refusef(runtime.ErrUsage, "cannot read the folder %s: %v", folder, runtime.Reason(err))
	}
	return found, err
}

// Scripts lists the scripts that an operand of a verb means: those of a folder, of which there must
// be some. Anything else is a script by itself.
func Scripts(operand string) ([]string, error) {
	info, err := os.Stat(operand)
	if err != nil || !info.IsDir() {
		return []string{operand}, nil // reading it says what is wrong
	}
	scripts, err := Below(operand)
	if err == nil && len(scripts) == 0 {
		err = runtime.Refuse(runtime.ErrUsage, "", "there is no .star file in %s", operand)
	}
	return scripts, err
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
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &diagnostic.Absent{Name: name, Beside: beside(root, filepath.Dir(path))}
		}
		if err == nil {
			err = fits(info)
		}
		if err != nil {
			return nil, err
		}
		return root.ReadFile(path)
	}
}

// manyFiles is how many files of a folder are looked at for one that was meant.
const manyFiles = 1000

// beside lists the scripts of a folder, for whoever asks for one that is not there.
func beside(root *os.Root, folder string) []string {
	dir, err := root.Open(folder)
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(manyFiles) // what cannot be listed is not proposed
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), runtime.ScriptSuffix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
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

// Replace puts a text in the place of a file, as a whole, with the rights that it had. A link stays
// one.
func Replace(path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return runtime.Refusef(runtime.ErrUsage, "cannot write %s: %v", path, runtime.Reason(err))
	}
	info, err := os.Stat(path)
	if err == nil {
		err = wholefile.Replace(path, func(w io.Writer) error {
			if f, ok := w.(*os.File); ok {
				if err := f.Chmod(info.Mode().Perm()); err != nil {
					return err
				}
			}
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil {
		return runtime.Refusef(runtime.ErrUsage, "cannot write %s: %v", path, runtime.Reason(err))
	}
	return nil
}

// Edit puts in the place of a file what change makes of its text, and lets no other Edit of it come
// between reading and writing: the second of two begins with what the first has written.
func Edit(path string, change func(text []byte) ([]byte, error)) error {
	f, err := locked(path)
	if err != nil {
		return runtime.Refusef(runtime.ErrUsage, "cannot read %s: %v", path, runtime.Reason(err))
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return runtime.Refusef(runtime.ErrUsage, "cannot read %s: %v", path, runtime.Reason(err))
	}
	if text, err = change(text); err != nil {
		return err
	}
	return Replace(path, text)
}

// locked opens a file and locks it. One that another has replaced meanwhile is not the file any
// more: its lock keeps nobody out.
func locked(path string) (*os.File, error) {
	for {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		if err == unix.ENOLCK || err == unix.EOPNOTSUPP {
			return f, nil // a file system without locks; there is nothing better
		}
		var here, there os.FileInfo
		if err == nil {
			here, err = f.Stat()
		}
		if err == nil {
			there, err = os.Stat(path)
		}
		if err == nil && os.SameFile(here, there) {
			return f, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}
