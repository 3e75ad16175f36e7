package run

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// Rehearse replays a journal with nobody watching: the machine that it gives is thrown away, or
// used by who asked.
func Rehearse(h *Host, records []journal.Record, now time.Time, ends bool) (*replayer, error) {
	r := &replayer{h: h, s: NewState(h.Run), records: records, now: now, ends: ends}
	return r, r.rehearse()
}

func (r *replayer) rehearse() error {
	if err := r.replay(nil); err != nil {
		return err
	}
	rest, err := r.rest()
	if err == nil && rest == nil && !r.s.Status.Ended() && r.m != nil {
		err = r.goesOn()
	}
	return err
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
		Int("behaviour", int64(s.Behaviour)).Int("deadline", journal.Micros(deadline)).Text("overtime", string(s.OnDeadline)).Flag("session", s.Session).Raw("lineage", journal.LineagePayload(l)).
		Raw("labels", effect.ReadLabels(s.Labels).Payload()).Payload()
}

// A run that performs one step of another anew (rerun --only) takes the outcomes of all other steps
// from there. They come with it, a record for each, so that it needs nothing of the other run once
// it is made. An outcome is taken where the step is the same: its address, its kind, its arguments.
// Where it is not, a gate asks again, for a question performs nothing, and anything else is
// refused.

// reusedOutcome is the outcome that a step had in another run.
type reusedOutcome struct {
	order   uint64 // in which outcomes became known there
	kind    string
	args    string // hash of the arguments
	outcome effect.Outcome
	changes []effect.Payload // of the run's variables, by the agent of the step
}

func (rc *reusedOutcome) payload() effect.Payload {
	var b effect.Object
	return b.Int("order", int64(rc.order)).Text("kind", rc.kind).Text("args", rc.args).Raw("value", rc.outcome.Value).Raw("error", rc.outcome.Err.Payload()).
		Raws("changes", rc.changes).Payload()
}

func reusedOutcomeOf(v effect.View) *reusedOutcome {
	rc := &reusedOutcome{order: uint64(v.Int("order")), kind: v.Text("kind"), args: v.Text("args"),
		outcome: effect.Outcome{Value: v.Raw("value"), Err: effect.ErrorOf(v.Sub("error"))}}
	if list, ok := v.Value("changes").(*starlark.List); ok {
		for change := range list.Elements() {
			rc.changes = append(rc.changes, effect.MustEncode(change)) // it has been decoded
		}
	}
	return rc
}

// rechange has a step that takes the outcome of another run change the variables as its agent did
// there.
func (s *State) rechange(st *Step) {
	if st == nil || st.Reused == nil {
		return
	}
	for _, change := range st.Reused.changes {
		if v, err := change.View(); err == nil {
			s.memory.change(journal.KindVars, v)
		}
	}
}

// serves tells whether a step may take the outcome.
func (rc *reusedOutcome) serves(st *Step) bool {
	return rc != nil && rc.kind == st.Kind && rc.args == journal.HashOf(st.Args)
}

// reuse notes an outcome. A step that is open already takes it.
func (s *State) reuse(r *journal.Record, v effect.View) {
	rc := reusedOutcomeOf(v)
	put(&s.Reused, r.Step, rc)
	if st := s.Steps[r.Step]; st != nil && rc.serves(st) {
		st.Reused = rc
		delete(s.children, st.Step)
		s.Asks = slices.DeleteFunc(s.Asks, func(other *Step) bool { return other == st })
		s.want(st, false)
		s.takeReused(st)
	}
}

// takeReused puts a step among those that are decided, in the order in which they were in the other
// run.
func (s *State) takeReused(st *Step) {
	i, _ := slices.BinarySearchFunc(s.Decided, st, func(a, b *Step) int { return cmp.Compare(a.reuseOrder(), b.reuseOrder()) })
	s.Decided = slices.Insert(s.Decided, i, st)
}

// reuseOrder is 0 for a step that is decided for another reason: it comes first.
func (st *Step) reuseOrder() uint64 {
	if st.Reused == nil {
		return 0
	}
	return st.Reused.order
}

// cannotReuse refuses to perform what a run that performs only one step has no outcome for.
func (s *State) cannotReuse(r *effect.Request) *effect.Error {
	l := s.Lineage
	if journal.Performs(l, r.Step) || journal.Waits(r.Kind) {
		return nil
	}
	rc := s.Reused[r.Step]
	if rc != nil && rc.kind == r.Kind && rc.args == journal.HashOf(r.Args) {
		return nil
	}
	why := "its request is not the one of run " + l.Run
	if rc == nil {
		why = "run " + l.Run + " has no outcome of it"
	}
	return effect.Errorf(effect.KindRefused, "%s: %s, and only %s is performed here; to go on with all that follows: starling rerun %s --from %s", r.Step, why,
		l.Step, s.ID, shellQuote(r.Step))
}

// resolved completes a request: that of a step which a rerun sets otherwise, with the arguments
// that it sets. Those that are recorded stay the script's.
func (t *Turn) resolved(r *effect.Request) *effect.Error {
	l := t.State.Lineage
	if !setsInput(l, r.Step) {
		return t.Host.resolve(r)
	}
	args := r.Args
	set, err := with(args, l.Changed)
	if err != nil {
		return effect.Errorf(effect.KindRefused, "%s: what is set for it: %v", r.Step, err)
	}
	r.Args = set
	refused := t.Host.resolve(r)
	r.Args = args
	return refused
}

// with replaces fields of a dict.
func with(p, fields effect.Payload) (effect.Payload, error) {
	v, err := p.Value()
	if err != nil {
		return nil, err
	}
	set, err := fields.Value()
	if err != nil {
		return nil, err
	}
	d, ok := v.(*starlark.Dict)
	changes, both := set.(*starlark.Dict)
	if !ok || !both {
		return p, nil
	}
	for key, field := range changes.Entries() {
		_ = d.SetKey(key, field) // a fresh dict and a string key
	}
	return effect.Encode(d)
}

// ReusedRecords are the records that bring the outcomes of a journal to a run that performs only
// one of its steps: those that became known behind the cut.
func ReusedRecords(records []journal.Record, cut uint64, only string) []journal.Record {
	type asked struct{ kind, args string }
	requests := map[string]asked{}
	changed := map[string][]effect.Payload{}
	var out []journal.Record
	for i := range records {
		r := &records[i]
		v := r.View()
		switch r.Type {
		case journal.StepRequested:
			requests[r.Step] = asked{v.Text("kind"), journal.HashOf(v.Raw("args"))}
			continue
		case journal.StepAnswered:
			requests[r.Step] = asked{kind: v.Text("kind")}
		case journal.MemoryChanged:
			if r.Seq >= cut {
				changed[r.Step] = append(changed[r.Step], v.Raw("change"))
			}
			continue
		case journal.StepSettled:
		default:
			continue
		}
		if r.Seq < cut || r.Step == only {
			continue
		}
		q := requests[r.Step]
		rc := reusedOutcome{order: r.Seq, kind: q.kind, args: q.args, outcome: effect.Outcome{Value: v.Raw("value"), Err: effect.ErrorOf(v.Sub("error"))},
			changes: changed[r.Step]}
		out = append(out, journal.Record{Time: r.Time, Type: journal.StepRecalled, Step: r.Step, Data: rc.payload()})
	}
	return out
}

// setsInput tells whether arguments of a step are set otherwise.
func setsInput(l *runtime.Lineage, step string) bool {
	return l != nil && l.Changed != nil && l.Step == step
}
