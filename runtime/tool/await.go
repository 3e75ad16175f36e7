package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
)

type awaitArgs struct {
	Run, Gate, Handle string
	Hold              float64 // seconds
}

// Awaited is what await answers.
type Awaited struct {
	Pending bool   `json:"pending"`
	Handle  string `json:"handle,omitempty"` // of a call that goes on waiting
	*Standing
	Decision json.RawMessage `json:"decision,omitempty"` // of the gate that was awaited
}

// errHeld is the cause of a context in which a call has waited for long enough.
var errHeld = errors.New("held for long enough")

// await holds until the run has ended or the gate is decided. The handle is the address of what is
// awaited: whoever brings it goes on waiting, whatever became of this process meanwhile.
func (d *Desk) await(ctx context.Context, a awaitArgs) (any, error) {
	run, gate := address(a.Run, a.Gate)
	if (a.Handle == "") == (run == "") {
		return nil, runtime.Refusef(runtime.ErrUsage, "got both or neither of run and handle, want one")
	}
	if a.Handle != "" {
		run, gate = address(a.Handle, "")
	}
	w := Awaited{}
	r, err := d.Hold(ctx, run, time.Duration(a.Hold*float64(time.Second)), func(r *runtime.Run) (bool, error) {
		var err error
		if gate != "" {
			w.Decision, err = d.decision(ctx, r, gate)
		}
		return r.Status.Ended() || w.Decision != nil, err
	})
	if err != nil {
		return nil, err
	}
	w.Standing = Stand(r)
	if w.Pending = !r.Status.Ended() && w.Decision == nil; w.Pending {
		w.Handle = strings.TrimSuffix(r.ID+"/"+gate, "/")
	}
	return w, nil
}

// Hold follows a run until enough says so or the time is over, and gives the run as it is then.
func (d *Desk) Hold(ctx context.Context, run string, hold time.Duration, enough func(*runtime.Run) (bool, error)) (*runtime.Run, error) {
	held, cancel := context.WithTimeoutCause(ctx, hold, errHeld)
	defer cancel()
	for {
		r, err := d.Engine.Get(ctx, run)
		if err != nil {
			return nil, err
		}
		over, err := enough(r)
		if over || err != nil {
			return r, err
		}
		run = r.ID
		err = d.Engine.Watch(held, runtime.WatchRequest{Run: run, After: r.Details.Seq, Follow: true}, func(ev runtime.Event) error {
			if strings.HasPrefix(ev.Type, "run.") || strings.HasPrefix(ev.Type, "gate.") {
				return runtime.ErrStopWatch
			}
			return nil
		})
		switch {
		case context.Cause(held) == errHeld:
			return d.Engine.Get(ctx, run)
		case err != nil:
			return nil, err
		}
	}
}

// decision is what was decided at a gate, nil while it is open or has not opened.
func (d *Desk) decision(ctx context.Context, r *runtime.Run, gate string) (json.RawMessage, error) {
	for _, open := range r.Gates {
		if open.Gate == gate {
			return nil, nil
		}
	}
	var found json.RawMessage
	err := d.Engine.Watch(ctx, runtime.WatchRequest{Run: r.ID, After: r.Details.Horizon}, func(ev runtime.Event) error {
		if ev.Seq > r.Details.Seq {
			return runtime.ErrStopWatch
		}
		if ev.Type == journal.GateDecided.String() && ev.Step == gate {
			var data struct{ Decision json.RawMessage }
			_ = json.Unmarshal(ev.Data, &data) // an engine's own
			found = orNull(data.Decision)
		}
		return nil
	})
	return found, err
}

func orNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return []byte("null")
	}
	return v
}
