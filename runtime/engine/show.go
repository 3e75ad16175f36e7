package engine

import (
	"context"
	"errors"

	"starling/lang"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// Get returns one run as the store has it.
func (r *reader) Get(ctx context.Context, address string) (*runtime.Run, error) {
	if err := need(ctx, runtime.CanRead, "see runs"); err != nil {
		return nil, err
	}
	return r.get(address, runtime.CallerOf(ctx).Audience())
}

func (r *reader) get(address string, to contract.Audience) (*runtime.Run, error) {
	id, err := r.resolveRun(address)
	if err != nil {
		return nil, err
	}
	sv, err := readRun(r.store, id, 0)
	if err != nil {
		return nil, err
	}
	return r.document(sv.fold(), sv.begins, to)
}

// document tells of a run as a state has it, whose journal begins behind horizon.
func (r *reader) document(s *run.State, horizon uint64, to contract.Audience) (*runtime.Run, error) {
	id := &runtime.Run{Schema: runtime.Schema, ID: s.ID, Status: s.Status, Script: s.Script, Inputs: journal.JSONOfPayload(s.Inputs), Output: []byte("null"), Error: r.runError(s)}
	if s.Status == runtime.Completed {
		id.Output = journal.JSONOfPayload(s.Output)
	}
	var err error
	if id.Gates, err = r.gatesOf(s.ID, "", s, to); err != nil {
		return nil, err
	}
	for _, st := range s.InOrder() {
		if row := s.WorkRow(st.Step); row != nil {
			v, _ := row.View() // just made
			id.Work = append(id.Work, run.WorkDocument(s.ID, st.Step, v))
		}
		switch st.Kind {
		case journal.KindMailbox:
			args, _ := st.Args.View() // checked when the call was made
			id.Awaits = append(id.Awaits, runtime.Await{Step: st.Step, Message: args.Text("name")})
		case journal.KindQueue:
			id.Awaits = append(id.Awaits, runtime.Await{Step: st.Step, Queue: st.Queue()})
		}
	}
	if s.Status.Ended() {
		if id.Decisions, err = r.decisions(s.ID, to); err != nil {
			return nil, err
		}
	}
	id.Details = r.details(s)
	id.Details.Horizon = horizon
	return id, nil
}

// runError is why a run failed, nil if it has not.
func (r *reader) runError(s *run.State) *runtime.RunError {
	err := s.Err
	if err == nil {
		return nil
	}
	e := &runtime.RunError{Kind: string(err.Kind), Message: err.Message, Where: err.Where, Backtrace: err.Backtrace}
	if len(err.Data) > 0 {
		e.Data = journal.JSONOfPayload(err.Data)
	}
	if err.Where != "" {
		e.Diagnostics = lang.Explain(err, r.sources(s))
	}
	return e
}

// sources are the files that a run is pinned to: its script's and its fake's. What cannot be read
// is left out, because it is wanted to show, not to run.
func (r *reader) sources(s *run.State) []*lang.Module {
	var files []*lang.Module
	add := func(encoded []byte) {
		if b, err := lang.Decode(encoded); err == nil {
			files = append(files, b.Files()...)
		}
	}
	if encoded, err := r.blob(s.Bundle); err == nil {
		add(encoded)
	}
	if set, err := r.settings(s.Settings); err == nil {
		add(set.Fake)
	}
	return files
}

// gatesOf lists the open gates of a run and of its child runs, whose addresses begin with the steps
// that started them.
func (r *reader) gatesOf(top, path string, s *run.State, to contract.Audience) ([]runtime.Gate, error) {
	out := []runtime.Gate{}
	for _, g := range s.OpenGates() {
		v, err := g.Payload().View()
		if err != nil {
			return nil, err
		}
		out = append(out, run.GateDocument(top, path+g.Name, g.OpenedAt, v, to))
	}
	for _, st := range s.InOrder() {
		if st.Kind != journal.KindRun {
			continue
		}
		child := r.childOf(s.ID, st.Step)
		if child == "" {
			continue
		}
		sv, err := readRun(r.store, child, 0)
		if errors.Is(err, runtime.ErrDamaged) {
			continue // it is listed as damaged
		}
		if err != nil {
			return nil, err
		}
		inner, err := r.gatesOf(top, path+st.Step+"/", sv.fold(), to)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// details tells what a run is beside its outcome.
func (r *reader) details(s *run.State) *runtime.Details {
	d := &runtime.Details{Program: s.Program, StartedBy: s.By, StartedAt: s.Started, UpdatedAt: s.Updated, Seq: s.Seq, Carried: r.carried(s.ID), InFlight: s.Flying,
		Parent: s.Parent, Lineage: s.Lineage, Session: s.Session, NeedsMemory: r.needs(s.ID), Labels: effect.ReadLabels(s.Labels)}
	if due := s.NextDue(false); !due.IsZero() {
		d.NextDue = &due
	}
	if s.Imported != nil {
		d.Imported = journal.JSONOfPayload(s.Imported)
	}
	if !s.Deadline.IsZero() {
		d.Deadline = &s.Deadline
	}
	if set, err := r.settings(s.Settings); err == nil {
		d.Workspace, d.Env, d.Project = set.Workspace, set.Env, s.Project(set)
	}
	return d
}
