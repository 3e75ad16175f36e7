package badger

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A store that cannot be written to, after its owner was killed, has write-ahead logs. Badger reads
// a log that ends where its records do, and wants to cut off any other, which is each that a kill
// has left. So such a store is read through a folder for temporary files: its logs are copied there
// up to where their records end, and all its other files are links. Rejected: to copy the store,
// which may be large; and to refuse it, since a snapshot of a disk is how such a store comes about.

// stage makes that folder. The caller removes it.
func stage(badgerDir string, f findings) (dir string, err error) {
	entries, err := os.ReadDir(badgerDir)
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "starling-reader-"); err != nil {
		return "", err
	}
	for _, e := range entries {
		if name := e.Name(); name != "LOCK" && !strings.HasSuffix(name, writeAheadSuffix) {
			err = errors.Join(err, os.Symlink(filepath.Join(badgerDir, name), filepath.Join(dir, name)))
		}
	}
	for _, log := range f.ahead {
		if log.at > logHeader {
			err = errors.Join(err, copyStart(filepath.Join(dir, filepath.Base(log.path)), log.path, log.at))
		}
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// copyStart copies the first n bytes of a file.
func copyStart(to, from string, n int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, in, n)
	return errors.Join(err, out.Close())
}

// unwritable tells whether nothing can be made in a directory, nor changed.
func unwritable(dir string) bool { return unix.Access(dir, unix.W_OK) != nil }
