package run

import (
	"encoding/binary"
)

// When a checkpoint is taken: at rest when it is small, and to be kept when replaying the journal since the last one that is kept would cost too much. What is too much grows
// with the size of a checkpoint, so that a run with a large heap does not write it down again for every little step.
const (
	maxTailBytes   = 64 << 10
	maxTailRecords = 2000
	maxTailSteps   = 20_000_000
	bytesPerRecord = 100 // of a checkpoint, that cost as much to write as a record to replay
)

// Tail measures the journal since the newest checkpoint that is kept. A head has it beside state and machine.
type Tail struct {
	Records int
	Bytes   int
	Steps   uint64 // of the machine when that was taken
	Size    int    // bytes of the newest checkpoint of all; a head does not say its own
}

func (l *Tail) blob() []byte {
	var b []byte
	for _, n := range []uint64{uint64(l.Records), uint64(l.Bytes), l.Steps} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func tailOf(b []byte) Tail {
	var of [3]uint64
	for i := range of {
		n, w := binary.Uvarint(b)
		of[i], b = n, b[max(w, 0):]
	}
	return Tail{Records: int(of[0]), Bytes: int(of[1]), Steps: of[2]}
}

// Long tells whether replaying the tail would cost too much.
func (l Tail) Long(steps uint64) bool {
	return l.Bytes > max(maxTailBytes, l.Size) || l.Records > max(maxTailRecords, l.Size/bytesPerRecord) || steps-l.Steps > maxTailSteps
}
