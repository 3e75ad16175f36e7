package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/lang"
	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/owner"
	"starling/stdlib"
)

var suspended = flag.Int("suspended", 10000, "how many runs wait while their owner is killed, in TestA20ManySuspendedRuns")

// Bounds of a store in which very many runs wait. They hold on a slow and busy machine with a
// hundred times as many.
const (
	readyWithin = 10 * time.Second // from the start of the owner to its first answer
	mostMemory  = 400 << 20        // resident, in bytes, of the owner
	due         = 100              // runs whose deadline passes while there is no owner
)

// Very many runs wait, their owner is killed, and the next is there soon, in little memory. What
// was due meanwhile is decided once. One signal moves one run, and whoever awaits one over MCP
// holds a handle that outlives both the owner and their own server. A20 (2), (3)
func TestA20ManySuspendedRuns(t *testing.T) {
	o := newOffice(t)
	s := &store{office: o}
	s.serve()
	overdue := s.start(due, `
def main():
    return gate("g", options = ["yes", "no"], timeout = "2s", fallback = "no").choice
`)
	waiting := s.start(*suspended, `
def main(n = 0):
    state = [n] * 10
    return [gate("g", options = ["yes", "no"]).choice, sum(state)]

def sum(xs):
    total = 0
    for x in xs:
        total += x
    return total
`)
	chosen := waiting[len(waiting)/2]
	first, leave := o.leavingClient("")
	pending := o.good(first, "await", map[string]any{"run": chosen, "hold": 0.2})
	if pending["pending"] != true {
		t.Fatalf("await: %v", pending)
	}
	before := s.moved()

	leave() // it would have another owner started in place of the one that is killed
	o.kill()
	s.client.Close()
	s.serve()
	for _, run := range overdue {
		s.decidedOnce(run, `"no"`)
	}
	memory := s.memory()
	t.Logf("%d runs: ready after %v with %d MB", *suspended, s.ready, memory>>20)
	if memory > mostMemory {
		t.Errorf("the owner of %d waiting runs has %d MB of memory, want at most %d", *suspended, memory>>20, mostMemory>>20)
	}

	second := o.goClient("")
	answered := o.good(second, "signal", map[string]any{"run": chosen, "gate": "g", "choice": "yes"})
	if answered["run"] != chosen {
		t.Errorf("signal: %v", answered)
	}
	if done := o.good(second, "await", map[string]any{"handle": pending["handle"]}); done["status"] != "completed" {
		t.Errorf("await after the owner was killed: %v", done)
	}
	s.decidedOnce(chosen, `["yes",0]`)
	after := s.moved()
	for _, run := range waiting {
		if run != chosen && (after[run].IsZero() || !after[run].Equal(before[run])) {
			t.Errorf("run %s moved last at %v, and before that at %v: nobody has asked it anything", run, after[run], before[run])
		}
	}
}

// store is an office with an owner of its own and a client of its socket.
type store struct {
	*office
	client *api.Client
	ready  time.Duration // how long the last owner took to answer
}

// serve starts the owner and waits until it answers.
func (s *store) serve() {
	s.t.Helper()
	began := time.Now()
	cmd := exec.Command("starling", "serve")
	cmd.Dir, cmd.Env = s.dir, s.env
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed, mostly
		close(ended)
	}()
	for s.client = nil; s.client == nil; time.Sleep(time.Millisecond) {
		select {
		case <-ended:
			s.t.Fatalf("starling serve ended: %s", &said)
		default:
		}
		s.client, _ = api.Dial(s.t.Context(), s.socket(cmd.Process.Pid))
		if s.client == nil && time.Since(began) > patience {
			s.t.Fatal("no owner answers")
		}
	}
	client := s.client
	s.t.Cleanup(func() { client.Close() })
	if s.ready = time.Since(began); s.ready > readyWithin {
		s.t.Errorf("the owner was ready after %v, want %v at most", s.ready, readyWithin)
	}
}

// socket is where a process listens, once it is the owner.
func (s *store) socket(pid int) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, ".starling", ownerFile))
	var at owner.Record
	if json.Unmarshal(text, &at) != nil || at.PID != pid {
		return ""
	}
	return at.Socket
}

// start starts n runs of a script and waits until each is suspended.
func (s *store) start(n int, script string) []string {
	s.t.Helper()
	b, err := lang.Read("main.star", func(string) ([]byte, error) { return []byte(script), nil }, stdlib.Library)
	if err != nil {
		s.t.Fatal(err)
	}
	request := runtime.StartRequest{Bundle: b.Encode(), Script: "main.star"}
	request.Settings.Workspace = s.dir
	ids := make([]string, n)
	var wait sync.WaitGroup
	for first := range 32 {
		wait.Go(func() {
			for i := first; i < n; i += 32 {
				run, err := s.client.Start(s.t.Context(), request)
				if err != nil {
					s.t.Error(err)
					return
				}
				ids[i] = run.ID
			}
		})
	}
	wait.Wait()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		moving := s.list(runtime.Query{Status: []runtime.Status{runtime.Pending, runtime.Running}})
		if len(moving) == 0 {
			return ids
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d runs are still in motion", len(moving))
		}
	}
}

func (s *store) list(q runtime.Query) []runtime.Summary {
	s.t.Helper()
	l, err := s.client.List(s.t.Context(), q)
	if err != nil {
		s.t.Fatal(err)
	}
	return l.Runs
}

// moved tells when each run that waits has come to where it is.
func (s *store) moved() map[string]time.Time {
	at := map[string]time.Time{}
	for _, r := range s.list(runtime.Query{Status: []runtime.Status{runtime.Suspended}}) {
		at[r.ID] = r.UpdatedAt
	}
	return at
}

// decidedOnce waits until a run has completed, and wants one decision in its journal.
func (s *store) decidedOnce(run, output string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	decisions, ended := 0, false
	err := s.client.Watch(ctx, runtime.WatchRequest{Run: run, Follow: true}, func(ev runtime.Event) error {
		switch {
		case ev.Type == "gate.decided":
			decisions++
		case ev.Type == "run.completed":
			ended = true
			if want := fmt.Sprintf(`{"output":%s}`, output); string(ev.Data) != want {
				s.t.Errorf("run %s: %s, want %s", run, ev.Data, want)
			}
		}
		return nil
	})
	if err != nil || !ended || decisions != 1 {
		s.t.Errorf("run %s: ended %v after %d decisions (%v), want one", run, ended, decisions, err)
	}
}

// memory is what the owner has resident, in bytes.
func (s *store) memory() int { return s.status("VmRSS:") }

// status is a size that the kernel tells of the owner, in bytes.
func (s *store) status(field string) int {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.client.Hello().PID))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), field)
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return kb << 10
}
