package runtimetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"starling/runtime"
)

// Fake is an engine that can be read in one sitting, for tests of what stands around engines:
// sockets, owners, command lines. It keeps the promises of runtime.Engine that [TestEngine] checks.
// Its scripts are a sliver of Starlark (fakescript.go): straight lines of print, gate, agent, fail
// and return. Bundles are source text.
//
// What it accepted is in a file, one JSON object a line, and a Fake that opens the file later comes
// to the same state with the same sequence numbers. A run is a fold over those lines; nothing else
// is kept.
type Fake struct {
	perform func(context.Context, FakeCall) (string, error)
	life    context.Context
	end     context.CancelFunc
	flights sync.WaitGroup

	mu      sync.Mutex // protects what is below
	log     *os.File   // nil for none
	closed  bool
	runs    []*fakeRun
	keys    map[string]fakeKey
	changed chan struct{} // closed at each change, for those who watch
}

// FakeCall is what an agent of a [Fake] is asked.
type FakeCall struct {
	Run   string
	Agent string
	Env   map[string]string
}

var _ runtime.Engine = (*Fake)(nil)

// OpenFake opens the engine whose lines are in the file at path, "" for one that forgets. perform
// does the work of agents; it is called again for an agent whose reply was not recorded when a Fake
// was lost.
func OpenFake(path string, perform func(context.Context, FakeCall) (string, error)) (*Fake, error) {
	f := &Fake{perform: perform, keys: map[string]fakeKey{}, changed: make(chan struct{})}
	f.life, f.end = context.WithCancel(context.Background())
	if path == "" {
		return f, nil
	}
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if f.log, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	return f, f.log.Truncate(int64(f.replay(content)))
}

// replay applies the lines and returns how many bytes they have. One that a crash has cut is not
// among them: nobody had an answer to it.
func (f *Fake) replay(content []byte) (whole int) {
	for {
		line, _, ok := bytes.Cut(content[whole:], []byte("\n"))
		var e entry
		if !ok || json.Unmarshal(line, &e) != nil {
			return whole
		}
		f.apply(&e)
		whole += len(line) + 1
	}
}

// Start implements runtime.Engine.
func (f *Fake) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.admitUser(ctx); err != nil {
		return nil, err
	}
	env := r.Env
	r.Env = nil
	if known, ok := f.keys["start "+r.Key]; ok && r.Key != "" {
		if known.request != document(r) {
			return nil, keyConflict(r.Key)
		}
		return f.find(known.run).document(), nil
	}
	e := &entry{Time: time.Now().UTC(), Caller: runtime.CallerOf(ctx), Run: newFakeID(len(f.runs)), Start: &r}
	if _, err := f.commit(e); err != nil {
		return nil, err
	}
	run := f.find(e.Run)
	first := run.document()
	f.carry(run, env)
	return first, nil
}

// Signal implements runtime.Engine.
func (f *Fake) Signal(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	env := s.Env
	s.Env = nil
	return f.mutate(ctx, s.Run, s.Key, s, env, func(e *entry) { e.Signal = &s })
}

// Cancel implements runtime.Engine.
func (f *Fake) Cancel(ctx context.Context, c runtime.CancelRequest) (*runtime.Receipt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mutate(ctx, c.Run, c.Key, c, nil, func(e *entry) { e.Cancel = &c })
}

// mutate does what a signal and a cancel share.
func (f *Fake) mutate(ctx context.Context, address, key string, request any, env map[string]string, fill func(*entry)) (*runtime.Receipt, error) {
	if err := f.admit(ctx); err != nil {
		return nil, err
	}
	run, err := f.address(address)
	if err != nil {
		return nil, err
	}
	if known, ok := f.keys[run.doc.ID+" "+key]; ok && key != "" {
		if known.request != document(request) {
			return nil, keyConflict(key)
		}
		again := *known.receipt
		again.Repeated = true
		return &again, nil
	}
	e := &entry{Time: time.Now().UTC(), Caller: runtime.CallerOf(ctx), Run: run.doc.ID}
	fill(e)
	receipt, err := f.commit(e)
	if err != nil {
		return nil, err
	}
	f.carry(run, env)
	return receipt, nil
}

// Resume implements runtime.Engine.
func (f *Fake) Resume(ctx context.Context, c runtime.ResumeRequest) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.admitUser(ctx); err != nil {
		return nil, err
	}
	wanted := f.runs
	if !c.All {
		wanted = nil
		for _, address := range c.Runs {
			run, err := f.address(address)
			if err != nil {
				return nil, err
			}
			wanted = append(wanted, run)
		}
	}
	carried := []string{}
	for _, run := range wanted {
		if !run.doc.Status.Ended() {
			f.carry(run, c.Env)
			carried = append(carried, run.doc.ID)
		}
	}
	return carried, nil
}

// Get implements runtime.Engine.
func (f *Fake) Get(ctx context.Context, address string) (*runtime.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.admit(ctx); err != nil {
		return nil, err
	}
	run, err := f.address(address)
	if err != nil {
		return nil, err
	}
	return run.document(), nil
}

// List implements runtime.Engine.
func (f *Fake) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.admit(ctx); err != nil {
		return nil, err
	}
	l := &runtime.Listing{Schema: runtime.Schema}
	for i := len(f.runs) - 1; i >= 0; i-- {
		run := f.runs[i]
		if q.Gates {
			l.Gates = append(l.Gates, run.gatesFor(q.Target)...)
		} else if run.selected(q) && (q.Limit == 0 || len(l.Runs) < q.Limit) {
			l.Runs = append(l.Runs, run.summary())
		}
	}
	return l, nil
}

// Watch implements runtime.Engine.
func (f *Fake) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	f.mu.Lock()
	err := f.admit(ctx)
	var run *fakeRun
	if err == nil {
		run, err = f.address(w.Run)
	}
	f.mu.Unlock()
	for after := w.After; err == nil; {
		events, changed, over := f.since(run, after)
		for _, ev := range events {
			if err := fn(ev); err != nil {
				return ifNot(err, runtime.ErrStopWatch)
			}
			after = ev.Seq
		}
		if over || !w.Follow {
			return nil
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-f.life.Done():
			err = errFakeClosed
		case <-changed:
		}
	}
	return err
}

func ifNot(err, unless error) error {
	if errors.Is(err, unless) {
		return nil
	}
	return err
}

// since returns what happened after a sequence number, how to hear of more, and whether there will
// be more.
func (f *Fake) since(run *fakeRun, after uint64) (events []runtime.Event, changed <-chan struct{}, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := uint64(len(run.events)); after < n {
		events = run.events[after:n:n]
	}
	return events, f.changed, run.doc.Status.Ended()
}

// Blob implements runtime.Engine: it knows the sources of its runs.
func (f *Fake) Blob(ctx context.Context, hash string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.admit(ctx); err != nil {
		return nil, err
	}
	for _, run := range f.runs {
		if run.program == hash {
			return run.bundle, nil
		}
	}
	return nil, runtime.Refusef(runtime.ErrInternal, "there is no content %q", hash)
}

// Close implements runtime.Engine. Agents at work are stopped, and asked again by whoever carries
// their run next.
func (f *Fake) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.end()
	f.flights.Wait()
	if f.log == nil {
		return nil
	}
	return f.log.Close()
}

var errFakeClosed = runtime.Refusef(runtime.ErrInternal, "the engine is closed")

// admit turns away strangers and everybody after Close.
func (f *Fake) admit(ctx context.Context) error {
	switch {
	case runtime.CallerOf(ctx).Name == "":
		return runtime.Refusef(runtime.ErrDenied, "the caller is not known")
	case f.closed:
		return errFakeClosed
	}
	return nil
}

// admitUser turns away agents too.
func (f *Fake) admitUser(ctx context.Context) error {
	if agent := runtime.CallerOf(ctx).Agent; agent != "" {
		return runtime.Refusef(runtime.ErrDenied, "the agent %q may neither start nor resume runs", agent)
	}
	return f.admit(ctx)
}

func (f *Fake) find(id string) *fakeRun {
	for _, run := range f.runs {
		if run.doc.ID == id {
			return run
		}
	}
	return nil
}

// address finds the run that people mean.
func (f *Fake) address(address string) (*fakeRun, error) {
	if address == "@last" && len(f.runs) > 0 {
		return f.runs[len(f.runs)-1], nil
	}
	var fits []*fakeRun
	var ids []string
	for _, run := range f.runs {
		if address != "" && strings.HasPrefix(run.doc.ID, address) {
			fits, ids = append(fits, run), append(ids, run.doc.ID)
		}
	}
	switch len(fits) {
	case 0:
		return nil, runtime.Refuse(runtime.ErrUnknownRun, "list all runs with: starling ps -a", "there is no run %q", address)
	case 1:
		return fits[0], nil
	}
	return nil, runtime.Refuse(runtime.ErrAmbiguous, "give more of the id", "%q is ambiguous: it matches %s", address, strings.Join(ids, ", "))
}
