package cli

import (
	"context"
	"os"
)

// interruptible gives the context of the call. The first interruption ends it, and every verb then
// leaves in good order: a client detaches, an owner lets go of its runs, which stay as they are. A
// second one leaves at once. Neither ever cancels a run. Those of a terminal may be for a statement
// of the REPL instead. release ends the watching.
func (c *call) interruptible() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c.interrupt = cancel
	done := make(chan struct{})
	go func() {
		for first := true; ; {
			select {
			case s := <-c.signals:
				if softly := c.softly.Load(); s == os.Interrupt && softly != nil && softly.Take() {
					continue
				}
				if !first {
					if v := c.view.Load(); v != nil {
						v.Abandon()
					}
					c.exit(interruption{s}.exitCode())
				}
				first = false
				cancel(interruption{s})
			case <-done:
				cancel(context.Canceled)
				return
			}
		}
	}()
	return ctx, func() { close(done) }
}

// interruptions are the signals that end a call.
func interruptions() []os.Signal { return []os.Signal{hangUp, os.Interrupt, terminate} }
