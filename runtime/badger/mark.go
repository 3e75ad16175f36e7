package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"starling/runtime"
)

// The mark is a file beside Badger that says how far acknowledgements have gone. It is 16 bytes,
// two little-endian words, each a number in the upper 48 bits with a checksum of it in the lower
// 16:
//
//	number of the newest acknowledged batch · epoch of the owner
//
// It is written after a transaction is durable and before its batches are acknowledged, and not
// synced then: whatever survives of it is true. A killed process leaves it exact; a power cut may
// leave an older one, at most a second old, for it is synced once a second and at close. So it is a
// lower bound, and a store whose newest batch lies below it has lost batches that somebody was told
// are safe.
//
// It is written through a memory map, one word at a time and at once, so that no kill leaves half a
// number, and no power cut, since disks write sectors whole. Writing it with a call instead made
// each commit a quarter slower (design.md).
//
// Because each open writes its epoch here, an owner also sees another one that was let past the
// locks.
type mark struct {
	path  string
	epoch uint64
	file  *os.File
	mem   []byte

	mu      sync.Mutex // guards what is below
	timer   *time.Timer
	unsaved bool  // written since the last sync
	failed  error // of a sync in the background
}

const (
	markSize     = 16
	markInterval = time.Second

	batchWord, epochWord = 0, 8 // offsets
)

// readMark returns what the mark says; a mark that does not exist says nothing, which is what found
// tells.
func readMark(dir string) (epoch, batches uint64, found bool, err error) {
	path := filepath.Join(dir, markName)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, 0, false, nil
	}
	if err != nil {
		return 0, 0, false, err
	}
	if len(b) == markSize {
		var whole, known bool
		batches, whole = openWord(binary.LittleEndian.Uint64(b[batchWord:]))
		epoch, known = openWord(binary.LittleEndian.Uint64(b[epochWord:]))
		if whole && known {
			return epoch, batches, true, nil
		}
	}
	return 0, 0, true, damaged(path, "its %d bytes are not as they were written, so that nobody can tell what was acknowledged", len(b))
}

func encodeMark(epoch, batches uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, sealedWord(batches))
	return binary.LittleEndian.AppendUint64(b, sealedWord(epoch))
}

// sealedWord puts a number and its checksum into a word. A change of any one byte is seen.
func sealedWord(n uint64) uint64 {
	sum := crc32.Checksum(number(n), castagnoli())
	return n<<16 | uint64(sum>>16^sum)&0xffff
}

func openWord(word uint64) (n uint64, ok bool) {
	n = word >> 16
	return n, sealedWord(n) == word
}

// openMark opens the mark for the owner of this epoch and writes it.
func openMark(dir string, epoch, batches uint64) (*mark, error) {
	m := &mark{path: filepath.Join(dir, markName), epoch: epoch, unsaved: true}
	_, err := os.Stat(m.path)
	if errors.Is(err, os.ErrNotExist) {
		err = createMark(dir, encodeMark(epoch, batches))
	}
	if err != nil {
		return nil, err
	}
	if m.file, err = os.OpenFile(m.path, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if m.mem, err = unix.Mmap(int(m.file.Fd()), 0, markSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: map: %w", m.path, err), m.file.Close())
	}
	m.set(epochWord, epoch)
	m.set(batchWord, batches)
	m.timer = time.AfterFunc(markInterval, m.sync)
	return m, nil
}

// createMark puts the first mark in place whole and durable: batches without one are refused, and
// so is half of one.
func createMark(dir string, content []byte) error {
	temp := filepath.Join(dir, markName+".new")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, markName)); err != nil {
		return err
	}
	return syncDirectory(dir)
}

// word is a word of the map, in the order of the file.
func (m *mark) word(offset int) *uint64 { return (*uint64)(unsafe.Pointer(&m.mem[offset])) }

func (m *mark) set(offset int, n uint64) {
	atomic.StoreUint64(m.word(offset), littleEndian(sealedWord(n)))
}

// littleEndian turns a word of the machine into one of the file, and back.
func littleEndian(word uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], word)
	return binary.NativeEndian.Uint64(b[:])
}

// check tells whether the store is still this owner's: nobody has removed the directory's files or
// opened it as a later owner.
func (m *mark) check() error {
	var st unix.Stat_t
	if err := unix.Fstat(int(m.file.Fd()), &st); err != nil {
		return &os.PathError{Op: "stat", Path: m.path, Err: err}
	}
	if st.Nlink == 0 {
		return fmt.Errorf("%s: %w: it was removed while the store was open", m.path, runtime.ErrLost)
	}
	if epoch, _ := openWord(littleEndian(atomic.LoadUint64(m.word(epochWord)))); epoch != m.epoch {
		return fmt.Errorf("%s: %w: the epoch is %d, this owner's is %d", m.path, runtime.ErrLost, epoch, m.epoch)
	}
	return nil
}

// write says that all batches up to this number are durable.
func (m *mark) write(batches uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return m.failed
	}
	m.set(batchWord, batches)
	if !m.unsaved {
		m.unsaved = true
		m.timer.Reset(markInterval)
	}
	return nil
}

// sync runs a second after the first unsynced write, and at close.
func (m *mark) sync() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unsaved && m.mem != nil {
		m.unsaved = false
		m.failed = unix.Msync(m.mem, unix.MS_SYNC)
	}
}

func (m *mark) close() error {
	m.timer.Stop()
	m.sync()
	m.mu.Lock()
	defer m.mu.Unlock()
	err := unix.Munmap(m.mem)
	m.mem = nil
	return errors.Join(m.failed, err, m.file.Close())
}
