// Package stay has a command stay with a run until it has seen enough of it: to its end, until it
// rests, or as long as anything but a signal can move it.
package stay

import (
	"context"
	"errors"
	"strings"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
)

// soon is how far ahead a timer may lie for run to stay for it.
const soon = time.Minute

// An Until says whether a command has stayed with a run for long enough.
type Until func(r *runtime.Run) bool

// Ended stays to the very end: run --wait.
func Ended(r *runtime.Run) bool { return r.Status.Ended() }

// AtRest stays while a call is pending or a timer is due within a minute: run, resume, signal.
func AtRest(r *runtime.Run) bool {
	if r.Status != runtime.Suspended {
		return r.Status.Ended()
	}
	due := r.Details.NextDue
	return due == nil || time.Until(*due) > soon
}

// OnlySignal stays while anything but a signal can move the run: wait. The deadline of a gate that
// is far away does not count, or a gate with a deadline could not be waited for.
func OnlySignal(r *runtime.Run) bool {
	if r.Status != runtime.Suspended || r.Details.NextDue == nil {
		return AtRest(r)
	}
	return AtRest(r) && deadlineOfGate(r, *r.Details.NextDue)
}

func deadlineOfGate(r *runtime.Run, due time.Time) bool {
	for _, g := range r.Gates {
		if g.Deadline != nil && g.Deadline.Equal(due) {
			return true
		}
	}
	return false
}

// HasStatus stays until the run has the status, or can no longer get it: wait --for.
func HasStatus(want runtime.Status) Until {
	return func(r *runtime.Run) bool { return r.Status == want || r.Status.Ended() }
}

// Follower stays with one run and shows what happens in it.
type Follower struct {
	Session runtime.Engine
	Run     string
	After   uint64 // events up to this one have been shown, or are not to be
	Show    func(runtime.Event)
}

// Stay returns the run as it is when enough says so, after everything that led there has been
// shown. It returns the last that is known of the run together with the cause when ctx ends.
func (f *Follower) Stay(ctx context.Context, enough Until) (*runtime.Run, error) {
	var last *runtime.Run
	for {
		r, err := f.Session.Get(ctx, f.Run)
		if err != nil {
			return last, errors.Join(context.Cause(ctx), err)
		}
		last = r
		over := enough(r)
		if err := f.watch(ctx, r, !over); err != nil {
			return last, errors.Join(context.Cause(ctx), err)
		}
		if over {
			return r, nil
		}
	}
}

// watch shows events up to those that r already tells of and, if more is wanted, beyond, up to the
// next that turns the run.
func (f *Follower) watch(ctx context.Context, r *runtime.Run, more bool) error {
	f.After = max(f.After, r.Details.Horizon) // what was trimmed meanwhile is not shown
	w := runtime.WatchRequest{Run: r.ID, After: f.After, Follow: more}
	err := f.Session.Watch(ctx, w, func(ev runtime.Event) error {
		if !more && ev.Seq > r.Details.Seq {
			return runtime.ErrStopWatch
		}
		f.After = ev.Seq
		f.Show(ev)
		if more && ev.Seq > r.Details.Seq && turns(r, ev) {
			return runtime.ErrStopWatch
		}
		return nil
	})
	if err != nil && runtime.AsRefusal(err).Kind == runtime.ErrTrimmed {
		return nil // it was trimmed just now: go on behind that
	}
	return err
}

// turns tells whether a run may be at rest, or not be any more, by an event: it changes its status,
// or what it waits for while it rests.
func turns(r *runtime.Run, ev runtime.Event) bool {
	return strings.HasPrefix(ev.Type, "run.") || r.Status == runtime.Suspended && ev.Type == journal.TimerFired.String()
}
