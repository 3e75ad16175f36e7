package temporaltest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/runtimetest"
	"starling/runtime/temporal"
)

var (
	killings = flag.Int("killings", 5, "how often a worker is killed in TestWorkersAreKilled, and the server in TestTheServerIsKilled")
	killSeed = flag.Uint64("kill-seed", 0, "plays the moments again of tests that kill at random, 0 for others")
)

// again has attempts tried again of which nobody knows what they did.
func again(env *effect.Environment) *effect.Environment {
	agent := *env.Handlers["agent"]
	resolve := agent.Resolve
	agent.Resolve = func(s *effect.Settings, r *effect.Request) *effect.Error {
		refused := resolve(s, r)
		r.Policy.OnUncertain = effect.Retry
		return refused
	}
	env.Handlers["agent"] = &agent
	return env
}

// scribe is an agent that takes a moment and writes into a file when it begins and when it is done.
func scribe(file string) enginetest.Agent {
	return func(ctx context.Context, a *effect.Attempt) (string, error) {
		if err := note(file, fmt.Sprintf("begin %d %s %s %d %s", os.Getpid(), a.Run, a.Step, a.Number, a.Key)); err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		return "done", note(file, fmt.Sprintf("end %d %s %s %d", os.Getpid(), a.Run, a.Step, a.Number))
	}
}

// note adds a line to a file to which other processes add some, too.
func note(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

// noTwoAtOnce holds against each other what the agents and the killer wrote: a step is attempted
// again only when the attempt before has ended, or its process has.
func noTwoAtOnce(t *testing.T, file string, h *runtimetest.History) (attempts, kills int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{} // who works on a step
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch f[0] {
		case "killed":
			for step, pid := range at {
				if pid == f[1] {
					delete(at, step)
				}
			}
		case "begin":
			step := f[2] + "@" + f[3]
			if other := at[step]; other != "" {
				t.Errorf("process %s attempts %s while %s does", f[1], step, other)
			}
			at[step] = f[1]
			var number int
			fmt.Sscan(f[4], &number)
			h.Performed(&effect.Attempt{Run: f[2], Step: f[3], Number: number, Key: f[5]})
		case "end":
			delete(at, f[2]+"@"+f[3])
		}
	}
	return bytes.Count(text, []byte("begin ")), bytes.Count(text, []byte("killed "))
}

const errands = `def main():
    told = []
    for i in range(8):
        told.append(agent("a", "part %d" % i).output)
        told.append(gate("g%d" % i, options = ["yes", "no"]).choice)
    return told
`

// answers decides the gates of a run as they open, each with a key, and more than once.
func answers(ctx context.Context, e runtime.Engine, id string) (*runtime.Run, error) {
	for {
		var r *runtime.Run
		err := patiently(ctx, func() (err error) { r, err = e.Get(ctx, id); return err })
		if err != nil || r.Status.Ended() {
			return r, err
		}
		for _, g := range r.Gates {
			s := runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Gate: g.Gate, Choice: "yes", Key: g.Gate}
			for range 2 {
				within, cancel := context.WithTimeout(ctx, 5*time.Second) // a worker may have died with it: it is sent again
				e.Signal(within, s)
				cancel()
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// seeded is the seed of a test that kills at random.
func seeded(t *testing.T) uint64 {
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	return seed
}

// Workers are killed at random, and nothing is lost by it: what was acknowledged is in the
// journals, no step has two outcomes, and no two attempts of one are made at once.
func TestWorkersAreKilled(t *testing.T) {
	random := rand.New(rand.NewPCG(seeded(t), 0))
	o := options(t, again(enginetest.Environment(nobody)))
	plain, h := temporal.New(o), &runtimetest.History{}
	e := runtimetest.Observe(plain, h)
	file := t.TempDir() + "/said"
	w := spawn(t, hired{Queue: o.Queue, File: file, Play: "scribe"})
	run, over := errand(t, o, plain, e, h), make(chan bool)
	go func() { defer close(over); run() }()
	for range *killings {
		busy(t, file)
		time.Sleep(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
		w.Process.Kill()
		w.Wait()
		if err := note(file, fmt.Sprintf("killed %d", w.Process.Pid)); err != nil {
			t.Fatal(err)
		}
		w = spawn(t, hired{Queue: o.Queue, File: file, Play: "scribe"})
	}
	<-over
	attempts, kills := noTwoAtOnce(t, file, h)
	t.Logf("%d attempts of 32 steps", attempts)
	if kills != *killings {
		t.Errorf("%d workers were killed, want %d", kills, *killings)
	}
	if err := h.Check(); err != nil {
		t.Error(err)
	}
}

// busy waits until an attempt begins, or for as long as one that was lost is waited for.
func busy(t *testing.T, file string) {
	t.Helper()
	count := func() int {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("begin "))
	}
	before := count()
	for deadline := time.Now().Add(20 * time.Second); count() == before && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
}

// journal gives a history all that a run has left.
func journal(t *testing.T, ctx context.Context, e runtime.Engine, h *runtimetest.History, id string) {
	var events []runtime.Event
	err := patiently(ctx, func() error {
		events = nil
		return e.Watch(ctx, runtime.WatchRequest{Run: id}, func(ev runtime.Event) error {
			events = append(events, ev)
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	h.Journal(id, events)
}

// patiently asks again while the server or a worker does not answer. A caller is told so after ten
// seconds, which a busy machine may take to read a history that is large.
func patiently(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if k := runtime.AsRefusal(err).Kind; k != runtime.ErrOwnerUnreachable && k != runtime.ErrStoreUnreachable {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}
