package badger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	badgerdb "github.com/dgraph-io/badger/v4"

	"starling/runtime"
	"starling/runtime/wholefile"
)

// A backup is one file: all keys and values of a store as they were at one moment, and where its
// runs stood.
//
//	"starling backup 1\n", then blocks, each: u32 length of the body · body · u32 CRC-32C of all before, both big-endian
//	body    entries: kind · uvarint length, key · uvarint length, value
//	kind    'r' where a run stands: its name, u64, head    'k' a key and its value
//
// The last block is empty. So every changed byte is seen, and where a file was cut off.
const (
	backupMagic = "starling backup 1\n"
	backupBlock = 1 << 20  // bytes from which a block is ended
	longestBody = 64 << 20 // of any block

	entryRun = 'r'
	entryKey = 'k'
)

// Backup writes the store as it is now to path, while commits go on.
func (s *Store) Backup(ctx context.Context, path string) (keys int, size int64, err error) {
	if !s.enter() {
		return 0, 0, runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	w := &backupWriter{dir: s.badgerDir}
	err = wholefile.Create(path, func(out io.Writer) error {
		w.out = out
		all := func(txn *badgerdb.Txn) error { return w.all(ctx, txn) }
		return firstError(w.begin(), s.view(all), w.end())
	})
	if err != nil {
		return 0, 0, fmt.Errorf("backup: %w", err)
	}
	return w.keys, w.size, syncDirectory(filepath.Dir(path))
}

type backupWriter struct {
	dir  string // where the values are
	out  io.Writer
	body []byte
	keys int
	size int64
	err  error
}

func (w *backupWriter) begin() error { return w.write([]byte(backupMagic)) }

func (w *backupWriter) write(b []byte) error {
	if w.err == nil {
		var n int
		n, w.err = w.out.Write(b)
		w.size += int64(n)
	}
	return w.err
}

// all writes every key of the runtime, and of the store's own those that say where runs stand.
func (w *backupWriter) all(ctx context.Context, txn *badgerdb.Txn) error {
	it := txn.NewIterator(badgerdb.IteratorOptions{})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		key := it.Item().Key()
		name, own := bytes.CutPrefix(key, ownKey(tagRun))
		if key[0] == 0 && !own || bytes.HasPrefix(key, []byte(badgersOwn)) {
			continue
		}
		err := itemValue(w.dir, it.Item(), func(v []byte) error {
			if own {
				return w.entry(entryRun, name, v)
			}
			w.keys++
			return w.entry(entryKey, key, v)
		})
		if err := firstError(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

func (w *backupWriter) entry(kind byte, key, value []byte) error {
	w.body = append(w.body, kind)
	w.body = append(binary.AppendUvarint(w.body, uint64(len(key))), key...)
	w.body = append(binary.AppendUvarint(w.body, uint64(len(value))), value...)
	if len(w.body) < backupBlock {
		return nil
	}
	return w.flush()
}

func (w *backupWriter) flush() error {
	block := binary.BigEndian.AppendUint32(make([]byte, 0, len(w.body)+8), uint32(len(w.body)))
	block = append(block, w.body...)
	w.body = w.body[:0]
	return w.write(binary.BigEndian.AppendUint32(block, crc32.Checksum(block, castagnoli())))
}

func (w *backupWriter) end() error {
	if len(w.body) > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	return w.flush()
}

// Restore makes a store in dir of a backup. The directory must not exist, or be empty; it holds a
// store only once all is there. The backup is checked as it is read: a changed byte or a missing
// end is refused with its place, and dir stays as it was.
func Restore(ctx context.Context, path, dir string) (keys int, err error) {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return 0, fmt.Errorf("%s: %w: it is not empty; name a directory that is, or that does not exist", dir, os.ErrExist)
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	temp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".restoring.*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	s, err := Open(temp, Options{})
	if err != nil {
		return 0, err
	}
	r := &backupReader{path: path, in: bufio.NewReader(f), store: s}
	if err := errors.Join(r.all(ctx), s.Close()); err != nil {
		return 0, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) { // only takes an empty one
		return 0, err
	}
	if err := os.Rename(temp, dir); err != nil {
		return 0, err
	}
	return r.keys, syncDirectory(filepath.Dir(dir))
}

type backupReader struct {
	path  string
	in    *bufio.Reader
	at    int64
	store *Store
	keys  int
	batch runtime.Batch
	size  int
}

func (r *backupReader) all(ctx context.Context) error {
	magic := make([]byte, len(backupMagic))
	if _, err := io.ReadFull(r.in, magic); err != nil || string(magic) != backupMagic {
		return runtime.Refuse(runtime.ErrNotABackup, "starling store backup FILE writes one; starling import takes an export", "%s: it begins with %.20q, wanted %q: it is no backup, or one of a newer version", r.path, magic, backupMagic)
	}
	r.at = int64(len(magic))
	for {
		body, err := r.block()
		if err != nil || len(body) == 0 {
			return firstError(err, r.commit(ctx))
		}
		if err := r.take(ctx, body); err != nil {
			return err
		}
	}
}

// block reads one block and checks it.
func (r *backupReader) block() ([]byte, error) {
	var head [4]byte
	_, err := io.ReadFull(r.in, head[:])
	n := binary.BigEndian.Uint32(head[:])
	if err != nil || n > longestBody {
		return nil, r.damaged()
	}
	rest := make([]byte, n+4)
	if _, err := io.ReadFull(r.in, rest); err != nil {
		return nil, r.damaged()
	}
	sum := crc32.Update(crc32.Checksum(head[:], castagnoli()), castagnoli(), rest[:n])
	if sum != binary.BigEndian.Uint32(rest[n:]) {
		return nil, r.damaged()
	}
	r.at += int64(n) + 8
	return rest[:n], nil
}

func (r *backupReader) damaged() error {
	return damaged(r.path, "the backup cannot be read from byte %d on", r.at)
}

func (r *backupReader) take(ctx context.Context, body []byte) error {
	for len(body) > 0 {
		kind := body[0]
		key, rest, ok := cutText(body[1:])
		value, rest, whole := cutText(rest)
		if !ok || !whole || kind != entryRun && kind != entryKey {
			return r.damaged()
		}
		body = rest
		if err := r.add(ctx, kind, key, value); err != nil {
			return err
		}
	}
	return nil
}

func (r *backupReader) add(ctx context.Context, kind byte, key, value []byte) error {
	if kind == entryRun {
		at, head := standingOf(value)
		r.batch.Fences = append(r.batch.Fences, runtime.Fence{Run: string(key), Next: at, Head: head})
	} else {
		r.keys++
		r.batch.Writes = append(r.batch.Writes, runtime.Write{Key: key, Value: value})
	}
	r.size += len(key) + len(value)
	if r.size < backupBlock && len(r.batch.Writes)+len(r.batch.Fences) < MaxBatchWrites/2 {
		return nil
	}
	return r.commit(ctx)
}

func (r *backupReader) commit(ctx context.Context) error {
	if len(r.batch.Writes)+len(r.batch.Fences) == 0 {
		return nil
	}
	err := r.store.Commit(ctx, &r.batch)
	r.batch, r.size = runtime.Batch{}, 0
	return err
}

func cutText(b []byte) (text, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, false
	}
	return b[w : w+int(n) : w+int(n)], b[w+int(n):], true
}
