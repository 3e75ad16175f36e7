package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/memory"
)

func message(run, name, data string) runtime.Signal {
	return runtime.Signal{Kind: runtime.SignalMessage, Run: run, Name: name, Data: json.RawMessage(data)}
}

func TestMailboxKeepsMessages(t *testing.T) {
	for name, end := range map[string]func(*world){"straight": func(*world) {}, "restart": (*world).restart, "crash": (*world).crash} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			run := w.start(`
def main():
    gate("ready", options = ["go"])
    a = take("m").payload
    b = take("m").payload
    c = take("other").payload
    return [a, b, c]
`, "")
			w.until(run.ID, runtime.Suspended)
			w.signal(message(run.ID, "m", "1"))
			w.signal(message(run.ID, "m", "2"))
			end(w)
			w.signal(answer(run.ID, "ready", "go"))
			w.until(run.ID, runtime.Suspended)
			end(w)
			w.signal(message(run.ID, "other", `"late"`))
			if got := w.until(run.ID, runtime.Completed); string(got.Output) != `[1,2,"late"]` {
				t.Errorf("output %s", got.Output)
			}
			w.refused(runtime.ErrClosed, message(run.ID, "m", "3"))
		})
	}
}

// Whoever runs its own turn hears what came of it, also when its time is over by then.
func TestAnswerOfACallerWhoseTimeIsOver(t *testing.T) {
	w := newWorld(t)
	run := w.start(answered, `{"n": 50}`).ID
	late, cancel := context.WithCancel(w.ctx)
	cancel()
	for n := range 50 {
		if r, err := w.engine.Signal(late, answer(run, "", "on")); err != nil || r.Decision == nil {
			t.Fatalf("answer %d: %+v, %v", n+1, r, err)
		}
	}
}

// busy is a store in which a commit is done only when the next has come, until it is over.
type busy struct {
	*memory.Store
	mu   sync.Mutex
	next chan struct{} // closed when the next commit comes
	came chan struct{} // closed when the first one has come
	over chan struct{}
}

func (s *busy) Commit(ctx context.Context, b *runtime.Batch) error {
	next := make(chan struct{})
	s.mu.Lock()
	if s.next == nil {
		close(s.came)
	} else {
		close(s.next)
	}
	s.next = next
	s.mu.Unlock()
	select {
	case <-next:
	case <-s.over:
	}
	return s.Store.Commit(ctx, b)
}

// Those who come while the engine closes do not keep it from closing, though there is no moment
// when nobody is there.
func TestCloseWhileCallersKeepComing(t *testing.T) {
	w := newWorld(t)
	w.unseen = true
	runs := []string{w.start(answered, `{"n": 1000000}`).ID, w.start(answered, `{"n": 1000000}`).ID}
	w.engine.Close()
	w.store = w.store.Reopen()
	s := &busy{Store: w.store, came: make(chan struct{}), over: make(chan struct{})}
	e := w.build(s, 0)
	var callers sync.WaitGroup
	var once sync.Once
	for _, run := range runs {
		callers.Go(func() {
			for err := error(nil); err == nil; {
				_, err = e.Signal(w.ctx, answer(run, "", "on"))
			}
			once.Do(func() { close(s.over) })
		})
	}
	<-s.came
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	callers.Wait()
	w.store = w.store.Reopen()
	w.open()
	for _, run := range runs {
		w.signal(answer(run, "", "on"))
	}
}

func TestQuorum(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def main():
    return gate("g", options = ["yes", "no"], quorum = 2).choice
`, "")
	w.until(run.ID, runtime.Suspended)
	vote := func(who, choice string) runtime.Signal {
		s := answer(run.ID, "g", choice)
		s.As = who
		return s
	}
	w.signal(vote("ann", "yes"))
	w.refused(runtime.ErrDecided, vote("ann", "yes"))
	w.crash()
	if r := w.signal(vote("ben", "no")); r.Decision != nil {
		t.Errorf("decided by one of each: %s", r.Decision)
	}
	if r := w.signal(vote("cid", "yes")); r.Decision == nil {
		t.Error("two of three said yes and nothing is decided")
	}
	if got := w.until(run.ID, runtime.Completed); string(got.Output) != `"yes"` {
		t.Errorf("output %s", got.Output)
	}
}

func TestRunRestsUntilItsVariablesAreBrought(t *testing.T) {
	w := newWorld(t)
	w.work = func(_ context.Context, a *effect.Attempt) effect.Reply {
		v, _ := a.Env("TOKEN")
		return effect.Reply{Value: starlark.String("with " + v)}
	}
	run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, `
def main():
    return work("w")
`, nil), Script: "main.star", Settings: effect.Settings{Env: []string{"TOKEN"}}})
	if err != nil {
		t.Fatal(err)
	}
	if at := w.until(run.ID, runtime.Suspended); len(at.Gates) != 1 || at.Gates[0].Gate != "!needs:TOKEN" {
		t.Fatalf("gates: %+v", at.Gates)
	}
	w.crash()
	if _, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{Runs: []string{run.ID}, Env: map[string]string{"TOKEN": "t0p"}}); err != nil {
		t.Fatal(err)
	}
	if got := w.until(run.ID, runtime.Completed); string(got.Output) != `"with t0p"` || len(got.Gates) != 0 {
		t.Errorf("output %s, gates %+v", got.Output, got.Gates)
	}
}

func TestRetriesBackOff(t *testing.T) { // A18 (2)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		failures := 2
		w.work = func(_ context.Context, a *effect.Attempt) effect.Reply {
			if a.Number <= failures {
				return effect.Reply{Err: effect.Errorf(effect.KindEffect, "reset"), Class: effect.Retryable}
			}
			return effect.Reply{Value: starlark.MakeInt(a.Number)}
		}
		begin := time.Now()
		run := w.start(`
def main():
    return work("w", retries = 2)
`, "")
		w.until(run.ID, runtime.Suspended) // it waits for its second try
		w.crash()                          // the count of failures is durable
		w.resume()
		if got := w.until(run.ID, runtime.Completed); string(got.Output) != "3" {
			t.Errorf("output %s", got.Output)
		}
		if took := time.Since(begin); took < 1500*time.Millisecond || took > 2*time.Second {
			t.Errorf("two retries took %s", took)
		}
		failures = 9
		run = w.start(`
def main():
    return attempt(work, "w", retries = 1).error.message
`, "")
		if got := w.until(run.ID, runtime.Completed); string(got.Output) != `"reset"` {
			t.Errorf("output %s", got.Output)
		}
		w.engine.Close()
	})
}

func TestHandlerThatPanicsFailsItsStep(t *testing.T) {
	w := newWorld(t)
	w.work = func(context.Context, *effect.Attempt) effect.Reply { panic("oh") }
	run := w.start(`
def main():
    return attempt(work, "w").error.message
`, "")
	if got := w.until(run.ID, runtime.Completed); !strings.Contains(string(got.Output), "oh") {
		t.Errorf("output %s", got.Output)
	}
}

func TestAttemptsAreTakenBackWhenTheEngineLeaves(t *testing.T) {
	w := newWorld(t)
	begun := make(chan string, 1)
	w.work = hanging(begun)
	run := w.start(`
def main():
    return work("w", value = 5, on_uncertain = "fail")
`, "")
	<-begun
	w.restart()
	w.work = func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{Value: starlark.MakeInt(5)} }
	w.resume()
	if got := w.until(run.ID, runtime.Completed); string(got.Output) != "5" {
		t.Errorf("output %s", got.Output)
	}
}

func TestCeilingOfCallsInFlight(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	most, now := 0, 0
	gate := make(chan struct{})
	full := sync.OnceFunc(func() { close(gate) })
	w.work = func(context.Context, *effect.Attempt) effect.Reply {
		mu.Lock()
		now++
		most = max(most, now)
		if now == 64 {
			full()
		}
		mu.Unlock()
		<-gate
		mu.Lock()
		now--
		mu.Unlock()
		return effect.Reply{}
	}
	run := w.start(`
def main():
    parallel([lambda: work("w") for _ in range(200)])
`, "")
	w.until(run.ID, runtime.Completed)
	if most != 64 {
		t.Errorf("%d calls were in flight at once, want 64", most)
	}
}

func TestCancelStopsWhatIsInFlight(t *testing.T) {
	w := newWorld(t)
	begun := make(chan string, 1)
	stopped := make(chan struct{})
	w.work = func(ctx context.Context, a *effect.Attempt) effect.Reply {
		begun <- a.Key
		<-ctx.Done()
		close(stopped)
		return effect.Reply{}
	}
	run := w.start(`
def main():
    parallel([lambda: work("w"), lambda: gate("g"), lambda: sleep("1h")])
`, "")
	<-begun
	c := runtime.CancelRequest{Run: run.ID, Reason: "enough", Key: "c"}
	first, err := w.engine.Cancel(w.ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	<-stopped
	again, err := w.engine.Cancel(w.ctx, c)
	if err != nil || !again.Repeated || again.Seq != first.Seq {
		t.Errorf("repeated: %+v, %v", again, err)
	}
	var r *runtime.Refusal
	if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: run.ID}); !errors.As(err, &r) || r.Kind != runtime.ErrClosed {
		t.Errorf("second cancel: %v", err)
	}
	if got := w.until(run.ID, runtime.Cancelled); len(got.Gates) != 0 || got.Error.Message != "cancelled by local:ann: enough" {
		t.Errorf("gates %+v, error %+v", got.Gates, got.Error)
	}
	w.refused(runtime.ErrClosed, answer(run.ID, "g", "yes"))
}

func TestReplyIsHeldAgainstItsContract(t *testing.T) {
	w := newWorld(t)
	w.work = func(_ context.Context, a *effect.Attempt) effect.Reply {
		return effect.Reply{Value: starlark.String("seven")}
	}
	run := w.start(`
def main():
    o = attempt(work, "w", returns = "{n: int}")
    return [o.error.kind, o.error.data]
`, "")
	if got, want := w.until(run.ID, runtime.Completed), `["invalid",[{"path":"","got":"\"seven\"","want":"{n: int}"}]]`; string(got.Output) != want {
		t.Errorf("got %s, want %s", got.Output, want)
	}
}

// session sends chunks and tells what each came to.
type session struct {
	*world
	id string
}

func (s *session) chunk(text string) {
	s.t.Helper()
	s.signal(runtime.Signal{Kind: runtime.SignalChunk, Run: s.id, Bundle: bundle(s.t, text, nil)})
}

// said lists what the session has printed and what its chunks came to.
func (s *session) said() string {
	s.t.Helper()
	var out []string
	err := s.engine.Watch(s.ctx, runtime.WatchRequest{Run: s.id}, func(ev runtime.Event) error {
		if ev.Type == "output.print" || ev.Type == "chunk.ended" {
			out = append(out, string(ev.Data))
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

func TestSession(t *testing.T) {
	for name, end := range map[string]func(*world){"straight": func(*world) {}, "restart": (*world).restart, "crash": (*world).crash} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, "", nil), Script: "session", Session: true})
			if err != nil {
				t.Fatal(err)
			}
			s := &session{w, run.ID}
			s.chunk("x = [1, 2]\ndef f(n): return n + len(x)\n")
			end(w)
			s.chunk("x.append(work('w', value = 3))\n")
			w.until(run.ID, runtime.Suspended)
			end(w)
			s.chunk("print(x, f(1))\n")
			s.chunk("x = 1 // 0\n")
			end(w)
			s.chunk("c = gate('g', options = ['on']).choice\n")
			w.refused(runtime.ErrNotOpen, runtime.Signal{Kind: runtime.SignalChunk, Run: run.ID, Bundle: bundle(t, "x = 1\n", nil)})
			end(w)
			w.signal(answer(run.ID, "g", "on"))
			s.chunk("print(c, x)\n")
			got := s.said()
			for _, want := range []string{`{"text":"[1, 2, 3] 4"}`, "division by zero", `{"text":"on [1, 2, 3]"}`} {
				if !strings.Contains(got, want) {
					t.Errorf("the session said\n%s\nwithout %s", got, want)
				}
			}
			if n := len(w.calls); n != 1 {
				t.Errorf("work was performed %d times", n)
			}
		})
	}
}

func TestDamagedCheckpointIsRebuiltFromTheJournal(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def main():
    a = [i * i for i in range(10)]
    first = gate("one", options = ["yes"]).choice
    return [a, first, gate("two", options = ["yes"]).choice, now() > "2000", len(uuid())]
`, "")
	w.until(run.ID, runtime.Suspended)
	for _, gate := range []string{"one", "two"} {
		w.restart()
		w.spoil("s/" + run.ID)
		w.signal(answer(run.ID, gate, "yes"))
	}
	if got, want := w.until(run.ID, runtime.Completed), `[[0,1,4,9,16,25,36,49,64,81],"yes","yes",true,36]`; string(got.Output) != want {
		t.Errorf("got %s, want %s", got.Output, want)
	}
}

// spoil flips a byte in the middle of every value whose key begins with a prefix.
func (w *world) spoil(prefix string) {
	w.t.Helper()
	w.spoiled = w.spoiled || prefix[0] == 'j'
	w.each(prefix, spoilByte)
}

func TestPoisonedRunIsSetAside(t *testing.T) { // other runs serve
	w := newWorld(t)
	run := w.start(`
def main():
    return work("w", value = 1)
`, "")
	w.until(run.ID, runtime.Completed)
	begun := make(chan string, 9)
	w.work = hanging(begun)
	run = w.start(`
def main():
    return work("w", value = 1)
`, "")
	<-begun
	for range 3 { // three owners in a row die in the first turn of the recovery
		w.crash()
		w.store.FailCommit(2, errors.New("killed"), 0) // the first counts the recovery
		_, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{Runs: []string{run.ID}})
		if err == nil {
			t.Fatal("the recovery did not fail")
		}
	}
	w.crash()
	w.work = func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{Value: starlark.MakeInt(1)} }
	w.resume()
	at := w.until(run.ID, runtime.Suspended)
	if len(at.Gates) != 1 || at.Gates[0].Gate != "!quarantine" {
		t.Fatalf("gates: %+v", at.Gates)
	}
	other := w.start(`
def main():
    return work("w", value = 1)
`, "")
	w.until(other.ID, runtime.Completed)
	w.crash()
	w.signal(answer(run.ID, "!quarantine", "retry"))
	if got := w.until(run.ID, runtime.Completed); string(got.Output) != "1" {
		t.Errorf("output %s", got.Output)
	}
}

func TestDivergentJournalStopsTheRun(t *testing.T) { // law 1: replay must say what the journal says
	w := newWorld(t)
	run := w.start(three, "")
	w.until(run.ID, runtime.Suspended)
	w.restart()
	w.spoil("s/" + run.ID)
	w.spoil("j/" + run.ID)
	if _, err := w.engine.Signal(w.ctx, answer(run.ID, "a", "yes")); err == nil {
		t.Error("a run with a damaged journal took a signal")
	}
	fine := w.start(`
def main():
    return 1
`, "")
	w.until(fine.ID, runtime.Completed)
}

func TestLargeRepliesTakeSeveralTurns(t *testing.T) {
	w := newWorld(t)
	big := strings.Repeat("x", 900<<10)
	all := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(40)
	go func() {
		waiting.Wait()
		close(all)
	}()
	w.work = func(context.Context, *effect.Attempt) effect.Reply {
		waiting.Done()
		<-all
		return effect.Reply{Value: starlark.String(big)}
	}
	run := w.start(`
def main():
    return sum_of(parallel([lambda: len(work("w")) for _ in range(40)]))

def sum_of(ns):
    total = 0
    for n in ns:
        total += n
    return total
`, "")
	if got, want := string(w.until(run.ID, runtime.Completed).Output), strconv.Itoa(40*len(big)); got != want {
		t.Errorf("output %s, want %s", got, want)
	}
	if len(w.calls) != 40 {
		t.Errorf("%d attempts, want 40", len(w.calls))
	}
}
