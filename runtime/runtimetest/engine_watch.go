package runtimetest

import (
	"context"
	"errors"
	"slices"

	"starling/runtime"
)

// journal reads the events that a run has now.
func (e *subject) journal(run string, after uint64) []runtime.Event {
	e.Helper()
	var all []runtime.Event
	e.ok(e.Watch(e.ctx, runtime.WatchRequest{Run: run, After: after}, func(ev runtime.Event) error {
		all = append(all, ev)
		return nil
	}))
	return all
}

func types(events []runtime.Event) []string {
	var all []string
	for _, ev := range events {
		all = append(all, ev.Type)
	}
	return all
}

// testWatch checks what events look like: of one run, in order, beginning with its start and ending
// with its end.
func testWatch(e *subject) {
	run := e.opened(review, "review")
	_, err := e.Signal(e.ctx, approve(run.ID))
	e.ok(err)
	e.ended(run.ID)
	events := e.journal(run.ID, 0)
	for i, ev := range events {
		if ev.Run != run.ID || ev.Type == "" || ev.Time.IsZero() || ev.Seq != uint64(i+1) || len(ev.Data) == 0 {
			e.Fatalf("event %d: got %+v, want one of run %s with seq %d, a time, a type and data", i, ev, run.ID, i+1)
		}
	}
	story := slices.DeleteFunc(types(events), func(typ string) bool {
		return !slices.Contains([]string{"run.started", "output.print", "gate.opened", "signal.accepted", "gate.decided", "run.completed"}, typ)
	})
	e.same("what happened", story,
		[]string{"run.started", "output.print", "gate.opened", "signal.accepted", "gate.decided", "output.print", "run.completed"})
}

// testWatchResumes checks that two watches, the second from where the first stopped, see what one
// sees.
func testWatchResumes(e *subject) {
	run := e.opened(review, "review")
	_, err := e.Signal(e.ctx, approve(run.ID))
	e.ok(err)
	e.ended(run.ID)
	whole := e.journal(run.ID, 0)
	for cut := range whole {
		var head []runtime.Event
		e.ok(e.Watch(e.ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(ev runtime.Event) error {
			head = append(head, ev)
			if len(head) == cut+1 {
				return runtime.ErrStopWatch
			}
			return nil
		}))
		tail := e.journal(run.ID, head[cut].Seq)
		e.same("head and tail", append(head, tail...), whole)
	}
	e.same("after the last", len(e.journal(run.ID, whole[len(whole)-1].Seq)), 0)
}

// testWatchEnds checks each way in which a watch ends.
func testWatchEnds(e *subject) {
	run := e.opened(review, "review")
	broken := errors.New("broken pipe")
	err := e.Watch(e.ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(runtime.Event) error { return broken })
	if err != broken {
		e.Fatalf("the function failed: got %v, want its own error", err)
	}
	err = e.Watch(e.ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(runtime.Event) error { return runtime.ErrStopWatch })
	e.ok(err)

	ctx, cancel := context.WithCancel(e.ctx)
	last := run.Details.Seq
	err = e.Watch(ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(ev runtime.Event) error {
		if ev.Seq == last {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		e.Fatalf("the context ended: got %v, want %v", err, context.Canceled)
	}

	_, err = e.Cancel(e.ctx, runtime.CancelRequest{Run: run.ID})
	e.ok(err)
	e.ok(e.Watch(e.ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(runtime.Event) error { return nil }))
}

func testWatchRefused(e *subject) {
	never := func(ev runtime.Event) error {
		e.Errorf("got event %+v of a run that does not exist", ev)
		return nil
	}
	for _, follow := range []bool{false, true} {
		e.refused(runtime.ErrUnknownRun, e.Watch(e.ctx, runtime.WatchRequest{Run: "nosuchrun", Follow: follow}, never))
	}
}

// testWatchSlow checks that somebody who does not read holds up nobody else.
func testWatchSlow(e *subject) {
	run := e.opened(review, "review")
	stuck, release := make(chan struct{}), make(chan struct{})
	slow := make(chan []runtime.Event, 1)
	go func() {
		var seen []runtime.Event
		e.Watch(e.ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(ev runtime.Event) error {
			if len(seen) == 0 {
				close(stuck)
				<-release
			}
			seen = append(seen, ev)
			return nil
		})
		slow <- seen
	}()
	<-stuck
	_, err := e.Signal(e.ctx, approve(run.ID))
	e.ok(err)
	e.ended(run.ID)
	other := e.start(hello)
	e.ended(other.ID)
	close(release)
	e.same("what the slow one has seen in the end", <-slow, e.journal(run.ID, 0))
}

// testWatchLive checks that several who follow see all that happens while they do.
func testWatchLive(e *subject) {
	run := e.opened(two, "first")
	const watchers = 3
	seen := make(chan []runtime.Event, watchers)
	ready := make(chan struct{}, watchers)
	for range watchers {
		go func() {
			var all []runtime.Event
			e.Watch(e.ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(ev runtime.Event) error {
				if all = append(all, ev); len(all) == 1 {
					ready <- struct{}{}
				}
				return nil
			})
			seen <- all
		}()
	}
	for range watchers {
		<-ready
	}
	for _, gate := range []string{"first", "second"} {
		e.until(run.ID, func(r *runtime.Run) bool { return len(r.Gates) == 1 && r.Gates[0].Gate == gate })
		_, err := e.Signal(e.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: gate, Choice: "on"})
		e.ok(err)
	}
	e.same("output", e.ended(run.ID).Output, `{"a": "on", "b": "on"}`)
	whole := e.journal(run.ID, 0)
	for range watchers {
		e.same("what a follower has seen", <-seen, whole)
	}
}
