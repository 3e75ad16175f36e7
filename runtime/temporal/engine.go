package temporal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// Engine is a [runtime.Engine] whose runs are workflows on a Temporal server. It carries none
// itself: that is for workers. What it tells of a run it reads in the run's history, so looking
// needs no worker.
type Engine struct {
	*connection
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	once sync.Once
}

var (
	_ runtime.Engine  = (*Engine)(nil)
	_ runtime.Pages   = (*Engine)(nil)
	_ runtime.Reruns  = (*Engine)(nil)
	_ runtime.Archive = (*Engine)(nil)
)

// New makes an engine. Its client is left open by Close.
func New(o Options) *Engine {
	e := &Engine{connection: connect(o)}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// Close ends what waits here. The runs go on.
func (e *Engine) Close() error {
	e.stop()
	return nil
}

// begin is at the head of each call: it ends with the engine too.
func (e *Engine) begin(ctx context.Context) (context.Context, func(), error) {
	if e.ctx.Err() != nil {
		return nil, nil, runtime.ErrShuttingDown
	}
	ctx, cancel := context.WithCancel(e.called(ctx))
	stop := context.AfterFunc(e.ctx, cancel)
	return ctx, func() { stop(); cancel() }, nil
}

// called is a context with who calls: whoever this process works for, where nothing else is said.
func (e *Engine) called(ctx context.Context) context.Context {
	if runtime.CallerOf(ctx).Name == "" {
		return runtime.WithCaller(ctx, e.caller)
	}
	return ctx
}

// need refuses a caller who may not do something.
func need(ctx context.Context, want runtime.Capability, doing string) error {
	if refused := runtime.CallerOf(ctx).Lacks(want, doing); refused != nil {
		return refused
	}
	return nil
}

// Start makes a run durable: its workflow begins with its first turn. The workers go on from there.
func (e *Engine) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	began := time.Now()
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err = need(ctx, runtime.CanRun, "start runs"); err == nil {
		err = need(ctx, runtime.CanAdmin, "start runs under a project of one's own")
	}
	if err != nil {
		return nil, err
	}
	r.Settings.Grant, r.Settings.Machine = "", ""
	id := newRunID()
	if r.Key != "" {
		id = keyedID(r.Key)
	}
	first, err := e.first(ctx, id, r, runtime.CallerOf(ctx).Name, "", 0, time.Now().UTC().Truncate(time.Microsecond))
	if err != nil {
		return nil, err
	}
	if err := e.attended(ctx, began); err != nil {
		return nil, err
	}
	input, err := e.pack(ctx, first.encode(), maxBody)
	if large := (*errTooLarge)(nil); errors.As(err, &large) {
		return nil, runtime.Refuse(runtime.ErrBadPayload, "keep large files out of the script and its inputs", "what the run begins with has %v", err)
	}
	if err != nil {
		return nil, err
	}
	_, err = e.client.ExecuteWorkflow(ctx, e.startOptions(id, first), workflowName, input)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return e.startedBefore(ctx, id, &r)
	}
	if err != nil {
		return nil, e.refusal(err, id)
	}
	b := newBook(id)
	if err := b.apply(first); err != nil {
		return nil, err
	}
	return e.desk.Reader(b.store, goesOn(b.store)).Get(ctx, id)
}

func (e *Engine) startOptions(id string, first *turned) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: id, TaskQueue: e.queue,
		WorkflowTaskTimeout:                      taskTime,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     map[string]any{memoName: memoOf(rowsOf(first))},
	}
}

// taskTime is how long a worker that has died in the middle of a turn is waited for.
const taskTime = 2 * time.Second

// startedBefore is the run that was started with the same key.
func (e *Engine) startedBefore(ctx context.Context, id string, r *runtime.StartRequest) (*runtime.Run, error) {
	h, err := e.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if k, ok := h.startKey(r.Key); !ok || k.Digest != run.StartDigest(*r) {
		return nil, runtime.Refusef(runtime.ErrKeyConflict, "the key %q was used to start another run", r.Key).WithHelp("use a new key for a new run")
	}
	return e.document(ctx, h)
}

// newRunID is as that of a run of a store.
func newRunID() string { return lettersOf(random(journal.RunIDLength)) }

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// keyedID is the id of the run that is started with a key: the server keeps it from being started
// twice.
func keyedID(key string) string {
	sum := sha256.Sum256([]byte("start\x00" + key))
	return lettersOf(sum[:journal.RunIDLength])
}

// childID is the id of the run of a step.
func childID(parent, step string) string {
	sum := sha256.Sum256([]byte("child\x00" + parent + "@" + step))
	return lettersOf(sum[:journal.RunIDLength])
}

func lettersOf(b []byte) string {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = journal.Crockford[b[i]&31]
	}
	return string(out)
}

// resolve finds the run that an address means. A whole id is taken as it is.
func (e *Engine) resolve(ctx context.Context, address string) (string, error) {
	if journal.IsRunID(address) {
		return address, nil
	}
	where := ""
	if address != "@last" {
		if address == "" || strings.Trim(address, journal.Crockford) != "" {
			return "", unknown(address)
		}
		where = "WorkflowId STARTS_WITH '" + address + "'"
	}
	s, err := e.listing(ctx, where)
	if err != nil {
		return "", err
	}
	id, _, err := engine.NewPast(s).Address(address, "")
	return id, err
}

// Get returns one run as its history has it.
func (e *Engine) Get(ctx context.Context, address string) (*runtime.Run, error) {
	return reading(ctx, e, address, true, func(ctx context.Context, from runtime.Engine, h *history) (*runtime.Run, error) {
		r, err := from.Get(ctx, h.run)
		if err == nil && !r.Status.Ended() {
			r.Details.NeedsWorker, err = e.lacking(ctx, h.run, h)
		}
		return r, err
	})
}

// document is a run that was read.
func (e *Engine) document(ctx context.Context, h *history) (*runtime.Run, error) {
	if err := e.withChildren(ctx, h); err != nil {
		return nil, err
	}
	return e.desk.Reader(h.store, goesOn(h.store)).Get(ctx, h.run)
}

// withChildren adds to a run that was read those that it has started.
func (e *Engine) withChildren(ctx context.Context, h *history) error {
	var kids []string
	err := journal.Scan(h.store, journal.PrefixChild+h.run+"@", func(_ string, id []byte) error {
		kids = append(kids, string(id))
		return nil
	})
	for _, id := range kids {
		if err == nil {
			err = e.addChild(ctx, h, id)
		}
	}
	return err
}

// addChild adds a child run. One that is just being started is not there yet.
func (e *Engine) addChild(ctx context.Context, h *history, id string) error {
	child, err := e.read(ctx, id)
	if refused := (*runtime.Refusal)(nil); errors.As(err, &refused) && refused.Kind == runtime.ErrUnknownRun {
		return h.store.Commit(ctx, &runtime.Batch{Writes: []runtime.Write{{Key: journal.ChildKey(h.parentKey(id)), Value: nil}}})
	}
	if err != nil {
		return err
	}
	if err := e.withChildren(ctx, child); err != nil {
		return err
	}
	batch := &runtime.Batch{Fences: []runtime.Fence{{Run: id, Next: child.seq}}}
	err = child.store.Scan([]byte{1}, nil, func(k, v []byte) error {
		batch.Writes = append(batch.Writes, runtime.Write{Key: slices.Clone(k), Value: append([]byte{}, v...)})
		return nil
	})
	if err != nil {
		return err
	}
	return h.store.Commit(ctx, batch)
}

// parentKey is the step of this run that has started a child, as RUN@STEP.
func (h *history) parentKey(child string) (parent string) {
	_ = journal.Scan(h.store, journal.PrefixChild, func(step string, id []byte) error {
		if string(id) == child {
			parent = step
		}
		return nil
	})
	return parent
}

// startKey is what a start key stands for.
func (h *history) startKey(key string) (journal.Keyed, bool) {
	return keyedIn(h.store, journal.PrefixStartKey+key)
}

// reading has a question about a run answered from its history.
func reading[A any](ctx context.Context, e *Engine, address string, children bool, ask func(context.Context, runtime.Engine, *history) (A, error)) (none A, err error) {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return none, err
	}
	defer done()
	if err := need(ctx, runtime.CanRead, "see runs"); err != nil {
		return none, err
	}
	id, err := e.resolve(ctx, address)
	if err != nil {
		return none, err
	}
	h, err := e.read(ctx, id)
	if err != nil {
		return none, err
	}
	if children {
		if err := e.withChildren(ctx, h); err != nil {
			return none, err
		}
	}
	return ask(ctx, e.desk.Reader(h.store, goesOn(h.store)), h)
}

// List returns what a query asks for, as the server's lists have it: they may lag.
func (e *Engine) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := need(ctx, runtime.CanRead, "list runs"); err != nil {
		return nil, err
	}
	if q.Queues || q.Queue != "" {
		return nil, errUnsupported("queues")
	}
	s, err := e.listing(ctx, "")
	if err != nil {
		return nil, err
	}
	return e.desk.Reader(s, goesOn(s)).List(ctx, q)
}

// Watch calls fn for the events of a run in order.
func (e *Engine) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	if !w.Follow {
		_, err := reading(ctx, e, w.Run, false, func(ctx context.Context, from runtime.Engine, h *history) (bool, error) {
			w.Run = h.run
			return true, from.Watch(ctx, w, fn)
		})
		return err
	}
	given := ctx
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := need(ctx, runtime.CanRead, "watch runs"); err != nil {
		return err
	}
	id, err := e.resolve(ctx, w.Run)
	if err != nil {
		return err
	}
	go e.warn(ctx, id)
	next, own := w.After, error(nil)
	err = e.follow(ctx, id, func(r *journal.Record) error {
		if r.Seq <= next {
			return nil
		}
		next = r.Seq
		if len(w.Types) > 0 && !slices.Contains(w.Types, r.Type.String()) {
			return nil
		}
		own = fn(r.Event(id))
		return own
	})
	switch {
	case errors.Is(own, runtime.ErrStopWatch):
		return nil
	case own != nil:
		return own
	case given.Err() != nil:
		return given.Err()
	case e.ctx.Err() != nil:
		return runtime.ErrShuttingDown
	}
	return e.refusal(err, id)
}

// Blob returns content by its hash. It is found in the runs that were looked at last: the server
// knows nothing of contents.
func (e *Engine) Blob(ctx context.Context, hash string) ([]byte, error) {
	if e.ctx.Err() != nil {
		return nil, runtime.ErrShuttingDown
	}
	if err := need(e.called(ctx), runtime.CanRead, "read contents"); err != nil {
		return nil, err
	}
	if b, ok := e.contents.find(hash); ok {
		return b, nil
	}
	return nil, runtime.Refusef(runtime.ErrUnknownRun, "no content with the hash %q in the runs that were looked at last", hash).
		WithHelp("look at its run first: starling-temporal artifacts RUN")
}

// StepPage lists some of a run's steps.
func (e *Engine) StepPage(ctx context.Context, q runtime.StepQuery) (*runtime.StepPage, error) {
	return reading(ctx, e, q.Run, false, func(ctx context.Context, from runtime.Engine, h *history) (*runtime.StepPage, error) {
		q.Run = h.run
		return from.(runtime.Pages).StepPage(ctx, q)
	})
}

// Declared tells which variables the workers are to bring.
func (e *Engine) Declared(ctx context.Context, address string) (*runtime.Declared, error) {
	d, err := reading(ctx, e, address, false, func(ctx context.Context, from runtime.Engine, h *history) (*runtime.Declared, error) {
		return from.(runtime.Pages).Declared(ctx, h.run)
	})
	if err != nil {
		return nil, err
	}
	return &runtime.Declared{Run: d.Run}, nil // nobody who asks can bring them
}

// Replay executes a run again from its history.
func (e *Engine) Replay(ctx context.Context, q runtime.ReplayRequest) (*runtime.Replayed, error) {
	return reading(ctx, e, q.Run, false, func(ctx context.Context, from runtime.Engine, h *history) (*runtime.Replayed, error) {
		return from.(runtime.Reruns).Replay(ctx, runtime.ReplayRequest{Run: h.run})
	})
}

// Export gives a run with its child runs as a file.
func (e *Engine) Export(ctx context.Context, address string) ([]byte, error) {
	return reading(ctx, e, address, true, func(ctx context.Context, from runtime.Engine, h *history) ([]byte, error) {
		return from.(runtime.Archive).Export(ctx, h.run)
	})
}

// Move is not there in this version.
func (*Engine) Move(context.Context, runtime.MoveRequest) (*runtime.Replayed, error) {
	return nil, errUnsupported("rerun --script")
}

// Fork is not there in this version.
func (*Engine) Fork(context.Context, runtime.ForkRequest) (*runtime.Run, error) {
	return nil, errUnsupported("rerun and fork")
}

// Import is not there in this version.
func (*Engine) Import(context.Context, runtime.ImportRequest) (*runtime.Imported, error) {
	return nil, errUnsupported("import")
}
