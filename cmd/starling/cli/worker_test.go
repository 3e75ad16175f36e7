package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"starling/cmd/starling/worker"
	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// written is what a process has said so far.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// worker begins to work at a desk.
func (d *desk) worker(args ...string) (*exec.Cmd, *written) {
	d.t.Helper()
	cmd, said := d.command(append([]string{"work", "--as", "builder"}, args...)...), new(written)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if d.t.Failed() {
			d.t.Logf("%s", said)
		}
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	})
	return cmd, said
}

func (d *desk) until(what string, ok func() bool) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("there is still not %s", what)
		}
	}
}

// Workers on other machines share the work of a run. One that was out of reach for longer than its
// lease finds its work done by another; its result is refused and its agent ended. The server may
// be killed meanwhile: nothing is done twice, nothing is lost.
func TestWorkersElsewhere(t *testing.T) {
	o := newOffice(t)
	o.write("starling.toml", "[agents.builder]\nbackend = \"inbox\"\n\n[grants.\"*\"]\nagents = [\"builder\"]\n")
	address, _ := o.serving("--http", "127.0.0.1:0")
	secret := strings.TrimSpace(o.cli(0, "token", "add", "builder", "--can", "run,read,signal"))
	boss := o.desk(address, secret)
	boss.write("many.star", "def main(n):\n    return parallel(lambda i: agent(\"builder\", \"part %d\" % i, retries = 3).text, over = range(n))\n")

	var desks []*desk
	for range 2 {
		d := o.desk(address, secret)
		d.write("starling.toml", "[agents.builder]\ncommand = [\"sh\", \"part.sh\"]\n")
		d.write("part.sh", "cat >/dev/null\necho begun >>begun\nwhile test -e hold; do sleep 0.05; done\nsleep 0.1\necho done >>done\necho '{\"text\": \"made\"}'\n")
		desks = append(desks, d)
	}
	first, second := desks[0], desks[1]
	count := func(d *desk, name string) int {
		out, _ := exec.Command("cat", filepath.Join(d.dir, name)).Output()
		return strings.Count(string(out), "\n")
	}

	// The first has all of it and is then out of reach; the second is done before it is back.
	first.write("hold", "")
	id := started(boss.cli(0, "run", "many.star", "-i", "n:=3", "--detach"))
	stuck, said := first.worker("--limit", "3", "--lease", "1s")
	first.until("work begun", func() bool { return count(first, "begun") == 3 })
	if err := stuck.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	other, othersaid := second.worker("--limit", "2")
	ended := func() bool { return strings.Contains(boss.cli(0, "show", id), "completed") }
	boss.until("an end of the run", ended)
	if err := stuck.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	first.until("a lost claim", func() bool { return strings.Count(said.String(), "the claim is lost") == 3 })
	if n := count(first, "done"); n != 0 {
		t.Errorf("%d agents of the first have gone on", n)
	}
	if n := count(second, "done"); n != 3 {
		t.Errorf("the second has done %d parts:\n%s", n, othersaid)
	}

	// The server is killed while both work.
	_ = stuck.Process.Signal(syscall.SIGINT)
	_ = stuck.Wait()
	again, againsaid := first.worker("--limit", "3")
	second.write("hold", "")
	id = started(boss.cli(0, "run", "many.star", "-i", "n:=5", "--detach"))
	before := count(second, "begun")
	second.until("work of the second", func() bool { return count(second, "begun") == before+2 })
	first.until("work of the first", func() bool { return count(first, "begun") == 6 })
	o.kill()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	o.serving("--http", "127.0.0.1:"+port)
	for _, d := range desks {
		if out, err := exec.Command("rm", filepath.Join(d.dir, "hold")).CombinedOutput(); err != nil {
			t.Fatal(string(out))
		}
	}
	boss.until("an end of the run", ended)
	if logs := boss.cli(0, "logs", id); strings.Count(logs, "attempt.started") != 5 {
		t.Errorf("5 parts were not done once each:\n%s", logs)
	}
	boss.says(`(?s)"made".*"made".*"made".*"made".*"made"`, 0, "wait", id)

	for _, w := range []*exec.Cmd{again, other} {
		_ = w.Process.Signal(syscall.SIGINT)
	}
	if text := fmt.Sprint(said, othersaid, againsaid); strings.Contains(text, secret) {
		t.Errorf("the secret is in %s", text)
	}
}

// BenchmarkWorkers has workers of limit 8 do 64 calls of one second, and prints by how much the run
// takes longer than the calls must: 8, 4 and 2 s. The bound is 1.2. The calls are those of scripted
// agents, for all workers share the processors of one machine here.
func BenchmarkWorkers(b *testing.B) {
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			for b.Loop() {
				took := shareCalls(b, workers)
				b.ReportMetric(took.Seconds()/(8/float64(workers)), "x-floor")
			}
		})
	}
}

// shareCalls is how long a run of 64 calls takes.
func shareCalls(b *testing.B, workers int) time.Duration {
	o := newOffice(b)
	o.write("starling.toml", "[agents.builder]\nbackend = \"inbox\"\n")
	address, _ := o.serving("--http", "127.0.0.1:0")
	secret := strings.TrimSpace(o.cli(0, "token", "add", "builder", "--can", "read,signal"))
	o.write("many.star", "def main():\n    return len(parallel(lambda i: agent(\"builder\", \"part %d\" % i).text, over = range(64)))\n")
	for range workers {
		d := o.desk(address, secret)
		d.write("fake.star", "def builder(request):\n    return reply(text = \"made\", delay = \"1s\")\n")
		_, said := d.worker("--limit", "8", "--fake", "fake.star")
		d.until("a worker", func() bool { return strings.Contains(said.String(), "works for") })
	}
	var run runtime.Run
	said := o.cli(0, "run", "many.star", "--wait", "--json")
	if err := json.Unmarshal([]byte(said), &run); err != nil || string(run.Output) != "64" {
		b.Fatalf("%v, the run came to %s", err, said)
	}
	var times struct {
		Started time.Time `json:"started_at"`
		Updated time.Time `json:"updated_at"`
	}
	if err := json.Unmarshal([]byte(o.cli(0, "show", run.ID, "--json")), &times); err != nil {
		b.Fatal(err)
	}
	return times.Updated.Sub(times.Started)
}

// A worker that works for weeks remembers only what it works on and a few pieces of work before.
func TestWorkersForget(t *testing.T) {
	ctx, leave := context.WithCancel(runtime.WithCaller(t.Context(), runtime.Caller{Name: "local:test", Local: true}))
	open := func() runtime.Engine {
		e, err := engine.Open(memory.New(), environment(), engine.Options{Log: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	asks, own := open(), open()
	project := func(text string) (s effect.Settings) {
		s.Workspace, s.Project = t.TempDir(), []byte(text)
		s.ProjectFile = filepath.Join(s.Workspace, "starling.toml")
		return s
	}
	script, err := lang.Read("many.star", func(string) ([]byte, error) {
		return []byte("def main():\n    return parallel(lambda i: agent(\"builder\", \"part %d\" % i).text, over = range(100))\n"), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := asks.Start(ctx, runtime.StartRequest{Bundle: script.Encode(), Script: "many.star", Settings: project("[agents.builder]\nbackend = \"inbox\"\n")})
	if err != nil {
		t.Fatal(err)
	}
	o := worker.Options{Engine: asks, As: "builder", Own: own, Agent: "builder", Limit: 4, Lease: time.Minute, Key: func() string { return requestKey("") }, Log: func(string, ...any) {},
		Start: runtime.StartRequest{Settings: project("[agents.builder]\ncommand = [\"echo\", '{\"text\": \"made\"}']\n")}}
	left := make(chan error, 1)
	go func() { left <- worker.Work(ctx, o) }()
	err = asks.Watch(ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(runtime.Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l, err := own.List(runtime.WithCaller(t.Context(), runtime.Caller{Name: "worker", Local: true}), runtime.Query{All: true})
	if err != nil || len(l.Runs) == 0 || len(l.Runs) > 60 {
		t.Errorf("it remembers %d pieces of work, %v", len(l.Runs), err)
	}
	leave()
	if err := <-left; err != nil {
		t.Error(err)
	}
}
