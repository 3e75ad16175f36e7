package badger

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"sync"

	badgerdb "github.com/dgraph-io/badger/v4"
)

// Badger opens whatever it finds and makes it consistent: it ends a write-ahead log at the first
// record that does not check and deletes the file once what came before is in a table, cuts the
// newest value log off likewise, leaves out a table whose index does not check, and deletes tables
// that the manifest does not name. After a power cut that is right, for nobody was told that what
// is cut off was safe. After a byte has changed it takes acknowledged batches away, and no error
// says so.
//
// So the files are read first, and only read, while the store's own lock is held:
//
//  1. Every table is checked whole, and the newest batch number in any of them found.
//  2. The write-ahead logs, oldest first, must go on from there without a hole: each transaction says which batches it holds.
//  3. What they reach must be at least what the mark says was acknowledged. A log that ends early and reaches it was torn by a power cut,
//     or by a kill, in batches that were never acknowledged.
//  4. The newest value log, the one that Badger cuts off, must be whole up to the last value that anything points to. Older ones are never
//     cut, and each value in them is checked when it is read. A power cut may leave a transaction without its large values, which are
//     synced before it: such a one was never acknowledged, and is cut off with what follows it.
//
// A store that passes is whole, and what its logs have behind their last whole record is of no
// account. It is cut off before Badger opens them (mend), which would do the same, but gives up on
// some bytes that cannot be the length of anything, and on a log that a kill left between making it
// and giving it its length.
//
// What this leaves unread cannot hold a batch: DISCARD (an estimate of what value log GC would
// gain), LOCK, and the start vectors of an encryption that is not used. A changed KEYREGISTRY or
// log header fails Badger's own open.
type findings struct {
	exists    bool   // Badger was here: there is a manifest
	sequence  uint64 // number of the newest batch
	closed    bool   // all was left in order: no write-ahead log, nothing torn
	levelZero int    // tables that were not merged yet
	torn      []tear // logs that do not end where their records do
	ahead     []tear // every write-ahead log, and where its records end
}

// tear is where the whole records of a log end; where that is its header, it has none.
type tear struct {
	path string
	at   int64
}

// mend cuts off what is behind the tears, and removes the logs that hold nothing before.
func (f findings) mend() error {
	for _, t := range f.torn {
		err := os.Truncate(t.path, t.at)
		if t.at == logHeader {
			err = os.Remove(t.path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inspection is one reading of the files.
type inspection struct {
	findings
	dir       string // Badger's directory
	tables    map[uint64]badgerdb.TableManifest
	wanted    uint64   // batches that were acknowledged
	valueLog  numbered // the newest that has a length; number 0 is none
	valuesEnd int64    // where its whole records end
	valuesOff bool     // and something else follows
	lastValue int64    // largest offset in it that a table points to, or what is acknowledged of a write-ahead log
	cut       bool     // a transaction lacks its values: it was cut off, and so is all that follows
}

// inspect reads Badger's files below dir and refuses what has lost or changed any of the
// acknowledged batches.
func inspect(dir string, acknowledged uint64) (findings, error) {
	in := &inspection{dir: dir, wanted: acknowledged}
	for _, step := range []func() error{in.readTables, in.findValueLog, in.measureValueLog, in.readWriteAhead, in.checkValueLog} {
		if err := step(); err != nil {
			return findings{}, err
		}
	}
	if in.sequence < acknowledged {
		return findings{}, in.missing(acknowledged)
	}
	in.closed = in.closed && len(in.torn) == 0
	return in.findings, nil
}

func (in *inspection) readTables() error {
	var err error
	if in.tables, err = openManifest(in.dir); err != nil {
		return err
	}
	in.exists = in.tables != nil
	for _, t := range in.tables {
		if t.Level == 0 {
			in.levelZero++
		}
	}
	newest := make([]uint64, len(in.tables))
	err = in.eachTable(func(i int, t *tableFile) error {
		newest[i] = t.newest().last
		return t.verify()
	})
	for _, n := range newest {
		in.sequence = max(in.sequence, n)
	}
	return err
}

// eachTable calls fn with each table and its place in the order of their ids, several at once. Of
// several errors the first table's is returned, so that what is found wrong does not depend on
// chance.
func (in *inspection) eachTable(fn func(i int, t *tableFile) error) error {
	ids := slices.Sorted(maps.Keys(in.tables))
	errs := make([]error, len(ids))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(len(ids), goruntime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				errs[i] = withTable(in.dir, ids[i], in.tables[ids[i]], func(t *tableFile) error { return fn(i, t) })
			}
		})
	}
	for i := range ids {
		next <- i
	}
	close(next)
	wg.Wait()
	return firstError(errs...)
}

// findValueLog finds the newest value log. Making one and deleting one both pass through a file
// without length, which is no log.
func (in *inspection) findValueLog() error {
	logs, err := numberedFiles(in.dir, valueLogSuffix)
	if err != nil {
		return err
	}
	for _, file := range logs {
		st, err := os.Stat(file.path)
		if err != nil {
			return err
		}
		if st.Size() < logHeader {
			in.torn = append(in.torn, tear{file.path, logHeader})
		} else {
			in.valueLog = file
		}
	}
	return nil
}

func (in *inspection) readWriteAhead() error {
	logs, err := numberedFiles(in.dir, writeAheadSuffix)
	if err != nil {
		return err
	}
	in.closed = len(logs) == 0
	for _, file := range logs {
		if err := in.readLog(file.path); err != nil {
			return err
		}
	}
	return nil
}

// readLog follows the batch numbers through one write-ahead log.
func (in *inspection) readLog(path string) error {
	log, err := openLog(path)
	if err != nil {
		return err
	}
	defer log.close()
	var hole error
	cut := int64(0)
	if in.cut {
		cut = logHeader
	}
	end, err := log.transactions(func(begin int64, records []logRecord) {
		switch {
		case in.cut || hole != nil:
		case in.lacksValues(records):
			in.cut, cut = true, begin
		default:
			hole = in.take(records)
		}
	})
	if err != nil || hole != nil {
		return firstError(hole, err)
	}
	if in.cut {
		end = cut
	}
	in.ahead = append(in.ahead, tear{path, end})
	if in.cut {
		in.torn = append(in.torn, tear{path, end})
		return nil
	}
	rests, err := log.restsAt(end)
	if !rests || log.size < logHeader {
		in.torn = append(in.torn, tear{path, end})
	}
	return err
}

// lacksValues tells whether a transaction behind all that is acknowledged points to values that are
// not there.
func (in *inspection) lacksValues(records []logRecord) bool {
	if in.sequence < in.wanted {
		return false
	}
	return slices.ContainsFunc(records, func(r logRecord) bool {
		p, ok := in.pointer(r)
		return ok && (uint64(p.file) > in.valueLog.number || int64(p.offset) >= in.valuesEnd)
	})
}

// pointer is where a record's value is, if it is in the newest value log or in one that is not
// there.
func (in *inspection) pointer(r logRecord) (pointer, bool) {
	p, ok := pointerOf(r.value)
	return p, ok && r.meta&metaPointer != 0 && uint64(p.file) >= in.valueLog.number
}

// take notes what the records of a transaction tell.
func (in *inspection) take(records []logRecord) error {
	for _, r := range records {
		if p, ok := in.pointer(r); ok && uint64(p.file) == in.valueLog.number {
			in.lastValue = max(in.lastValue, int64(p.offset))
		}
		if s, ok := spanOf(r.value); ok && string(r.key) == string(ownKey(tagSequence)) {
			if err := in.advance(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// advance moves on by one transaction. One that a table has already is passed over.
func (in *inspection) advance(s span) error {
	if s.first > in.sequence+1 {
		return in.missing(s.first - 1)
	}
	in.sequence = max(in.sequence, s.last)
	return nil
}

// measureValueLog finds where the newest value log ends.
func (in *inspection) measureValueLog() error {
	if in.valueLog.number == 0 {
		return nil
	}
	log, err := openLog(in.valueLog.path)
	if err != nil {
		return err
	}
	defer log.close()
	in.valuesEnd, err = log.records(false, func(logRecord, int64) {})
	if err != nil || in.valuesEnd == log.size {
		return err
	}
	rests, err := log.restsAt(in.valuesEnd)
	in.valuesOff = !rests
	return err
}

// checkValueLog refuses a newest value log that ends before the last value that something points
// to, and cuts off what it has behind its end.
func (in *inspection) checkValueLog() error {
	if in.valueLog.number == 0 || !in.valuesOff && in.lastValue < in.valuesEnd {
		return nil
	}
	pointers := make([]int64, len(in.tables))
	err := in.eachTable(func(i int, t *tableFile) error {
		pointers[i] = t.lastPointer(in.valueLog.number)
		return nil
	})
	if err != nil {
		return err
	}
	if last := max(in.lastValue, slices.Max(append(pointers, 0))); last >= in.valuesEnd {
		return damaged(in.valueLog.path, "it cannot be read from byte %d on, and holds values up to byte %d", in.valuesEnd, last)
	}
	if in.valuesOff {
		in.torn = append(in.torn, tear{in.valueLog.path, in.valuesEnd})
	}
	return nil
}

func (in *inspection) missing(wanted uint64) error {
	n := wanted - in.sequence
	batches := fmt.Sprintf("%d acknowledged batches are", n)
	if n == 1 {
		batches = "1 acknowledged batch is"
	}
	where := ""
	for _, t := range in.torn {
		where += fmt.Sprintf("; %s cannot be read from byte %d on", filepath.Base(t.path), t.at)
	}
	return damaged(in.dir, "%s missing: the newest found is number %d, wanted %d%s", batches, in.sequence, wanted, where)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// inspectValueLogs checks that every value log but the newest can be read to its end. Value log GC
// reads a log until the first record that does not check and then deletes the file.
func inspectValueLogs(dir string) error {
	logs, err := numberedFiles(dir, valueLogSuffix)
	if err != nil {
		return err
	}
	for _, file := range logs[:max(len(logs)-1, 0)] {
		if err := inspectValueLog(file.path); err != nil {
			return err
		}
	}
	return nil
}

func inspectValueLog(path string) error {
	log, err := openLog(path)
	if err != nil {
		return err
	}
	defer log.close()
	end, err := log.records(false, func(logRecord, int64) {})
	if err == nil && end != log.size {
		return damaged(path, "it has %d bytes, but cannot be read from byte %d on", log.size, end)
	}
	return err
}
