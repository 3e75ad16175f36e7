package engine

import (
	"context"
	"errors"

	"starling/runtime"
	"starling/runtime/journal"
)

// An orphan is a child run of a step that does not wait for it any more: its branch was cancelled,
// its time is over, its parent has ended. The commit that says so writes a row, and the row goes
// when the child has ended: whichever process dies in between, the next owner cancels the child.

// orphan begins to cancel the child of a step. One that is just being started is waited for.
func (e *Local) orphan(run, step string) {
	if !e.enter() {
		return // the next owner does it
	}
	go func() {
		defer e.exit()
		defer e.hold(string(journal.ChildKey(run + "@" + step)))()
		if id := e.childOf(run, step); id != "" {
			e.cancelOrphan(run, step, id)
		}
	}()
}

// cancelOrphan ends a child run that nobody waits for, and forgets the row when it has.
func (e *Local) cancelOrphan(run, step, child string) {
	_, err := e.cancel(context.WithoutCancel(e.ctx), child, []string{"run:" + run}, runtime.CancelRequest{Reason: "its parent ended"})
	if r := (*runtime.Refusal)(nil); errors.As(err, &r) && r.Kind == runtime.ErrClosed {
		err = nil // it has ended already
	}
	if err == nil {
		err = e.commit(context.WithoutCancel(e.ctx), &runtime.Batch{Writes: []runtime.Write{{Key: journal.OrphanKey(run, step), Value: nil}}})
	}
	if err != nil {
		e.log("run %s: cancelling its child %s: %v", run, child, err)
	}
}

// orphaned tells whether the step that started a child waits for it no more. It may not know of it,
// either: earlier builds started one for a run that was being pruned.
func (e *Local) orphaned(parent, step, child string) bool {
	if _, err := e.store.Get(journal.OrphanKey(parent, step)); err == nil {
		return true
	}
	id, err := e.store.Get(journal.ChildKey(parent + "@" + step))
	return errors.Is(err, runtime.ErrNoKey) || err == nil && string(id) != child
}

// adoptOrphans goes on with what the last owner could not finish. A row without a child is of one
// that was never started, and nobody starts it any more.
func (e *Local) adoptOrphans() error {
	var left []string
	var never runtime.Batch
	err := journal.Scan(e.store, journal.PrefixOrphan, func(row string, _ []byte) error {
		if run, step, _ := journal.CutParent(row); e.childOf(run, step) == "" {
			never.Writes = append(never.Writes, runtime.Write{Key: journal.OrphanKey(run, step), Value: nil})
		} else {
			left = append(left, row)
		}
		return nil
	})
	if err == nil && len(never.Writes) > 0 {
		err = e.commit(context.Background(), &never)
	}
	if err != nil {
		return err
	}
	for _, row := range left {
		run, step, _ := journal.CutParent(row)
		e.orphan(run, step)
	}
	return nil
}
