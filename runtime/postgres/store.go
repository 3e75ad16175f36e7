package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"starling/runtime"
	"starling/runtime/groupcommit"
)

// Options say how a store is opened. The zero value opens it as its next owner, and makes it where
// there is none.
type Options struct {
	// ReadOnly opens an existing store without becoming its owner, while another may own it.
	ReadOnly bool
	// Moved opens a store for writing that was moved, which is taken back with that.
	Moved bool
	// Folder is where this machine remembers how many batches were acknowledged; "" for nowhere.
	Folder string
	// Address is where others reach this owner; it is told to those who stand by.
	Address string
	// Machine tells this machine from others. An owner on it that is gone, as Gone tells of its
	// process, is not waited for; "" is to wait for everybody.
	Machine string
	Gone    func(pid int) bool
	// Lease is how long others wait for a sign of life before they take the store, at least a
	// second; 0 for [DefaultLease].
	Lease time.Duration
	// Held is told for how long from now this process owns the store, before each time is over,
	// and 0 when it is lost or given back; by one goroutine at a time. Nil is for nobody.
	Held func(d time.Duration)
	// Insist keeps trying where the server does not answer, as a standby does once it has stood by.
	Insist bool
	// Warn is told what its operator should know; nil for nobody.
	Warn func(format string, args ...any)
}

// DefaultLease is how long the lease of an owner lasts.
const DefaultLease = 10 * time.Second

func (o Options) lease() time.Duration {
	if o.Lease == 0 {
		return DefaultLease
	}
	return max(o.Lease, time.Second)
}

// Holder is the owner of a store as others see it.
type Holder struct {
	Name    string // its process and machine
	Address string // where it is reached, "" for nowhere
}

// Held is the error of a store that another process owns; it is a runtime.ErrLocked.
type Held struct{ Holder }

func (h *Held) Error() string {
	if h.Address == "" {
		return fmt.Sprintf("%v: %s owns it, and says no address", runtime.ErrLocked, h.Name)
	}
	return fmt.Sprintf("%v: %s owns it, at %s", runtime.ErrLocked, h.Name, h.Address)
}

// Unwrap makes it a runtime.ErrLocked.
func (*Held) Unwrap() error { return runtime.ErrLocked }

// Store is an open store; see runtime.Store for what its methods promise.
type Store struct {
	address string
	options Options
	info    runtime.StoreInfo // but for Sequence
	reads   *pool
	writes  *pool  // of the owner's commits and renewals, which wait for no reader
	lease   *lease // nil where ReadOnly
	known   *acknowledged
	queue   *groupcommit.Queue[int64]
	commits committer
	life    context.Context // ends with Close
	end     context.CancelFunc

	mu      sync.Mutex // guards what is below
	closing bool
	calls   sync.WaitGroup // reads in progress
	close   func() error   // once
}

var (
	_ runtime.Store  = (*Store)(nil)
	_ runtime.Fenced = (*Store)(nil)
)

// Open opens the store at an address, postgres://USER@HOST/DATABASE, in which libpq's parameters
// are understood; search_path names the schema. Errors, each in one sentence and without secrets: a
// [*Held], runtime.ErrNoStore (reading only), ErrNewer, ErrDamaged, and refusals of the kinds
// store_unreachable, not_a_store and read_only.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	s, err := connect(ctx, address, o)
	if err != nil {
		return nil, explained(address, err)
	}
	if o.ReadOnly {
		err = s.look(ctx)
	} else {
		var r row
		if r, err = s.candidate(ctx); err == nil && r.holder != "" {
			err = &Held{r.owner()}
		}
		if err == nil {
			err = s.take(ctx, r)
		}
	}
	if err != nil {
		s.disconnect()
		return nil, explained(address, err)
	}
	return s, nil
}

// Stand waits until the store may be owned by this process, and opens it then. standing is told
// whenever the owner that is waited for is another one, or where it is not known, nobody.
func Stand(ctx context.Context, address string, o Options, standing func(Holder)) (*Store, error) {
	var s *Store
	var watched watch
	for {
		var err error
		if s == nil {
			s, err = connect(ctx, address, o)
			o.Insist = o.Insist || err == nil
		}
		var r row
		if err == nil {
			r, err = s.candidate(ctx)
		}
		if err == nil && (watched.over(r, time.Now()) || s.left(r)) {
			if err = s.take(ctx, r); err == nil {
				return s, nil
			}
		}
		switch {
		case ctx.Err() != nil || err != nil && !errors.Is(err, runtime.ErrLocked) && !(o.Insist && passing(err)):
			if s != nil {
				s.disconnect()
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, explained(address, err)
		case err != nil && !errors.Is(err, runtime.ErrLocked) && s != nil:
			s.disconnect()
			s = nil
		}
		if h := r.owner(); watched.told != h || !watched.any {
			watched.told, watched.any = h, true
			standing(h)
		}
		sleep(ctx, o.lease()/20)
	}
}

// watch is what a standby has seen of the owner.
type watch struct {
	seen  row
	since time.Time // when it was first seen so
	told  Holder
	any   bool // told is valid
}

// over tells whether nobody owns the store: it was given back, or its owner gave no sign of life
// for as long as its lease lasts.
func (w *watch) over(r row, now time.Time) bool {
	if r.epoch != w.seen.epoch || r.beat != w.seen.beat || w.since.IsZero() {
		w.seen, w.since = r, now
	}
	return r.holder == "" || now.Sub(w.since) >= time.Duration(r.lease)*time.Millisecond
}

// left tells whether the owner was a process of this machine that is gone.
func (s *Store) left(r row) bool {
	return s.options.Machine != "" && r.machine == s.options.Machine && s.options.Gone(r.pid)
}

func (r row) owner() Holder { return Holder{r.holder, r.address} }

// connect makes the connections, and the tables where an owner finds none.
func connect(ctx context.Context, address string, o Options) (_ *Store, err error) {
	config, err := configOf(address)
	if err != nil {
		return nil, err
	}
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	if o.Held == nil {
		o.Held = func(time.Duration) {}
	}
	s := &Store{address: address, options: o}
	s.life, s.end = context.WithCancel(context.Background())
	s.close = sync.OnceValue(s.shut)
	if err := s.greet(ctx, config); err != nil {
		s.end()
		return nil, err
	}
	if s.reads, err = newPool(config, readers); err == nil && !o.ReadOnly {
		s.writes, err = newPool(config, 2)
	}
	if err == nil {
		s.known, err = openAcknowledged(o.Folder)
	}
	if err != nil {
		s.disconnect()
		return nil, err
	}
	return s, nil
}

// configOf says how connections to an address are made.
func configOf(address string) (*pgconn.Config, error) {
	config, err := pgconn.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectWithin
	}
	config.RuntimeParams["application_name"] = "starling"
	return config, nil
}

const (
	connectWithin = 10 * time.Second // where the address says nothing
	readers       = 8                // connections for reading
)

// greet looks at the server once, and has the tables made.
func (s *Store) greet(ctx context.Context, config *pgconn.Config) error {
	c, err := dial(ctx, config)
	if err != nil {
		return err
	}
	defer hangUp(c)
	if err := checkVersion(c); err != nil {
		return err
	}
	if err := checkPooler(ctx, c, config); err != nil || s.options.ReadOnly {
		return err
	}
	if err := checkServer(ctx, c, s.options.Warn); err != nil {
		return err
	}
	if _, err = readRow(ctx, c); errors.Is(err, runtime.ErrNoStore) {
		err = makeTables(ctx, c)
	}
	return err
}

// look begins to read.
func (s *Store) look(ctx context.Context) error {
	r, err := readRow(ctx, s.reads)
	if err == nil && r.moved != "" {
		return runtime.Moved(r.moved)
	}
	s.commits.batches.Store(r.sequence)
	s.info = runtime.StoreInfo{ID: r.id, Name: s.Name(), Format: r.format, Epoch: r.epoch, ReadOnly: true}
	return err
}

// candidate reads the row of a store that this process would own.
func (s *Store) candidate(ctx context.Context) (row, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	r, err := readRow(ctx, s.writes)
	switch {
	case err != nil:
		return row{}, err
	case r.moved != "" && !s.options.Moved:
		return row{}, runtime.Moved(r.moved)
	}
	return r, s.known.compare(r)
}

// take makes this process the owner, unless another was first.
func (s *Store) take(ctx context.Context, r row) error {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	host, _ := os.Hostname() // for people
	name := fmt.Sprintf("process %d on %s", os.Getpid(), host)
	length := s.options.lease()
	sent := time.Now()
	taken, err := s.writes.exec(ctx,
		"update starling_store set epoch = epoch + 1, beat = beat + 1, lease = $3, holder = $4, machine = $5, pid = $6, address = $7, moved = '' where epoch = $1 and beat = $2 and moved = $8",
		r.epoch, r.beat, length.Milliseconds(), name, s.options.Machine, os.Getpid(), s.options.Address, r.moved)
	switch {
	case err != nil:
		return err
	case taken == 0:
		return &Held{r.owner()}
	}
	s.info = runtime.StoreInfo{ID: r.id, Name: s.Name(), Format: r.format, Epoch: r.epoch + 1}
	s.lease = newLease(s, length, sent)
	s.commits = committer{s: s, sequence: r.sequence, fences: make(map[string]uint64), heads: make(map[string]runtime.Fence)}
	s.commits.batches.Store(r.sequence)
	s.queue = groupcommit.New(s.commits.transact)
	go s.queue.Run()
	go s.lease.run()
	return nil
}

// Info tells what was opened; its Sequence is that of now.
func (s *Store) Info() runtime.StoreInfo {
	info := s.info
	info.Sequence = s.commits.batches.Load()
	return info
}

// Address is what the store was opened with, secrets included.
func (s *Store) Address() string { return s.address }

// Name is the store's address without secrets.
func (s *Store) Name() string { return Name(s.address) }

// Lost is closed when this process owns the store no more: another does, or the lease could not be
// renewed in time. It never is for a reader.
func (s *Store) Lost() <-chan struct{} {
	if s.lease == nil {
		return nil
	}
	return s.lease.lost
}

// Commit hands the batch to the committer and waits for its answer.
func (s *Store) Commit(ctx context.Context, b *runtime.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.options.ReadOnly {
		if !s.enter() {
			return runtime.ErrStoreClosed
		}
		defer s.calls.Done()
		return fmt.Errorf("%s: %w", s.Name(), runtime.ErrReadOnly)
	}
	if err := b.Check(); err != nil {
		return err
	}
	size := sizeOf(b)
	if size > MaxBatch {
		return fmt.Errorf("%w: it has %d bytes; it takes %d", runtime.ErrTooLarge, size, MaxBatch)
	}
	return s.queue.Commit(b, size, size)
}

// enter notes a call that Close must wait for.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.calls.Add(1)
	}
	return !s.closing
}

// Close waits for commits and reads in progress and gives the store back: the next owner need not
// wait for the end of a lease. A second Close waits for the first and returns what it returned.
func (s *Store) Close() error { return s.close() }

func (s *Store) shut() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	if s.queue != nil {
		_ = s.queue.Close() // whoever waited for the commit that failed has been told
	}
	s.calls.Wait()
	if s.lease != nil {
		s.lease.giveBack()
	}
	s.disconnect()
	return nil
}

// disconnect ends every connection.
func (s *Store) disconnect() {
	s.end()
	for _, p := range []*pool{s.reads, s.writes} {
		if p != nil {
			p.Close()
		}
	}
	s.known.close()
}

// sleep waits, but no longer than ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
