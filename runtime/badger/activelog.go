package badger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// activeLog is the log that Badger writes now, as far as the committer must sync it: the newest
// write-ahead log, or the newest value log. Badger writes through a map of the file and begins the
// next file when one is full, only while it writes. So after each write the log is synced that was
// the newest before, and any that is newer.
//
// It is synced through a map of ours: msync writes what any map has changed, and does not read the
// file.
type activeLog struct {
	dir    string // Badger's
	suffix string
	digits int // of the number in its name, as Badger writes it
	disk   disk
	number uint64
	mem    []byte
	syncs  atomic.Uint64
}

// mapped is how much of a log is mapped: more than Badger ever writes to one.
const mapped = 2*valueLog + MaxBatchLarge

// openActive finds the newest log; there is none yet where no large value was written.
func openActive(dir, suffix string, digits int, d disk) (*activeLog, error) {
	l := &activeLog{dir: dir, suffix: suffix, digits: digits, disk: d}
	logs, err := numberedFiles(dir, suffix)
	if err == nil && len(logs) > 0 {
		err = l.turn(logs[len(logs)-1].number)
	}
	return l, err
}

func (l *activeLog) path(number uint64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%0*d%s", l.digits, number, l.suffix))
}

// turn goes over to another log.
func (l *activeLog) turn(number uint64) error {
	f, err := os.OpenFile(l.path(number), os.O_RDWR, 0) // on Linux the map of a file that cannot be written is not a shared one, and msync passes over it
	if err != nil {
		return err
	}
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, mapped, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("%s: map: %w", f.Name(), err)
	}
	err = l.close()
	l.number, l.mem = number, mem
	return err
}

// sync makes durable what was written to the logs.
func (l *activeLog) sync() error {
	for {
		newer, err := l.begun(l.number + 1)
		if err == nil && l.mem != nil {
			l.syncs.Add(1)
			err = l.disk.sync(l.mem)
		}
		if err != nil || !newer {
			return err
		}
		if err := l.turn(l.number + 1); err != nil {
			return err
		}
	}
}

func (l *activeLog) begun(number uint64) (bool, error) {
	var st unix.Stat_t
	err := unix.Stat(l.path(number), &st)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

func (l *activeLog) close() error {
	if l.mem == nil {
		return nil
	}
	err := unix.Munmap(l.mem)
	l.mem = nil
	return err
}
