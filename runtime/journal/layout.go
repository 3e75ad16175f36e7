package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"starling/lang/effect"
	"starling/runtime"
)

// The keys of a store. Text is as written, numbers are big-endian so that byte order is their
// order; RUN is a run's 12-letter id. Who writes a row stands behind it, as a file of runtime/run
// or runtime/engine.
//
//	r/RUN                        summary of a run: all that a list shows (commit.go)
//	j/RUN seq8                   journal: the records of one commit, the first of which has this number (record.go)
//	s/RUN seq8 part2             checkpoint that is kept: state and machine as they were after record seq, in parts (checkpoint.go); that of a run at rest is its head
//	h/RUN copy1                  horizon of a run whose journal was trimmed: where it begins, and what the run was started with (keyframe.go)
//	f/RUN copy1 seq8 part2       keyframe: what a trimmed journal begins with, twice, in parts
//	g/RUN/GATE                   a gate that is no longer open: how it was decided or why it was withdrawn
//	i/RUN/GATE                   an open gate, as the inbox shows it
//	k/RUN/KEY                    idempotency key of a signal or a cancel: digest of the request, receipt
//	n/KEY                        idempotency key of a start: digest of the request, run id
//	c/RUN@STEP                   which run a step has started
//	o/ micros8 RUN               the order of starts, the newest first: the time is counted down; the step that started the run
//	e/r micros8 RUN              a run that has not ended, the newest first: its start is counted down (index.go)
//	e/g micros8 RUN/GATE         an open gate, the oldest first: whom it asks
//	e/d micros8 RUN/GATE         a decision, the newest first: its time is counted down; its record, cut short (decisions.go)
//	e/f length2 TERM micros8 RUN what a run is found by (runtime/fact)
//	F/RUN                        the same, in one row, once it is more than the run was started with
//	C/RUN/!STEP, C/RUN/=HASH     what agents of a run have taken: the attempt in flight of a step, and those that have ended (runtime/fact)
//	z/RUN@STEP                   an orphan: the child run of a step that does not wait for it any more, and is not yet known to have ended (orphan.go)
//	q/RUN                        recoveries since the run last committed
//	x/BACKEND                    circuit breaker of a backend that has failed (breaker.go)
//	B/DAY/BUDGET/RUN             what a run has spent on a day under a daily budget (runtime/ledger)
//	w/RUN/STEP                   work that somebody comes for: for whom, and who has claimed it until when (work.go)
//	y/RUN/ID                     something that somebody is to be told (notice.go)
//	l/QUEUE                      the number that the newest item of a queue has got (queue.go)
//	l/QUEUE/ seq8                item of a queue: its value, and who holds it
//	p/QUEUE/ seq8                item that was parked, and why
//	u/QUEUE/KEY                  the number of the item that was pushed under a key and has not left the queue
//	v/KEY                        variable of memory.project (shared.go)
//	b/HASH                       content by its hash: source bundles, settings, artifacts
//	d/NAME/ version4             a version of a script that is kept under a name (define.go)
//	a/RUN                        a run whose journal is being written ahead: it is not there yet (adopt.go)
//	S/NAME                       a schedule: its times, and those that have come and wait for their run (schedule.go)
//	t/NAME                       a token: capabilities, and what recognises its secret (token.go)
//	e/FOLDER                     what is trusted of a project (trust.go)
//	m/mac                        secret of this store from which snapshot MACs are made
//	m/index                      which owner has kept e/ (index.go)
//	m/copied                     the store was moved here from another place, or is being (runtime/transfer)
//	m/garbage                    something was dropped, and contents may be there that nothing names (contents.go)
//
// A run's earliest timer is in its row. There is no row for each: an engine that is to fire them
// has the rows of the runs that it carries.
const (
	PrefixRun        = "r/"
	PrefixJournal    = "j/"
	PrefixCheckpoint = "s/"
	PrefixHorizon    = "h/"
	PrefixKeyframe   = "f/"
	PrefixGate       = "g/"
	PrefixInbox      = "i/"
	PrefixKey        = "k/"
	PrefixStartKey   = "n/"
	PrefixChild      = "c/"
	PrefixOrder      = "o/"
	PrefixLive       = "e/r"
	PrefixOpen       = "e/g"
	PrefixDecided    = "e/d"
	PrefixOrphan     = "z/"
	PrefixRecovery   = "q/"
	PrefixBreaker    = "x/"
	PrefixSpent      = "B/"
	PrefixWork       = "w/"
	PrefixNotice     = "y/"
	PrefixQueue      = "l/"
	PrefixParked     = "p/"
	PrefixUnique     = "u/"
	PrefixProject    = "v/"
	PrefixBlob       = "b/"
	PrefixDefinition = "d/"
	PrefixStaged     = "a/"
	PrefixSchedule   = "S/"
	PrefixToken      = "t/"
	PrefixTrust      = "e/"
	KeyMAC           = "m/mac"
	KeyIndex         = "m/index"
	KeyGarbage       = "m/garbage"
	KeyCopied        = "m/copied"
)

// RunKey is the key of a run's summary.
func RunKey(run string) []byte { return []byte(PrefixRun + run) }

// SeqKey is a key that ends with a number.
func SeqKey(prefix, run string, seq uint64) []byte {
	k := make([]byte, 0, len(prefix)+len(run)+8)
	k = append(k, prefix...)
	k = append(k, run...)
	return binary.BigEndian.AppendUint64(k, seq)
}

// SeqOf is the number with which a key ends.
func SeqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// OrderKey is the key of a run in the order of starts.
func OrderKey(started time.Time, run string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte(PrefixOrder), ^uint64(started.UnixMicro())), run...)
}

// AppendMicros appends a time as microseconds since 1970, big-endian.
func AppendMicros(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixMicro()))
}

// AfterPrefix is the first key behind all keys with the prefix.
func AfterPrefix(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// HashOf is the content address of bytes.
func HashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// BytesOf is a hash as the first record of a run has it: half as long as its text.
func BytesOf(hash string) []byte {
	b, _ := hex.DecodeString(hash) // hashOf made it
	return b
}

// HashIn reads a hash from the first record of a run, which had them as text at first.
func HashIn(v effect.View, field string) string {
	if text := v.Text(field); text != "" {
		return text
	}
	return hex.EncodeToString(v.Blob(field))
}

// ScanRange is a scan that goes on behind values that cannot be read: for those fn has what is
// wrong in place of the value.
func ScanRange(s runtime.Store, from, to []byte, fn func(key, value []byte, damage error) error) error {
	for {
		var own error
		err := s.Scan(from, to, func(k, v []byte) error {
			own = fn(k, v, nil)
			return own
		})
		var d *runtime.DamagedValue
		if own != nil || !errors.As(err, &d) {
			return err
		}
		if err := fn(d.Key, nil, d); errors.Is(err, runtime.ErrStopScan) {
			return nil
		} else if err != nil {
			return err
		}
		from = append(bytes.Clone(d.Key), 0)
	}
}

// ScanEach is scanRange for each key with the prefix, handing fn the rest of the key.
func ScanEach(s runtime.Store, prefix string, fn func(rest string, value []byte, damage error) error) error {
	return ScanRange(s, []byte(prefix), AfterPrefix([]byte(prefix)), func(k, v []byte, damage error) error { return fn(string(k[len(prefix):]), v, damage) })
}

// ScanWhole passes over the values that cannot be read: who needs them all finds that one is
// missing.
func ScanWhole(s runtime.Store, prefix string, fn func(rest string, value []byte) error) error {
	return ScanEach(s, prefix, func(rest string, v []byte, damage error) error {
		if damage != nil {
			return nil
		}
		return fn(rest, v)
	})
}

// Scan calls fn for each key with the prefix, handing it the rest of the key.
func Scan(s runtime.Store, prefix string, fn func(rest string, value []byte) error) error {
	return s.Scan([]byte(prefix), AfterPrefix([]byte(prefix)), func(k, v []byte) error { return fn(string(k[len(prefix):]), v) })
}
