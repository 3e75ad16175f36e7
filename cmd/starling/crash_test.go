package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"starling/runtime"
	"starling/runtime/runtimetest"
)

// The program of these tests can be told, by an environment variable, to end itself with SIGKILL right before or right after its n-th commit: at each durable
// boundary, exactly. Badger, the sockets and the processes are the real ones.
const crashVariable = "STARLING_TEST_CRASH" // "before 3", "after 3"

// crashingStore kills its process at one of its commits.
type crashingStore struct {
	runtime.Store
	moment string
	left   int
}

func openCrashing(dir string) (runtime.Store, error) {
	s, err := openStore(dir)
	c := &crashingStore{Store: s}
	if n, _ := fmt.Sscanf(os.Getenv(crashVariable), "%s %d", &c.moment, &c.left); err != nil || n < 2 {
		return s, err
	}
	return c, nil
}

func (c *crashingStore) Commit(ctx context.Context, b *runtime.Batch) error {
	if len(b.Fences) == 0 && !ahead(b) { // not a run's: the store's own key
		return c.Store.Commit(ctx, b)
	}
	c.left--
	if c.left == 0 && c.moment == "before" {
		die()
	}
	err := c.Store.Commit(ctx, b)
	if c.left == 0 {
		die()
	}
	return err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// story is what users do with a script: they start it, and answer its gates. Whoever finds that a command was killed types it again, with its key.
type story struct {
	name    string
	script  string // a file of scripts/, or the text of one
	files   map[string]string
	args    []string
	answers [][]string // GATE and the flags of signal
	world   bool       // it talks to a sink that serves items.json
}

var stories = []story{
	{name: "review", script: "review.star", world: true, answers: [][]string{{"review-gate", "--choice", "approve", "--as", "reviewer-agent", "-m", "good"}}},
	{name: "fix and verify", script: "fix_and_verify.star", args: []string{"--fake", "scripts/fix_and_verify_agents.star"},
		answers: [][]string{{"ship", "--choice", "approve"}}},
	{name: "branches", script: `
def ask(name):
    print("asking", name)
    return [name, gate(name, options = ["yes", "no"]).choice]
def main():
    before = {"squares": [x * x for x in range(5)]}
    return [before, parallel({k: (ask, k) for k in ["a", "b", "c"]}), before]
`, answers: [][]string{{"parallel/b/b", "--choice", "yes"}, {"c", "--choice", "no"}, {"parallel/a/a", "--choice", "yes"}}},
	{name: "keys and natives", script: `
def main():
    ids = [uuid(), uuid()]
    names = sorted(["x", "y"], key = lambda n: gate("g-" + n, options = ["1", "2"]).choice)
    sleep("20ms")
    o = attempt(lambda: 1 // 0)
    emit("half", names = names)
    return [names, o.error.message, len({i: None for i in ids}), random() < 1]
`, answers: [][]string{{"g-x", "--choice", "2"}, {"g-y", "--choice", "1"}}},
	{name: "child", script: `
def main():
    h = gate("late", options = ["on"], wait = False)
    r = run("child.star", {"x": 2})
    return [r, h.decision().choice]
`, files: map[string]string{"child.star": `
def main(x):
    print("child")
    return [x, gate("ok", options = ["yes", "no"]).choice]
`}, answers: [][]string{{"child/ok", "--choice", "yes"}, {"late", "--choice", "on"}}},
}

// Each story is told once without a crash, then again for every commit of every command, with SIGKILL before and after it. The end must be the same.
func TestSIGKILLAtEveryCommit(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := s.tell(t, -1, "")
			for command := range 1 + len(s.answers) {
				for _, moment := range []string{"before", "after"} {
					s.killAll(t, command, moment, want)
				}
			}
		})
	}
}

// killAll kills one command at its first, second, ... commit, until it has no more.
func (s *story) killAll(t *testing.T, command int, moment string, want *ending) {
	for n := 1; ; n++ {
		crash := fmt.Sprintf("%s %d", moment, n)
		got := s.tell(t, command, crash)
		if diff := want.differs(got); diff != "" {
			t.Errorf("killed in command %d, %s: %s", command, crash, diff)
		}
		if !got.killed {
			if n == 1 {
				t.Errorf("command %d commits nothing", command)
			}
			return
		}
	}
}

// ending is what a story came to.
type ending struct {
	killed   bool
	output   string
	journal  []string // without attempts, times and rests
	effects  []string // what the world saw, once per idempotency key
	requests int      // how often it was asked
}

func (want *ending) differs(got *ending) string {
	switch {
	case got.output != want.output:
		return fmt.Sprintf("output %s, want %s", got.output, want.output)
	case !slices.Equal(got.journal, want.journal):
		return fmt.Sprintf("journal %v, want %v", got.journal, want.journal)
	case !slices.Equal(got.effects, want.effects):
		return fmt.Sprintf("effects %v, want %v", got.effects, want.effects)
	case got.requests > want.requests+1:
		return fmt.Sprintf("%d requests, want at most one more than %d", got.requests, want.requests)
	}
	return ""
}

// tell plays the story in a folder of its own, killing one of its commands.
func (s *story) tell(t *testing.T, killed int, crash string) *ending {
	t.Helper()
	p := &telling{t: t, dir: t.TempDir(), end: &ending{}}
	script := s.lay(p)
	p.sink = newSink()
	p.sink.dir = p.dir
	p.sink.server = httptest.NewServer(p.sink)
	defer p.sink.close()
	command := append([]string{"run", script, "--key", "start", "--json"}, s.args...)
	if s.world {
		command = append(command, "-i", "data_url="+p.sink.server.URL+"/items.json", "-i", "publish_url="+p.sink.server.URL+"/publish")
	}
	var run struct{ ID string }
	first := p.do(killed == 0, crash, command...)
	if err := json.Unmarshal(first, &run); err != nil || run.ID == "" {
		t.Fatalf("run printed %s", first)
	}
	for i, a := range s.answers {
		p.retryUncertain(run.ID)
		p.answer(killed == i+1, crash, run.ID, a, fmt.Sprintf("answer-%d", i))
	}
	p.do(false, "", "wait", run.ID, "--timeout", "20s")
	p.retryUncertain(run.ID)
	p.check()
	return p.look(run.ID)
}

func (s *story) lay(p *telling) (script string) {
	if err := os.CopyFS(filepath.Join(p.dir, "scripts"), os.DirFS(filepath.Join("..", "..", "scripts"))); err != nil {
		p.t.Fatal(err)
	}
	p.write("items.json", `{"items": [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.5}, {"id": "c", "score": 0.85}]}`)
	for name, text := range s.files {
		p.write(name, text)
	}
	if !strings.Contains(s.script, "\n") {
		return "scripts/" + s.script
	}
	p.write("story.star", s.script)
	return "story.star"
}

// telling is one telling of a story.
type telling struct {
	t    *testing.T
	dir  string
	sink *sink
	end  *ending

	history runtimetest.History
}

func (p *telling) write(name, text string) {
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// do types a command, and types it again when it was killed.
func (p *telling) do(kill bool, crash string, args ...string) []byte {
	p.t.Helper()
	out, state := p.exec(kill, crash, args...)
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.end.killed = true
		out, state = p.exec(false, "", args...)
	}
	if code := state.ExitCode(); code != 0 && code != runtime.ExitSuspended {
		p.t.Fatalf("starling %s: exit code %d: %s", strings.Join(args, " "), code, out)
	}
	return out
}

func (p *telling) exec(kill bool, crash string, args ...string) ([]byte, *os.ProcessState) {
	p.t.Helper()
	cmd := exec.Command("starling", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+p.dir)
	if kill {
		cmd.Env = append(cmd.Env, crashVariable+"="+crash)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	if len(out) == 0 {
		out = []byte(errs.String())
	}
	return out, cmd.ProcessState
}

// answer sends an answer and notes what its sender was told.
func (p *telling) answer(kill bool, crash, run string, a []string, key string) {
	p.t.Helper()
	var receipt runtime.Receipt
	text := p.do(kill, crash, append([]string{"signal", run + "/" + a[0], "--key", key, "--json"}, a[1:]...)...)
	if err := json.Unmarshal(text, &receipt); err != nil {
		p.t.Fatalf("signal printed %s", text)
	}
	p.history.Answered(runtime.Signal{Run: run, Gate: a[0], Key: key}, &receipt, nil)
}

// check holds what was seen against the journals of all runs.
func (p *telling) check() {
	p.t.Helper()
	var all runtime.Listing
	if err := json.Unmarshal(p.do(false, "", "ps", "-a", "--json"), &all); err != nil || len(all.Runs) == 0 {
		p.t.Fatalf("ps lists %d runs: %v", len(all.Runs), err)
	}
	for _, r := range all.Runs {
		var events []runtime.Event
		for line := range strings.Lines(string(p.do(false, "", "logs", r.ID, "--jsonl"))) {
			var ev runtime.Event
			if err := json.Unmarshal([]byte(line), &ev); err != nil {
				p.t.Fatal(err)
			}
			events = append(events, ev)
		}
		p.history.Journal(r.ID, events)
	}
	if err := p.history.Check(); err != nil {
		p.t.Error(err)
	}
}

// retryUncertain answers the questions of a run whose script asks about attempts that were cut.
func (p *telling) retryUncertain(run string) {
	p.t.Helper()
	var shown struct{ Gates []struct{ Gate string } }
	for {
		text := p.do(false, "", "show", run, "--json")
		if err := json.Unmarshal(text, &shown); err != nil {
			p.t.Fatalf("show printed %s", text)
		}
		i := slices.IndexFunc(shown.Gates, func(g struct{ Gate string }) bool { return strings.HasPrefix(g.Gate, "!uncertain:") })
		if i < 0 {
			return
		}
		p.do(false, "", "signal", run+"/"+shown.Gates[i].Gate, "--choice", "retry")
	}
}

// look asks what the run came to.
func (p *telling) look(run string) *ending {
	p.t.Helper()
	var shown struct {
		Status string
		Output json.RawMessage
	}
	if err := json.Unmarshal(p.do(false, "", "show", run, "--json"), &shown); err != nil || shown.Status != "completed" {
		p.t.Fatalf("the run is %s: %v", shown.Status, err)
	}
	p.end.output = string(shown.Output)
	for line := range strings.Lines(string(p.do(false, "", "logs", run, "--jsonl"))) {
		var ev struct{ Type, Step string }
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			p.t.Fatal(err)
		}
		if !strings.HasPrefix(ev.Step, "!") && !strings.HasPrefix(ev.Type, "attempt.") && ev.Type != "run.suspended" && ev.Type != "run.resumed" {
			p.end.journal = append(p.end.journal, strings.TrimSpace(ev.Type+" "+ev.Step))
		}
	}
	slices.Sort(p.end.journal) // branches may take turns
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	p.end.requests = len(p.sink.requests)
	for _, r := range p.sink.requests {
		r = strings.ReplaceAll(r, run, "RUN")
		if !slices.Contains(p.end.effects, r) {
			p.end.effects = append(p.end.effects, r)
		}
	}
	return p.end
}
