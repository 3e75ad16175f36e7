package badger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"starling/runtime"
	"starling/runtime/wholefile"
)

// A store that was moved elsewhere has the file moved, with the name of the other place, and
// Badger's files under another name: a version that does not know the file finds that acknowledged
// batches are missing, and serves nothing either.
const (
	movedName = "moved"
	restName  = "badger.moved"
)

// MovedTo tells where the store in dir was moved to, "" for nowhere. It fails with
// runtime.ErrNoStore where there is none.
func MovedTo(dir string) (string, error) {
	if _, err := readFormat(dir); err != nil {
		return "", err
	}
	return movedTo(dir)
}

func movedTo(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, movedName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// present refuses a store that was moved, or takes it back. The caller has locked it.
func present(dir string, o Options) error {
	to, err := movedTo(dir)
	switch {
	case err != nil || to == "":
		return err
	case !o.Moved || o.ReadOnly:
		return fmt.Errorf("%s: %w", dir, runtime.Moved(to))
	}
	rest := filepath.Join(dir, restName)
	if err := os.Rename(rest, filepath.Join(dir, badgerName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(os.Remove(filepath.Join(dir, movedName)), syncDirectory(dir))
}

// Retire marks the store in dir, which nobody has open, as moved to another place: it is not opened
// any more, but with Options.Moved. It fails with runtime.ErrFenced where another number of batches
// was acknowledged.
func Retire(dir string, sequence uint64, to string) error {
	lock, err := lockDirectory(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	_, acknowledged, _, err := readMark(dir)
	if err != nil {
		return err
	}
	if acknowledged != sequence {
		return fmt.Errorf("%s: %w: it has %d batches, wanted %d; repeat the move", dir, runtime.ErrFenced, acknowledged, sequence)
	}
	err = wholefile.Replace(filepath.Join(dir, movedName), func(w io.Writer) error {
		_, err := fmt.Fprintln(w, to)
		return err
	})
	if err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, badgerName), filepath.Join(dir, restName)); err != nil {
		return err
	}
	return syncDirectory(dir)
}
