package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"starling/lang"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Get returns one run as the store has it.
func (r *reader) Get(ctx context.Context, address string) (*runtime.Run, error) {
	if err := need(ctx, runtime.CanRead, "see runs"); err != nil {
		return nil, err
	}
	return r.get(address, audienceOf(runtime.CallerOf(ctx)))
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
func (r *reader) document(s *state, horizon uint64, to contract.Audience) (*runtime.Run, error) {
	run := &runtime.Run{Schema: runtime.Schema, ID: s.ID, Status: s.Status, Script: s.Script, Inputs: jsonOfPayload(s.Inputs), Output: []byte("null"), Error: r.runError(s)}
	if s.Status == runtime.Completed {
		run.Output = jsonOfPayload(s.Output)
	}
	var err error
	if run.Gates, err = r.gatesOf(s.ID, "", s, to); err != nil {
		return nil, err
	}
	for _, st := range s.inOrder() {
		if row := s.workRow(st.Step); row != nil {
			v, _ := row.View() // just made
			run.Work = append(run.Work, workDocument(s.ID, st.Step, v))
		}
		switch st.Kind {
		case kindMailbox:
			args, _ := st.Args.View() // checked when the call was made
			run.Awaits = append(run.Awaits, runtime.Await{Step: st.Step, Message: args.Text("name")})
		case kindQueue:
			run.Awaits = append(run.Awaits, runtime.Await{Step: st.Step, Queue: st.queue()})
		}
	}
	if s.Status.Ended() {
		if run.Decisions, err = r.decisions(s.ID, to); err != nil {
			return nil, err
		}
	}
	run.Details = r.details(s)
	run.Details.Horizon = horizon
	return run, nil
}

func jsonOfPayload(p effect.Payload) json.RawMessage {
	v, err := p.Value()
	if err != nil {
		return []byte("null")
	}
	return jsonOf(v)
}

// runError is why a run failed, nil if it has not.
func (r *reader) runError(s *state) *runtime.RunError {
	err := s.Err
	if err == nil {
		return nil
	}
	e := &runtime.RunError{Kind: string(err.Kind), Message: err.Message, Where: err.Where, Backtrace: err.Backtrace}
	if len(err.Data) > 0 {
		e.Data = jsonOfPayload(err.Data)
	}
	if err.Where != "" {
		e.Diagnostics = lang.Explain(err, r.sources(s))
	}
	return e
}

// sources are the files that a run is pinned to: its script's and its fake's. What cannot be read is left out, because it is wanted to show, not to run.
func (r *reader) sources(s *state) []*lang.Module {
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

// gatesOf lists the open gates of a run and of its child runs, whose addresses begin with the steps that started them.
func (r *reader) gatesOf(top, path string, s *state, to contract.Audience) ([]runtime.Gate, error) {
	out := []runtime.Gate{}
	for _, g := range s.openGates() {
		v, err := g.payload().View()
		if err != nil {
			return nil, err
		}
		out = append(out, gateDocument(top, path+g.Name, g.OpenedAt, v, to))
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
func (r *reader) details(s *state) *runtime.Details {
	d := &runtime.Details{Program: s.Program, StartedBy: s.By, StartedAt: s.Started, UpdatedAt: s.Updated, Seq: s.Seq, Carried: r.carried(s.ID), InFlight: s.flying,
		Parent: s.Parent, Lineage: s.Lineage, Session: s.Session, NeedsMemory: r.needs(s.ID)}
	if due := s.due(false); !due.IsZero() {
		d.NextDue = &due
	}
	if s.Imported != nil {
		d.Imported = jsonOfPayload(s.Imported)
	}
	if !s.Deadline.IsZero() {
		d.Deadline = &s.Deadline
	}
	if set, err := r.settings(s.Settings); err == nil {
		d.Workspace, d.Env, d.Project = set.Workspace, set.Env, s.project(set)
	}
	return d
}

// project tells of the project that the run works under.
func (s *state) project(set *effect.Settings) *runtime.Project {
	p := &runtime.Project{File: set.ProjectFile, From: cmp.Or(runtime.ProjectFrom(set.Imported), runtime.ProjectOwn)}
	switch {
	case s.Imported == nil || set.Imported != "":
	case s.Settings == s.original:
		p.From = runtime.ProjectKept
	default:
		p.From = runtime.ProjectLocal
	}
	return p
}

// Steps lists the steps of a run in the order of their requests. It reads the run's whole journal: an engine remembers only what is open.
func Steps(ctx context.Context, e runtime.Engine, run string) ([]runtime.Step, error) {
	return StepsAfter(ctx, e, run, 0)
}

// StepsAfter lists the steps that were requested behind a record: of a run whose journal was trimmed ([runtime.Details].Horizon) those that it still tells of.
func StepsAfter(ctx context.Context, e runtime.Engine, run string, after uint64) ([]runtime.Step, error) {
	page, err := PageOfSteps(ctx, e, runtime.StepQuery{Run: run, After: after})
	if err != nil {
		return nil, err
	}
	return page.Steps, nil
}

// stepList folds events into steps.
type stepList struct {
	lineage *runtime.Lineage // of their run, nil also where that is not known
	steps   []runtime.Step
	at      map[string]int // by address
}

func newStepList(l *runtime.Lineage) *stepList {
	return &stepList{lineage: l, steps: []runtime.Step{}, at: map[string]int{}}
}

// repeats is the run whose outcome a step has that was settled just now, "" if it is its own.
func repeats(l *runtime.Lineage, st *runtime.Step, settled uint64) string {
	if l == nil || settled > l.Copied && (performs(l, st.Step) || waits(st.Kind) || st.Attempts > 0) {
		return ""
	}
	return l.Run
}

func (l *stepList) add(ev *runtime.Event) {
	if ev.Type == journal.StepRequested.String() || ev.Type == journal.StepAnswered.String() {
		l.begin(ev)
		return
	}
	i, ok := l.at[ev.Step]
	if !ok {
		return
	}
	st, end := &l.steps[i], ev.Time
	switch ev.Type {
	case journal.AttemptStarted.String():
		st.Status = "running"
		st.Attempts++
		st.Tries = append(st.Tries, runtime.Try{Number: st.Attempts, StartedAt: ev.Time})
	case journal.AgentEvent.String():
		if n := len(st.Tries); n > 0 {
			noteCost(&st.Tries[n-1], toldIn(ev))
		}
	case journal.AttemptEnded.String():
		st.Status = "waiting"
		if n := len(st.Tries); n > 0 {
			endTry(&st.Tries[n-1], ev)
		}
	case journal.StepSettled.String():
		st.Status, st.EndedAt = Settled(ev).Status, &end
		st.Repeats = repeats(l.lineage, st, ev.Seq)
		if n := len(st.Tries); st.Status != "ok" && n > 0 && st.Tries[n-1].Class == classDegraded && !eventHas(ev, "error") {
			st.Status = classDegraded
		}
	case journal.StepWithdrawn.String():
		st.Status, st.EndedAt = "withdrawn", &end
	}
}

// endTry takes how an attempt ended.
func endTry(a *runtime.Try, ev *runtime.Event) {
	var data struct {
		Class, Backend string
		Usage          *claim
	}
	_ = json.Unmarshal(ev.Data, &data) // an engine's own
	a.Class, a.Backend, a.EndedAt = data.Class, data.Backend, &ev.Time
	noteCost(a, data.Usage)
}

func (l *stepList) begin(ev *runtime.Event) {
	var data struct {
		Kind string
		Args struct{ Who, To json.RawMessage }
	}
	_ = json.Unmarshal(ev.Data, &data) // an engine's own
	st := runtime.Step{Step: ev.Step, Kind: data.Kind, Agent: nameIn(data.Args.Who) + nameIn(data.Args.To), Status: "waiting", StartedAt: ev.Time}
	if ev.Type == journal.StepAnswered.String() {
		st.Status, st.EndedAt = "ok", &ev.Time
		if l.lineage != nil && ev.Seq <= l.lineage.Copied {
			st.Repeats = l.lineage.Run
		}
	}
	l.at[ev.Step] = len(l.steps)
	l.steps = append(l.steps, st)
}

// Settling is how a step has ended, as its step.settled tells.
type Settling struct {
	Status string // ok, error, or what an agent's Result says of itself where there is no error: blocked, stopped
	Kind   string // of the error
	Text   string // the error's message, or what the agent has noted
}

// Settled reads a step.settled. A step whose error the script has asked for, with on_error = "return", has failed like one that raises.
func Settled(ev *runtime.Event) Settling {
	type failed struct{ Kind, Message string }
	var data struct {
		Error *failed
		Value json.RawMessage
	}
	_ = json.Unmarshal(ev.Data, &data) // an engine's own
	var v struct {
		OK                 *bool
		Status, Step, Note string
		Value              json.RawMessage
		Error              *failed
	}
	if data.Error == nil && json.Unmarshal(data.Value, &v) == nil && v.OK != nil && !*v.OK {
		switch {
		case v.Error != nil && (v.Step == ev.Step || v.Value != nil): // a Result, which names its step, or the Outcome of a child run
			data.Error = v.Error
		case v.Step == ev.Step:
			return Settling{Status: v.Status, Text: v.Note}
		}
	}
	if data.Error != nil {
		return Settling{Status: "error", Kind: data.Error.Kind, Text: data.Error.Message}
	}
	return Settling{Status: "ok"}
}

// eventHas tells whether an event's data has a field.
func eventHas(ev *runtime.Event, field string) bool {
	var data map[string]json.RawMessage
	return json.Unmarshal(ev.Data, &data) == nil && data[field] != nil
}
