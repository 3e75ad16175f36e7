package run

import (
	"errors"
	"slices"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// What runs share, queues and memory.project, is rows of the store and nothing else. A request for
// it is performed by the turn: it reads what is committed, and what it changes is written in the
// run's own commit, beside its outcome. So a crash leaves both or neither, and nothing is
// uncertain.
//
// A turn performs one such request, and holds the commons from before its first read until its
// commit is durable and the engine knows whether the run waits for an item. Another one comes in
// the next turn, which reads what this one has committed.

// sharing tells whether a kind of request is for what runs share.
func sharing(kind string) bool { return kind == journal.KindProject || kind == journal.KindQueue }

// asking is the oldest request for what runs share that has not found nothing, nil when there is
// none.
func (s *State) asking() *Step {
	if i := slices.IndexFunc(s.Asks, func(st *Step) bool { return !st.foundNothing }); i >= 0 {
		return s.Asks[i]
	}
	return nil
}

// serveShared performs one request for what runs share and gives its outcome. It gives nil when
// there is none, or when what there is must wait: for an item, or for the next turn.
func (t *Turn) serveShared() (*Step, effect.Outcome) {
	st := t.State.asking()
	if st == nil {
		return nil, effect.Outcome{}
	}
	if t.HoldsCommons || t.full() {
		t.Yielded = true
		return nil, effect.Outcome{}
	}
	t.Host.Commons.Lock()
	t.HoldsCommons = true
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

// UnlockCommons lets the next turn of any run have what runs share.
func (t *Turn) UnlockCommons() {
	if t.HoldsCommons {
		t.HoldsCommons = false
		t.Host.Commons.Unlock()
	}
}

// perform serves a request. found is false when it must wait.
func (t *Turn) perform(st *Step) (value effect.Payload, found bool, err *effect.Error) {
	args, failed := st.Args.View()
	if failed == nil {
		switch st.Kind {
		case journal.KindProject:
			value, failed = t.project(st, args)
			found = true
		case journal.KindQueue:
			q := &queueCall{Turn: t, step: st, args: args, queue: args.Text("queue")}
			value, found, failed = q.perform()
		}
	}
	if failed != nil && !errors.As(failed, &err) {
		err = effect.Errorf(effect.KindEffect, "%s: %v", st.Step, failed)
	}
	return value, found, err
}

// write adds a row to the commit of the turn.
func (t *Turn) write(key []byte, value effect.Payload) {
	t.Rows = append(t.Rows, runtime.Write{Key: key, Value: value})
	t.size += len(value)
}

// from names the step that a row comes from, as people address it.
func (t *Turn) from(st *Step) string { return t.State.ID + "@" + st.Step }

// retryWaiters lets requests that wait for an item of a queue, of any when it is "", be tried
// again: the oldest of each queue, and the next when it has got one.
func (t *Turn) retryWaiters(queue string) {
	if t.Machine == nil {
		return // all are tried when it goes on
	}
	t.State.retryWaiters(queue)
	if t.canAcceptOutcome() {
		t.slice()
	}
}

func (s *State) retryWaiters(queue string) {
	seen := map[string]bool{}
	for _, st := range s.Asks {
		if name := st.Queue(); (queue == "" || queue == name) && !seen[name] {
			seen[name], st.foundNothing = true, false
		}
	}
}

// Queue is that of which a step waits for an item.
func (st *Step) Queue() string {
	args, _ := st.Args.View()
	return args.Text("queue")
}

// Awaited lists the queues of which a run waits for items, nil for none.
func (s *State) Awaited() []string {
	var names []string
	for _, st := range s.Asks {
		names = append(names, st.Queue())
	}
	return names
}

// project serves memory.project.
func (t *Turn) project(st *Step, args effect.View) (effect.Payload, error) {
	key := []byte(journal.PrefixProject + args.Text("key"))
	switch args.Text("do") {
	case "set":
		var o effect.Object
		t.write(key, o.Raw("value", args.Raw("value")).Text("by", t.from(st)).Int("at", journal.Micros(t.Now)).Payload())
		return nil, nil
	case "all":
		return t.projectAll()
	}
	row, err := t.Host.Commons.Get(key)
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

func (t *Turn) projectAll() (effect.Payload, error) {
	var o effect.Object
	size := 0
	err := t.Host.Commons.Scan(journal.PrefixProject, func(key string, row []byte) error {
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
func (t *Turn) lookAgain(st *Step, at time.Time) {
	if !at.IsZero() && !t.State.timers.of(timerLook, st.Step).Equal(at) {
		t.timer(timerLook, st.Step, at)
	}
}
