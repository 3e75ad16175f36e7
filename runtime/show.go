package runtime

import (
	"context"
	"encoding/json"

	"starling/lang/effect"
)

// Get returns one run as the store has it.
func (r *reader) Get(_ context.Context, address string) (*Run, error) {
	id, err := r.resolveRun(address)
	if err != nil {
		return nil, err
	}
	sv, err := readRun(r.store, id, 0)
	if err != nil {
		return nil, err
	}
	s := sv.fold()
	run := &Run{Schema: Schema, ID: id, Status: s.Status, Script: s.Script, Inputs: jsonOfPayload(s.Inputs), Output: []byte("null"), Error: runError(s.Err)}
	if s.Status == Completed {
		run.Output = jsonOfPayload(s.Output)
	}
	if run.Gates, err = r.gatesOf(id, "", s); err != nil {
		return nil, err
	}
	run.Details, err = r.details(s)
	return run, err
}

func jsonOfPayload(p effect.Payload) json.RawMessage {
	v, err := p.Value()
	if err != nil {
		return []byte("null")
	}
	return jsonOf(v)
}

func runError(err *effect.Error) *RunError {
	if err == nil {
		return nil
	}
	e := &RunError{Kind: string(err.Kind), Message: err.Message, Where: err.Where, Backtrace: err.Backtrace}
	if len(err.Data) > 0 {
		e.Data = jsonOfPayload(err.Data)
	}
	return e
}

// gatesOf lists the open gates of a run and of its child runs, whose addresses begin with the steps that started them.
func (r *reader) gatesOf(top, path string, s *state) ([]Gate, error) {
	out := []Gate{}
	for _, g := range s.openGates() {
		v, err := g.payload().View()
		if err != nil {
			return nil, err
		}
		out = append(out, gateDocument(top, path+g.Name, g.OpenedAt, v))
	}
	for _, st := range s.inOrder() {
		if st.Kind != kindRun {
			continue
		}
		child := r.childOf(s.ID, st.Step)
		if child == "" {
			continue
		}
		sv, err := readRun(r.store, child, 0)
		if err != nil {
			return nil, err
		}
		inner, err := r.gatesOf(top, path+st.Step+"/", sv.fold())
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// details tells what show adds. Steps come from the whole journal: the state forgets what is settled.
func (r *reader) details(s *state) (*Details, error) {
	d := &Details{Program: s.Program, StartedBy: s.By, StartedAt: s.Started, UpdatedAt: s.Updated, Seq: s.Seq, Carried: r.carried(s.ID), InFlight: s.inFlight(),
		Parent: s.Parent, Session: s.Session, Steps: []Step{}}
	if due := s.nextDue(); !due.IsZero() {
		d.NextDue = &due
	}
	if b, err := r.blob(s.Settings); err == nil {
		if v, err := effect.Payload(b).View(); err == nil {
			d.Workspace, d.Env = v.Text("workspace"), v.Texts("env")
		}
	}
	at := map[string]int{}
	err := r.journal(s.ID, 0, func(rec *Record) error {
		d.step(at, rec)
		return nil
	})
	return d, err
}

// step folds one record into the list of steps.
func (d *Details) step(at map[string]int, r *Record) {
	if r.Type == StepRequested || r.Type == StepAnswered {
		v := r.view()
		st := Step{Step: r.Step, Kind: v.Text("kind"), Status: "waiting", StartedAt: r.Time}
		if r.Type == StepAnswered {
			st.Status, st.EndedAt = "ok", &r.Time
		}
		at[r.Step] = len(d.Steps)
		d.Steps = append(d.Steps, st)
		return
	}
	i, ok := at[r.Step]
	if !ok {
		return
	}
	st := &d.Steps[i]
	end := r.Time
	switch r.Type {
	case AttemptStarted:
		st.Status = "running"
		st.Attempts++
	case AttemptEnded:
		st.Status = "waiting"
	case StepSettled:
		st.Status, st.EndedAt = "ok", &end
		if r.view().Has("error") {
			st.Status = "error"
		}
	case StepWithdrawn:
		st.Status, st.EndedAt = "withdrawn", &end
	}
}
