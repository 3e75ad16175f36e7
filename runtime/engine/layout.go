package engine

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

// The keys of a store. Text is as written, numbers are big-endian so that byte order is their order; RUN is a run's 12-letter id.
//
//	r/RUN                        summary of a run: all that a list shows (summary.go)
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
//	z/RUN@STEP                   an orphan: the child run of a step that does not wait for it any more, and has not been seen to end (orphan.go)
//	q/RUN                        recoveries since the run last committed
//	x/BACKEND                    circuit breaker of a backend that has failed (breaker.go)
//	B/DAY/BUDGET/RUN             what a run has spent on a day under a daily budget (ledger.go)
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
//	t/NAME                       a token: capabilities, and what recognises its secret (token.go)
//	e/FOLDER                     what is trusted of a project (trust.go)
//	m/mac                        secret of this store from which snapshot MACs are made
//	m/index                      which owner has kept e/ (index.go)
//	m/garbage                    something was dropped, and contents may be there that nothing names (contents.go)
//
// A run's earliest timer is in its row. There is no row for each: an engine that is to fire them has the rows of the runs that it carries.
const (
	prefixRun        = "r/"
	prefixJournal    = "j/"
	prefixCheckpoint = "s/"
	prefixHorizon    = "h/"
	prefixKeyframe   = "f/"
	prefixGate       = "g/"
	prefixInbox      = "i/"
	prefixKey        = "k/"
	prefixStartKey   = "n/"
	prefixChild      = "c/"
	prefixOrder      = "o/"
	prefixLive       = "e/r"
	prefixOpen       = "e/g"
	prefixDecided    = "e/d"
	prefixOrphan     = "z/"
	prefixRecovery   = "q/"
	prefixBreaker    = "x/"
	prefixSpent      = "B/"
	prefixWork       = "w/"
	prefixNotice     = "y/"
	prefixQueue      = "l/"
	prefixParked     = "p/"
	prefixUnique     = "u/"
	prefixProject    = "v/"
	prefixBlob       = "b/"
	prefixDefinition = "d/"
	prefixStaged     = "a/"
	prefixToken      = "t/"
	prefixTrust      = "e/"
	keyMAC           = "m/mac"
	keyIndex         = "m/index"
	keyGarbage       = "m/garbage"
)

func runKey(run string) []byte { return []byte(prefixRun + run) }

func seqKey(prefix, run string, seq uint64) []byte {
	k := make([]byte, 0, len(prefix)+len(run)+8)
	k = append(k, prefix...)
	k = append(k, run...)
	return binary.BigEndian.AppendUint64(k, seq)
}

func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

func orderKey(started time.Time, run string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte(prefixOrder), ^uint64(started.UnixMicro())), run...)
}

func appendMicros(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixMicro()))
}

// afterPrefix is the first key behind all keys with the prefix.
func afterPrefix(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// hashOf is the content address of bytes.
func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// bytesOf is a hash as the first record of a run has it: half as long as its text.
func bytesOf(hash string) []byte {
	b, _ := hex.DecodeString(hash) // hashOf made it
	return b
}

// hashIn reads a hash from the first record of a run, which had them as text at first.
func hashIn(v effect.View, field string) string {
	if text := v.Text(field); text != "" {
		return text
	}
	return hex.EncodeToString(v.Blob(field))
}

// scanRange is a scan that goes on behind values that cannot be read: for those fn has what is wrong in place of the value.
func scanRange(s runtime.Store, from, to []byte, fn func(key, value []byte, damage error) error) error {
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

// scanEach is scanRange for each key with the prefix, handing fn the rest of the key.
func scanEach(s runtime.Store, prefix string, fn func(rest string, value []byte, damage error) error) error {
	return scanRange(s, []byte(prefix), afterPrefix([]byte(prefix)), func(k, v []byte, damage error) error { return fn(string(k[len(prefix):]), v, damage) })
}

// scanWhole passes over the values that cannot be read: who needs them all finds that one is missing.
func scanWhole(s runtime.Store, prefix string, fn func(rest string, value []byte) error) error {
	return scanEach(s, prefix, func(rest string, v []byte, damage error) error {
		if damage != nil {
			return nil
		}
		return fn(rest, v)
	})
}

// scan calls fn for each key with the prefix, handing it the rest of the key.
func scan(s runtime.Store, prefix string, fn func(rest string, value []byte) error) error {
	return s.Scan([]byte(prefix), afterPrefix([]byte(prefix)), func(k, v []byte) error { return fn(string(k[len(prefix):]), v) })
}
