package cli

import (
	"os"
	"sync"

	"starling/cmd/starling/live"
	"starling/cmd/starling/plain"
	"starling/cmd/starling/progress"
	"starling/runtime"
)

// terminal is the terminal that people look at, nil where lines are to be written: to a file, a
// pipe, or a terminal that cannot or shall not be drawn on.
func (c *call) terminal() *os.File {
	if out, ok := c.stderr.(plain.Output); ok {
		if f, ok := out.To.(*os.File); ok && live.Able(f, c.getenv) {
			return f
		}
	}
	return nil
}

// draws tells whether runs are drawn in place.
func (c *call) draws() bool { return c.terminal() != nil }

// watching shows a run that is followed, until end is called.
func (c *call) watching(r *runtime.Run) (show func(runtime.Event), end func()) {
	switch {
	case c.quiet:
		return func(runtime.Event) {}, func() {}
	case !c.draws():
		return progress.New(c.stderr).Show, func() {}
	}
	follow, end := c.watchingAll()
	return follow(r), end
}

// watchingAll shows runs that are followed at once, until end is called.
func (c *call) watchingAll() (follow func(*runtime.Run) func(runtime.Event), end func()) {
	if c.quiet {
		return func(*runtime.Run) func(runtime.Event) { return func(runtime.Event) {} }, func() {}
	}
	if f := c.terminal(); f != nil {
		v := live.Open(f, c.getenv, c.answers)
		c.view.Store(v)
		return v.Follow, v.Close
	}
	var lines sync.Mutex
	return func(r *runtime.Run) func(runtime.Event) {
		return progress.New(progress.LineWriter{Mu: &lines, To: c.stderr, Prefix: r.ID + " "}).Show
	}, func() {}
}

// watchedFrom is where to begin with a run that was there before: what is drawn shows all of it.
func (c *call) watchedFrom(r *runtime.Run) uint64 {
	if c.draws() {
		return 0
	}
	return r.Details.Seq
}
