package engine

import (
	"context"
	"errors"
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

var _, _ runtime.Queues = (*Local)(nil), (*readOnly)(nil)

// Push puts an item into a queue. Who works for an agent may, as anybody who may leave messages: an
// item is work for whoever takes it, and starts nothing.
func (e *Local) Push(ctx context.Context, r runtime.PushRequest) (*runtime.Pushed, error) {
	if err := need(ctx, runtime.CanSignal, "put items into queues"); err != nil {
		return nil, err
	}
	if err := effect.CheckName(r.Queue); err != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "push: queue: %v", err)
	}
	if len(r.Key) > effect.MaxKey {
		return nil, runtime.Refusef(runtime.ErrUsage, "push: the key has %d bytes; the longest has %d", len(r.Key), effect.MaxKey)
	}
	v, err := contract.FromOutside(r.Value)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "push: the value is not JSON: %v", err)
	}
	value, err := effect.Encode(v)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "push: %v", err)
	}
	it := &journal.Item{Value: value, By: runtime.CallerOf(ctx).String(), At: e.now(), Key: r.Key}
	p, err := e.push(ctx, r.Queue, it)
	if err == nil && !p.Known {
		e.retryWaiters(r.Queue)
	}
	return p, err
}

// push holds the commons, as a turn that pushes does.
func (e *Local) push(ctx context.Context, queue string, it *journal.Item) (*runtime.Pushed, error) {
	if err := e.shared.enter(ctx); err != nil {
		return nil, err
	}
	defer e.shared.Unlock()
	id, writes, err := run.Enqueue(&e.shared, queue, it)
	if err != nil {
		return nil, err
	}
	p := &runtime.Pushed{Schema: runtime.Schema, Queue: queue, Item: id, Known: writes == nil, Oldest: id}
	if p.Known {
		if p.Other, err = e.holdsOther(queue, id, it.Value); err != nil {
			return nil, err
		}
	}
	err = e.shared.Items(queue, func(oldest uint64, _ []byte) error {
		p.Oldest = oldest
		return runtime.ErrStopScan
	})
	if err == nil && writes != nil {
		err = e.commit(ctx, &runtime.Batch{Writes: writes})
	}
	return p, err
}

// holdsOther tells whether an item, waiting, held or parked, has another value.
func (e *Local) holdsOther(queue string, id uint64, value effect.Payload) (bool, error) {
	row, err := e.store.Get(journal.ItemKey(journal.PrefixQueue, queue, id))
	if errors.Is(err, runtime.ErrNoKey) {
		row, err = e.store.Get(journal.ItemKey(journal.PrefixParked, queue, id))
	}
	if err != nil {
		return false, err
	}
	it, err := journal.ItemOf(row)
	if err != nil {
		return false, err
	}
	has, err := it.Value.Value()
	if err != nil {
		return false, err
	}
	wanted, err := value.Value()
	if err != nil {
		return false, err
	}
	same, err := starlark.Equal(has, wanted) // whatever the order of their keys
	return !same, err
}

// Attended tells whether somebody is at a queue.
func (e *Local) Attended(ctx context.Context, queue string) (bool, error) {
	if err := need(ctx, runtime.CanSignal, "look at queues"); err != nil {
		return false, err
	}
	if err := effect.CheckName(queue); err != nil {
		return false, runtime.Refusef(runtime.ErrUsage, "queue: %v", err)
	}
	e.mu.Lock()
	attended := false
	for _, queues := range e.awaiting {
		attended = attended || slices.Contains(queues, queue)
	}
	e.mu.Unlock()
	if attended {
		return true, nil
	}
	err := journal.Scan(e.store, journal.PrefixQueue+queue+"/", func(_ string, row []byte) error {
		it, err := journal.ItemOf(row)
		if err == nil && it.IsHeld(e.now(), e.ended) {
			attended, err = true, runtime.ErrStopScan
		}
		return err
	})
	return attended, err
}

// claimAny takes the oldest work that the caller may take, of whatever run. A claim whose key is
// known is the one that was given before.
func (e *Local) claimAny(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	who, refused := run.Identify(runtime.CallerOf(ctx), s.As)
	if refused != nil {
		return nil, refused
	}
	if err := need(ctx, run.NeededFor(&s), "claim work"); err != nil {
		return nil, err
	}
	if run, err := e.store.Get([]byte(journal.PrefixKey + journal.AnyClaim + s.Key)); s.Key != "" && err == nil {
		s.Run, s.Any = string(run), true
		return e.Signal(ctx, s)
	} else if err != nil && !errors.Is(err, runtime.ErrNoKey) {
		return nil, err
	}
	list, err := e.work(runtime.Query{Target: who[0]})
	if err != nil {
		return nil, err
	}
	for _, w := range list.Work {
		if w.By != "" && w.Until.After(e.now()) {
			continue
		}
		next := s
		next.Any = true
		next.Run, next.Step, _ = journal.CutParent(w.Address)
		receipt, err := e.Signal(ctx, next)
		if err == nil || !slices.Contains([]runtime.ErrorKind{runtime.ErrClaimed, runtime.ErrClosed, runtime.ErrNotOpen, runtime.ErrExpired, runtime.ErrDenied}, runtime.AsRefusal(err).Kind) {
			return receipt, err
		}
	}
	return nil, runtime.Refusef(runtime.ErrNotOpen, "there is no work for %q", who[0]).WithHelp("list it with: starling inbox --work").WithCall("there is some when a run asks for it: claim again later")
}
