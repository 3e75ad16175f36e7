package suite

import (
	"context"
	"slices"
	"time"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib"
)

// ending is how a program ends that a script would start.
type ending struct {
	said
	argv  []string
	end   stdlib.End
	delay time.Duration
}

func newEnding(s said, with effect.View) *ending {
	delay, _ := contract.ParseDuration(orZero(with.Text("delay"))) // checked when the call was made
	return &ending{said: s, argv: with.Texts("argv"), delay: delay,
		end: stdlib.End{Code: int(with.Int("code")), Stdout: with.Text("text"), Stderr: with.Text("stderr"), Fault: with.Text("error")}}
}

// fits tells whether a command is meant: the same, or one that begins so where the last word is *.
func (e *ending) fits(argv []string) bool {
	if n := len(e.argv) - 1; n > 0 && e.argv[n] == "*" {
		return len(argv) >= n && slices.Equal(argv[:n], e.argv[:n])
	}
	return slices.Equal(argv, e.argv)
}

// ending is how the test has said that a request's program ends, nil where it has not. take says
// that it ends so now.
func (w *world) ending(kind string, args effect.View, take bool) (found *ending) {
	if kind != "sh" && kind != "measure" || !args.Has("argv") {
		return nil
	}
	argv := args.Texts("argv")
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.endings {
		if e.fits(argv) && (found == nil || found.used) {
			found = e
		}
	}
	if found != nil && take {
		found.used = true
	}
	return found
}

// notStarted resolves what no program is started for: nothing need be allowed, nor be there.
func (w *world) notStarted(kind string, resolve func(*effect.Settings, *effect.Request) *effect.Error) func(*effect.Settings, *effect.Request) *effect.Error {
	return func(s *effect.Settings, r *effect.Request) *effect.Error {
		args, err := r.Args.View()
		if err == nil && w.ending(kind, args, false) != nil {
			return nil
		}
		return resolve(s, r)
	}
}

func (e *ending) reply(ctx context.Context, a *effect.Attempt) effect.Reply {
	if e.delay > 0 {
		a.Wait(ctx, e.delay)
	}
	return stdlib.Ended(ctx, a, e.end)
}
