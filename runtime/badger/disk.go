package badger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"starling/runtime"
)

// disk is what a store asks of the file system it lies on; tests put a full or a far one in its
// place.
type disk interface {
	// free is the number of bytes that this user may still write below dir.
	free(dir string) (uint64, error)
	// network names the network file system that dir lies on, or is "".
	network(dir string) (string, error)
	// sync makes durable what was written to a mapped file.
	sync(mem []byte) error
}

// localDisk asks the operating system. What it takes for a network file system is in disk_linux.go
// and disk_darwin.go.
type localDisk struct{}

func (localDisk) free(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

func (localDisk) network(dir string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", err
	}
	return networkName(&s), nil
}

func (localDisk) sync(mem []byte) error { return unix.Msync(mem, unix.MS_SYNC) }

// refuseNetwork keeps stores off file systems whose locks and shared mappings do not hold between
// machines. A directory that does not exist yet is judged by the nearest one above it.
func refuseNetwork(dir string, d disk) error {
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for {
		name, err := d.network(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at):
			at = filepath.Dir(at)
			continue
		case errors.Is(err, unix.ENOTDIR):
			return nil // a file: what reads the format says so better
		case err != nil:
			return &os.PathError{Op: "statfs", Path: at, Err: err}
		case name != "":
			return fmt.Errorf("%s: %w: it lies on %s, a network file system, wanted a local disk; try --store with a local directory",
				dir, runtime.ErrNotAStore, name)
		}
		return nil
	}
}

// allocated is what a file takes of the disk. Badger's logs are sparse.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
