package badger

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"starling/runtime"
)

// The files of a store directory, which has mode 0700.
//
//	.gitignore   "*", so that a store is never committed to the repository that it stands in
//	format       what this is, for people and for Open: magic line, layout version, store id
//	mark         how many batches were acknowledged (mark.go); made as mark.new
//	badger/      Badger's files
//
// format is made first, whole, by a link that fails where one exists, so that of two processes
// which make the same store one wins; it is never changed, and whoever holds a lock on it holds the
// store. Nothing was ever acknowledged in a directory without it.
const (
	ignoreName = ".gitignore"
	formatName = "format"
	markName   = "mark"
	badgerName = "badger"

	formatMagic   = "starling store"
	formatVersion = 1
)

// format is what the format file says.
type format struct {
	version uint32
	id      string // 32 hexadecimal digits
}

func (f format) text() string {
	return fmt.Sprintf("%s\nformat %d\nid %s\n", formatMagic, f.version, f.id)
}

// Prepare makes dir ready to hold a store: it makes the directory, or takes an empty one, and marks
// it as ours. On a store it changes nothing. An owner calls it before it puts a lock of its own
// into the directory; Open for writing calls it too.
//
// Errors: runtime.ErrNotAStore for a directory that holds something else or lies on a network file
// system, runtime.ErrNewer.
func Prepare(dir string) error {
	_, err := prepare(dir, localDisk{})
	return err
}

func prepare(dir string, d disk) (format, error) {
	if err := refuseNetwork(dir, d); err != nil {
		return format{}, err
	}
	f, err := readFormat(dir)
	if !errors.Is(err, runtime.ErrNoStore) {
		return f, err
	}
	if err := makeDirectory(dir); err != nil {
		return format{}, fmt.Errorf("make a store: %w", err)
	}
	return readFormat(dir)
}

// readFormat tells what is at dir: a store, nothing (ErrNoStore), or something else (ErrNotAStore).
func readFormat(dir string) (format, error) {
	path := filepath.Join(dir, formatName)
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		return parseFormat(path, string(text))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return absent(dir)
	}
	return format{}, err
}

func parseFormat(path, text string) (format, error) {
	magic, rest, _ := strings.Cut(text, "\n")
	if magic != formatMagic {
		return format{}, fmt.Errorf("%s: %w: it begins with %.40q, wanted %q", path, runtime.ErrNotAStore, magic, formatMagic)
	}
	var f format
	if _, err := fmt.Sscanf(rest, "format %d\n", &f.version); err != nil {
		return format{}, fmt.Errorf("%s: %w: its second line tells no format number", path, runtime.ErrDamaged)
	}
	if f.version > formatVersion {
		return format{}, fmt.Errorf("%s: %w: found format %d, this program reads up to %d; use the program that wrote it, or a later one",
			path, runtime.ErrNewer, f.version, formatVersion)
	}
	f.id, _ = strings.CutPrefix(strings.TrimSpace(rest[strings.IndexByte(rest, '\n')+1:]), "id ")
	if id, err := hex.DecodeString(f.id); err != nil || len(id) != 16 || f.text() != text {
		return format{}, fmt.Errorf("%s: %w: it is not as it was written", path, runtime.ErrDamaged)
	}
	return f, nil
}

// absent tells a place where a store can be made from one that belongs to somebody else. Nothing is
// there, unless just now.
func absent(dir string) (format, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return format{}, fmt.Errorf("%s: %w", dir, runtime.ErrNoStore)
	case errors.Is(err, unix.ENOTDIR):
		return format{}, fmt.Errorf("%s: %w: it is a file, wanted a directory", dir, runtime.ErrNotAStore)
	case err != nil:
		return format{}, err
	}
	if _, err := os.Lstat(filepath.Join(dir, formatName)); err == nil { // made since; a listing made meanwhile may lack it
		return readFormat(dir)
	}
	for _, e := range entries {
		if e.Name() != ignoreName && !strings.HasPrefix(e.Name(), formatName+".") {
			return format{}, fmt.Errorf("%s: %w: it holds %q but no file %q; name an empty directory or one that does not exist",
				dir, runtime.ErrNotAStore, e.Name(), formatName)
		}
	}
	return format{}, fmt.Errorf("%s: %w", dir, runtime.ErrNoStore)
}

// makeDirectory writes what Prepare promises and syncs it, the directory's own entry included.
func makeDirectory(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ignoreName), []byte("*\n"), 0o600); err != nil {
		return err
	}
	id := make([]byte, 16)
	rand.Read(id) // never fails
	if err := linkFormat(dir, format{formatVersion, hex.EncodeToString(id)}); err != nil {
		return err
	}
	return errors.Join(syncDirectory(dir), syncDirectory(filepath.Dir(dir)))
}

// linkFormat puts the format file in place whole and synced. Another process that was first is no
// error: its file stands.
func linkFormat(dir string, f format) error {
	temp, err := os.CreateTemp(dir, formatName+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, werr := temp.WriteString(f.text())
	if err := errors.Join(werr, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), filepath.Join(dir, formatName)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// lockDirectory takes the store for this process; closing the file gives it back. Two handles of
// one process exclude each other too.
func lockDirectory(dir string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, formatName))
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", dir, runtime.ErrLocked)
		}
		return nil, fmt.Errorf("%s: lock: %w", dir, err)
	}
	return f, nil
}

func syncDirectory(dir string) error { return syncFile(dir) }

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
