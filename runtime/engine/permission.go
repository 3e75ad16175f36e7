package engine

import (
	"context"
	"sync"
	"time"

	"starling/lang/effect"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// asker is effect.Attempt.Ask for one attempt: one question at a time.
func (a *actor) asker(n *idleClock, step string, attempt int) func(ctx context.Context, l effect.Leave) (bool, error) {
	turnstile := make(chan struct{}, 1)
	return func(ctx context.Context, l effect.Leave) (bool, error) {
		select {
		case turnstile <- struct{}{}:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		defer func() { <-turnstile }()
		return a.ask(ctx, n, step, attempt, l)
	}
}

func (a *actor) ask(ctx context.Context, n *idleClock, step string, attempt int, l effect.Leave) (bool, error) {
	data, err := effect.Encode(run.OrNone(l.Data))
	if err != nil {
		return false, err
	}
	var args, options effect.Object
	options.Text("approve", "let it do that").Text("reject", "tell it not to; it goes on without")
	args.Text("prompt", l.Prompt).Raw("options", options.Payload()).Raw("data", data)
	if l.Same != "" {
		args.Text("same", journal.HashOf([]byte(l.Same))) // it may be as long as the data
	}
	content := args.Payload()
	answered := make(chan bool, 1)
	failed := make(chan error, 1)
	decided := false // touched where events are taken
	var mu sync.Mutex
	over := false // protected by mu: nobody waits for the answer any more
	defer n.hold()()
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	}()
	a.e.post(a.run, event{in: &run.Question{Step: step, Attempt: attempt, Content: content}, parks: true,
		taken: func() {
			if f, ok := a.flights[step]; ok && f.attempt == attempt {
				f.asked[run.IdentityOf(content)] = func(granted bool) {
					decided = true
					n.set(false)
					answered <- granted
				}
			}
		},
		done: func(err error) {
			if err != nil {
				failed <- err
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if !over {
				n.set(!decided)
			}
		}})
	select {
	case granted := <-answered:
		return granted, nil
	case err := <-failed:
		return false, err
	case <-ctx.Done():
		a.takeBack(ctx, step, attempt, run.IdentityOf(content))
		return false, ctx.Err()
	}
}

// takeBack withdraws a question that nobody waits for any more. One of an attempt that ends with
// this process stays for the attempt that follows.
func (a *actor) takeBack(ctx context.Context, step string, attempt int, question string) {
	if context.Cause(ctx) == errLeaving {
		return
	}
	a.e.post(a.run, event{in: &run.Unasked{Step: step, Attempt: attempt, Asked: question}, parks: true})
}

// grant tells the attempt in flight what was decided.
func (a *actor) grant(g run.Granted) {
	f, ok := a.flights[g.Step]
	if answer := f.asked[g.Asked]; ok && answer != nil {
		delete(f.asked, g.Asked)
		answer(g.Granted)
	}
}

// limit is the time of an attempt that may stand still.
type limit struct {
	mu    sync.Mutex // protects what is below
	left  time.Duration
	since time.Time // when it began to pass
	stop  func() bool
}

// run lets the time pass; at its end do is called.
func (l *limit) run(e *Local, do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.stop = e.monotonic(), e.afterFunc(l.left, do)
}

// hold stops the time, unless it is over.
func (l *limit) hold(e *Local) (held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stop() {
		return false
	}
	l.left = max(0, l.left-e.monotonic().Sub(l.since))
	return true
}
