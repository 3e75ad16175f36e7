package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const lockName = "owner.lock"

// errHeld means that another process has the lock.
var errHeld = errors.New("another process holds the lock")

// lock is the held lock of a store. The file stays when it is let go: who removed it could remove
// one that another has just taken.
type lock struct{ file *os.File }

// tryLock takes the lock of a store or fails with errHeld. Without make it writes nothing, and
// fails with fs.ErrNotExist where there is no file: then there is no owner.
func tryLock(dir string, make bool) (*lock, error) {
	path := filepath.Join(dir, lockName)
	flags := os.O_RDONLY
	if make {
		flags = os.O_RDWR | os.O_CREATE
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	err = flock(file)
	if err == nil && !stillNamed(file, path) {
		err = errHeld // the directory was replaced; look again
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &lock{file}, nil
}

func flock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EWOULDBLOCK:
			return errHeld
		case err != nil:
			return fmt.Errorf("%s: lock: %w", file.Name(), err)
		default:
			return nil
		}
	}
}

// Vacant tells whether no process of this machine owns the store of a directory.
func Vacant(dir string) bool {
	l, err := tryLock(dir, true)
	return err == nil && l.release() == nil
}

func stillNamed(file *os.File, path string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}

// release lets the next owner in. A nil lock is that of a store which nobody has locked yet.
func (l *lock) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}

// real is the path of a directory without symbolic links: what the processes that mean the same
// store agree on.
func real(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	found, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return found, err
}
