package owner

import (
	"context"
	"errors"
	"time"

	"starling/runtime"
	"starling/runtime/api"
)

// ownership is the time in which this process has the store open: as its owner, who serves the
// others, or as a reader, who serves nobody.
type ownership struct {
	dir    string
	lock   *lock
	engine runtime.Engine
	server *api.Server   // nil for a reader
	place  place         // where the server listens; used by one goroutine at a time
	left   chan struct{} // closed when the owner leaves
	kept   chan struct{} // closed when nobody looks after the place any more
}

// own begins to own the store. From its first moment on it answers at the socket, for to open a
// store can take a while.
func (s *Session) own(ctx context.Context, l *lock) (_ *ownership, err error) {
	t := &ownership{dir: s.dir, lock: l, place: place{dir: s.dir}}
	t.server = api.NewServer(api.Options{Build: s.config.Build, Store: s.dir,
		Identify: s.config.Identify, Doubt: s.config.Doubt, OnStop: func() { s.stop(nil) }, Passing: s.role != Keeper})
	sweep(s.dir)
	if err = t.place.open(t.server, s.config.Build); err != nil {
		return nil, errors.Join(err, l.release(), t.server.Close())
	}
	conceal()
	t.keep(s.config.Build)
	if t.engine, err = opened(ctx, s.dir, s.config.Open); err != nil {
		return nil, errors.Join(err, t.leave())
	}
	if e, ok := t.engine.(runtime.Fenced); ok {
		go func() {
			select {
			case <-e.Lost():
				s.stop(runtime.ErrLost)
			case <-t.left:
			}
		}()
	}
	t.server.Ready(t.engine)
	return t, nil
}

// read begins to read the store. The lock is nil where the store has never had an owner.
func (s *Session) read(ctx context.Context, l *lock) (*ownership, error) {
	e, err := opened(ctx, s.dir, s.config.OpenReader)
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	return &ownership{dir: s.dir, lock: l, engine: e}, nil
}

// opened opens the store. The store's own lock is free when ours is, but for the moment in which
// the kernel takes a killed process apart.
func opened(ctx context.Context, dir string, open func(string) (runtime.Engine, error)) (runtime.Engine, error) {
	for deadline := time.Now().Add(lag); ; {
		e, err := open(dir)
		if !errors.Is(err, runtime.ErrLocked) || time.Now().After(deadline) {
			return e, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// leave ends the ownership in the order in which others may take note: no newcomers, no engine, no
// traces, no lock; then the clients are told, and find the lock free.
func (t *ownership) leave() error {
	if t.server == nil {
		return errors.Join(t.engine.Close(), t.lock.release())
	}
	t.server.Drain()
	var err error
	if t.engine != nil {
		err = t.engine.Close()
	}
	close(t.left)
	<-t.kept
	t.place.close()
	err = errors.Join(err, t.lock.release(), t.server.Close())
	reveal()
	return err
}

func (t *ownership) to() runtime.Engine { return t.engine }

func (t *ownership) lost() bool { return false }

// moving tells whether a run that this owner carries is in motion.
func (t *ownership) moving(ctx context.Context) (bool, error) {
	if m, ok := t.engine.(runtime.Motion); ok {
		return m.Moving(Soon), nil
	}
	l, err := t.engine.List(ctx, runtime.Query{})
	if err != nil {
		return false, err
	}
	for _, r := range l.Runs {
		due := r.NextDue != nil && time.Until(*r.NextDue) < Soon
		if r.Carried && (r.Status != runtime.Suspended || due) {
			return true, nil
		}
	}
	return false, nil
}

// sleep waits, or fails with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
