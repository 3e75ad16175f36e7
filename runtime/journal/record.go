package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
)

// A Record is one entry of a run's journal: something that happened, never changed afterwards.
//
// Records are dense: each has the sequence number after its predecessor's. The records of one
// commit are one value in the store: a checksum and a sequence of
//
//	type byte · uvarint microseconds since 1970 · uvarint length, step address · uvarint length, data (a dict as effect.Payload)
//
// and the key holds the number of the first (layout.go).
type Record struct {
	Seq  uint64
	Time time.Time
	Type RecordType
	Step string // address of the step or gate concerned, "" for the run itself
	Data effect.Payload
}

// RecordType says what happened. The numbers are on disk: new types go at the end.
type RecordType uint8

// The record types. History feeds replay; agent.event and attempt records are never read by the
// machine.
const (
	RunStarted RecordType = iota
	RunSuspended
	RunResumed
	RunCompleted
	RunFailed
	RunCancelled
	StepRequested
	StepSettled
	StepWithdrawn
	StepAnswered
	AttemptStarted
	AttemptEnded
	AttemptRefused
	GateOpened
	GateDecided
	GateWithdrawn
	SignalAccepted
	SignalRefused
	TimerSet
	TimerFired
	OutputPrint
	OutputLog
	OutputEmit
	AgentEvent
	VerdictGiven
	ChunkAppended
	ChunkEnded
	RunPinned
	GateEscalated
	AttemptSkipped
	RunMoved
	StepRecalled
	WorkOffered
	Intervened
	SteerHeard
	NoticeSent
	NoticeWithdrawn
	StepResolved
	MemoryChanged // by an agent; what a script changes is in step.answered
	ChunkInterrupted
	BranchFailed // the step is that of Within
)

var recordNames = [...]string{"run.started", "run.suspended", "run.resumed", "run.completed", "run.failed", "run.cancelled",
	"step.requested", "step.settled", "step.withdrawn", "step.answered", "attempt.started", "attempt.ended", "attempt.refused",
	"gate.opened", "gate.decided", "gate.withdrawn", "signal.accepted", "signal.refused", "timer.set", "timer.fired",
	"output.print", "output.log", "output.emit", "agent.event", "verdict.given", "chunk.appended", "chunk.ended", "run.pinned",
	"gate.escalated", "attempt.skipped", "run.moved", "step.recalled", "work.offered", "agent.intervened", "steer.heard", "notice.sent", "notice.withdrawn",
	"step.resolved", "memory.changed", "chunk.interrupted", "branch.failed"}

// String is the type as documents have it.
func (t RecordType) String() string {
	if int(t) < len(recordNames) {
		return recordNames[t]
	}
	return fmt.Sprintf("record %d", uint8(t))
}

// The value of one commit begins with the CRC-32C of the rest, so that a flipped byte is noticed
// also where no machine looks.
const ChecksumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal fills in the checksum of a value.
func Seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[ChecksumSize:], castagnoli))
	return b
}

// Open checks the checksum of a value and gives the rest.
func Open(b []byte) ([]byte, error) {
	if len(b) < ChecksumSize || binary.BigEndian.Uint32(b) != crc32.Checksum(b[ChecksumSize:], castagnoli) {
		return nil, fmt.Errorf("%w: a value has another checksum than when it was written", runtime.ErrDamaged)
	}
	return b[ChecksumSize:], nil
}

// SealAll is the value of one commit, which has these records.
func SealAll(records []Record) []byte {
	size := 0
	for i := range records {
		size += len(records[i].Data)
	}
	value := make([]byte, ChecksumSize, size+64*len(records))
	for i := range records {
		value = Append(value, &records[i])
	}
	return Seal(value)
}

// Unseal reads the records of one commit, the first of which has the number seq.
func Unseal(b []byte, seq uint64) ([]Record, error) {
	b, err := Open(b)
	if err != nil {
		return nil, fmt.Errorf("journal from record %d on: %w", seq, err)
	}
	return ReadAll(b, seq)
}

// Append appends the bytes of one record.
func Append(b []byte, r *Record) []byte {
	b = append(b, byte(r.Type))
	b = binary.AppendUvarint(b, uint64(r.Time.UnixMicro()))
	b = binary.AppendUvarint(b, uint64(len(r.Step)))
	b = append(b, r.Step...)
	b = binary.AppendUvarint(b, uint64(len(r.Data)))
	return append(b, r.Data...)
}

// ReadAll reads the records of one commit, the first of which has the number seq.
func ReadAll(b []byte, seq uint64) (out []Record, err error) {
	for len(b) > 0 {
		var r Record
		if r, b, err = Read(b, seq); err != nil {
			return nil, err
		}
		out = append(out, r)
		seq++
	}
	return out, nil
}

// Read reads one record and returns what follows it.
func Read(b []byte, seq uint64) (Record, []byte, error) {
	bad := func(what string) (Record, []byte, error) {
		return Record{}, nil, fmt.Errorf("%w: record %d: %s", runtime.ErrDamaged, seq, what)
	}
	if len(b) == 0 {
		return bad("it is empty")
	}
	r := Record{Seq: seq, Type: RecordType(b[0])}
	if int(r.Type) >= len(recordNames) {
		return bad(fmt.Sprintf("it has the unknown type %d", b[0]))
	}
	micros, w := binary.Uvarint(b[1:])
	if w <= 0 {
		return bad("malformed time")
	}
	r.Time = time.UnixMicro(int64(micros)).UTC()
	step, rest, ok := CutBytes(b[1+w:])
	if !ok {
		return bad("malformed step")
	}
	data, rest, ok := CutBytes(rest)
	if !ok {
		return bad("malformed data")
	}
	r.Step, r.Data = string(step), append(effect.Payload(nil), data...)
	return r, rest, nil
}

// Size is how many bytes the first of some records has, 0 if it is malformed.
func Size(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	_, w := binary.Uvarint(b[1:])
	if w <= 0 {
		return 0
	}
	_, rest, ok := CutBytes(b[1+w:])
	if ok {
		_, rest, ok = CutBytes(rest)
	}
	if !ok {
		return 0
	}
	return len(b) - len(rest)
}

// CutBytes takes bytes apart that begin with their length; ok is false where they are shorter than
// that.
func CutBytes(b []byte) (head, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, false
	}
	return b[w : w+int(n)], b[w+int(n):], true
}

// View reads the record's data. A record that this process wrote always has a readable one; damaged
// bytes read as an empty dict.
func (r *Record) View() effect.View {
	v, _ := r.Data.View()
	return v
}

// Event is the record as clients see it.
func (r *Record) Event(run string) runtime.Event {
	ev := runtime.Event{Seq: r.Seq, Time: r.Time, Run: run, Branch: BranchOf(r.Step), Step: r.Step, Type: r.Type.String(), Data: []byte("{}")}
	if r.Step == Within(ev.Branch) {
		ev.Step = ""
	}
	if len(r.Data) > 0 {
		if v, err := r.Data.Value(); err == nil {
			if r.Type == RunStarted {
				showHashes(v)
			}
			if text, err := contract.Readable(namingSecrets(v)); err == nil {
				ev.Data = text
			}
		}
	}
	return ev
}

// namingSecrets is a fresh value with the names of secrets in place of the references, which have
// no JSON.
func namingSecrets(v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case *effect.Secret:
		return starlark.String(v.String())
	case *starlark.Dict:
		for _, kv := range v.Items() {
			_ = v.SetKey(kv[0], namingSecrets(kv[1])) // a fresh dict that has the key
		}
	case *starlark.List:
		for i := range v.Len() {
			_ = v.SetIndex(i, namingSecrets(v.Index(i)))
		}
	}
	return v
}

// showHashes puts hashes as text in place of their bytes.
func showHashes(v starlark.Value) {
	d, ok := v.(*starlark.Dict)
	if !ok {
		return
	}
	for _, field := range []string{"bundle", "program", "settings"} {
		key := starlark.String(field)
		if b, _, _ := d.Get(key); b != nil && b.Type() == "bytes" {
			_ = d.SetKey(key, starlark.String(HashIn(effect.ViewOf(d), field))) // a fresh dict
		}
	}
}

// BranchOf is the branch of a step address: all before the last slash.
func BranchOf(step string) string {
	if i := strings.LastIndexByte(step, '/'); i >= 0 {
		return step[:i]
	}
	return ""
}

// Within is what stands in place of a step where a branch says something: its address with a slash,
// and nothing for the run's own.
func Within(branch string) string {
	if branch == "" {
		return ""
	}
	return branch + "/"
}

// EndsRun tells whether a record is the end of its run.
func EndsRun(r *Record) bool {
	return r.Type == RunCompleted || r.Type == RunFailed || r.Type == RunCancelled
}
