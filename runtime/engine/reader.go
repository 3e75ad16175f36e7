package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
	"starling/runtime/tally"
)

// reader answers questions from a store alone: what it tells is durable, because nothing else is
// there. A Local engine is a reader that also drives.
type reader struct {
	store   runtime.Store
	carried func(run string) bool
	needs   func(run string) int64 // bytes of memory that it waits for
	clock   func() time.Time
	lists   *lists
	census  *tally.Census
	lose    func() // the store has another owner now

	mu      *sync.Mutex              // guards what follows
	changed map[string]chan struct{} // closed when a run has committed
	closed  bool
	halted  error // why nothing can be committed any more: the disk had no room, or failed, or the store has another owner
}

func newReader(store runtime.Store) reader {
	return reader{store: store, carried: func(string) bool { return false }, needs: func(string) int64 { return 0 }, clock: time.Now, lists: new(lists), census: new(tally.Census), lose: func() {}, mu: new(sync.Mutex), changed: map[string]chan struct{}{}}
}

// NewReader returns an engine that only reads: Get, List, Watch without Follow and Blob answer, as
// do Defined, Replay and Trust that only looks, everything else is refused. It is what a command
// that prints and leaves uses when the store has no owner. named is as [Options].Named.
func NewReader(store runtime.Store, env *effect.Environment, named func(*effect.Settings) map[string]string) runtime.Engine {
	r := newReader(store)
	form, _ := indexKept(store, store.Info().Epoch)
	r.lists.good = form == indexForm // without it every row is read
	return &readOnly{reader: r, programs: &programs{env: env}, named: named}
}

type readOnly struct {
	reader
	programs *programs
	named    func(*effect.Settings) map[string]string
}

var errReadOnly = runtime.Refusef(runtime.ErrKindReadOnly, "the store is open for reading only")

// Start is refused.
func (*readOnly) Start(context.Context, runtime.StartRequest) (*runtime.Run, error) {
	return nil, errReadOnly
}

// Signal is refused.
func (*readOnly) Signal(context.Context, runtime.Signal) (*runtime.Receipt, error) {
	return nil, errReadOnly
}

// Cancel is refused.
func (*readOnly) Cancel(context.Context, runtime.CancelRequest) (*runtime.Receipt, error) {
	return nil, errReadOnly
}

// Resume is refused.
func (*readOnly) Resume(context.Context, runtime.ResumeRequest) ([]string, error) {
	return nil, errReadOnly
}

// Push is refused.
func (*readOnly) Push(context.Context, runtime.PushRequest) (*runtime.Pushed, error) {
	return nil, errReadOnly
}

// Attended is refused: who is at a queue is known to who carries runs.
func (*readOnly) Attended(context.Context, string) (bool, error) { return false, errReadOnly }

// Define is refused.
func (*readOnly) Define(context.Context, runtime.DefineRequest) (*runtime.Definition, error) {
	return nil, errReadOnly
}

// Replay executes a run again.
func (r *readOnly) Replay(ctx context.Context, q runtime.ReplayRequest) (*runtime.Replayed, error) {
	if err := need(ctx, runtime.CanRead, "replay runs"); err != nil {
		return nil, err
	}
	return r.programs.replay(&r.reader, q.Run, r.clock())
}

// Move is refused.
func (*readOnly) Move(context.Context, runtime.MoveRequest) (*runtime.Replayed, error) {
	return nil, errReadOnly
}

// Fork is refused.
func (*readOnly) Fork(context.Context, runtime.ForkRequest) (*runtime.Run, error) {
	return nil, errReadOnly
}

// Import is refused.
func (*readOnly) Import(context.Context, runtime.ImportRequest) (*runtime.Imported, error) {
	return nil, errReadOnly
}

// Close closes the store.
func (r *readOnly) Close() error { return r.store.Close() }

// queryLists is what refusals advise who has tools.
const queryLists = "query lists them"

// summary reads the row of a run.
func (r *reader) summary(run string) (runtime.Summary, error) {
	row, err := r.store.Get(journal.RunKey(run))
	if errors.Is(err, runtime.ErrNoKey) {
		return runtime.Summary{}, runtime.Refusef(runtime.ErrUnknownRun, "no run %q", run).WithHelp("list them with: starling ps -a").WithCall(queryLists)
	}
	if err != nil && !errors.Is(err, runtime.ErrDamaged) {
		return runtime.Summary{}, err
	}
	return r.summaryFrom(run, row, err), nil
}

// resolveRun finds the run that an address means: an id, a unique prefix, "@last".
func (r *reader) resolveRun(address string) (string, error) {
	if address == "@last" {
		return r.last()
	}
	if len(address) == journal.RunIDLength { // whole, as programs have it
		if r.carried(address) {
			return address, nil
		}
		if _, err := r.store.Get(journal.RunKey(address)); err == nil || errors.Is(err, runtime.ErrDamaged) {
			return address, nil
		}
	}
	var fits []string
	err := journal.ScanEach(r.store, journal.PrefixRun+address, func(rest string, _ []byte, _ error) error {
		fits = append(fits, address+rest)
		if len(fits) > 8 {
			return runtime.ErrStopScan
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case address == "" || len(fits) == 0:
		return "", runtime.Refusef(runtime.ErrUnknownRun, "no run %q", address).WithHelp("list them with: starling ps -a").WithCall(queryLists)
	case len(fits) > 1 && !slices.Contains(fits, address):
		return "", runtime.Refusef(runtime.ErrAmbiguous, "run %q is ambiguous: it matches %s", address, strings.Join(fits, ", ")).WithHelp("give more letters").WithData(fits)
	}
	return fits[0], nil
}

// last is the newest run that no other run has started.
func (r *reader) last() (string, error) {
	last := ""
	err := journal.Scan(r.store, journal.PrefixOrder, func(rest string, parent []byte) error {
		if len(parent) > 0 {
			return nil
		}
		last = rest[8:]
		return runtime.ErrStopScan
	})
	if err == nil && last == "" {
		err = runtime.Refusef(runtime.ErrUnknownRun, "there is no run yet")
	}
	return last, err
}

// address finds the run and the gate that RUN/GATE means: a gate of a child run is addressed
// through the step that started it.
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

// closedGate looks for a gate of a run that is no longer open: one of this whole name, or the only
// one that ends with it. deep makes it look into the journal, where there are gates of which no row
// knows.
func (r *reader) closedGate(id, address string, deep bool) (run.ClosedGate, bool) {
	var found []run.ClosedGate
	note := func(rec *journal.Record) error {
		if rec.Step == address || strings.HasSuffix(rec.Step, "/"+address) {
			found = append(found, run.ClosedGateOf(rec))
		}
		return nil
	}
	if v, err := r.store.Get([]byte(journal.PrefixGate + id + "/" + address)); err == nil {
		err = eachRecord(v, note)
		return found[0], err == nil
	}
	err := journal.Scan(r.store, journal.PrefixGate+id+"/", func(_ string, v []byte) error { return eachRecord(v, note) })
	if deep && err == nil {
		err = r.kept(id, func(rec *journal.Record) error {
			if rec.Type == journal.GateWithdrawn && rec.View().Flag("bare") {
				return note(rec)
			}
			return nil
		})
	}
	if err != nil || len(found) != 1 {
		return run.ClosedGate{Forgotten: r.forgotten(id)}, false
	}
	return found[0], true
}

// lookupKey finds what an idempotency key of a run stands for.
func (r *reader) lookupKey(run, key string) (k journal.Keyed, ok bool) {
	v, err := r.store.Get([]byte(journal.PrefixKey + run + "/" + key))
	return k, err == nil && json.Unmarshal(v, &k) == nil
}

// forgotten is the last record that a trim has dropped of a run, 0 where there is none.
func (r *reader) forgotten(run string) uint64 {
	if h, err := readHorizon(r.store, run); err == nil && h != nil {
		return h.seq
	}
	return 0
}

func eachRecord(v []byte, fn func(*journal.Record) error) error {
	records, err := journal.ReadAll(v, 0)
	for i := range records {
		if err == nil {
			err = fn(&records[i])
		}
	}
	return err
}

// blob reads content by its hash and holds it against the hash.
func (r *reader) blob(hash string) ([]byte, error) {
	b, err := r.store.Get([]byte(journal.PrefixBlob + hash))
	if err != nil {
		return nil, err
	}
	if journal.HashOf(b) != hash {
		return nil, fmt.Errorf("%w: content %s does not have its hash", runtime.ErrDamaged, hash)
	}
	return b, nil
}

// needed reads content that a run names: that it is not there is damage.
func (r *reader) needed(hash string) ([]byte, error) {
	b, err := r.blob(hash)
	if errors.Is(err, runtime.ErrNoKey) {
		err = fmt.Errorf("%w: content %s is missing", runtime.ErrDamaged, hash)
	}
	return b, err
}

// Blob returns content by its hash.
func (r *reader) Blob(ctx context.Context, hash string) ([]byte, error) {
	if err := need(ctx, runtime.CanRead, "read contents"); err != nil {
		return nil, err
	}
	b, err := r.blob(hash)
	if errors.Is(err, runtime.ErrNoKey) {
		return nil, runtime.Refusef(runtime.ErrUnknownRun, "no content with the hash %q", hash)
	}
	return b, err
}
