package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"starling/cmd/starling/place"
	"starling/runtime"
)

// busyScript has everything that a cancel must end: branches at a gate, at a timer, in a child run,
// and in an agent whose process has a child of its own.
const busyScript = `
def main():
    return parallel({
        "gate": lambda: gate("own", options = ["yes"], timeout = "1h", fallback = "yes"),
        "timer": lambda: sleep("1h"),
        "child": lambda: run("child.star"),
        "agent": lambda: agent("stuck", "work"),
    })
`

const stuckAgent = `#!/bin/sh
cat > /dev/null
mkdir -p pids
sleep 1000 &
echo $! > pids/$!
echo $$ > pids/$$
wait
`

// A09. The owner is killed before and after each commit that a cancel makes, while everything is in
// motion. The cancel is typed again with its key until it is through; then nothing is left.
func TestSIGKILLWhileCancelling(t *testing.T) {
	for _, moment := range []string{"before", "after"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				c := newCancelling(t)
				if !c.cancelKilled(fmt.Sprintf("%s %d armed", moment, n)) {
					if n < 4 {
						t.Errorf("a cancel made %d commits, want one for the run, one for its child and one that forgets the orphan", n-1)
					}
					return
				}
				c.nothingIsLeft()
			}
		})
	}
}

// cancelling is a busy run in a folder of its own.
type cancelling struct {
	*telling
	owner *exec.Cmd
	run   string
}

func newCancelling(t *testing.T) *cancelling {
	c := &cancelling{telling: &telling{t: t, dir: t.TempDir(), end: &ending{}}}
	c.write("busy.star", busyScript)
	c.write("child.star", "def main():\n    return [gate('inner', options = ['yes']).choice, agent('stuck', 'inner')]\n")
	c.write("starling.toml", "[agents.stuck]\ncommand = [\"./stuck.sh\"]\n")
	c.write("stuck.sh", stuckAgent)
	if err := os.Chmod(filepath.Join(c.dir, "stuck.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	return c
}

// cancelKilled begins the run under an owner that dies at one of the commits of its cancel, and
// cancels it. It tells whether the owner died.
func (c *cancelling) cancelKilled(crash string) bool {
	c.t.Helper()
	c.serve(crash)
	var run struct{ ID string }
	if err := json.Unmarshal(c.do(killer{}, "run", "busy.star", "--key", "start", "-d", "--json"), &run); err != nil {
		c.t.Fatal(err)
	}
	c.run = run.ID
	c.eventually("two open gates and two processes", func() bool { return len(c.gates()) == 2 && len(c.pids()) == 2 })
	c.write("armed", "")
	c.do(killer{}, "cancel", c.run, "--key", "cancel")
	died := make(chan bool, 1)
	go func() {
		_ = c.owner.Wait() // how it ended is in its state
		died <- killed(c.owner.ProcessState)
	}()
	c.eventually("the children to end", func() bool { return len(died) > 0 || c.ended() })
	select {
	case d := <-died:
		return d
	default:
	}
	if err := c.owner.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	return <-died
}

// serve starts an owner of the store and waits until it answers.
func (c *cancelling) serve(crash string) {
	c.t.Helper()
	c.owner = c.commandContext(context.Background(), "serve")
	c.owner.Env = append(c.owner.Env, crashVariable+"="+strings.Replace(crash, "armed", filepath.Join(c.dir, "armed"), 1))
	if err := c.owner.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = c.owner.Process.Kill() })
	c.eventually("an owner", func() bool { return place.Exists(filepath.Join(c.dir, ".starling", ownerFile)) })
}

// nothingIsLeft lets another owner finish what the cancel began, and looks for what survived.
func (c *cancelling) nothingIsLeft() {
	c.t.Helper()
	c.do(killer{}, "serve", "--idle", "1ms")
	if !c.ended() {
		c.t.Errorf("not every run has ended: %s", c.do(killer{}, "ps", "-a", "--json"))
	}
	if left := c.gates(); len(left) > 0 {
		c.t.Errorf("gates are open: %v", left)
	}
	var shown runtime.Details
	if err := json.Unmarshal(c.do(killer{}, "show", c.run, "--json"), &shown); err != nil || shown.NextDue != nil || shown.InFlight > 0 {
		c.t.Errorf("timers or attempts are left: %+v, %v", shown, err)
	}
	c.noProcess()
	c.check()
}

// ended tells whether the run was cancelled, and its child.
func (c *cancelling) ended() bool {
	c.t.Helper()
	var all runtime.Listing
	if err := json.Unmarshal(c.do(killer{}, "ps", "-a", "--json"), &all); err != nil || len(all.Runs) != 2 {
		c.t.Fatalf("%d runs: %v", len(all.Runs), err)
	}
	return all.Runs[0].Status == runtime.Cancelled && all.Runs[1].Status == runtime.Cancelled
}

func (c *cancelling) gates() []runtime.Gate {
	c.t.Helper()
	var open runtime.Listing
	if err := json.Unmarshal(c.do(killer{}, "inbox", "--json"), &open); err != nil {
		c.t.Fatal(err)
	}
	return open.Gates
}

// pids are the processes that agents have told of.
func (p *telling) pids() []int {
	entries, _ := os.ReadDir(filepath.Join(p.dir, "pids"))
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// noProcess waits until no process that an agent told of is there.
func (p *telling) noProcess() {
	p.t.Helper()
	for _, pid := range p.pids() {
		p.eventually(fmt.Sprintf("the end of process %d", pid), func() bool { return !alive(pid) })
	}
}

func (p *telling) eventually(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("still waiting for %s", what)
		}
	}
}

// A branch is cancelled at some moment of the start of its agent, sixteen times with the other
// branch ready a little later each time, and once when it surely works. No process of any of them
// is left.
func TestCancelWhileAgentStarts(t *testing.T) {
	p := &telling{t: t, dir: t.TempDir(), end: &ending{}}
	p.write("race.star", `
def nap(ms):
    sleep("%dms" % ms)
def main():
    for ms in [1 + 5 * i for i in range(16)] + [1500]:
        parallel([lambda: agent("stuck", "work"), (nap, ms)], wait = "any")
`)
	p.write("starling.toml", "[agents.stuck]\ncommand = [\"./stuck.sh\"]\n")
	p.write("stuck.sh", stuckAgent)
	if err := os.Chmod(filepath.Join(p.dir, "stuck.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	var run struct{ Status runtime.Status }
	if err := json.Unmarshal(p.do(killer{}, "run", "race.star", "--json"), &run); err != nil || run.Status != runtime.Completed {
		t.Fatalf("the run is %s: %v", run.Status, err)
	}
	if len(p.pids()) == 0 {
		t.Error("no agent came as far as to tell of its process")
	}
	p.noProcess()
}
