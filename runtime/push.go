package runtime

import (
	"context"
	"encoding/json"
	"slices"

	"starling/lang/contract"
	"starling/lang/effect"
)

// Queues lets callers put items into queues, for runs to take, and tells whether a run is there. It is served by [Local] and by a client of its socket.
type Queues interface {
	// Push puts an item at the end of a queue. It is in the store when it returns, and runs that wait for one are told.
	Push(ctx context.Context, r PushRequest) (*Pushed, error)

	// Attended tells whether somebody is at a queue: a run that has not ended holds an item of it, or one that is carried waits for one. Of a queue with one item, which is a lock, it tells whether
	// that is taken.
	Attended(ctx context.Context, queue string) (bool, error)
}

// PushRequest asks to put an item into a queue.
type PushRequest struct {
	Key   string          `json:"key"` // while an item of this key is in the queue nothing is put there; so a request that is sent again does nothing until the item has left. "" for none
	Queue string          `json:"queue"`
	Value json.RawMessage `json:"value"` // JSON
}

// Pushed tells what became of a push.
type Pushed struct {
	Schema string `json:"schema"`
	Queue  string `json:"queue"`
	Item   uint64 `json:"item"`            // its number in the queue
	Known  bool   `json:"known,omitempty"` // an item of the key was there: nothing was put into the queue
	Oldest uint64 `json:"oldest"`          // number of the oldest item that is in the queue and not parked
}

var _, _ Queues = (*Local)(nil), (*readOnly)(nil)

// Push puts an item into a queue. Who works for an agent may, as anybody who may leave messages: an item is work for whoever takes it, and starts nothing.
func (e *Local) Push(ctx context.Context, r PushRequest) (*Pushed, error) {
	if err := need(ctx, CanSignal, "put items into queues"); err != nil {
		return nil, err
	}
	if err := effect.CheckName(r.Queue); err != nil {
		return nil, refuse(ErrUsage, "push: queue: %v", err)
	}
	if len(r.Key) > effect.MaxKey {
		return nil, refuse(ErrUsage, "push: the key has %d bytes; the longest has %d", len(r.Key), effect.MaxKey)
	}
	v, err := contract.FromOutside(r.Value)
	if err != nil {
		return nil, refuse(ErrBadPayload, "push: the value is not JSON: %v", err)
	}
	value, err := effect.Encode(v)
	if err != nil {
		return nil, refuse(ErrBadPayload, "push: %v", err)
	}
	it := &item{Value: value, By: orUnknown(CallerOf(ctx)), At: e.now(), Key: r.Key}
	p, err := e.push(ctx, r.Queue, it)
	if err == nil && !p.Known {
		e.retryWaiters(r.Queue)
	}
	return p, err
}

// push holds the commons, as a turn that pushes does.
func (e *Local) push(ctx context.Context, queue string, it *item) (*Pushed, error) {
	if err := e.shared.enter(ctx); err != nil {
		return nil, err
	}
	defer e.shared.unlock()
	id, writes, err := enqueue(&e.shared, queue, it)
	if err != nil {
		return nil, err
	}
	p := &Pushed{Schema: Schema, Queue: queue, Item: id, Known: writes == nil, Oldest: id}
	err = e.shared.items(queue, func(oldest uint64, _ []byte) error {
		p.Oldest = oldest
		return ErrStopScan
	})
	if err == nil && writes != nil {
		err = e.commit(ctx, &Batch{Writes: writes})
	}
	return p, err
}

// Attended tells whether somebody is at a queue.
func (e *Local) Attended(ctx context.Context, queue string) (bool, error) {
	if err := need(ctx, CanSignal, "look at queues"); err != nil {
		return false, err
	}
	if err := effect.CheckName(queue); err != nil {
		return false, refuse(ErrUsage, "queue: %v", err)
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
	err := scan(e.store, prefixQueue+queue+"/", func(_ string, row []byte) error {
		it, err := itemOf(row)
		if err == nil && it.held(e.now(), e.ended) {
			attended, err = true, ErrStopScan
		}
		return err
	})
	return attended, err
}
