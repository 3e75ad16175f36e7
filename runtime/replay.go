package runtime

import (
	"bytes"
	"errors"
	"fmt"

	"starling/lang/effect"
	"starling/lang/vm"
)

// Replay brings a machine from its snapshot, or from nothing, to where the journal ends. Records that brought something in (an outcome, an event, a
// chunk) are given to the machine in order; what the machine then asks and says must be what the journal holds, one by one. Answers are read ahead from
// the journal. A difference means that the machine is not the function of its inputs that law 1 says it is: it is reported with both sides, and
// nothing goes on.

// errBadSnapshot: the machine's part of a checkpoint cannot be used; the journal can.
var errBadSnapshot = errors.New("the snapshot cannot be used")

// Divergence is a replay that did not say what the journal says.
type Divergence struct {
	Run  string
	Seq  uint64 // the record that differs
	Got  string
	Want string
}

func (d *Divergence) Error() string {
	return fmt.Sprintf("run %s: replay differs from the journal at record %d: got %s, want %s", d.Run, d.Seq, d.Got, d.Want)
}

// replayer feeds a machine from a journal.
type replayer struct {
	h       *host
	s       *state
	m       *vm.Machine
	records []Record
	next    int           // the record that is taken next
	answer  int           // where to look for the next answer
	said    []vm.Emission // emitted and not yet matched with a record
}

// rebuild makes the machine of a run from what was read, and brings the state up to its newest record.
func (h *host) rebuild(sv *saved) (*vm.Machine, error) {
	r := &replayer{h: h, s: sv.state, records: sv.tail}
	if r.s.Seq > 0 {
		m, err := h.program.image.Restore(sv.machine, h.e.macKey)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", errBadSnapshot, err)
		}
		m.SetLimits(h.limits())
		r.m = m
		if err := r.goOn(); err != nil {
			return nil, err
		}
	}
	for r.next < len(r.records) {
		if err := r.take(); err != nil {
			return nil, err
		}
	}
	if len(r.said) > 0 {
		return nil, &Divergence{Run: r.s.ID, Seq: r.s.Seq + 1, Got: describe(&r.said[0]), Want: "the end of the journal"}
	}
	return r.m, nil
}

// take takes one record.
func (r *replayer) take() error {
	rec := &r.records[r.next]
	r.next++
	r.s.apply(rec)
	if rec.says() {
		return r.match(rec)
	}
	r.answer = max(r.answer, r.next)
	switch rec.Type {
	case RunStarted:
		m, err := r.h.start(r.s)
		if err != nil {
			return err
		}
		r.m = m
		return r.run()
	case StepSettled:
		v := rec.view()
		r.m.Settle(rec.Step, effect.Outcome{Value: v.Raw("value"), Err: effect.ErrorOf(v.Sub("error"))})
		return r.run()
	case AgentEvent:
		if v := rec.view(); v.Flag("heard") {
			r.m.Event(rec.Step, v.Raw("event"))
			return r.run()
		}
	case ChunkAppended:
		code, err := r.h.compileChunk(r.m, rec.view().Blob("bundle"))
		if err != nil {
			return err
		}
		if r.h.appendChunk(r.m, code) != nil {
			return nil // it could not be loaded then either: chunk.ended says so
		}
		return r.run()
	}
	return nil
}

// run lets the machine go on from what it was given to its next stop.
func (r *replayer) run() error {
	if err := r.slice(); err != nil {
		return err
	}
	return r.goOn()
}

// goOn lets a machine that has yielded go on as far as the journal tells that it went: until it has said all up to the next record that brought something in
// and, where there is such a record, stands still. At the end of the journal what is left of its work is not replay.
func (r *replayer) goOn() error {
	said, more := r.segment()
	for r.m.Runnable() && (more || len(r.said) < said) {
		if err := r.slice(); err != nil {
			return err
		}
	}
	return nil
}

// segment counts what the machine said before the next record that brought something in, and tells whether there is one.
func (r *replayer) segment() (said int, more bool) {
	for i := r.next; i < len(r.records); i++ {
		switch rec := &r.records[i]; {
		case rec.brings():
			return said, true
		case rec.says():
			said++
		}
	}
	return said, false
}

// brings tells whether a record gave the machine something.
func (r *Record) brings() bool {
	return r.Type == RunStarted || r.Type == StepSettled || r.Type == ChunkAppended || r.Type == AgentEvent && r.view().Flag("heard")
}

// says tells whether a record is what the machine asked or said.
func (r *Record) says() bool {
	switch r.Type {
	case StepRequested, StepAnswered, StepWithdrawn, OutputPrint, OutputLog, OutputEmit, VerdictGiven:
		return true
	}
	return false
}

// slice runs the machine once. Answers are looked for from the record on that is taken next.
func (r *replayer) slice() (err error) {
	stop := r.m.Run(func(req *effect.Request) effect.Outcome {
		var o effect.Outcome
		o, err = r.recall(req, err)
		return o
	})
	r.said = append(r.said, stop.Emissions...)
	return err
}

// recall finds the recorded answer of a request.
func (r *replayer) recall(req *effect.Request, failed error) (effect.Outcome, error) {
	for ; failed == nil && r.answer < len(r.records); r.answer++ {
		rec := &r.records[r.answer]
		if rec.Type != StepAnswered {
			continue
		}
		r.answer++
		v := rec.view()
		if rec.Step != req.Step {
			return effect.Outcome{}, &Divergence{Run: r.s.ID, Seq: rec.Seq, Got: "answer for " + req.Step, Want: "answer for " + rec.Step}
		}
		return effect.Outcome{Value: v.Raw("value"), Err: effect.ErrorOf(v.Sub("error"))}, nil
	}
	if failed == nil {
		failed = &Divergence{Run: r.s.ID, Seq: r.s.Seq, Got: "a question, " + req.Kind + " at " + req.Step, Want: "none"}
	}
	return effect.Outcome{}, failed
}

// match holds a record against what the machine said.
func (r *replayer) match(rec *Record) error {
	if len(r.said) == 0 {
		return &Divergence{Run: r.s.ID, Seq: rec.Seq, Got: "nothing", Want: rec.Type.String() + " " + rec.Step}
	}
	e := &r.said[0]
	r.said = r.said[1:]
	want := rec.Type.String() + " " + rec.Step
	if got := describe(e); got != want {
		return &Divergence{Run: r.s.ID, Seq: rec.Seq, Got: got, Want: want}
	}
	switch e.Kind {
	case vm.Said:
		return r.sameBytes(rec, e.Request.Args, rec.Data)
	case vm.Requested:
		return r.sameBytes(rec, e.Request.Args, rec.view().Raw("args"))
	}
	return nil
}

func (r *replayer) sameBytes(rec *Record, got, want effect.Payload) error {
	if bytes.Equal(got, want) {
		return nil
	}
	return &Divergence{Run: r.s.ID, Seq: rec.Seq, Got: rec.Step + " with " + valueText(got), Want: valueText(want)}
}

func valueText(p effect.Payload) string {
	v, err := p.Value()
	if err != nil {
		return err.Error()
	}
	return v.String()
}

// describe names what a machine emitted as its record would be named.
func describe(e *vm.Emission) string {
	typ := map[vm.EmissionKind]RecordType{vm.Answered: StepAnswered, vm.Requested: StepRequested, vm.Withdrawn: StepWithdrawn, vm.Ruled: VerdictGiven}[e.Kind]
	if e.Kind == vm.Said {
		typ = outputTypes[e.Request.Kind]
	}
	return typ.String() + " " + e.Step
}
