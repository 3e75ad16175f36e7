package query

import (
	"context"
	"encoding/json"
	"fmt"

	"starling/runtime"
	"starling/runtime/journal"
)

// Steps lists the steps of a run in the order of their requests. It reads the run's whole journal:
// an engine remembers only what is open.
func Steps(ctx context.Context, e runtime.Engine, run string) ([]runtime.Step, error) {
	return StepsAfter(ctx, e, run, 0)
}

// StepsAfter lists the steps that were requested behind a record: of a run whose journal was
// trimmed ([runtime.Details].Horizon) those that it still tells of.
func StepsAfter(ctx context.Context, e runtime.Engine, run string, after uint64) ([]runtime.Step, error) {
	page, err := PageOfSteps(ctx, e, runtime.StepQuery{Run: run, After: after})
	if err != nil {
		return nil, err
	}
	return page.Steps, nil
}

// StepList folds the events of a run into its steps, and its branches that have failed.
type StepList struct {
	lineage *runtime.Lineage // of their run, nil also where that is not known
	Steps   []runtime.Step
	Failed  []runtime.FailedBranch
	at      map[string]int // by address
}

// NewStepList is an empty list of a run, which may have been made of another: nil for none.
func NewStepList(l *runtime.Lineage) *StepList {
	return &StepList{lineage: l, Steps: []runtime.Step{}, at: map[string]int{}}
}

// repeats is the run whose outcome a step has that was settled just now, "" if it is its own.
func repeats(l *runtime.Lineage, st *runtime.Step, settled uint64) string {
	if l == nil || settled > l.Copied && (journal.Performs(l, st.Step) || journal.Waits(st.Kind) || st.Attempts > 0) {
		return ""
	}
	return l.Run
}

// Add takes one event, in the order of the journal.
func (l *StepList) Add(ev *runtime.Event) {
	if ev.Type == journal.StepRequested.String() || ev.Type == journal.StepAnswered.String() {
		l.begin(ev)
		return
	}
	if ev.Type == journal.BranchFailed.String() {
		l.Failed = append(l.Failed, BranchEnd(ev))
		return
	}
	i, ok := l.at[ev.Step]
	if !ok {
		return
	}
	st, end := &l.Steps[i], ev.Time
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
		settled := Settled(ev)
		st.Status, st.EndedAt = settled.Status, &end
		if settled.Status == StatusFailed {
			st.Exit = settled.Text
		}
		st.Repeats = repeats(l.lineage, st, ev.Seq)
		if n := len(st.Tries); st.Status != "ok" && n > 0 && st.Tries[n-1].Class == journal.ClassDegraded && !eventHas(ev, "error") {
			st.Status = journal.ClassDegraded
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

func (l *StepList) begin(ev *runtime.Event) {
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
	l.at[ev.Step] = len(l.Steps)
	l.Steps = append(l.Steps, st)
}

// StatusFailed is how a program stands that has ended with another exit code than 0. Its step has
// an outcome, which the script looks at, and is not ok all the same.
const StatusFailed = "failed"

// Settling is how a step has ended, as its step.settled tells.
type Settling struct {
	Status string // ok, error, StatusFailed, or what an agent's Result says of itself where there is no error: blocked, stopped
	Kind   string // of the error
	Text   string // the error's message, what the agent has noted, or the exit code: "exit 1"
}

// Settled reads a step.settled. A step whose error the script has asked for, with on_error =
// "return", has failed like one that raises.
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
		completed
	}
	if data.Error == nil && json.Unmarshal(data.Value, &v) == nil && v.OK != nil && !*v.OK {
		switch {
		case v.Error != nil && (v.Step == ev.Step || v.Value != nil): // a Result, which names its step, or the Outcome of a child run
			data.Error = v.Error
		case v.Step == ev.Step:
			return Settling{Status: v.Status, Text: v.Note}
		case v.Code != nil && v.Seconds != nil:
			return Settling{Status: StatusFailed, Text: v.exit()}
		}
	}
	if data.Error != nil {
		return Settling{Status: "error", Kind: data.Error.Kind, Text: data.Error.Message}
	}
	return Settling{Status: "ok"}
}

// completed is what the Completed of a program has that no other outcome has.
type completed struct {
	Code    *int
	Signal  string
	Seconds *float64
}

// exit says how a program has ended.
func (c *completed) exit() string {
	if c.Signal != "" {
		return "ended by " + c.Signal
	}
	return fmt.Sprintf("exit %d", *c.Code)
}

// BranchEnd reads a branch.failed.
func BranchEnd(ev *runtime.Event) runtime.FailedBranch {
	var data struct {
		Error struct{ Kind, Message, Where string }
	}
	_ = json.Unmarshal(ev.Data, &data) // an engine's own
	e := data.Error
	return runtime.FailedBranch{Branch: ev.Branch, Kind: e.Kind, Message: e.Message, Where: e.Where, At: ev.Time}
}

// Of is the step at an address as far as it is known, nil if it was not asked for.
func (l *StepList) Of(address string) *runtime.Step {
	if i, ok := l.at[address]; ok {
		return &l.Steps[i]
	}
	return nil
}

// eventHas tells whether an event's data has a field.
func eventHas(ev *runtime.Event, field string) bool {
	var data map[string]json.RawMessage
	return json.Unmarshal(ev.Data, &data) == nil && data[field] != nil
}
