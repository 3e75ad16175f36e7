// Package groupcommit gathers the batches of several callers, so that they share one transaction of
// a store and one wait for its disk. While one transaction is written the next batches gather: the
// busier a store is, the more of them share a transaction, and a batch that comes alone goes at
// once.
//
//	q := groupcommit.New(transact) // transact writes what it can of a queue, durably
//	go q.Run()
//	err := q.Commit(batch, cost, size)
//	...
//	err = q.Close()
//
// What is lazy is held back until a durable batch comes to go with, for a tenth of a second at most
// and up to some megabytes; its caller does not wait.
package groupcommit

import (
	"slices"
	"sync"
	"time"

	"starling/runtime"
)

// Waiting is a batch in the queue.
type Waiting[C any] struct {
	Batch *runtime.Batch
	Cost  C // what it takes of a transaction, as the store reckons

	done chan error // nil for a lazy batch, whose caller has gone
}

// Transact writes batches from the front of the queue in one transaction, as many as it holds, and
// returns when they are durable. It tells how many it has dealt with, and which of these, by place,
// it has left out and why. After an error nothing is known of the transaction: that batch and all
// later ones are answered with the error. It is never called twice at a time.
type Transact[C any] func(queue []*Waiting[C]) (n int, refused map[int]error, err error)

const (
	// lazyDelay is the longest that a lazy batch waits for a durable one to go with.
	lazyDelay = 100 * time.Millisecond
	// lazyBytes is how much of them may wait; beyond it the caller waits too.
	lazyBytes = 4 << 20
)

// Queue is where batches wait. A caller who finds nobody writing writes one transaction itself:
// waking a goroutine that has slept for longer than a moment costs a tenth of a commit on a local
// disk. What has come meanwhile is left to the goroutine of [Queue.Run], so that nobody waits long
// for the batches of others. Its methods may be called concurrently.
type Queue[C any] struct {
	transact Transact[C]
	done     chan struct{} // closed when Run has ended

	mu      sync.Mutex // guards what is below
	wake    *sync.Cond
	waiting []*Waiting[C]
	busy    bool  // somebody writes
	urgent  bool  // somebody waits for what is in the queue, or it has waited long enough
	lazy    int64 // bytes of lazy batches in the queue
	closing bool
	failed  error
}

// New makes a queue. Nothing of it is written before [Queue.Run] is called.
func New[C any](t Transact[C]) *Queue[C] {
	q := &Queue[C]{transact: t, done: make(chan struct{})}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// Commit queues the batch, of so many bytes, and waits for its answer; for a lazy batch it does not
// wait, unless several megabytes of them do.
func (q *Queue[C]) Commit(b *runtime.Batch, cost C, size int64) error {
	w := &Waiting[C]{Batch: b, Cost: cost}
	leads, err := q.enqueue(w, size)
	if err != nil || w.done == nil {
		return err
	}
	if leads {
		q.lead()
	}
	return <-w.done
}

// enqueue adds a batch to those that wait. leads tells that nobody writes and the caller is to.
func (q *Queue[C]) enqueue(w *Waiting[C], size int64) (leads bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing {
		return false, runtime.ErrStoreClosed
	}
	if q.failed != nil {
		return false, q.failed
	}
	if w.Batch.Lazy && q.lazy+size <= lazyBytes {
		w.Batch = clone(w.Batch)
		if q.lazy == 0 {
			time.AfterFunc(lazyDelay, q.hurry)
		}
		q.lazy += size
	} else {
		w.done = make(chan error, 1)
		leads = !q.busy
		q.busy = true
		q.urgent = true
	}
	q.waiting = append(q.waiting, w)
	return leads, nil
}

// lead writes one transaction for a caller that found nobody writing, and leaves what has come
// meanwhile to the goroutine. A panic in it ends the process, also where the caller would recover:
// else every later commit would wait for one that is never finished.
func (q *Queue[C]) lead() {
	defer runtime.EndWithPanic()
	q.mu.Lock()
	queue := q.takeAll()
	q.mu.Unlock()
	q.stop(q.write(queue))
}

// stop ends one's writing. What is left, and what has come meanwhile, is for the goroutine.
func (q *Queue[C]) stop(left []*Waiting[C]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(left, q.waiting...)
	q.urgent = q.urgent || len(left) > 0
	q.busy = false
	if q.urgent || q.closing {
		q.wake.Signal()
	}
}

// hurry commits lazy batches that no durable one has come for.
func (q *Queue[C]) hurry() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urgent = len(q.waiting) > 0
	q.wake.Signal()
}

// clone copies a lazy batch, which its caller may change while it waits.
func clone(b *runtime.Batch) *runtime.Batch {
	writes := make([]runtime.Write, len(b.Writes))
	for i, w := range b.Writes {
		writes[i] = runtime.Write{Key: slices.Clone(w.Key), Value: slices.Clone(w.Value)}
	}
	return &runtime.Batch{Writes: writes, Lazy: true}
}

// take waits until something must be written and returns all that waits; nothing means that the
// queue closes.
func (q *Queue[C]) take() []*Waiting[C] {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.busy || !q.urgent && !q.closing {
		q.wake.Wait()
	}
	q.busy = true
	return q.takeAll()
}

// takeAll empties the queue. It is called with mu held.
func (q *Queue[C]) takeAll() []*Waiting[C] {
	queue := q.waiting
	q.waiting, q.urgent, q.lazy = nil, false, 0
	return queue
}

// Run writes what no caller writes itself, until [Queue.Close].
func (q *Queue[C]) Run() {
	defer close(q.done)
	for queue := q.take(); len(queue) > 0; queue = q.take() {
		for len(queue) > 0 {
			queue = q.write(queue)
		}
		q.stop(nil)
	}
}

// write writes one transaction, answers what was in it, and returns the rest.
func (q *Queue[C]) write(queue []*Waiting[C]) []*Waiting[C] {
	err := q.Failure()
	if err == nil {
		var n int
		var refused map[int]error
		if n, refused, err = q.transact(queue); err == nil {
			answer(queue[:n], func(i int) error { return refused[i] })
			return queue[n:]
		}
		q.Fail(err)
	}
	answer(queue, func(int) error { return err })
	return nil
}

func answer[C any](queue []*Waiting[C], err func(int) error) {
	for i, w := range queue {
		if w.done != nil {
			w.done <- err(i)
		}
	}
}

// Close commits what waits and returns the failure that ended the queue before, if any. It needs
// Run to run, and is called once.
func (q *Queue[C]) Close() error {
	q.mu.Lock()
	q.closing = true
	q.wake.Signal()
	q.mu.Unlock()
	<-q.done
	return q.Failure()
}

// Failure is the error of the transaction that failed, nil while none has.
func (q *Queue[C]) Failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed
}

// Fail has all later batches answered with err, as after a transaction that failed.
func (q *Queue[C]) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failed = err
}

// Len is how many batches wait.
func (q *Queue[C]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
