package badger

import (
	"encoding/binary"

	"starling/runtime"
)

// The keys that belong to the store. Each begins with a zero byte, which no key of the runtime may;
// numbers are big-endian.
//
//	key           value                              written
//	00 'i'        store id, 16 bytes                 once, when the store is made
//	00 'f'        u32 layout version                 once, when the store is made
//	00 'e'        u64 epoch                          by each open for writing
//	00 's'        u64 first, u64 last batch number   by each transaction: which batches it holds
//	00 'r' RUN    u64 where the run stands, head     by each batch with a fence for RUN; not there where it stands at 0
//
// Because a transaction says where it begins as well as where it ends, a hole in a log shows even
// when later records were read.
const (
	tagID       = 'i'
	tagFormat   = 'f'
	tagEpoch    = 'e'
	tagSequence = 's'
	tagRun      = 'r'
)

// badgersOwn begins Badger's own keys, which no batch may write either.
const badgersOwn = "!badger!"

// firstKey is the first key behind the store's own.
const firstKey = "\x01"

func ownKey(tag byte) []byte { return []byte{0, tag} }

func fenceKey(run string) []byte {
	k := make([]byte, 0, 2+len(run))
	return append(append(k, 0, tagRun), run...)
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// numberOf reads a number that was written whole; anything else reads as zero.
func numberOf(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// standing is where a run stands, and its head, as the store has them; nil for one that is
// forgotten.
func standing(f runtime.Fence) []byte {
	if f.Next == 0 {
		return nil
	}
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(f.Head)), f.Next), f.Head...)
}

// standingOf reads them; a run that was never seen stands at 0.
func standingOf(b []byte) (at uint64, head []byte) {
	if len(b) < 8 {
		return 0, nil
	}
	if len(b) > 8 {
		head = b[8:]
	}
	return binary.BigEndian.Uint64(b), head
}

// span is the range of batch numbers in one transaction.
type span struct{ first, last uint64 }

func (s span) bytes() []byte {
	return binary.BigEndian.AppendUint64(number(s.first), s.last)
}

func spanOf(b []byte) (span, bool) {
	if len(b) != 16 {
		return span{}, false
	}
	return span{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, true
}
