package owner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"starling/runtime"
	"starling/runtime/api"
)

// Session is an engine that stays when its owner goes: it is that of this process while this one
// owns the store, and a client of the owner otherwise, and changes from one to the other under the
// calls that are made. Every call is made as the user of this process, or as the agent that the
// process belongs to.
type Session struct {
	config   Config
	role     Role
	dir      string // real path of the store
	self     runtime.Caller
	life     context.Context // ends with Close
	end      context.CancelFunc
	stopping chan struct{} // closed when this owner is asked to leave
	stop     func(error)   // closes it, once; with why, nil for having been asked
	why      error         // behind stopping
	electing chan struct{} // holds one token while an election is on

	mu     sync.Mutex // protects what is below
	at     seat       // where calls go, nil before the first election and after Close
	closed bool

	carried carried
}

var _ runtime.Engine = (*Session)(nil)

// seat is what an election gives: an ownership or a client session.
type seat interface {
	to() runtime.Engine // where calls go
	lost() bool         // known to be lost
	leave() error
}

// Acquire opens the store for this process in a role: as its owner, or as a client of the process
// that is. The context bounds the opening only. A refusal is a *runtime.Refusal; a store that
// cannot be opened is refused with the error of Config.
func Acquire(ctx context.Context, c Config, role Role) (*Session, error) {
	var once sync.Once
	s := &Session{config: c, role: role, stopping: make(chan struct{}), electing: make(chan struct{}, 1)}
	s.stop = func(why error) { once.Do(func() { s.why = why; close(s.stopping) }) }
	s.life, s.end = context.WithCancel(context.Background())
	err := s.prepare()
	if err == nil {
		_, err = s.seat(ctx, nil)
	}
	if err != nil {
		s.end()
		return nil, locked(c.Dir, err)
	}
	return s, nil
}

// prepare finds out where the store is and who this process is. A reader makes no store. The store
// comes first: in one of another user it cannot be told which attempt the process belongs to.
func (s *Session) prepare() error {
	find := s.config.Prepare
	if s.role == Reader {
		find = readable
	}
	err := find(s.config.Dir)
	if err == nil {
		s.dir, err = real(s.config.Dir)
	}
	if err == nil {
		s.self, err = api.Authenticate(api.Self(), s.config.Identify)
	}
	return err
}

// readable tells whether there is something at dir that this user may look into.
func readable(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", dir, runtime.ErrNoStore)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Owner is the pid of the process that owns the store, 0 when it is this one or none.
func (s *Session) Owner() int {
	if v, ok := s.current().(*clientSession); ok {
		return v.client.Hello().PID
	}
	return 0
}

// Stopping is closed when this owner is to leave: somebody has asked it to (see [Stop]), or the
// store has another owner. It is for the command to obey, as it does an interrupt.
func (s *Session) Stopping() <-chan struct{} { return s.stopping }

// Why is, once Stopping is closed, runtime.ErrLost where the store has another owner, and nil where
// somebody has asked.
func (s *Session) Why() error { return s.why }

// Close ends the session. An owner closes its engine, which gives calls in flight their grace, and
// the store; its clients elect another. A client detaches. A second Close is harmless. A process
// that is to leave at once may just exit: what it leaves behind is recognised.
func (s *Session) Close() error {
	s.end()
	s.electing <- struct{}{} // an election in progress ends with its context, or has ended
	defer func() { <-s.electing }()
	s.mu.Lock()
	at := s.at
	s.at, s.closed = nil, true
	s.mu.Unlock()
	if at == nil {
		return nil
	}
	return at.leave()
}

func (s *Session) current() seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// maxSends bounds how often one request is sent to owners that break off: it may be the request
// that breaks them.
const maxSends = 5

// caller puts who calls into a context: this process's user or agent or, where the engine is its
// own, the bearer of its token. An owner elsewhere finds that out itself.
func (s *Session) caller(ctx context.Context, at seat) (context.Context, error) {
	_, visiting := at.(*clientSession)
	if visiting || s.config.Token == "" || s.self.Agent != "" {
		return runtime.WithCaller(ctx, s.self), nil
	}
	known, err := runtime.Extension[runtime.Bearers](at.to())
	if err != nil {
		return nil, err
	}
	c, err := known.Bearer(s.config.Token)
	if c.Name == "" {
		c = s.self
	}
	return runtime.WithCaller(ctx, c), err
}

// call makes a request of whoever owns the store, and makes it again if that owner is lost.
func call[A any](ctx context.Context, s *Session, request func(context.Context, runtime.Engine) (A, error)) (A, error) {
	var lost seat
	for sends := 1; ; sends++ {
		at, err := s.seat(ctx, lost)
		if err == nil {
			ctx, err = s.caller(ctx, at)
		}
		if err != nil {
			var none A
			return none, err
		}
		answer, err := request(ctx, at.to())
		if !api.IsAway(err) {
			return answer, err
		}
		if sends == maxSends {
			return answer, gaveUp(sends, err)
		}
		lost = at
	}
}

func gaveUp(sends int, err error) error {
	return runtime.Refusef(runtime.ErrOwnerUnreachable, "the request was sent %d times and never answered: %v", sends, err)
}

// MadeKey begins the keys that a session makes for requests which came without one.
const MadeKey = "auto-"

// newKey makes a request repeatable that its maker did not want to repeat.
func newKey(key string) string {
	if key == "" {
		return MadeKey + rand.Text()
	}
	return key
}

// Start implements runtime.Engine. A request that was sent again may find its run there already,
// made by an owner that is lost, and then carries it.
func (s *Session) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	r.Key = newKey(r.Key)
	sends := 0
	run, err := call(ctx, s, func(ctx context.Context, e runtime.Engine) (*runtime.Run, error) {
		sends++
		run, err := e.Start(ctx, r)
		if err == nil && sends > 1 {
			_, err = e.Resume(ctx, runtime.ResumeRequest{Runs: []string{run.ID}, Env: r.Env})
		}
		return run, err
	})
	if err == nil {
		s.carried.add(r.Env, run.ID)
	}
	return run, err
}

// Signal implements runtime.Engine.
func (s *Session) Signal(ctx context.Context, r runtime.Signal) (*runtime.Receipt, error) {
	r.Key = newKey(r.Key)
	receipt, err := call(ctx, s, func(ctx context.Context, e runtime.Engine) (*runtime.Receipt, error) { return e.Signal(ctx, r) })
	if err == nil {
		s.carried.add(r.Env, receipt.Run)
	}
	return receipt, err
}

// Cancel implements runtime.Engine.
func (s *Session) Cancel(ctx context.Context, r runtime.CancelRequest) (*runtime.Receipt, error) {
	r.Key = newKey(r.Key)
	return call(ctx, s, func(ctx context.Context, e runtime.Engine) (*runtime.Receipt, error) { return e.Cancel(ctx, r) })
}

// Resume implements runtime.Engine.
func (s *Session) Resume(ctx context.Context, r runtime.ResumeRequest) ([]string, error) {
	runs, err := call(ctx, s, func(ctx context.Context, e runtime.Engine) ([]string, error) { return e.Resume(ctx, r) })
	if err == nil {
		s.carried.add(r.Env, runs...)
	}
	return runs, err
}

// Get implements runtime.Engine.
func (s *Session) Get(ctx context.Context, run string) (*runtime.Run, error) {
	return call(ctx, s, func(ctx context.Context, e runtime.Engine) (*runtime.Run, error) { return e.Get(ctx, run) })
}

// List implements runtime.Engine.
func (s *Session) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	return call(ctx, s, func(ctx context.Context, e runtime.Engine) (*runtime.Listing, error) { return e.List(ctx, q) })
}

// Blob implements runtime.Engine.
func (s *Session) Blob(ctx context.Context, hash string) ([]byte, error) {
	return call(ctx, s, func(ctx context.Context, e runtime.Engine) ([]byte, error) { return e.Blob(ctx, hash) })
}

// Watch implements runtime.Engine. When the owner is lost it goes on with the next one after the
// last event that fn has had, and stays with the run that it began with, whatever the address means
// by then.
func (s *Session) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	var lost seat
	for sends := 1; ; sends++ {
		at, err := s.seat(ctx, lost)
		if err == nil {
			ctx, err = s.caller(ctx, at)
		}
		if err != nil {
			return err
		}
		var own error // of fn
		err = at.to().Watch(ctx, w, func(ev runtime.Event) error {
			if own = fn(ev); own == nil {
				w.Run, w.After, sends = ev.Run, ev.Seq, 0
			}
			return own
		})
		switch {
		case own != nil || !api.IsAway(err):
			return err
		case sends == maxSends:
			return gaveUp(sends, err)
		}
		lost = at
	}
}
