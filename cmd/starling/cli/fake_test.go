package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/plain"
	"starling/runtime"
)

// fakeConnector gives every verb the same fake engine.
type fakeConnector struct{ session *fakeSession }

func (d fakeConnector) OpenOwner(context.Context, bool) (connect.Session, error) {
	return d.session, nil
}
func (d fakeConnector) OpenReader(context.Context) (connect.Session, error) { return d.session, nil }
func (d fakeConnector) Connect(context.Context) (connect.Session, error)    { return d.session, nil }
func (d fakeConnector) Detach(context.Context) (connect.Session, error)     { return d.session, nil }
func (d fakeConnector) Serve(_ context.Context, s connect.Serving) error {
	return s.Ready(d.session)
}
func (d fakeConnector) Stop(context.Context) (int, error) { return d.session.owner, nil }

// fakeSession is an engine whose one run goes through the states it was given: each Watch to the
// end of the known events moves it on by one.
type fakeSession struct {
	runtime.Engine // panics: what a test does not expect must not be called
	states         []*runtime.Run
	events         []runtime.Event
	gates          []runtime.Gate
	runs           []runtime.Summary
	owner          int

	signals  []runtime.Signal
	carried  []runtime.ResumeRequest
	refusal  *runtime.Refusal
	closed   bool
	broken   error // of every Watch
	endless  bool  // Watch waits for ever once all events have been seen
	position int
}

func (f *fakeSession) Owner() int { return f.owner }

func (f *fakeSession) Close() error {
	f.closed = true
	return nil
}

func (f *fakeSession) Get(_ context.Context, run string) (*runtime.Run, error) {
	if !strings.HasPrefix(f.states[0].ID, run) && run != "@last" {
		return nil, runtime.Refuse(runtime.ErrUnknownRun, "starling ps -a lists the runs", "no run %s", run)
	}
	r := *f.states[f.position]
	return &r, nil
}

func (f *fakeSession) List(_ context.Context, q runtime.Query) (*runtime.Listing, error) {
	if q.Gates {
		return &runtime.Listing{Schema: runtime.Schema, Gates: f.gates}, nil
	}
	return &runtime.Listing{Schema: runtime.Schema, Runs: f.runs}, nil
}

func (f *fakeSession) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	if f.broken != nil {
		return f.broken
	}
	for _, ev := range f.events {
		if ev.Seq <= w.After {
			continue
		}
		if w.Follow && f.position+1 < len(f.states) && ev.Seq >= f.states[f.position+1].Details.Seq {
			f.position++
		}
		if err := fn(ev); err != nil {
			if err == runtime.ErrStopWatch {
				return nil
			}
			return err
		}
	}
	if w.Follow && f.endless {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (f *fakeSession) Signal(_ context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	f.signals = append(f.signals, s)
	if f.refusal != nil {
		return nil, f.refusal
	}
	f.position = min(f.position+1, len(f.states)-1) // to the state in which the signal has been taken
	return &runtime.Receipt{Schema: runtime.Schema, Accepted: true, Run: s.Run, Gate: s.Gate, Seq: 4, Status: runtime.Running, Decision: []byte(`{"choice":"approve"}`)}, nil
}

func (f *fakeSession) Resume(_ context.Context, c runtime.ResumeRequest) ([]string, error) {
	f.carried = append(f.carried, c)
	return c.Runs, nil
}

// terminal is a call with its output caught.
type terminal struct {
	call
	out, err bytes.Buffer
}

// invoke runs the program in this process against a fake engine.
func invoke(t *testing.T, f *fakeSession, args ...string) (*terminal, int) {
	t.Helper()
	t.Chdir(t.TempDir())
	term := sitting(f, args...)
	return term, term.call.run()
}

// sitting is a call that has not begun.
func sitting(f *fakeSession, args ...string) *terminal {
	term := &terminal{}
	term.call = call{args: args, program: "starling", stdin: strings.NewReader(""), stdout: plain.Output{To: &term.out}, stderr: &term.err,
		getenv: func(name string) (string, bool) { return "value of " + name, name == "TOKEN" },
		exit:   os.Exit, door: func() connect.Connector { return fakeConnector{f} }, env: environment}
	return term
}

// aRun is a run at a gate, after three records.
func aRun(status runtime.Status) *runtime.Run {
	return &runtime.Run{Schema: runtime.Schema, ID: "tq3f9zk1m5ab", Status: status, Script: "review.star", Inputs: json.RawMessage(`{"threshold":0.85}`),
		Output: json.RawMessage("null"), Gates: []runtime.Gate{}, Details: &runtime.Details{Seq: 3, Env: []string{"TOKEN", "ABSENT"}}}
}

// withGate opens the gate of the review.
func withGate(r *runtime.Run) *runtime.Run {
	r.Gates = []runtime.Gate{{Address: r.ID + "/review-gate", Gate: "review-gate", Prompt: "Publish?", Target: "reviewer-agent",
		Options: []runtime.Option{{Name: "approve"}, {Name: "ask more"}}, Data: json.RawMessage(`{"n":2}`), Schema: json.RawMessage("null")}}
	return r
}
