package engine

import (
	"context"
	"sync"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// An agent may ask for leave while it works: see [effect.Leave]. The question is a system gate of the step, with the options approve and reject, and its decision is kept with the step: a
// further attempt that asks the same is not asked again, and one that comes to a question which is still open waits for the same answer. The gate closes with the step.

// permission is what was decided about one question.
type permission struct {
	Asked   string // identity of the question
	Granted bool
}

// identityOf tells questions apart: by what the agent's adapter says, else by all that is asked.
func identityOf(question effect.Payload) string {
	v, _ := question.View()
	if same := v.Text("same"); same != "" {
		return same
	}
	return journal.HashOf(question)
}

func permissionGate(step string) string { return runtime.GatePermission + step }

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
	data, err := effect.Encode(orNone(l.Data))
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
	a.e.post(a.run, event{in: &question{step, attempt, content}, parks: true,
		taken: func() {
			if f, ok := a.flights[step]; ok && f.attempt == attempt {
				f.asked[identityOf(content)] = func(granted bool) {
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
		a.takeBack(ctx, step, attempt, identityOf(content))
		return false, ctx.Err()
	}
}

// takeBack withdraws a question that nobody waits for any more. One of an attempt that ends with this process stays for the attempt that follows.
func (a *actor) takeBack(ctx context.Context, step string, attempt int, question string) {
	if context.Cause(ctx) == errLeaving {
		return
	}
	a.e.post(a.run, event{in: &unasked{step, attempt, question}, parks: true})
}

// ask opens the gate of a question, unless it was decided before or is open.
func (t *turn) ask(step string, attempt int, question effect.Payload) {
	st := t.flying(step, attempt)
	if st == nil || st.Stopped {
		return // its context has ended
	}
	same := identityOf(question)
	for _, p := range st.Permissions {
		if p.Asked == same {
			t.effects.granted = append(t.effects.granted, granted{step, p})
			return
		}
	}
	if g := t.s.Gates[permissionGate(step)]; g != nil {
		if identityOf(g.Args) == same {
			return
		}
		t.withdrawGate(g, "") // an attempt before has asked that
	}
	t.record(journal.GateOpened, permissionGate(step), (&effect.Object{}).Raw("args", question).Payload())
}

// granted is a decision for the attempt in flight that waits for it.
type granted struct {
	step string
	permission
}

// decidePermission records the decision of a question and hands it on.
func (t *turn) decidePermission(name, step, choice string, b *effect.Object) {
	p := permission{identityOf(t.s.Gates[name].Args), choice == "approve"}
	t.record(journal.GateDecided, name, b.Text("permission", step).Text("asked", p.Asked).Flag("granted", p.Granted).Payload())
	t.effects.granted = append(t.effects.granted, granted{step, p})
}

// grant tells the attempt in flight what was decided.
func (a *actor) grant(g granted) {
	f, ok := a.flights[g.step]
	if answer := f.asked[g.Asked]; ok && answer != nil {
		delete(f.asked, g.Asked)
		answer(g.Granted)
	}
}

func permissionsPayload(list []permission) effect.Payload {
	if len(list) == 0 {
		return nil
	}
	var b effect.Object
	for _, p := range list {
		var o effect.Object
		b.Raw(p.Asked, o.Flag("granted", p.Granted).Payload())
	}
	return b.Payload()
}

func permissionsOf(v effect.View) (list []permission) {
	v.Each(func(asked string, f effect.View) { list = append(list, permission{asked, f.Flag("granted")}) })
	return list
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
