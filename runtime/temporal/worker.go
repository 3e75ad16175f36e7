package temporal

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"starling/runtime/journal"
)

// Worker carries runs: it takes their turns, and performs their attempts.
type Worker struct {
	*connection
	books sync.Map // of *book, by the keys under which workflows know them
	keys  atomic.Uint64
	inner worker.Worker
	own   worker.Worker // of its own queue, on which it is asked to go on with its attempts
	home  string        // the name of that

	carries string // what it says that it takes
	leave   func() // ends its saying that it is there
	flying  flying
}

// WorkerOptions say what a worker does.
type WorkerOptions struct {
	Options
	Attempts int           // at most at once, 0 for 100
	Only     bool          // performs attempts and takes no turns: for the queue of an agent
	Grace    time.Duration // how long attempts in flight may go on when it stops, default 5 s
}

// NewWorker makes a worker, which begins with [Worker.Start].
func NewWorker(o WorkerOptions) *Worker {
	w := &Worker{connection: connect(o.Options), leave: func() {}, carries: carriesRuns}
	w.home = w.queue + "@" + lettersOf(random(journal.RunIDLength))
	if o.Attempts == 0 {
		o.Attempts = 100
	}
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	w.inner = worker.New(o.Client, w.queue, worker.Options{
		MaxConcurrentActivityExecutionSize: o.Attempts,
		MaxConcurrentWorkflowTaskPollers:   8,
		MaxConcurrentActivityTaskPollers:   8,
		StickyScheduleToStartTimeout:       5 * time.Second,
		WorkerStopTimeout:                  o.Grace,
		DisableWorkflowWorker:              o.Only,
		DeadlockDetectionTimeout:           10 * time.Second, // a machine may be busy; a postman never is for long
		MaxHeartbeatThrottleInterval:       pulse,
	})
	w.own = worker.New(o.Client, w.home, worker.Options{
		MaxConcurrentActivityExecutionSize: o.Attempts,
		MaxConcurrentActivityTaskPollers:   2,
		DisableWorkflowWorker:              true,
	})
	w.own.RegisterActivityWithOptions(w.adopt, activity.RegisterOptions{Name: adoptName})
	if o.Only {
		w.carries = carriesAttempts
		w.inner.RegisterActivityWithOptions(w.attempt, activity.RegisterOptions{Name: attemptName})
	} else {
		w.Register(w.inner)
	}
	return w
}

// Registry is what workflows and activities are registered with.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register gives an SDK worker, a replayer or a test environment what runs are made of.
func (w *Worker) Register(r Registry) {
	r.RegisterWorkflowWithOptions(w.postman, workflow.RegisterOptions{Name: workflowName})
	r.RegisterActivityWithOptions(w.takeTurn, activity.RegisterOptions{Name: turnName})
	r.RegisterActivityWithOptions(w.attempt, activity.RegisterOptions{Name: attemptName})
}

// Start begins to ask for work.
func (w *Worker) Start() error {
	err := w.own.Start()
	if err == nil {
		err = w.inner.Start()
	}
	if err == nil {
		ctx, cancel := context.WithCancel(context.Background())
		w.leave = cancel
		go w.present(ctx)
	}
	return w.refusal(err, "")
}

// Stop asks for no more work, and returns when what is in flight has ended or its grace is over.
func (w *Worker) Stop() {
	w.leave()
	w.inner.Stop()
	w.own.Stop()
}

// shelve keeps a book where the turns of its workflow find it.
func (w *Worker) shelve(b *book) string {
	key := strconv.FormatUint(w.keys.Add(1), 10)
	w.books.Store(key, b)
	return key
}

func (w *Worker) unshelve(key string) { w.books.Delete(key) }

// takeTurn is the local activity turn: it takes what waits in a book.
func (w *Worker) takeTurn(ctx context.Context, key string) ([]byte, error) {
	b, ok := w.books.Load(key)
	if !ok {
		return nil, fmt.Errorf("the run of turn %s is not here any more", key)
	}
	return w.record(ctx, b.(*book))
}
