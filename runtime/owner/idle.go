package owner

import (
	"context"
	"time"

	"starling/runtime"
)

// maxPause is the longest time between two looks of an owner at whether it may leave.
const maxPause = 500 * time.Millisecond

// Idle waits until this process may leave: at once for a client or a reader; for an owner when for
// the time given no client was attached or had asked for anything and no run that it carries was in
// motion, or when it was asked to stop. From then on an owner turns newcomers away, and Close is to
// follow.
func (s *Session) Idle(ctx context.Context, quiet time.Duration) error {
	t, ok := s.current().(*ownership)
	if !ok || t.server == nil {
		return nil
	}
	ctx = runtime.WithCaller(ctx, s.self)
	for busy, wait := time.Now(), pause; ; wait = min(2*wait, maxPause) {
		inUse, err := t.inUse(ctx)
		switch {
		case err != nil:
			return err
		case inUse:
			busy = time.Now()
		case time.Since(busy) >= quiet && t.server.DrainIfQuiet(quiet):
			if inUse, err = t.moving(ctx); err != nil || !inUse {
				return err
			}
			t.server.Resume() // a newcomer has just set something in motion, and gone
		}
		select {
		case <-time.After(wait):
		case <-s.stopping:
			t.server.Drain()
			return s.why
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// inUse tells whether a client is attached or a run in motion.
func (t *ownership) inUse(ctx context.Context) (bool, error) {
	if t.server.Quiet() < 0 {
		return true, nil
	}
	return t.moving(ctx)
}
