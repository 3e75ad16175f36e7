package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"starling/runtime"
)

// The mark is a file beside Badger that says how far acknowledgements have gone:
//
//	epoch u64 · batch number u64 · CRC-32C of both u32, big-endian, 20 bytes
//
// It is written after a transaction is durable and before its batches are acknowledged, and not synced then: whatever survives of it is
// true. A killed process leaves it exact; a power cut may leave an older one, at most a second old, for it is synced once a second and at
// close. So it is a lower bound, and a store whose newest batch lies below it has lost batches that somebody was told are safe. The 20
// bytes lie in one sector, which disks write whole or not at all.
//
// Because each open writes its epoch here, an owner also sees another one that was let past the locks.
type mark struct {
	path  string
	file  *os.File
	epoch uint64

	mu      sync.Mutex // guards what is below
	timer   *time.Timer
	unsaved bool  // written since the last sync
	failed  error // of a sync in the background
}

const (
	markSize     = 20
	markInterval = time.Second
)

// readMark returns what the mark says; a mark that does not exist says nothing, which is what found tells.
func readMark(dir string) (epoch, sequence uint64, found bool, err error) {
	path := filepath.Join(dir, markName)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, 0, false, nil
	}
	if err != nil {
		return 0, 0, false, err
	}
	epoch, sequence, err = decodeMark(path, b)
	return epoch, sequence, true, err
}

func decodeMark(path string, b []byte) (epoch, sequence uint64, err error) {
	if len(b) != markSize || crc32.Checksum(b[:16], castagnoli()) != binary.BigEndian.Uint32(b[16:]) {
		return 0, 0, fmt.Errorf("%s: %w: its %d bytes are not as they were written, so nobody can tell what was acknowledged",
			path, runtime.ErrDamaged, len(b))
	}
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), nil
}

func encodeMark(epoch, sequence uint64) []byte {
	b := binary.BigEndian.AppendUint64(number(epoch), sequence)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

// openMark opens the mark for the owner of this epoch and writes it. One that did not exist is made durable at once: batches without a
// mark are refused.
func openMark(dir string, epoch, sequence uint64) (*mark, error) {
	m := &mark{path: filepath.Join(dir, markName), epoch: epoch}
	m.timer = time.AfterFunc(markInterval, m.sync)
	m.timer.Stop()
	_, err := os.Stat(m.path)
	isNew := errors.Is(err, os.ErrNotExist)
	if m.file, err = os.OpenFile(m.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	err = m.write(sequence)
	if err == nil && isNew {
		err = errors.Join(m.file.Sync(), syncDirectory(dir))
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// check tells whether the store is still this owner's: nobody has removed the directory's files or opened it as a later owner.
func (m *mark) check() error {
	var st unix.Stat_t
	if err := unix.Fstat(int(m.file.Fd()), &st); err != nil {
		return &os.PathError{Op: "stat", Path: m.path, Err: err}
	}
	if st.Nlink == 0 {
		return fmt.Errorf("%s: %w: it was removed while the store was open", m.path, runtime.ErrFenced)
	}
	b := make([]byte, markSize)
	if _, err := m.file.ReadAt(b, 0); err != nil {
		return err
	}
	epoch, _, err := decodeMark(m.path, b)
	if err == nil && epoch != m.epoch {
		err = fmt.Errorf("%s: %w: the epoch is %d, this owner's is %d", m.path, runtime.ErrFenced, epoch, m.epoch)
	}
	return err
}

// write says that all batches up to sequence are durable.
func (m *mark) write(sequence uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return m.failed
	}
	if _, err := m.file.WriteAt(encodeMark(m.epoch, sequence), 0); err != nil {
		return err
	}
	if !m.unsaved {
		m.unsaved = true
		m.timer.Reset(markInterval)
	}
	return nil
}

// sync runs a second after the first unsynced write.
func (m *mark) sync() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unsaved {
		m.unsaved = false
		m.failed = m.file.Sync()
	}
}

func (m *mark) close() error {
	m.timer.Stop()
	m.sync()
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(m.failed, m.file.Close())
}
