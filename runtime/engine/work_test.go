package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/query"
)

// as makes a signal of somebody else.
func as(who string, s runtime.Signal) runtime.Signal {
	s.As = who
	return s
}

func claim(run string) runtime.Signal {
	return as("helper", runtime.Signal{Kind: runtime.SignalClaim, Run: run, Lease: time.Minute})
}

// after makes a signal about a claim.
func after(c *runtime.Claim, kind runtime.SignalKind, report *runtime.Report) runtime.Signal {
	run, step, n, err := runtime.ParseClaim(c.Claim)
	if err != nil {
		panic(err)
	}
	return as("helper", runtime.Signal{Kind: kind, Run: run, Step: step, Claim: n, Report: report})
}

func submit(c *runtime.Claim, output string) runtime.Signal {
	return after(c, runtime.SignalSubmit, &runtime.Report{Output: json.RawMessage(output)})
}

const pulling = `
def main():
    return work("w", value = 7, pulls = "helper", returns = "int(1..)", retries = 1, reasks = 1, timeout = "1h")
`

func TestPulledWork(t *testing.T) {
	for name, end := range map[string]func(*world){"straight": func(*world) {}, "restart": (*world).restart, "crash": (*world).crash} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			run := w.start(pulling, "")
			at := w.until(run.ID, runtime.Suspended)
			if len(at.Work) != 1 || at.Work[0].Agent != "helper" || at.Work[0].By != "" {
				t.Fatalf("work: %+v", at.Work)
			}
			end(w)
			w.refused(runtime.ErrWrongTarget, runtime.Signal{Kind: runtime.SignalClaim, Run: run.ID})
			w.refused(runtime.ErrWrongTarget, as("thief", claim(run.ID)))
			s := claim("") // of whatever run
			s.Key = "c1"
			first := w.signal(s)
			c := first.Claim
			if c.Claim != run.ID+"@w:1" || c.Attempt != 1 || !strings.Contains(string(c.Request), `"value":7`) || c.Deadline == nil {
				t.Fatalf("claim: %+v", c)
			}
			end(w)
			if again := w.signal(s); !again.Repeated || again.Claim.Claim != c.Claim || !strings.Contains(string(again.Claim.Request), `"value":7`) || again.Claim.Returns != c.Returns {
				t.Errorf("the same key: %+v", again)
			}
			named := claim(run.ID)
			named.Step = "w"
			w.refused(runtime.ErrClaimed, named)
			w.refused(runtime.ErrNotOpen, claim(""))
			w.refused(runtime.ErrWrongTarget, as("thief", submit(c, "5")))
			w.refused(runtime.ErrBadPayload, after(c, runtime.SignalSubmit, nil))
			if r := w.refused(runtime.ErrBadPayload, submit(c, "0")); !strings.Contains(string(r.Data), `"want"`) {
				t.Errorf("the refusal has no paths: %+v", r)
			}
			for _, files := range []map[string][]byte{{"../evil": nil}, {"a.bin": make([]byte, effect.MaxBlobs), "b.bin": {0}}} {
				w.refused(runtime.ErrBadPayload, after(c, runtime.SignalSubmit, &runtime.Report{Output: json.RawMessage("5"), Artifacts: files}))
			}
			end(w)
			five := after(c, runtime.SignalSubmit, &runtime.Report{Output: json.RawMessage("5"), Artifacts: map[string][]byte{"notes.txt": []byte("by hand")}})
			if got := w.signal(five); got.Claim.Attempt != 2 {
				t.Errorf("receipt: %+v", got.Claim)
			}
			if got := w.until(run.ID, runtime.Completed); string(got.Output) != "5" || len(got.Work) != 0 {
				t.Errorf("output %s, work %+v", got.Output, got.Work)
			}
			w.refused(runtime.ErrClosed, submit(c, "6"))
			if left, err := query.Artifacts(w.ctx, w.engine, run.ID, "w"); err != nil || !slices.ContainsFunc(left, func(a runtime.Artifact) bool { return a.Name == "notes.txt" && a.Size == 7 }) {
				t.Errorf("artifacts %+v, %v", left, err)
			}
			w.verified(run.ID)
		})
	}
}

func TestWorkIsInvalidAfterTheLastTry(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def main():
    return attempt(work, "w", pulls = "helper", returns = "int(1..)").error.kind
`, "")
	w.until(run.ID, runtime.Suspended)
	c := w.signal(claim(run.ID)).Claim
	if r := w.refused(runtime.ErrBadPayload, submit(c, `"x"`)); !strings.Contains(r.Help, "last try") {
		t.Errorf("help %q", r.Help)
	}
	if got := w.until(run.ID, runtime.Completed); string(got.Output) != `"invalid"` {
		t.Errorf("output %s", got.Output)
	}
}

func TestClaimsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.start(pulling, "")
		w.until(run.ID, runtime.Suspended)
		c := w.signal(claim(run.ID)).Claim
		for range 3 { // heartbeats keep it
			time.Sleep(50 * time.Second)
			beat := w.signal(after(c, runtime.SignalHeartbeat, nil))
			if left := time.Until(beat.Claim.Until); left != time.Minute {
				t.Fatalf("the lease ends in %s", left)
			}
			w.crash()
		}
		time.Sleep(2 * time.Minute) // nobody carries the run
		w.refused(runtime.ErrExpired, submit(c, "5"))
		second := w.signal(claim("")).Claim
		if second.Claim != run.ID+"@w:2" {
			t.Errorf("second claim: %+v", second)
		}
		w.refused(runtime.ErrExpired, submit(c, "5"))
		w.refused(runtime.ErrExpired, after(c, runtime.SignalHeartbeat, nil))
		time.Sleep(2 * time.Minute)
		if got := w.until(run.ID, runtime.Failed); !strings.Contains(got.Error.Message, "2 claims expired") {
			t.Errorf("error %+v", got.Error)
		}
		w.refused(runtime.ErrClosed, submit(second, "5"))
		w.engine.Close()
	})
}

func TestDeadlineOfAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.start(pulling, "")
		w.until(run.ID, runtime.Suspended)
		time.Sleep(5 * time.Hour) // waiting for somebody is not counted
		s := claim(run.ID)
		s.Lease = 50 * time.Minute
		c := w.signal(s).Claim
		time.Sleep(40 * time.Minute)
		w.signal(after(c, runtime.SignalHeartbeat, nil))
		time.Sleep(30 * time.Minute)
		if got := w.until(run.ID, runtime.Failed); got.Error.Kind != "timeout" {
			t.Errorf("error %+v", got.Error)
		}
		w.engine.Close()
	})
}

func TestManyClaimersRace(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def main():
    return sum(parallel([lambda: work("w", pulls = "helper", returns = "int") for _ in range(20)]))

def sum(list):
    n = 0
    for x in list:
        n += x
    return n
`, "")
	w.until(run.ID, runtime.Suspended)
	var all sync.WaitGroup
	var done atomic.Int64
	for range 8 {
		all.Go(func() {
			for {
				r, err := w.engine.Signal(w.ctx, claim(""))
				if err != nil {
					if kind := runtime.AsRefusal(err).Kind; kind != runtime.ErrNotOpen {
						t.Error(err)
					}
					return
				}
				if _, err := w.engine.Signal(w.ctx, submit(r.Claim, "1")); err != nil {
					t.Error(err)
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if got := w.until(run.ID, runtime.Completed); string(got.Output) != "20" || done.Load() != 20 {
		t.Errorf("output %s after %d submits", got.Output, done.Load())
	}
	if n := w.count(run.ID, "attempt.started"); n != 20 {
		t.Errorf("%d attempts for 20 pieces of work", n)
	}
}

func TestCancelWithdrawsWork(t *testing.T) {
	w := newWorld(t)
	run := w.start(pulling, "")
	w.until(run.ID, runtime.Suspended)
	c := w.signal(claim("")).Claim
	if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: run.ID}); err != nil {
		t.Fatal(err)
	}
	w.refused(runtime.ErrClosed, submit(c, "5"))
	if l, err := w.engine.List(w.ctx, runtime.Query{Work: true}); err != nil || len(l.Work) != 0 {
		t.Errorf("work of a cancelled run: %+v, %v", l, err)
	}
}

func TestForkOffersWorkAnew(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def main():
    return parallel([lambda: work("w", pulls = "helper"), lambda: gate("g")])
`, "")
	w.until(run.ID, runtime.Suspended)
	c := w.signal(claim("")).Claim
	w.signal(runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "g"})
	fork := w.fork(runtime.ForkRequest{Kind: runtime.LineageFork, Run: run.ID, Step: "parallel/1/g"})
	w.until(fork.ID, runtime.Suspended)
	other := w.signal(claim(fork.ID)).Claim
	if other.Claim == c.Claim || other.Attempt != 1 {
		t.Errorf("claim of the fork: %+v", other)
	}
	w.signal(submit(c, `"mine"`))
	if got := w.until(run.ID, runtime.Completed); string(got.Output) == "" {
		t.Error("no output")
	}
}
