package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"starling/lang/effect"
)

// reader answers questions from a store alone: what it tells is durable, because nothing else is there. A Local engine is a reader that also drives.
type reader struct {
	store   Store
	carried func(run string) bool

	mu      *sync.Mutex              // guards what follows
	changed map[string]chan struct{} // closed when a run has committed
	closed  bool
}

func newReader(store Store) reader {
	return reader{store: store, carried: func(string) bool { return false }, mu: new(sync.Mutex), changed: map[string]chan struct{}{}}
}

// NewReader returns an engine that only reads: Get, List, Watch without Follow and Blob answer, everything else is refused. It is what a command that
// prints and leaves uses when the store has no owner.
func NewReader(store Store) Engine {
	r := newReader(store)
	return &readOnly{r}
}

type readOnly struct{ reader }

var errReadOnly = refuse(ErrOwnerUnreachable, "the store is open for reading only")

// Start is refused.
func (*readOnly) Start(context.Context, StartRequest) (*Run, error) { return nil, errReadOnly }

// Signal is refused.
func (*readOnly) Signal(context.Context, Signal) (*Receipt, error) { return nil, errReadOnly }

// Cancel is refused.
func (*readOnly) Cancel(context.Context, CancelRequest) (*Receipt, error) { return nil, errReadOnly }

// Carry is refused.
func (*readOnly) Carry(context.Context, CarryRequest) ([]string, error) { return nil, errReadOnly }

// Close closes the store.
func (r *readOnly) Close() error { return r.store.Close() }

// notify wakes the watchers of a run.
func (r *reader) notify(run string, _ uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.changed[run]; c != nil {
		close(c)
		delete(r.changed, run)
	}
}

// next is closed when the run commits next.
func (r *reader) next(run string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.changed[run]
	if c == nil {
		c = make(chan struct{})
		r.changed[run] = c
		if r.closed {
			close(c)
		}
	}
	return c
}

// close ends all watching.
func (r *reader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for run, c := range r.changed {
		close(c)
		delete(r.changed, run)
	}
}

func (r *reader) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// summary reads the row of a run.
func (r *reader) summary(run string) (Summary, error) {
	row, err := r.store.Get(runKey(run))
	if errors.Is(err, ErrNoKey) {
		return Summary{}, refuse(ErrUnknownRun, "no run %q", run).help("list them with: starling ps -a")
	}
	if err != nil {
		return Summary{}, err
	}
	return readSummary(run, row)
}

// resolveRun finds the run that an address means: an id, a unique prefix, "@last".
func (r *reader) resolveRun(address string) (string, error) {
	if address == "@last" {
		return r.last()
	}
	var fits []string
	err := scan(r.store, prefixRun+address, func(rest string, _ []byte) error {
		fits = append(fits, address+rest)
		if len(fits) > 8 {
			return ErrStopScan
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case address == "" || len(fits) == 0:
		return "", refuse(ErrUnknownRun, "no run %q", address).help("list them with: starling ps -a")
	case len(fits) > 1 && !slices.Contains(fits, address):
		return "", refuse(ErrAmbiguous, "run %q could be any of %s", address, strings.Join(fits, ", ")).help("give more letters").with(fits)
	}
	return fits[0], nil
}

// last is the newest run that no other run has started.
func (r *reader) last() (string, error) {
	runs, err := r.runs()
	if err != nil {
		return "", err
	}
	for _, s := range runs {
		if s.Parent == "" {
			return s.ID, nil
		}
	}
	return "", refuse(ErrUnknownRun, "there is no run yet")
}

// address finds the run and the gate that RUN/GATE means: a gate of a child run is addressed through the step that started it.
func (r *reader) address(run, gate string) (string, string, error) {
	id, err := r.resolveRun(run)
	if err != nil {
		return "", "", err
	}
	for {
		inner := r.innermost(id, gate)
		if inner == "" {
			return id, gate, nil
		}
		gate = strings.TrimPrefix(gate, inner+"/")
		id = r.childOf(id, inner)
	}
}

// innermost finds the step with a child run that the gate's address begins with.
func (r *reader) innermost(run, gate string) string {
	for i := range gate {
		if gate[i] == '/' && r.childOf(run, gate[:i]) != "" {
			return gate[:i]
		}
	}
	return ""
}

// past looks for gates that are no longer open: one of this whole name, or the only one that ends with it.
func (r *reader) past(run string) func(string) (pastGate, bool) {
	return func(address string) (pastGate, bool) {
		var found []pastGate
		prefix := prefixGate + run + "/"
		exact := false
		err := scan(r.store, prefix, func(name string, v []byte) error {
			if name != address && !strings.HasSuffix(name, "/"+address) {
				return nil
			}
			records, err := readRecords(v, 0)
			if err != nil || len(records) != 1 {
				return err
			}
			p := pastOf(&records[0])
			if name == address {
				found, exact = []pastGate{p}, true
				return ErrStopScan
			}
			found = append(found, p)
			return nil
		})
		if err != nil || len(found) == 0 || len(found) > 1 && !exact {
			return pastGate{}, false
		}
		return found[0], true
	}
}

// blob reads content by its hash and holds it against the hash.
func (r *reader) blob(hash string) ([]byte, error) {
	b, err := r.store.Get([]byte(prefixBlob + hash))
	if err != nil {
		return nil, err
	}
	if hashOf(b) != hash {
		return nil, fmt.Errorf("%w: content %s does not have its hash", ErrDamaged, hash)
	}
	return b, nil
}

// Blob returns content by its hash.
func (r *reader) Blob(_ context.Context, hash string) ([]byte, error) {
	b, err := r.blob(hash)
	if errors.Is(err, ErrNoKey) {
		return nil, refuse(ErrUnknownRun, "no content with the hash %q", hash)
	}
	return b, err
}

// Get returns one run as the store has it.
func (r *reader) Get(_ context.Context, address string) (*Run, error) {
	id, err := r.resolveRun(address)
	if err != nil {
		return nil, err
	}
	sv, err := readRun(r.store, id, 0)
	if err != nil {
		return nil, err
	}
	s := sv.fold()
	run := &Run{Schema: Schema, ID: id, Status: s.Status, Script: s.Script, Inputs: jsonOfPayload(s.Inputs), Output: []byte("null"), Error: runError(s.Err)}
	if s.Status == Completed {
		run.Output = jsonOfPayload(s.Output)
	}
	if run.Gates, err = r.gatesOf(id, "", s); err != nil {
		return nil, err
	}
	run.Details, err = r.details(s)
	return run, err
}

func jsonOfPayload(p effect.Payload) json.RawMessage {
	v, err := p.Value()
	if err != nil {
		return []byte("null")
	}
	return jsonOf(v)
}

func runError(err *effect.Error) *RunError {
	if err == nil {
		return nil
	}
	e := &RunError{Kind: string(err.Kind), Message: err.Message, Where: err.Where, Backtrace: err.Backtrace}
	if len(err.Data) > 0 {
		e.Data = jsonOfPayload(err.Data)
	}
	return e
}

// gatesOf lists the open gates of a run and of its child runs, whose addresses begin with the steps that started them.
func (r *reader) gatesOf(top, path string, s *state) ([]Gate, error) {
	out := []Gate{}
	for _, g := range s.openGates() {
		v, err := g.payload().View()
		if err != nil {
			return nil, err
		}
		out = append(out, gateDocument(top, path+g.Name, g.OpenedAt, v))
	}
	for _, st := range s.inOrder() {
		if st.Kind != kindRun {
			continue
		}
		child := r.childOf(s.ID, st.Step)
		if child == "" {
			continue
		}
		sv, err := readRun(r.store, child, 0)
		if err != nil {
			return nil, err
		}
		inner, err := r.gatesOf(top, path+st.Step+"/", sv.fold())
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// details tells what show adds. Steps come from the whole journal: the state forgets what is settled.
func (r *reader) details(s *state) (*Details, error) {
	d := &Details{Program: s.Program, StartedBy: s.By, StartedAt: s.Started, UpdatedAt: s.Updated, Seq: s.Seq, Carried: r.carried(s.ID), InFlight: s.inFlight(),
		Parent: s.Parent, Session: s.Session, Steps: []Step{}}
	if due := s.nextDue(); !due.IsZero() {
		d.NextDue = &due
	}
	if b, err := r.blob(s.Settings); err == nil {
		if v, err := effect.Payload(b).View(); err == nil {
			d.Workspace, d.Env = v.Text("workspace"), v.Texts("env")
		}
	}
	at := map[string]int{}
	err := r.journal(s.ID, 0, func(rec *Record) error {
		d.step(at, rec)
		return nil
	})
	return d, err
}

// step folds one record into the list of steps.
func (d *Details) step(at map[string]int, r *Record) {
	if r.Type == StepRequested || r.Type == StepAnswered {
		v := r.view()
		st := Step{Step: r.Step, Kind: v.Text("kind"), Status: "waiting", StartedAt: r.Time}
		if r.Type == StepAnswered {
			st.Status, st.EndedAt = "ok", &r.Time
		}
		at[r.Step] = len(d.Steps)
		d.Steps = append(d.Steps, st)
		return
	}
	i, ok := at[r.Step]
	if !ok {
		return
	}
	st := &d.Steps[i]
	end := r.Time
	switch r.Type {
	case AttemptStarted:
		st.Status = "running"
		st.Attempts++
	case AttemptEnded:
		st.Status = "waiting"
	case StepSettled:
		st.Status, st.EndedAt = "ok", &end
		if r.view().Has("error") {
			st.Status = "error"
		}
	case StepWithdrawn:
		st.Status, st.EndedAt = "withdrawn", &end
	}
}

// journal calls fn for the records of a run behind a sequence number.
func (r *reader) journal(run string, after uint64, fn func(*Record) error) error {
	from := seqKey(prefixJournal, run, 0)
	if start := r.groupOf(run, after+1); start > 0 {
		from = seqKey(prefixJournal, run, start)
	}
	return r.store.Scan(from, afterPrefix([]byte(prefixJournal+run)), func(k, v []byte) error {
		records, err := unseal(v, seqOf(k))
		if err != nil {
			return err
		}
		for i := range records {
			if records[i].Seq <= after {
				continue
			}
			if err := fn(&records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// groupOf is the first number of the commit that holds a record, 0 when it is not worth looking for. Watchers ask for what comes next, which begins
// a commit of its own.
func (r *reader) groupOf(run string, seq uint64) uint64 {
	if _, err := r.store.Get(seqKey(prefixJournal, run, seq)); err == nil {
		return seq
	}
	return 0
}

// List returns runs or open gates, newest first.
func (r *reader) List(_ context.Context, q Query) (*Listing, error) {
	runs, err := r.runs()
	if err != nil {
		return nil, err
	}
	if q.Gates {
		return r.inbox(q, runs)
	}
	out := &Listing{Schema: Schema, Runs: []Summary{}}
	for _, s := range runs {
		if !q.All && s.Status.Ended() && !slices.Contains(q.Status, s.Status) || len(q.Status) > 0 && !slices.Contains(q.Status, s.Status) {
			continue
		}
		s.Carried = r.carried(s.ID)
		s.Overdue = s.NextDue != nil && !s.Carried && s.NextDue.Before(time.Now())
		out.Runs = append(out.Runs, s)
		if q.Limit > 0 && len(out.Runs) == q.Limit {
			break
		}
	}
	return out, nil
}

// runs reads all rows, the newest run first.
func (r *reader) runs() ([]Summary, error) {
	var out []Summary
	err := scan(r.store, prefixRun, func(run string, row []byte) error {
		s, err := readSummary(run, row)
		out = append(out, s)
		return err
	})
	slices.SortFunc(out, func(a, b Summary) int {
		if c := b.StartedAt.Compare(a.StartedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, err
}

// inbox lists open gates, the oldest first, each under the address of the top run.
func (r *reader) inbox(q Query, runs []Summary) (*Listing, error) {
	parents := map[string]string{}
	for _, s := range runs {
		parents[s.ID] = s.Parent
	}
	out := &Listing{Schema: Schema, Gates: []Gate{}}
	err := scan(r.store, prefixInbox, func(key string, v []byte) error {
		run, name, _ := strings.Cut(key, "/")
		records, err := readRecords(bytes.Clone(v), 0)
		if err != nil || len(records) != 1 {
			return err
		}
		for parents[run] != "" {
			parent, step, _ := cutParent(parents[run])
			run, name = parent, step+"/"+name
		}
		g := gateDocument(run, name, records[0].Time, records[0].view())
		if q.Target == "" || g.Target == "" || g.Target == q.Target {
			out.Gates = append(out.Gates, g)
		}
		return nil
	})
	slices.SortStableFunc(out.Gates, func(a, b Gate) int { return a.OpenedAt.Compare(b.OpenedAt) })
	return out, err
}

// Watch calls fn for the events of a run in order.
func (r *reader) Watch(ctx context.Context, w WatchRequest, fn func(Event) error) error {
	run, err := r.resolveRun(w.Run)
	if err != nil {
		return err
	}
	after, over := w.After, false
	for {
		next := r.next(run)
		err := r.journal(run, after, func(rec *Record) error {
			after = rec.Seq
			over = over || rec.Type == RunCompleted || rec.Type == RunFailed || rec.Type == RunCancelled
			return fn(rec.event(run))
		})
		if errors.Is(err, ErrStopWatch) {
			return nil
		}
		if err != nil || over || !w.Follow {
			return err
		}
		if r.isClosed() {
			return refuse(ErrOwnerUnreachable, "the engine is leaving")
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func readKeyed(v []byte) (keyed, error) {
	var k keyed
	err := json.Unmarshal(v, &k)
	return k, err
}
