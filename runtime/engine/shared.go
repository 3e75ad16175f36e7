package engine

import (
	"errors"
	"slices"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// What runs share, queues and memory.project, is rows of the store and nothing else. A request for it is performed by the turn: it reads what is committed, and what it changes is written in the
// run's own commit, beside its outcome. So a crash leaves both or neither, and nothing is uncertain.
//
// A turn performs one such request, and holds the commons from before its first read until its commit is durable and the engine knows whether the run waits for an item. Another one
// comes in the next turn, which reads what this one has committed.

const (
	kindProject = "memory.project"
	kindQueue   = "queue"
)

// sharing tells whether a kind of request is for what runs share.
func sharing(kind string) bool { return kind == kindProject || kind == kindQueue }

// asking is the oldest request for what runs share that has not found nothing, nil when there is none.
func (s *state) asking() *step {
	if i := slices.IndexFunc(s.asks, func(st *step) bool { return !st.foundNothing }); i >= 0 {
		return s.asks[i]
	}
	return nil
}

// serveShared performs one request for what runs share and gives its outcome. It gives nil when there is none, or when what there is must wait: for an item, or for the next turn.
func (t *turn) serveShared() (*step, effect.Outcome) {
	st := t.s.asking()
	if st == nil {
		return nil, effect.Outcome{}
	}
	if t.holdsCommons || t.full() {
		t.yielded = true
		return nil, effect.Outcome{}
	}
	t.host.commons.Lock()
	t.holdsCommons = true
	value, found, err := t.perform(st)
	switch {
	case err != nil:
		return st, failure(st, err, nil)
	case found:
		return st, effect.Outcome{Value: value}
	}
	st.foundNothing = true
	return t.serveShared()
}

// unlockCommons lets the next turn of any run have what runs share.
func (t *turn) unlockCommons() {
	if t.holdsCommons {
		t.holdsCommons = false
		t.host.commons.Unlock()
	}
}

// perform serves a request. found is false when it must wait.
func (t *turn) perform(st *step) (value effect.Payload, found bool, err *effect.Error) {
	args, failed := st.Args.View()
	if failed == nil {
		switch st.Kind {
		case kindProject:
			value, failed = t.project(st, args)
			found = true
		case kindQueue:
			q := &queueCall{turn: t, step: st, args: args, queue: args.Text("queue")}
			value, found, failed = q.perform()
		}
	}
	if failed != nil && !errors.As(failed, &err) {
		err = effect.Errorf(effect.KindEffect, "%s: %v", st.Step, failed)
	}
	return value, found, err
}

// write adds a row to the commit of the turn.
func (t *turn) write(key []byte, value effect.Payload) {
	t.rows = append(t.rows, runtime.Write{Key: key, Value: value})
	t.size += len(value)
}

// from names the step that a row comes from, as people address it.
func (t *turn) from(st *step) string { return t.s.ID + "@" + st.Step }

// retryWaiters lets requests that wait for an item of a queue, of any when it is "", be tried again: the oldest of each queue, and the next when it has got one.
func (t *turn) retryWaiters(queue string) {
	if t.m == nil {
		return // all are tried when it goes on
	}
	t.s.retryWaiters(queue)
	if t.canAcceptOutcome() {
		t.slice()
	}
}

func (s *state) retryWaiters(queue string) {
	seen := map[string]bool{}
	for _, st := range s.asks {
		if name := st.queue(); (queue == "" || queue == name) && !seen[name] {
			seen[name], st.foundNothing = true, false
		}
	}
}

// queue is that of which a step waits for an item.
func (st *step) queue() string {
	args, _ := st.Args.View()
	return args.Text("queue")
}

// awaited lists the queues of which a run waits for items, nil for none.
func (s *state) awaited() []string {
	var names []string
	for _, st := range s.asks {
		names = append(names, st.queue())
	}
	return names
}

// retryWaiters lets the runs that wait for an item of a queue look again; "" is any queue.
func (e *Local) retryWaiters(queue string) {
	e.mu.Lock()
	var runs []string
	for run, queues := range e.awaiting {
		if queue == "" || slices.Contains(queues, queue) {
			runs = append(runs, run)
		}
	}
	e.mu.Unlock()
	slices.Sort(runs)
	for _, run := range runs {
		e.post(run, event{in: &offered{queue}, done: func(err error) {
			if err != nil && e.ctx.Err() == nil {
				e.log("run %s: the items of queue %q: %v", run, queue, err)
			}
		}})
	}
}

// offerAgain tells the runs that wait what a commit has put into a queue or, by ending its run, given
// back; holds says that the turn has the commons still. Whoever was looking when the run ended is known
// to wait before it is told.
func (a *actor) offerAgain(c *commit, holds bool) {
	if c.effects.pushed != "" {
		a.e.retryWaiters(c.effects.pushed)
	}
	if !a.s.Queues || !a.s.Status.Ended() {
		return
	}
	if !holds {
		a.e.shared.Lock()
		defer a.e.shared.Unlock()
	}
	a.e.retryWaiters("")
}

// project serves memory.project.
func (t *turn) project(st *step, args effect.View) (effect.Payload, error) {
	key := []byte(journal.PrefixProject + args.Text("key"))
	switch args.Text("do") {
	case "set":
		var o effect.Object
		t.write(key, o.Raw("value", args.Raw("value")).Text("by", t.from(st)).Int("at", micros(t.now)).Payload())
		return nil, nil
	case "all":
		return t.projectAll()
	}
	row, err := t.host.commons.Get(key)
	there := err == nil
	if err != nil && !errors.Is(err, runtime.ErrNoKey) {
		return nil, err
	}
	if args.Text("do") == "delete" {
		if there {
			t.write(key, nil)
		}
		return effect.MustEncode(starlark.Bool(there)), nil
	}
	if !there {
		return args.Raw("default"), nil
	}
	v, err := effect.Payload(row).View()
	return v.Raw("value"), err
}

func (t *turn) projectAll() (effect.Payload, error) {
	var o effect.Object
	size := 0
	err := t.host.commons.Scan(journal.PrefixProject, func(key string, row []byte) error {
		if size += len(row); size > effect.MaxPayload {
			return effect.Errorf(effect.KindRefused, "memory.project.all: the variables have more than %d bytes together; get them one by one", effect.MaxPayload)
		}
		v, err := effect.Payload(slices.Clone(row)).View()
		o.Raw(key, v.Raw("value"))
		return err
	})
	return o.Payload(), err
}

// lookAgain sets when a request that waits for an item looks again: a lease is over then.
func (t *turn) lookAgain(st *step, at time.Time) {
	if !at.IsZero() && !t.s.timers.of(timerLook, st.Step).Equal(at) {
		t.timer(timerLook, st.Step, at)
	}
}
