package temporal

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"

	"starling/runtime"
	"starling/runtime/journal"
)

// What a turn leaves is bytes in a history, and stays readable for as long as that is kept:
//
//	version · flags · record · due, microseconds · status ·
//	n, writes: key, 1 or 0, value ·
//	n, orders: kind, step, number, queue, body ·
//	n, answers: index of the letter, body
//
// Numbers are uvarints, texts and bytes begin with their length. A write without a value drops its
// key. The first bytes of a run, with which its workflow is started, have the same form.

// version is the first byte, but of what older builds would misread. An older worker refuses a
// newer one, and waits for its build.
const (
	version       = 1
	versionMoved  = 2 // the first of a history, with orders
	versionPacked = 3 // what follows is one of these, deflated
	versionRests  = 4 // the first of a run that begins with waiting: no worker has anything to begin
)

// packFrom is the size from which what a turn leaves is deflated: what thousands of branches leave
// is much alike.
const packFrom = 64 << 10

// maxUnpacked bounds what is inflated.
const maxUnpacked = 64 << 20

// turned is what a turn leaves.
type turned struct {
	moved   bool // it is the first of a history that goes on from another
	rests   bool // it is the first of a run for which there is nothing to begin
	more    bool // there is more to do, and nothing has to come in for that
	ended   bool // the run has
	seq     uint64
	due     int64 // when the run is to look at its timers, microseconds since 1970, 0 for never
	status  runtime.Status
	writes  []runtime.Write
	orders  []order
	answers []answer
}

// order is something to be begun or ended once the turn is durable.
type order struct {
	kind   orderKind
	step   string
	number uint64 // of the attempt
	queue  string // of the workers that may perform it, "" for those of the run
	body   []byte
}

type orderKind uint64

// The kinds of order.
const (
	orderAttempt orderKind = iota // begin an attempt: its task
	orderAbort                    // end one
	orderSteer                    // end one that goes on with a message
	orderChild                    // start a child run: its id as queue, the first of its history as body
	orderOrphan                   // cancel a child run: its id as queue
	orderParent                   // tell the parent of this run, whose id is queue: a letter
	orderAdopt                    // have the worker whose own queue this is go on with an attempt
	orderAgain                    // begin an attempt that was ordered, and begun by nobody, in the history before
	orderLetter                   // take a letter that had come to the history before
)

// answer is what a letter is answered; nil for one of which nobody waits for an answer.
type answer struct {
	letter uint64
	body   []byte
}

const (
	flagMore = 1 << iota
	flagEnded
)

func (t *turned) encode() []byte { return squeezed(t.plain()) }

func (t *turned) plain() []byte {
	flags := uint64(0)
	if t.more {
		flags |= flagMore
	}
	if t.ended {
		flags |= flagEnded
	}
	b := packer{version}
	switch {
	case t.moved && len(t.orders) > 0:
		b[0] = versionMoved
	case t.rests:
		b[0] = versionRests
	}
	b.number(flags, t.seq, uint64(t.due))
	b.text(string(t.status))
	b.writes(t.writes)
	b.number(uint64(len(t.orders)))
	for _, o := range t.orders {
		b.number(uint64(o.kind))
		b.text(o.step)
		b.number(o.number)
		b.text(o.queue)
		b.bytes(o.body)
	}
	b.number(uint64(len(t.answers)))
	for _, a := range t.answers {
		b.number(a.letter)
		b.bytes(a.body)
	}
	return b
}

func squeezed(b []byte) []byte {
	if len(b) < packFrom {
		return b
	}
	return deflated(b)
}

func deflated(b []byte) []byte {
	out := bytes.NewBuffer([]byte{versionPacked})
	w, _ := flate.NewWriter(out, flate.BestSpeed) // the level is one
	_, _ = w.Write(b)                             // a buffer takes all
	_ = w.Close()
	return out.Bytes()
}

func decodeTurned(b []byte) (*turned, error) {
	if len(b) > 0 && b[0] == versionPacked {
		inner, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b[1:])), maxUnpacked))
		if err != nil {
			return nil, fmt.Errorf("%w: what a turn has left is not whole", runtime.ErrDamaged)
		}
		b = inner
	}
	if len(b) == 0 || b[0] < version || b[0] > versionRests || b[0] == versionPacked {
		return nil, fmt.Errorf("%w: what a turn has left is not of this version", runtime.ErrNewer)
	}
	u := &unpacker{rest: b[1:]}
	flags := u.number()
	t := &turned{moved: b[0] == versionMoved, rests: b[0] == versionRests, more: flags&flagMore != 0, ended: flags&flagEnded != 0, seq: u.number(), due: int64(u.number()), status: runtime.Status(u.text()), writes: u.writes()}
	for range u.count() {
		t.orders = append(t.orders, order{orderKind(u.number()), u.text(), u.number(), u.text(), u.bytes()})
	}
	for range u.count() {
		t.answers = append(t.answers, answer{u.number(), u.bytes()})
	}
	return t, u.err
}

// packer appends.
type packer []byte

func (p *packer) number(all ...uint64) {
	for _, n := range all {
		*p = binary.AppendUvarint(*p, n)
	}
}

func (p *packer) bytes(b []byte) {
	p.number(uint64(len(b)))
	*p = append(*p, b...)
}

func (p *packer) text(s string) {
	p.number(uint64(len(s)))
	*p = append(*p, s...)
}

func (p *packer) writes(all []runtime.Write) {
	p.number(uint64(len(all)))
	for _, w := range all {
		p.bytes(w.Key)
		if w.Value == nil {
			p.number(0)
		} else {
			p.number(1)
			p.bytes(w.Value)
		}
	}
}

// unpacker takes apart what a packer made. What it cannot read is an error from then on.
type unpacker struct {
	rest []byte
	err  error
}

func (u *unpacker) number() uint64 {
	n, w := binary.Uvarint(u.rest)
	if w <= 0 {
		u.fail()
		return 0
	}
	u.rest = u.rest[w:]
	return n
}

// count is a number of things that are still to come: no more than there are bytes.
func (u *unpacker) count() int {
	n := u.number()
	if n > uint64(len(u.rest)) {
		u.fail()
		return 0
	}
	return int(n)
}

// bytes are never nil.
func (u *unpacker) bytes() []byte {
	b, rest, ok := journal.CutBytes(u.rest)
	if !ok {
		u.fail()
		return []byte{}
	}
	u.rest = rest
	return b[:len(b):len(b)]
}

func (u *unpacker) text() string { return string(u.bytes()) }

func (u *unpacker) writes() (all []runtime.Write) {
	for range u.count() {
		w := runtime.Write{Key: u.bytes()}
		if u.number() == 1 {
			w.Value = u.bytes()
		}
		all = append(all, w)
	}
	return all
}

func (u *unpacker) fail() {
	u.rest = nil
	if u.err == nil {
		u.err = fmt.Errorf("%w: what a turn has left is cut short", runtime.ErrDamaged)
	}
}
