package owner

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"starling/runtime"
	"starling/runtime/api"
)

// errSessionClosed is the answer of a session after Close.
var errSessionClosed = runtime.Refusef(runtime.ErrOwnerUnreachable, "the session is closed")

// seat returns where calls go: the seat that was won last, or, if that is the one that was lost,
// the one that an election gives now. There is one election at a time, so that all who have lost
// the same owner get the same new one.
func (s *Session) seat(ctx context.Context, lost seat) (seat, error) {
	if at := s.current(); at != nil && at != lost && !at.lost() {
		return at, nil
	}
	select {
	case s.electing <- struct{}{}:
		defer func() { <-s.electing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	at, closed := s.at, s.closed
	s.mu.Unlock()
	switch {
	case closed || s.life.Err() != nil:
		return nil, errSessionClosed
	case at != nil && at != lost && !at.lost():
		return at, nil
	case at == nil:
		return s.elect(ctx, patience)
	}
	at.leave()
	return s.elect(ctx, reelection)
}

// elect tries until this process is the owner or its client, for as long as no owner gives a sign
// of life.
func (s *Session) elect(ctx context.Context, limit time.Duration) (seat, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	begun := time.Now()
	for deadline := begun.Add(limit); ; {
		next, err := s.try(ctx)
		if err == nil {
			err = s.carried.again(runtime.WithCaller(ctx, s.self), next.to())
			if err == nil {
				s.take(next)
				return next, nil
			}
			next.leave()
		}
		away, busy := (*api.Away)(nil), (*passing)(nil)
		miss(s.dir, err)
		switch {
		case s.life.Err() != nil:
			return nil, errSessionClosed
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &away) && away.State != api.Gone, errors.As(err, &busy) && time.Since(begun) < lingering:
			deadline = time.Now().Add(limit)
		case away == nil && !errors.Is(err, errHeld):
			return nil, err
		case time.Now().After(deadline):
			return nil, unreachable(s.dir, limit, err)
		}
		sleep(ctx, pause) // the next try tells whether ctx has ended
	}
}

// miss tells the holder of the lock that it was not found where owner.json says that it is. Nothing
// is done about an error: the next try tells.
func miss(dir string, err error) {
	away := (*api.Away)(nil)
	if errors.As(err, &away) && away.State == api.Gone {
		signalHolder(dir, missed)
	}
}

// try makes one try: the lock, then the owner. It fails with an Away or errHeld where another try
// may do better.
func (s *Session) try(ctx context.Context) (seat, error) {
	l, err := tryLock(s.dir, s.role != Reader)
	if err == nil && s.config.Shared != nil && s.role != Keeper {
		err, l = l.release(), nil
		if err == nil && s.role != Reader {
			err = s.config.Shared(ctx)
		}
	}
	switch {
	case s.role == Reader && (err == nil || errors.Is(err, fs.ErrNotExist)):
		return seatOf(s.read(ctx, l))
	case s.role == Guest && err == nil:
		return seatOf(s.hosted(ctx, l))
	case err == nil:
		return seatOf(s.own(ctx, l))
	case !errors.Is(err, errHeld):
		return nil, err
	case s.role == Keeper:
		return nil, s.second(ctx)
	}
	return seatOf(s.connect(ctx))
}

// hosted has an owner started and visits it. The lock, which was free, is that owner's.
func (s *Session) hosted(ctx context.Context, l *lock) (*clientSession, error) {
	if err := l.release(); err != nil {
		return nil, err
	}
	if err := s.config.Host(ctx); err != nil {
		return nil, err
	}
	return s.connect(ctx)
}

// seatOf keeps a nil pointer from looking like a seat.
func seatOf[S seat](next S, err error) (seat, error) {
	if err != nil {
		return nil, err
	}
	return next, nil
}

// second says why a keeper does not get the lock.
func (s *Session) second(ctx context.Context) error {
	h, err := greet(ctx, s.dir)
	switch {
	case err != nil:
		return s.away(ctx, err)
	case h.State == api.Leaving:
		return &api.Away{State: api.Leaving}
	case h.Passing:
		return &passing{taken(s.dir, h)}
	}
	return taken(s.dir, h)
}

// passing refuses a keeper for an owner that leaves when its command is done, which may be in a
// moment.
type passing struct{ refusal *runtime.Refusal }

func (p *passing) Error() string { return p.refusal.Error() }

func (p *passing) Unwrap() error { return p.refusal }

// take sits down. A client that loses its owner elects again at once, whether or not it wants
// something: the runs that it carries do.
func (s *Session) take(next seat) {
	s.mu.Lock()
	s.at = next
	s.mu.Unlock()
	if v, ok := next.(*clientSession); ok && v.gone != nil {
		go func() {
			<-v.gone
			s.seat(s.life, v) // the next call tells what became of it
		}()
	}
}
