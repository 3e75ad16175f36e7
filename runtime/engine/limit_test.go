package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
)

// counted is how many attempts of each agent, and of all, were at work at once.
type counted struct{ now, most map[string]int }

func (c *counted) of(a *effect.Attempt, n int) {
	for _, who := range []string{effect.ViewOf(a.Args).Text("who"), "all"} {
		c.now[who] += n
		c.most[who] = max(c.most[who], c.now[who])
	}
}

// atWork lets each attempt take a second.
func (w *world) atWork() *counted {
	c := &counted{map[string]int{}, map[string]int{}}
	w.does(func(ctx context.Context, a *effect.Attempt) effect.Reply {
		w.mu.Lock()
		c.of(a, 1)
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			c.of(a, -1)
			w.mu.Unlock()
		}()
		select {
		case <-ctx.Done():
			return effect.Reply{Err: effect.Errorf(effect.KindTimeout, "%v", ctx.Err())}
		case <-time.After(time.Second):
		}
		return effect.Reply{Value: starlark.True}
	})
	return c
}

// A limit of an agent and one of all hold at once; who waits for its turn is not timed. A crash in
// the middle changes neither.
func TestLimits(t *testing.T) {
	for name, crash := range map[string]bool{"straight": false, "crash": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c := w.atWork()
				began := time.Now()
				run := w.start(`
def main():
    calls = [(work, "w", who, limit) for who, limit in [("a", 2), ("b", None)] for _ in range(6)]
    return len(parallel([lambda c = c: c[0](c[1], who = c[2], limit = c[3], total = 3, timeout = "1500ms") for c in calls]))
`, "")
				if crash {
					time.Sleep(2500 * time.Millisecond)
					w.crash()
					c = w.atWork()
					w.resume(run.ID)
				}
				w.until(run.ID, runtime.Completed)
				if c.most["a"] != 2 || c.most["all"] != 3 {
					t.Errorf("at work at once: %v, want 2 of a and 3 in all", c.most)
				}
				if took := time.Since(began); !crash && took != 4*time.Second {
					t.Errorf("12 seconds of work by 3 at once took %s", took)
				}
			})
		})
	}
}

// Who is withdrawn while it waits, or when it was about to begin, leaves its place to the next.
func TestLimitsLetTheNextBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.atWork()
		run := w.start(`
def one(i):
    return work("w", who = "a", limit = 1)

def main():
    first = parallel(one, over = range(5), wait = "any")
    gate("between", options = ["on"])
    second = parallel(one, over = range(3))
    return [len([o for o in first if o.ok]), len(second)]
`, "")
		w.until(run.ID, runtime.Suspended)
		w.restart()
		w.atWork()
		w.signal(answer(run.ID, "between", "on"))
		if got := string(w.until(run.ID, runtime.Completed).Output); got != "[1,3]" || c.most["a"] != 1 {
			t.Errorf("got %s, at work at once: %v", got, c.most)
		}
	})
}
