package run

import (
	"errors"
	"fmt"
	"time"

	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// Rehearse replays a journal with nobody watching: the machine that it gives is thrown away, or used by who asked.
func Rehearse(h *Host, records []journal.Record, now time.Time, ends bool) (*replayer, error) {
	r := &replayer{h: h, s: NewState(h.Run), records: records, now: now, ends: ends}
	if err := r.replay(nil); err != nil {
		return nil, err
	}
	rest, err := r.rest()
	if err == nil && rest == nil && !r.s.Status.Ended() && r.m != nil {
		err = r.goesOn()
	}
	return r, err
}

// goesOn wants a machine that has not ended where the journal has not.
func (r *replayer) goesOn() error {
	end, ended := map[vm.Status]journal.RecordType{vm.Done: journal.RunCompleted, vm.Failed: journal.RunFailed}[r.stop.Status]
	if !ended {
		return nil
	}
	return &runtime.Divergence{Run: r.s.ID, Seq: r.s.Seq + 1, Got: runtime.Emission{What: end.String()}, Want: runtime.Emission{What: "the end of the journal"}}
}

// Diverged makes a refusal of a divergence.
func Diverged(err error) error {
	d, ok := err.(*runtime.Divergence)
	if !ok {
		return err
	}
	return runtime.Refusef(runtime.ErrDiverged, "%v", d).WithData(d)
}

// Replayed tells of a run that was executed again without a difference.
func Replayed(h *Host, s *State, records []journal.Record) *runtime.Replayed {
	d := &runtime.Replayed{Schema: runtime.Schema, Run: s.ID, Status: s.Status, Records: len(records), Program: fmt.Sprintf("%x", h.Program.Code.Hash)}
	var content []byte
	for i := range records {
		content = journal.Append(content, &records[i])
		if records[i].Type == journal.StepRequested {
			d.Steps++
		}
	}
	d.Journal = journal.HashOf(content)
	return d
}

// InOrigin tells of a divergence in the numbers of the original's journal.
func InOrigin(err error, origin string, numbers []uint64) error {
	var d *runtime.Divergence
	if errors.As(err, &d) && int(d.Seq) <= len(numbers) {
		d.Run, d.Seq = origin, numbers[d.Seq-1]
	}
	return err
}

// Descend is the start of a run that is made of this one.
func (s *State) Descend(l *runtime.Lineage, inputs effect.Payload, deadline time.Time, by string) effect.Payload {
	var b effect.Object
	return b.Text("script", s.Script).Text("bundle", s.Bundle).Text("program", s.Program).Text("settings", s.Settings).Raw("inputs", inputs).Text("by", by).
		Int("behaviour", int64(s.Behaviour)).Int("deadline", journal.Micros(deadline)).Text("overtime", string(s.Overtime)).Raw("lineage", journal.LineagePayload(l)).Payload()
}
