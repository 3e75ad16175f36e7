package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

const (
	noticeTime   = 30 * time.Second // for one try
	noticeTries  = 20               // the last some eight hours after the first
	maxNoticeGap = time.Hour
	noticeHands  = 8 // tries at a time, of one channel
)

// notifier tells. It is used concurrently.
type notifier struct {
	e *Local

	mu       sync.Mutex             // guards what follows
	pending  map[string]func() bool // ids that wait or are being told, with what stops the timer of their next try
	channels map[string]*channel
}

// channel is what of one channel is due. At most noticeHands are told at a time, so that a thousand
// runs that end at once are no thousand connections, and one that answers slowly holds up no other.
type channel struct {
	busy    int
	waiting []*run.Notice
}

// resume tells what an owner before has left.
func (t *notifier) resume() error {
	return journal.ScanEach(t.e.store, journal.PrefixNotice, func(_ string, v []byte, damage error) error {
		n := new(run.Notice)
		if damage == nil && json.Unmarshal(v, n) == nil {
			t.add(n, nil)
		}
		return nil
	})
}

// add has a notice told when it is due.
func (t *notifier) add(n *run.Notice, env map[string]string) {
	if t.begins(n) {
		n.Env = env
		t.wait(n)
	}
}

// begins notes a notice, unless it is pending.
func (t *notifier) begins(n *run.Notice) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, pending := t.pending[n.ID]; pending {
		return false
	}
	if t.pending == nil {
		t.pending, t.channels = map[string]func() bool{}, map[string]*channel{}
	}
	t.pending[n.ID] = nil
	return true
}

// wait tells a notice when its time has come; one whose time has come is in motion at once, so that
// Close waits for it.
func (t *notifier) wait(n *run.Notice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gap := n.Due.Sub(t.e.now())
	switch {
	case gap <= 0:
		t.begin(n)
	case !t.e.leaving.Load(): // else the next owner finds the row
		t.pending[n.ID] = t.e.afterFunc(gap, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.begin(n)
		})
	}
}

// close lets go of what waits for its time: of an engine that is leaving no timer stays.
func (t *notifier) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, stop := range t.pending {
		if stop != nil {
			stop()
		}
	}
}

// begin has a notice told that is due. It is called with mu held.
func (t *notifier) begin(n *run.Notice) {
	c := t.channels[n.Channel]
	if c == nil {
		c = new(channel)
		t.channels[n.Channel] = c
	}
	if c.busy == noticeHands {
		c.waiting = append(c.waiting, n)
		return
	}
	if t.e.leaving.Load() || !t.e.enter() {
		return // the next owner finds the row
	}
	c.busy++
	go func() {
		defer t.e.exit()
		for ; n != nil; n = t.following(c) {
			t.tell(n)
		}
	}()
}

// following is what is to be told next, nil for nothing.
func (t *notifier) following(c *channel) (n *run.Notice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(c.waiting) == 0 || t.e.ctx.Err() != nil {
		c.busy--
		return nil
	}
	n, c.waiting = c.waiting[0], c.waiting[1:]
	return n
}

// tell tries once, and decides what follows. Of a run that was pruned meanwhile nobody is told any
// more; the row may have been written after that. Nobody is asked to a gate that is over, either.
func (t *notifier) tell(n *run.Notice) {
	if _, err := t.e.summary(n.Run); err != nil && runtime.AsRefusal(err).Kind == runtime.ErrUnknownRun {
		t.forget(n, t.e.commit(context.Background(), &runtime.Batch{Writes: []runtime.Write{{Key: n.Key(), Value: nil}}}))
		return
	}
	if t.over(n) {
		t.settle(n, journal.NoticeWithdrawn, nil)
		return
	}
	r := t.perform(n)
	n.Tries++
	if t.e.ctx.Err() != nil {
		return
	}
	gap := min(time.Second<<min(n.Tries-1, 20), maxNoticeGap)
	switch {
	case r.Err == nil:
		t.settle(n, journal.NoticeSent, nil)
	case r.Class == effect.Final, n.Tries >= noticeTries:
		t.settle(n, journal.NoticeSent, r.Err)
	default:
		n.Due = t.e.now().Add(max(gap, r.After))
		if err := t.e.commit(context.Background(), &runtime.Batch{Writes: []runtime.Write{n.Write()}}); err != nil {
			t.e.log("the notice %s is not written down: %v", n.ID, err)
		}
		t.wait(n)
	}
}

// over tells whether a notice asks for what nobody can do any more: the gate is closed, or has
// passed on to somebody else, who has a notice of his own; the work was claimed or withdrawn.
func (t *notifier) over(n *run.Notice) bool {
	if n.Work != "" {
		row, err := t.e.store.Get(journal.WorkKey(n.Run, n.Work))
		work, _ := effect.Payload(row).View() // one that cannot be read says of nobody that has claimed it
		return errors.Is(err, runtime.ErrNoKey) || work.Text("by") != ""
	}
	if !n.Asks {
		return false
	}
	row, err := t.e.store.Get(journal.InboxKey(n.Run, n.Gate))
	level := n.Level
	if err == nil {
		err = eachRecord(row, func(r *journal.Record) error { level = int(r.View().Int("level")); return nil })
	}
	return errors.Is(err, runtime.ErrNoKey) || level != n.Level
}

func (t *notifier) perform(n *run.Notice) (r effect.Reply) {
	defer func() {
		if p := recover(); p != nil {
			r = effect.Reply{Err: effect.Errorf(effect.KindEffect, "the handler failed: %v", p)}
		}
	}()
	handler := t.e.env.Handlers["notify"]
	if handler == nil {
		return effect.Reply{Err: effect.Errorf(effect.KindRefused, "nothing here tells anybody")}
	}
	settings, err := t.e.settings(n.Settings)
	if err != nil {
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "%v", err), Class: effect.Retryable}
	}
	ctx, cancel := context.WithTimeout(t.e.ctx, noticeTime)
	defer cancel()
	var o effect.Object
	args, err := o.Text("channel", n.Channel).Text("body", string(n.Body)).Payload().Value()
	if err != nil {
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "%v", err)}
	}
	return handler.Perform(ctx, &effect.Attempt{Enlisted: t.e.opts.Enlist,
		Run: n.Run, Step: n.Gate, Kind: "notify", Number: n.Tries + 1, Key: n.ID, Args: args, Resolved: starlark.None, Settings: settings,
		Store: t.e.folder(), Env: func(name string) (string, bool) { return t.variable(n, name) }, Emit: func(string, starlark.Value) {}})
}

// variable is one of whoever carried the run then or carries it now, or else of the owner of the
// store.
func (t *notifier) variable(n *run.Notice, name string) (string, bool) {
	if v, ok := n.Env[name]; ok {
		return v, true
	}
	if v, ok := t.e.variable(n.Run, name); ok || t.e.opts.Env == nil {
		return v, ok
	}
	return t.e.opts.Env(name)
}

// settle records in the run what became of a notice, and drops its row with the same commit.
func (t *notifier) settle(n *run.Notice, as journal.RecordType, failed *effect.Error) {
	t.e.post(n.Run, event{in: &run.Notified{Notice: n, As: as, Failed: failed}, urgent: true, done: func(err error) { t.forget(n, err) }})
}

// forget ends a notice. Where that could not be written down the next owner finds its row.
func (t *notifier) forget(n *run.Notice, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pending, n.ID)
	if err != nil {
		t.e.log("the notice %s is told again by the next owner: that it was told is not written down: %v", n.ID, err)
	}
}
