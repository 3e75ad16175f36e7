package badger

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Badger keeps two kinds of log: the write-ahead logs of its memory tables (.mem), with every
// write, and the value logs (.vlog), with the large values that the others point to. Both are 20
// bytes of header (key id and start vector of an encryption that is not used), then records, then
// zeros:
//
//	meta u8 · user meta u8 · key length uvarint · value length uvarint · expiry uvarint · key · value · CRC-32C of all before u32, big-endian
//
// A key ends in its version, 8 bytes that sort newer ones first. In a write-ahead log the records
// of a transaction have metaTxn set and one version, and count only when a record with metaEnd
// follows them, whose value is that version in decimal. A value with metaPointer set is the place
// of the value in a value log: file, length, offset, each u32 in the order of the machine, which is
// little-endian on all that we build for. (Read from badger v4.9.6: memtable.go, value.go,
// structs.go.)
const (
	writeAheadSuffix = ".mem"
	valueLogSuffix   = ".vlog"

	logHeader = 20

	metaPointer = 1 << 1
	metaTxn     = 1 << 6
	metaEnd     = 1 << 7

	longestBadgerKey = 1 << 16
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // made once by the library

// logRecord is one record. Its slices are its own.
type logRecord struct {
	meta    byte
	key     []byte // without version
	version uint64
	value   []byte // nil where values were not asked for
}

// logFile reads a log from front to back.
type logFile struct {
	path string
	size int64
	file *os.File
}

func openLog(path string) (*logFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &logFile{path: path, size: st.Size(), file: f}, nil
}

func (l *logFile) close() { l.file.Close() }

// errRecord: what stands here is no record; whether the log ends or is damaged is for the caller to
// tell.
var errRecord = errors.New("no record")

// records calls fn for each whole record and returns the offset behind the last. Without values
// only their checksums are looked at.
func (l *logFile) records(values bool, fn func(r logRecord, end int64)) (int64, error) {
	at := int64(logHeader)
	in := bufio.NewReaderSize(io.NewSectionReader(l.file, at, math.MaxInt64-at), 64<<10)
	for {
		r, n, err := readRecord(in, l.size-at, values)
		switch {
		case errors.Is(err, errRecord), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return at, nil
		case err != nil:
			return at, err
		}
		at += n
		fn(r, at)
	}
}

// readRecord reads one record of at most limit bytes.
func readRecord(in *bufio.Reader, limit int64, values bool) (logRecord, int64, error) {
	sum := &summing{in: in, sum: crc32.New(castagnoli())}
	var h [2]byte
	if _, err := io.ReadFull(sum, h[:]); err != nil {
		return logRecord{}, 0, err
	}
	var lengths [3]uint64 // key, value, expiry
	for i := range lengths {
		var err error
		if lengths[i], err = binary.ReadUvarint(sum); err != nil {
			return logRecord{}, 0, errRecord
		}
	}
	klen, vlen := lengths[0], lengths[1]
	if klen < 8 || klen > longestBadgerKey || vlen > uint64(limit) {
		return logRecord{}, 0, errRecord
	}
	key := make([]byte, klen)
	if _, err := io.ReadFull(sum, key); err != nil {
		return logRecord{}, 0, err
	}
	value, err := readValue(sum, int64(vlen), values)
	if err != nil {
		return logRecord{}, 0, err
	}
	var crc [4]byte
	if _, err := io.ReadFull(in, crc[:]); err != nil {
		return logRecord{}, 0, err
	}
	if binary.BigEndian.Uint32(crc[:]) != sum.sum.Sum32() {
		return logRecord{}, 0, errRecord
	}
	name := key[:klen-8]
	return logRecord{h[0], name, math.MaxUint64 - binary.BigEndian.Uint64(key[klen-8:]), value}, sum.n + 4, nil
}

func readValue(in io.Reader, n int64, keep bool) ([]byte, error) {
	if !keep {
		_, err := io.CopyN(io.Discard, in, n)
		return nil, err
	}
	var b bytes.Buffer // grows with what is there, not with what a damaged length says
	_, err := io.CopyN(&b, in, n)
	return b.Bytes(), err
}

// summing counts and sums what is read through it.
type summing struct {
	in  *bufio.Reader
	sum hash.Hash32
	n   int64
}

func (s *summing) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.sum.Write(p[:n])
	s.n += int64(n)
	return n, err
}

func (s *summing) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(s, b[:])
	return b[0], err
}

// transactions calls fn with the records of each transaction that was finished and where it begins,
// and returns the offset behind the last. What value log GC moved stands between transactions, each
// record on its own.
func (l *logFile) transactions(fn func(begin int64, records []logRecord)) (int64, error) {
	var open []logRecord
	whole, broken := int64(logHeader), false
	_, err := l.records(true, func(r logRecord, end int64) {
		switch {
		case broken:
		case r.meta&metaTxn != 0:
			broken = len(open) > 0 && open[0].version != r.version
			open = append(open, r)
		case r.meta&metaEnd != 0:
			if broken = len(open) == 0 || string(r.value) != strconv.FormatUint(open[0].version, 10); !broken {
				fn(whole, open)
				open, whole = nil, end
			}
		default:
			if broken = len(open) > 0; !broken {
				fn(whole, []logRecord{r})
				whole = end
			}
		}
	})
	return whole, err
}

// restsAt tells whether the log was never written from this offset on. A record begins with a
// non-empty key within 64 bytes, and no change of one byte makes all of them zero.
func (l *logFile) restsAt(at int64) (bool, error) {
	b := make([]byte, 64)
	n, err := l.file.ReadAt(b, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return len(bytes.Trim(b[:n], "\x00")) == 0, nil
}

// pointer is the place of a large value.
type pointer struct{ file, length, offset uint32 }

func pointerOf(b []byte) (pointer, bool) {
	if len(b) != 12 {
		return pointer{}, false
	}
	return pointer{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])}, true
}

// pointerIn is where a write-ahead log has the large value of a key in a version.
func pointerIn(path string, key []byte, version uint64) (p pointer, ok bool) {
	log, err := openLog(path)
	if err != nil {
		return pointer{}, false
	}
	defer log.close()
	_, _ = log.records(true, func(r logRecord, _ int64) { // up to where it can be read
		if r.meta&metaPointer != 0 && r.version == version && bytes.Equal(r.key, key) {
			p, ok = pointerOf(r.value)
		}
	})
	return p, ok
}

// numbered is a file of Badger's whose name is a number.
type numbered struct {
	path   string
	number uint64
}

// numberedFiles lists the files in dir whose names are a number and the suffix, by number.
func numberedFiles(dir, suffix string) ([]numbered, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var files []numbered
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		n, err := strconv.ParseUint(name, 10, 32)
		if ok && err == nil {
			files = append(files, numbered{filepath.Join(dir, e.Name()), n})
		}
	}
	slices.SortFunc(files, func(a, b numbered) int { return int(a.number) - int(b.number) })
	return files, nil
}
