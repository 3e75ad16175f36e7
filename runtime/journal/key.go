package journal

import (
	"encoding/binary"
	"time"
)

// InboxKey is the row of an open gate.
func InboxKey(run, gate string) []byte { return []byte(PrefixInbox + run + "/" + gate) }

// WorkKey is the row of work that somebody comes for.
func WorkKey(run, step string) []byte { return []byte(PrefixWork + run + "/" + step) }

// ChildKey is the row that says which run a step, RUN@STEP, has started.
func ChildKey(parent string) []byte { return []byte(PrefixChild + parent) }

// OrphanKey is the row of the child run of a step that does not wait for it any more.
func OrphanKey(run, step string) []byte { return []byte(PrefixOrphan + run + "@" + step) }

// LiveKey is the entry of a run that has not ended, the newest first.
func LiveKey(started time.Time, run string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte(PrefixLive), ^uint64(started.UnixMicro())), run...)
}

// OpenKey is the entry of an open gate, the oldest first. Its value is whom the gate asks.
func OpenKey(opened time.Time, run, gate string) []byte {
	return append(AppendMicros([]byte(PrefixOpen), opened), run+"/"+gate...)
}

// DecidedKey is the entry of a decision, the newest first. One gate may be decided again, as the
// question of an uncertain step is, but never twice in one microsecond, the unit of at: a commit
// lies between, and takes longer. If a clock that was set back should ever hit the same one, lists
// of all runs show the later decision only; the journal, and lists of its run, have both.
func DecidedKey(at time.Time, run, gate string) []byte {
	return append(CountedDown(at), run+"/"+gate...)
}

// CountedDown begins the keys of decisions of a time. There are none of before 1970.
func CountedDown(at time.Time) []byte {
	return binary.BigEndian.AppendUint64([]byte(PrefixDecided), ^uint64(max(0, at.UnixMicro())))
}

// ItemKey is the row of an item, that lies in the queue or is parked by the prefix.
func ItemKey(prefix, queue string, id uint64) []byte { return SeqKey(prefix, queue+"/", id) }

// UniqueKey is the row that has the number of the item that was pushed under a key.
func UniqueKey(queue, key string) []byte { return []byte(PrefixUnique + queue + "/" + key) }
