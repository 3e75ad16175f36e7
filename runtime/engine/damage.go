package engine

import (
	"context"
	"errors"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// What cannot be read is of one run, or shared. A run whose journal cannot be read is quarantined:
// nobody knows any more where it stands, so that nothing can be recorded of it. Its row says so,
// every answer about it does, and the others are served. What it names stays where it is. Damage of
// less is of less account:
//
//	a row of a list        is made again from the journal
//	a checkpoint           an older one serves, or the journal (checkpoint.go)
//	one copy of a keyframe the other serves (keyframe.go)
//	a program or settings  the run rests at the gate !quarantine, and can be cancelled there
//
// Where the store itself cannot tell what it has lost it is refused as a whole: that is for the
// store to say.

// unreadable says whose the damage is that an error tells of; other errors stay as they are.
func unreadable(run string, err error) error {
	var d *runtime.DamagedRun
	if !errors.Is(err, runtime.ErrDamaged) || errors.As(err, &d) {
		return err
	}
	return &runtime.DamagedRun{Run: run, Cause: err}
}

// giveUp shows in lists that a run cannot be read, and carries it no more. It is tried again by
// whoever asks for the run.
func (e *Local) giveUp(id string, why error) {
	e.uncarry(id)
	row, err := e.store.Get(journal.RunKey(id))
	was, damage := journal.ReadSummary(id, row)
	if err == nil && damage == nil && was.Status == runtime.Damaged && was.Error == why.Error() {
		return
	}
	e.log("%v", why)
	s := run.NewState(id)
	s.Status, s.Script, s.Started, s.Parent, s.Session = runtime.Damaged, was.Script, was.StartedAt, was.Parent, was.Session
	s.Err = &effect.Error{Message: why.Error()}
	err = e.commit(context.Background(), &runtime.Batch{Writes: []runtime.Write{
		{Key: journal.RunKey(id), Value: append(journal.AppendMicros(nil, e.now()), s.Summary()...)}, {Key: journal.LiveKey(s.Started, id), Value: []byte{}}}})
	if err != nil {
		e.log("run %s: %v", id, err)
	}
	e.notify(id)
}
