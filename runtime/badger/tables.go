package badger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	badgerdb "github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"golang.org/x/sys/unix"

	"starling/runtime"
)

// openManifest reads which tables the store consists of. Without a manifest there must be no tables
// either: Badger would begin a new one and delete them.
//
// Badger takes a record whose length reaches past the end of the file for one that a power cut
// tore, and deletes the tables that it named. So the tail behind the last whole record is looked at
// once more: if some beginning of it has the checksum that it carries, it was written whole and its
// length was changed since.
func openManifest(dir string) (map[uint64]badgerdb.TableManifest, error) {
	path := filepath.Join(dir, badgerdb.ManifestFilename)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withoutManifest(dir, path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m, whole, err := badgerdb.ReplayManifestFile(file, 0, badgerdb.DefaultOptions(dir))
	if err != nil {
		return nil, damaged(path, "it cannot be read: %v", err)
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if tail := all[min(int(whole), len(all)):]; wasWhole(tail) {
		return nil, damaged(path, "its record at byte %d has the wrong length", whole)
	}
	return m.Tables, nil
}

// wasWhole tells a manifest record with a changed length, u32 length · u32 CRC-32C · bytes, from
// one that was torn.
func wasWhole(tail []byte) bool {
	if len(tail) <= 8 {
		return false
	}
	want, sum := binary.BigEndian.Uint32(tail[4:]), uint32(0)
	for i := 8; i < len(tail); i++ {
		if sum = crc32.Update(sum, castagnoli(), tail[i:i+1]); sum == want {
			return true
		}
	}
	return false
}

func withoutManifest(dir, path string) error {
	for _, suffix := range []string{".sst", ".mem", ".vlog"} {
		files, err := numberedFiles(dir, suffix)
		if err != nil {
			return err
		}
		if len(files) > 0 {
			return damaged(path, "it does not exist, though %s does", filepath.Base(files[0].path))
		}
	}
	return nil
}

// tableFile is a table read on its own, before Badger has it.
type tableFile struct {
	path string
	data []byte
	t    *table.Table
}

// withTable reads the table and calls fn on it. Badger's reader panics on some damage; here that is
// the damage.
func withTable(dir string, id uint64, m badgerdb.TableManifest, fn func(*tableFile) error) (err error) {
	f := &tableFile{path: table.NewFilename(id, dir)}
	if f.data, err = mapFile(f.path); err != nil {
		return damaged(f.path, "the manifest names it, but it cannot be opened: %v", err)
	}
	defer unix.Munmap(f.data)
	defer func() {
		if p := recover(); p != nil {
			err = damaged(f.path, "it cannot be read: %.80v", p)
		}
	}()
	if f.t, err = table.OpenInMemoryTable(f.data, id, &table.Options{Compression: m.Compression, ChkMode: options.NoVerification}); err != nil {
		return damaged(f.path, "it cannot be read: %v", err)
	}
	return fn(f)
}

func mapFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
}

// verify checks every block. Badger checks none until it reads it, and where it then fails, an
// iterator ends as if the table did and a merge leaves the rest out.
func (f *tableFile) verify() error {
	if err := f.t.VerifyChecksum(); err != nil {
		return damaged(f.path, "%v", err)
	}
	return nil
}

// newest returns the newest span of batches that the table holds.
func (f *tableFile) newest() span {
	it := f.t.NewIterator(0)
	defer it.Close()
	seek := y.KeyWithTs(ownKey(tagSequence), math.MaxUint64)
	if it.Seek(seek); !it.Valid() || !y.SameKey(seek, it.Key()) {
		return span{}
	}
	s, _ := spanOf(it.Value().Value)
	return s
}

// lastPointer returns the largest offset in the value log with this number that a value in the
// table has.
func (f *tableFile) lastPointer(log uint64) (offset int64) {
	it := f.t.NewIterator(0)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		v := it.Value()
		if p, ok := pointerOf(v.Value); ok && v.Meta&metaPointer != 0 && uint64(p.file) == log {
			offset = max(offset, int64(p.offset))
		}
	}
	return offset
}

// pointerTo is where the table has the large value of a key in a version.
func (f *tableFile) pointerTo(key []byte, version uint64) (pointer, bool) {
	it := f.t.NewIterator(0)
	defer it.Close()
	seek := y.KeyWithTs(key, version)
	if it.Seek(seek); !it.Valid() || !bytes.Equal(seek, it.Key()) || it.Value().Meta&metaPointer == 0 {
		return pointer{}, false
	}
	return pointerOf(it.Value().Value)
}

// damaged says what is wrong with a file. Nothing has been changed in the store when it is returned
// from an open.
func damaged(path, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s; restore the store from a backup, or its run from an export", path, runtime.ErrDamaged, fmt.Sprintf(format, args...))
}
