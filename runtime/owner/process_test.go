package owner_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"starling/runtime"
	"starling/runtime/owner"
)

// TestOneOfManyOwns lets processes race for a store that does not exist yet: one wins, all others
// are its clients, and what each starts all see.
func TestOneOfManyOwns(t *testing.T) {
	dir := store(t)
	var all []*process
	for range 5 {
		all = append(all, begin(t, "participant", dir))
	}
	owners := map[int]int{}
	for _, p := range all {
		p.ready()
		if p.greeted.Error != "" {
			t.Fatal(p.greeted.Error)
		}
		who := p.greeted.Owner
		if who == 0 {
			who = p.pid()
		}
		owners[who]++
	}
	if len(owners) != 1 || epoch(dir) != 1 {
		t.Fatalf("got owners %v and epoch %d, want one and 1", owners, epoch(dir))
	}
	if r := recorded(t, dir); owners[r.PID] == 0 || r.Build != "test" || r.Protocol != 1 || r.Since.IsZero() {
		t.Errorf("got owner.json %+v, want process %v of build test", r, owners)
	}
	for _, p := range all {
		p.do(order{Do: "start", Start: source(hello)})
	}
	for _, p := range all {
		if runs := p.do(order{Do: "list"}).Runs; len(runs) != len(all) {
			t.Errorf("process %d sees runs %v, want %d", p.pid(), runs, len(all))
		}
	}
}

// events collects what a watch has shown so far and in the end.
func events(t *testing.T, p *process, c <-chan reply) []string {
	t.Helper()
	var all []string
	for r := range c {
		if r.Done {
			if r.Error != "" {
				t.Errorf("the watch of process %d ended with %s", p.pid(), r.Error)
			}
			return all
		}
		all = append(all, fmt.Sprint(r.Event.Seq, " ", r.Event.Type))
	}
	t.Errorf("process %d ended", p.pid())
	return all
}

// TestKilledOwnerIsReplaced kills the owner while two clients watch a run. One of them is elected,
// both go on without a gap or a repeat, and a third that comes later is a client of the new one.
func TestKilledOwnerIsReplaced(t *testing.T) {
	dir := store(t)
	a := launch(t, "participant", dir)
	b, c := launch(t, "participant", dir), launch(t, "participant", dir)
	run := b.do(order{Do: "start", Start: source(review)}).Run.ID
	fromB, fromC := b.send(order{Do: "watch", Run: run}), c.send(order{Do: "watch", Run: run[:len(run)-1]})
	<-fromB
	<-fromC // both have seen run.started
	a.do(order{Do: "signal", Signal: answer(run, "review")})
	a.kill()
	c.do(order{Do: "signal", Signal: answer(run, "again")})

	want := []string{"2 step.requested", "3 gate.opened", "4 run.suspended",
		"5 signal.accepted", "6 run.resumed", "7 gate.decided", "8 step.settled", "9 step.requested", "10 gate.opened", "11 run.suspended",
		"12 signal.accepted", "13 run.resumed", "14 gate.decided", "15 step.settled", "16 output.print", "17 run.completed"}
	for p, seen := range map[*process][]string{b: events(t, b, fromB), c: events(t, c, fromC)} {
		if !slices.Equal(seen, want) {
			t.Errorf("process %d has seen\n%q, want\n%q", p.pid(), seen, want)
		}
	}
	ownerOfB, ownerOfC := b.do(order{Do: "owner"}).Owner, c.do(order{Do: "owner"}).Owner
	if !(ownerOfB == 0 && ownerOfC == b.pid() || ownerOfC == 0 && ownerOfB == c.pid()) || epoch(dir) != 2 {
		t.Errorf("b says %d owns, c says %d; b is %d, c is %d; epoch %d", ownerOfB, ownerOfC, b.pid(), c.pid(), epoch(dir))
	}
	d := launch(t, "participant", dir)
	if got := recorded(t, dir).PID; d.greeted.Owner != got || got == a.pid() {
		t.Errorf("a newcomer says %d owns, owner.json %d", d.greeted.Owner, got)
	}
}

// TestRequestsAreSentAgain kills one owner after the other while a client starts runs: each start
// gives a run, and none gives two.
func TestRequestsAreSentAgain(t *testing.T) {
	dir := store(t)
	const runs, kills = 60, 3
	a := launch(t, "participant", dir)
	client := launch(t, "participant", dir)
	asked := make(chan int, runs)
	answers := make([]<-chan reply, runs)
	go func() {
		defer close(asked)
		for i := range runs {
			r := source(hello)
			if i%2 == 0 {
				r.Key = fmt.Sprint("key ", i) // the others get one from the session
			}
			answers[i] = client.send(order{Do: "start", Start: r})
			asked <- i
		}
	}()
	ids := map[string]bool{}
	next := a
	for i := range asked {
		r := client.last(answers[i])
		if r.Error != "" {
			t.Fatalf("start %d: %s", i, r.Error)
		}
		ids[r.Run.ID] = true
		if i%(runs/(kills+1)) == 1 && next != nil {
			next.kill()
			next = nil
		}
	}
	listed := client.do(order{Do: "list"}).Runs
	if len(ids) != runs || len(listed) != runs {
		t.Errorf("got %d runs from %d starts, %d in the store", len(ids), runs, len(listed))
	}
}

// TestEnvironmentIsBroughtAgain checks that the variables which a client has brought for its run,
// and which only the owner's memory held, reach the next owner.
func TestEnvironmentIsBroughtAgain(t *testing.T) {
	dir := store(t)
	a := launch(t, "participant", dir)
	b := launch(t, "participant", dir)
	r := source(`
def main():
    d = gate("review", options = ["approve"])
    a = agent("token")
    return {"token": a.output}
`)
	r.Settings.Env, r.Env = []string{"TOKEN"}, map[string]string{"TOKEN": "of b"}
	run := b.do(order{Do: "start", Start: r}).Run.ID
	a.kill()
	c := launch(t, "participant", dir) // owner or client, as may be
	b.do(order{Do: "get", Run: run})   // b has found its new owner
	c.do(order{Do: "signal", Signal: answer(run, "review")})
	c.last(c.send(order{Do: "watch", Run: run}))
	if got := string(c.do(order{Do: "get", Run: run}).Run.Output); got != `{"token":"of b"}` {
		t.Errorf("got output %s, want the token of b", got)
	}
}

// TestKilledOwnerLeavesNothingInTheWay kills the only process: its lock file, socket and owner.json
// stay, and the next one takes their place.
func TestKilledOwnerLeavesNothingInTheWay(t *testing.T) {
	dir := store(t)
	a := launch(t, "participant", dir)
	run := a.do(order{Do: "start", Start: source(review)}).Run.ID
	a.kill()
	stale := recorded(t, dir)
	if _, err := os.Lstat(stale.Socket); err != nil || stale.PID != a.pid() {
		t.Fatalf("got %+v, %v; want the record and the socket of process %d", stale, err, a.pid())
	}
	b := launch(t, "participant", dir)
	if now := recorded(t, dir); b.greeted.Owner != 0 || now.PID != b.pid() {
		t.Errorf("got %+v, owner.json %+v; want process %d", b.greeted, now, b.pid())
	}
	if _, err := os.Lstat(stale.Socket); !os.IsNotExist(err) {
		t.Errorf("the socket of the killed owner is left: %v", err)
	}
	if c := launch(t, "participant", dir); c.greeted.Owner != b.pid() || c.do(order{Do: "get", Run: run}).Run.ID != run {
		t.Errorf("the next client says %d owns, want %d", c.greeted.Owner, b.pid())
	}
}

// TestOwnerThatHangs stops an owner in its tracks.
func TestOwnerThatHangs(t *testing.T) {
	t.Parallel()
	dir := store(t)
	a := launch(t, "participant", dir)
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(a.pid(), &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("got status %v, %v; want a stopped process", status, err)
	}
	_, err := owner.Acquire(within(t), config(dir), owner.Participant)
	r := refused(t, err, runtime.ErrOwnerUnreachable,
		fmt.Sprintf("the store %s is owned by process %d, which was stopped (Ctrl-Z, SIGSTOP) and does not answer", dir, a.pid()),
		fmt.Sprintf("kill -CONT %d; or end it: starling stop", a.pid()))
	var who owner.Record
	if json.Unmarshal(r.Data, &who); who.PID != a.pid() {
		t.Errorf("got data %s, want the record of process %d", r.Data, a.pid())
	}
	a.endByName(dir)
}

// endByName stops an owner that does not answer: by its pid, where the system says who holds the
// lock.
func (p *process) endByName(dir string) {
	p.t.Helper()
	pid, err := owner.Stop(within(p.t), config(dir))
	if goruntime.GOOS != "linux" {
		refused(p.t, err, runtime.ErrOwnerUnreachable, fmt.Sprint("process ", p.pid()))
		return
	}
	if err != nil || pid != p.pid() {
		p.t.Errorf("stopped %d, %v; want %d", pid, err, p.pid())
	}
	state, err := p.cmd.Process.Wait()
	if err == nil && state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		p.t.Errorf("it ended with %v, want SIGTERM", state)
	}
}

// TestSpawn starts an owner that outlives who started it, stops it, and finds it gone.
func TestSpawn(t *testing.T) {
	dir := store(t)
	t.Setenv(roleVariable, "serve")
	t.Setenv(dirVariable, dir)
	for range 2 { // the second finds the first
		if err := owner.Spawn(within(t), config(dir), os.Args[0]); err != nil {
			t.Fatal(err)
		}
	}
	r := recorded(t, dir)
	if session, err := unix.Getsid(r.PID); err != nil || session != r.PID {
		t.Errorf("process %d is of session %d, %v; want its own", r.PID, session, err)
	}
	s, err := owner.Acquire(within(t), config(dir), owner.Participant)
	if err != nil || s.Owner() != r.PID {
		t.Fatalf("got owner %d, %v; want %d", s.Owner(), err, r.PID)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	pid, err := owner.Stop(within(t), config(dir))
	if err != nil || pid != r.PID {
		t.Errorf("stopped %d, %v; want %d", pid, err, r.PID)
	}
	if pid, err = owner.Stop(within(t), config(dir)); err != nil || pid != 0 {
		t.Errorf("stopped %d, %v; want nobody", pid, err)
	}
	for _, name := range []string{filepath.Join(dir, "owner.json"), r.Socket} {
		if _, err := os.Lstat(name); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

func TestSpawnOfAProcessThatEnds(t *testing.T) {
	dir := store(t)
	t.Setenv(roleVariable, "silent")
	err := owner.Spawn(within(t), config(dir), os.Args[0])
	refused(t, err, runtime.ErrOwnerUnreachable, dir+` has ended with exit status 7 and said "the last words"`, filepath.Join(dir, "serve.log"))
	err = owner.Spawn(within(t), config(dir), filepath.Join(dir, "none"))
	refused(t, err, runtime.ErrOwnerUnreachable, "no owner of "+dir+" can be started", "no such file")
}

// TestStopHandsOver stops an owner that has a client, which takes its place.
func TestStopHandsOver(t *testing.T) {
	dir := store(t)
	t.Setenv(roleVariable, "serve")
	t.Setenv(dirVariable, dir)
	if err := owner.Spawn(within(t), config(dir), os.Args[0]); err != nil {
		t.Fatal(err)
	}
	first := recorded(t, dir).PID
	t.Setenv(roleVariable, "")
	b := launch(t, "participant", dir)
	run := b.do(order{Do: "start", Start: source(review)}).Run.ID
	watch := b.send(order{Do: "watch", Run: run})
	<-watch
	if pid, err := owner.Stop(within(t), config(dir)); err != nil || pid != first || pid != b.greeted.Owner {
		t.Fatalf("stopped %d, %v; want %d", pid, err, first)
	}
	b.do(order{Do: "signal", Signal: answer(run, "review")})
	b.do(order{Do: "signal", Signal: answer(run, "again")})
	if seen := events(t, b, watch); len(seen) != 16 || seen[0] != "2 step.requested" || seen[15] != "17 run.completed" {
		t.Errorf("got %q", seen)
	}
	if got := b.do(order{Do: "owner"}).Owner; got != 0 || recorded(t, dir).PID != b.pid() {
		t.Errorf("b says %d owns, want itself", got)
	}
}
