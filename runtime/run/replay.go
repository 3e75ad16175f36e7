package run

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// Replay brings a machine from its snapshot, or from nothing, to where the journal ends. Records
// that brought something in (an outcome, an event, a chunk) are given to the machine in order; what
// the machine then asks and says must be what the journal holds, one by one. Answers are read ahead
// from the journal. A difference means that the machine is not the function of its inputs that law
// 1 says it is: it is reported with both sides, and nothing goes on.

// errBadSnapshot: the machine's part of a checkpoint cannot be used; the journal can.
var errBadSnapshot = errors.New("the snapshot cannot be used")

// replayer feeds a machine from a journal.
type replayer struct {
	h       *Host
	s       *State
	m       *vm.Machine
	began   uint64 // steps of the machine that it was restored with
	records []journal.Record
	next    int           // the record that is taken next
	answer  int           // where to look for the next answer
	said    []vm.Emission // emitted and not yet matched with a record
	stop    vm.Stop       // how the newest slice ended
	now     time.Time     // of answers beyond the end of a journal that was cut
	watched string        // the branch whose failure is looked at, "" for none
	ends    bool          // how the run, its chunks and its branches ended is compared too
}

// Rebuilt is a run brought back: its state as the newest record left it, and its machine.
type Rebuilt struct {
	Machine *vm.Machine
	Began   uint64   // steps of the machine that it was restored with
	Rest    *vm.Stop // of the machine's slice, where the journal was cut out of another; nil where nothing is left
}

// Rebuild makes the machine of a run from its snapshot, nil without one, and brings the state up to
// the newest of the records behind it. Where the journal was cut out of another the machine has
// said more than it holds; now is the time of what it says there.
func (h *Host) Rebuild(s *State, machine []byte, records []journal.Record, now time.Time) (Rebuilt, error) {
	r := &replayer{h: h, s: s, records: records, now: now}
	if err := r.replay(machine); err != nil {
		return Rebuilt{}, err
	}
	rest, err := r.rest()
	return Rebuilt{Machine: r.m, Began: r.began, Rest: rest}, err
}

// replay takes all records.
func (r *replayer) replay(machine []byte) error {
	if r.s.Seq > 0 {
		if err := r.restore(machine); err != nil {
			return err
		}
	}
	for r.next < len(r.records) {
		if err := r.replayRecord(); err != nil {
			return err
		}
	}
	return nil
}

// restore begins with the machine of a checkpoint.
func (r *replayer) restore(machine []byte) error {
	m, err := r.h.Program.Image.Restore(machine, r.h.MacKey)
	if err != nil {
		return fmt.Errorf("%w: %v", errBadSnapshot, err)
	}
	m.SetLimits(r.h.Limits())
	r.m, r.began = m, m.Steps()
	return r.goOn()
}

// rest is what the machine has said beyond the end of the journal.
func (r *replayer) rest() (*vm.Stop, error) {
	if len(r.said) == 0 {
		return nil, nil
	}
	if !r.cut() {
		return nil, &runtime.Divergence{Run: r.s.ID, Seq: r.s.Seq + 1, Got: said(&r.said[0]), Want: runtime.Emission{What: "the end of the journal"}}
	}
	rest := r.stop
	rest.Emissions = r.said
	return &rest, nil
}

// cut tells whether the journal ends where it was cut out of another.
func (r *replayer) cut() bool {
	n := len(r.records)
	return n > 0 && r.s.Lineage != nil && r.records[n-1].Seq == r.s.Lineage.Copied
}

// replayRecord takes one record.
func (r *replayer) replayRecord() error {
	rec := &r.records[r.next]
	r.next++
	r.s.Apply(rec)
	if saysSo(rec) {
		return r.match(rec)
	}
	r.answer = max(r.answer, r.next)
	switch rec.Type {
	case journal.RunStarted:
		m, err := r.h.start(r.s)
		if err != nil {
			return err
		}
		r.m = m
		m.Watch(r.watched)
		return r.run()
	case journal.StepSettled:
		v := rec.View()
		r.m.Settle(rec.Step, effect.Outcome{Value: v.Raw("value"), Err: effect.ErrorOf(v.Sub("error"))})
		return r.run()
	case journal.AgentEvent:
		if v := rec.View(); v.Flag("heard") {
			r.m.Event(rec.Step, v.Raw("event"))
			return r.run()
		}
	case journal.ChunkAppended:
		code, err := r.h.compileChunk(r.m, rec.View().Blob("bundle"))
		if err != nil {
			return err
		}
		if err := r.h.appendChunk(r.m, code); err != nil {
			r.stop = vm.Stop{Status: vm.Idle, Err: scriptError(err)}
			return nil // it could not be loaded then either: chunk.ended says so
		}
		return r.run()
	case journal.ChunkInterrupted:
		r.stop = r.m.Interrupt()
		r.said = append(r.said, r.stop.Emissions...)
	case journal.RunCompleted, journal.RunFailed, journal.ChunkEnded:
		if r.ends {
			return r.ended(rec)
		}
	}
	return nil
}

// ended holds the end of a run, or of a chunk, against that of the machine. A run may also fail for
// reasons that its machine knows nothing of.
func (r *replayer) ended(rec *journal.Record) error {
	got, data := "nothing", effect.Payload(nil)
	switch r.stop.Status {
	case vm.Done:
		out, err := effect.EncodeOutput(r.stop.Value)
		got, data = journal.RunCompleted.String(), out
		if err != nil {
			got, data = journal.RunFailed.String(), effect.Errorf(effect.KindScript, "the run's output: %v", err).Payload()
		}
	case vm.Failed:
		got, data = journal.RunFailed.String(), r.stop.Err.Payload()
	case vm.Idle:
		got, data = journal.ChunkEnded.String(), chunkPayload(r.stop)
	}
	if rec.Type == journal.RunFailed && got == "nothing" {
		return nil
	}
	want := map[journal.RecordType]effect.Payload{journal.RunCompleted: rec.View().Raw("output"), journal.RunFailed: rec.View().Raw("error"), journal.ChunkEnded: rec.Data}[rec.Type]
	if got == rec.Type.String() && bytes.Equal(data, want) {
		return nil
	}
	return r.diverges(rec, runtime.Emission{What: got, Data: journal.JSONOfPayload(data)}, runtime.Emission{What: rec.Type.String(), Data: journal.JSONOfPayload(want)})
}

func (r *replayer) diverges(rec *journal.Record, got, want runtime.Emission) error {
	return &runtime.Divergence{Run: r.s.ID, Seq: rec.Seq, Got: got, Want: want}
}

// run lets the machine go on from what it was given to its next stop.
func (r *replayer) run() error {
	if err := r.slice(); err != nil {
		return err
	}
	return r.goOn()
}

// goOn lets a machine that has yielded go on as far as the journal tells that it went: until it has
// said all up to the next record that brought something in and, where there is such a record,
// stands still, or has come as far as it was interrupted. At the end of the journal what is left of
// its work is not replay.
func (r *replayer) goOn() error {
	said, next := r.segment()
	steps := ^uint64(0) // no bound
	if next != nil && next.Type == journal.ChunkInterrupted && next.View().Has("steps") {
		steps = uint64(next.View().Int("steps"))
	}
	for r.m.Runnable() && (next != nil && r.m.Steps() < steps || len(r.said) < said) {
		if err := r.slice(); err != nil {
			return err
		}
	}
	return nil
}

// segment counts what the machine said before the next record that brought something in, nil where
// there is none.
func (r *replayer) segment() (said int, next *journal.Record) {
	for i := r.next; i < len(r.records); i++ {
		switch rec := &r.records[i]; {
		case bringsIn(rec):
			return said, rec
		case saysSo(rec):
			said++
		}
	}
	return said, nil
}

// bringsIn tells whether a record gave the machine something.
func bringsIn(r *journal.Record) bool {
	return r.Type == journal.RunStarted || r.Type == journal.StepSettled || r.Type == journal.ChunkAppended || r.Type == journal.ChunkInterrupted || r.Type == journal.AgentEvent && r.View().Flag("heard")
}

// saysSo tells whether a record is what the machine asked or said.
func saysSo(r *journal.Record) bool {
	switch r.Type {
	case journal.StepRequested, journal.StepAnswered, journal.StepWithdrawn, journal.OutputPrint, journal.OutputLog, journal.OutputEmit, journal.VerdictGiven, journal.BranchFailed:
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
	r.stop = stop
	return err
}

// recall finds the recorded answer of a request. Beyond the end of a journal that was cut there is
// none, and it is answered anew.
func (r *replayer) recall(req *effect.Request, failed error) (effect.Outcome, error) {
	asked := runtime.Emission{What: journal.StepAnswered.String() + " " + req.Step, Kind: req.Kind, Where: req.Where}
	for ; failed == nil && r.answer < len(r.records); r.answer++ {
		rec := &r.records[r.answer]
		if rec.Type != journal.StepAnswered {
			continue
		}
		r.answer++
		v := rec.View()
		if rec.Step != req.Step || v.Text("kind") != req.Kind {
			return effect.Outcome{}, r.diverges(rec, asked, recorded(rec))
		}
		o := effect.Outcome{Value: v.Raw("value"), Err: effect.ErrorOf(v.Sub("error"))}
		r.s.memory.observe(req, o)
		return o, nil
	}
	if failed == nil && r.cut() {
		return (&Turn{State: r.s, Host: r.h, Now: r.now}).answer(req), nil
	}
	if failed == nil {
		failed = &runtime.Divergence{Run: r.s.ID, Seq: r.s.Seq + 1, Got: asked, Want: runtime.Emission{What: "the end of the journal"}}
	}
	return effect.Outcome{}, failed
}

// match holds a record against what the machine said.
func (r *replayer) match(rec *journal.Record) error {
	if len(r.said) == 0 {
		return r.diverges(rec, runtime.Emission{What: "nothing"}, recorded(rec))
	}
	e := &r.said[0]
	r.said = r.said[1:]
	got, want := said(e), recorded(rec)
	if e.Kind == vm.Said && rec.Step == "" {
		got.What = want.What // journals did not always name the branch
	}
	if got.What != want.What || got.Kind != want.Kind {
		return r.diverges(rec, got, want)
	}
	switch e.Kind {
	case vm.Said:
		return r.sameBytes(rec, e, e.Request.Args, rec.Data)
	case vm.Requested:
		return r.sameBytes(rec, e, e.Request.Args, rec.View().Raw("args"))
	case vm.BranchFailed:
		if !r.ends { // a later build may word an error otherwise
			return nil
		}
		return r.sameBytes(rec, e, branchPayload(e.Outcome.Err), rec.Data)
	}
	return nil
}

func (r *replayer) sameBytes(rec *journal.Record, e *vm.Emission, got, want effect.Payload) error {
	if bytes.Equal(got, want) {
		return nil
	}
	return r.diverges(rec, said(e), recorded(rec))
}

// said is what a machine emitted, as its record would have it.
func said(e *vm.Emission) runtime.Emission {
	typ := map[vm.EmissionKind]journal.RecordType{vm.Answered: journal.StepAnswered, vm.Requested: journal.StepRequested, vm.Withdrawn: journal.StepWithdrawn, vm.Ruled: journal.VerdictGiven, vm.BranchFailed: journal.BranchFailed}[e.Kind]
	step := e.Step
	switch e.Kind {
	case vm.Said:
		typ, step = outputTypes[e.Request.Kind], journal.Within(e.Request.Branch)
	case vm.BranchFailed:
		step = journal.Within(e.Step)
	}
	s := runtime.Emission{What: describe(typ, step)}
	if e.Kind == vm.BranchFailed {
		s.Data = journal.JSONOfPayload(branchPayload(e.Outcome.Err))
	}
	if e.Kind == vm.Requested || e.Kind == vm.Said {
		s.Where, s.Data = e.Request.Where, journal.JSONOfPayload(e.Request.Args)
	}
	if e.Kind == vm.Requested || e.Kind == vm.Answered {
		s.Kind = e.Request.Kind
	}
	return s
}

// recorded is what a record has.
func recorded(rec *journal.Record) runtime.Emission {
	s, v := runtime.Emission{What: describe(rec.Type, rec.Step)}, rec.View()
	switch rec.Type {
	case journal.StepRequested:
		s.Kind, s.Where, s.Data = v.Text("kind"), v.Text("where"), journal.JSONOfPayload(v.Raw("args"))
	case journal.StepAnswered:
		s.Kind = v.Text("kind")
	case journal.OutputPrint, journal.OutputLog, journal.OutputEmit, journal.BranchFailed:
		s.Data = journal.JSONOfPayload(rec.Data)
	}
	return s
}

func describe(typ journal.RecordType, step string) string {
	return strings.TrimSpace(typ.String() + " " + step)
}
