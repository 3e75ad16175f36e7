// Package wholefile writes files that are there as a whole or not at all, whatever happens
// meanwhile: a full disk, an error, a kill. What is written lies beside the file until it is
// complete and synced, as NAME.part-NUMBER, and is removed when it cannot be completed. A kill
// leaves it; the next [Create] or [Replace] of the same file removes it, and leaves those alone
// that another process is writing.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Create makes a file of what fill writes. It fails with fs.ErrExist where there is one already,
// before anything is written.
func Create(path string, fill func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w; name a file that does not", path, fs.ErrExist)
	}
	return write(path, os.Link, fill)
}

// Replace is Create, but a file that is there gives way to the new one.
func Replace(path string, fill func(io.Writer) error) error { return write(path, os.Rename, fill) }

// Put is Replace for a path that somebody has named: links are followed and stay, and what is no
// file, such as a pipe or a device, is written to as it is, for to put a file in its place would
// take it away from everybody else.
func Put(path string, fill func(io.Writer) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return Replace(path, fill) // of which the folder may be there
	}
	if info.Mode().IsRegular() {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
		return Replace(path, fill)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // a folder is refused
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

func write(path string, settle func(from, to string) error, fill func(io.Writer) error) error {
	clean(path)
	dir, base := filepath.Split(path)
	f, err := os.CreateTemp(filepath.Clean(dir), base+part+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // where it was renamed there is none
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = fill(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = settle(f.Name(), path)
	}
	return errors.Join(err, f.Close())
}

// part stands in the name of a file that is not complete, before its number.
const part = ".part-"

// clean removes what writers of the file have left that are gone. What cannot be removed lies in
// nobody's way.
func clean(path string) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+part)
		if ok && e.Type().IsRegular() && number != "" && strings.Trim(number, "0123456789") == "" {
			removeLeft(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

func removeLeft(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		os.Remove(path)
	}
}
