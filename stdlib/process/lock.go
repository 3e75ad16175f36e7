package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock is a held lock file. The kernel lets go of it when the guard dies, however it dies.
//
// The holder removes the file while it still holds the lock, so that a directory of locks holds
// what is alive and not one file for every step that ever ran. Who was waiting then wakes up with
// the lock of a file that has no name any more: lockFile looks, after it has the lock, whether it
// is still that of the path, and takeLock begins again if it is not. Only the try that does not
// wait makes a file: a wait that is given up must leave none behind.
type lock struct {
	path string
	file *os.File
}

// errGivenUp is a guard that was told to end before its child had started.
var errGivenUp = errors.New("told to end before the start")

// errRemoved is a lock of a file that its path does not name any more: it excludes nobody.
var errRemoved = errors.New("lock file removed")

// takeLock takes the lock at path, and waits for it if it is held: until the time is over
// ([ErrLockBusy]) or the guard is told to end (errGivenUp). onWait is called once, with the holder,
// before the waiting.
func takeLock(path string, wait time.Duration, ends <-chan time.Duration, onWait func(Attempt)) (*lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	var late <-chan time.Time
	gone := make(chan struct{})
	defer close(gone)
	for {
		l, err := lockFile(path, os.O_CREATE, syscall.LOCK_NB)
		if errors.Is(err, errRemoved) {
			continue
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return l, err
		}
		if late == nil {
			h, _ := readHolder(path)
			onWait(h.Attempt)
			late = time.After(wait)
		}
		waited := make(chan taken)
		go func() { // blocked in the kernel; given up, it keeps nothing that it is given all the same
			l, err := lockFile(path, 0, 0)
			select {
			case waited <- taken{l, err}:
			case <-gone:
				if l != nil {
					l.release()
				}
			}
		}()
		select {
		case t := <-waited:
			if !errors.Is(t.err, errRemoved) && !errors.Is(t.err, fs.ErrNotExist) {
				return t.lock, t.err
			}
		case <-late:
			return nil, ErrLockBusy
		case <-ends:
			return nil, errGivenUp
		}
	}
}

type taken struct {
	lock *lock
	err  error
}

// lockFile opens path by flags and locks it by how. The error is errRemoved where the holder it
// waited for removed the file.
func lockFile(path string, flags, how int) (*lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	err = flock(file, syscall.LOCK_EX|how)
	if err == nil && !stillNamed(file, path) {
		err = errRemoved
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &lock{path, file}, nil
}

func flock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

func stillNamed(file *os.File, path string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}

// sign writes who holds the lock. It happens before the child starts, so that no descendant of a
// guard ever finds less than a whole line.
func (l *lock) sign(h holder) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err := l.file.WriteAt(append(line, '\n'), 0); err != nil {
		return fmt.Errorf("signing lock %s: %w", l.path, err)
	}
	return nil
}

// release lets the next attempt begin. A nil lock is a step without one.
func (l *lock) release() {
	if l == nil {
		return
	}
	os.Remove(l.path) // first: it is ours to remove only as long as we hold it
	l.file.Close()
}
