package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"starling/runtime"
	"starling/runtime/memory"
	"starling/runtime/query"
)

// The simulation plays scripts that nobody wrote against an engine to which everything happens that
// may, each from a seed. See "How it is proven" in design.md.
//
//	go test ./runtime/engine -run TestSimulation -seeds 10000     many
//	go test ./runtime/engine -run TestSimulation -seed 4711 -v    one again, with all that was done
var (
	seedCount = flag.Int("seeds", 100, "how many seeds the simulation plays")
	firstSeed = flag.Uint64("first", 1, "the first of them")
	oneSeed   = flag.Uint64("seed", 0, "play only this one")
)

// telling are seeds that have found something: two children of one step, a quarantine that was left
// by itself, orphans, a step that was settled without its child. They are always played.
var telling = [...]uint64{606, 968, 1158, 3041, 3931, 5079, 5204, 8939, 9911, 178}

func TestSimulation(t *testing.T) {
	if *oneSeed != 0 {
		simulate(t, *oneSeed)
		return
	}
	began := time.Now()
	seeds := slices.Clone(telling[:])
	for i := range uint64(*seedCount) {
		seeds = append(seeds, *firstSeed+i)
	}
	for _, seed := range seeds {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { simulate(t, seed) }) {
			t.Logf("play it again: go test ./runtime/engine -run TestSimulation -seed %d -v", seed)
		}
	}
	t.Logf("%d seeds in %s", len(seeds), time.Since(began).Round(time.Millisecond))
}

// simulate plays one seed. A calm plan is played without faults first: with faults it must come to
// the same.
func simulate(t *testing.T, seed uint64) {
	p := newPlan(rand.New(rand.NewPCG(seed, 1)))
	var straight *outcome
	if !p.racy {
		straight = play(t, seed, p, false)
	}
	faulty := play(t, seed, p, true)
	if diff := straight.differs(faulty); diff != "" {
		t.Errorf("with faults it came to something else: %s", diff)
	}
	if t.Failed() || *oneSeed != 0 {
		t.Logf("seed %d, racy %t:\n%s\n%v", seed, p.racy, p.script, p.files)
	}
}

func play(t *testing.T, seed uint64, p *plan, faults bool) (out *outcome) {
	cryptotest.SetGlobalRandom(t, seed)
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, seed, p, faults)
		d := &driver{simulation: s, Rand: rand.New(rand.NewPCG(seed, 2)), left: slices.Clone(p.messages), taken: map[string]bool{}}
		d.play()
		out = d.look()
		d.end()
		<-d.watched
		if len(s.wrong) > 0 {
			t.Errorf("%s", strings.Join(s.wrong, "\n"))
		}
		if t.Failed() || *oneSeed != 0 {
			t.Logf("faults %t:\n%s", faults, strings.Join(s.trace, "\n"))
		}
	})
	return out
}

// driver is everybody who has to do with a run, in one goroutine: those who answer gates, rightly,
// wrongly, twice and all at once, those who send messages, those who kill the process, and time.
type driver struct {
	*simulation
	*rand.Rand
	top     string
	left    []string // messages that are still to be sent
	carried bool
	turns   int
	end     func() // of the watcher

	mu    sync.Mutex
	taken map[string]bool // keys of signals that were accepted
}

// Bounds of a play, in things done.
const (
	wildTurns = 60   // in which faults happen
	maxTurns  = 3000 // after which a run is taken to hang
)

func (d *driver) play() {
	d.ctx, d.end = context.WithCancel(d.ctx) // before anything runs that reads it
	d.start()
	go d.watch(d.top)
	wild := 5 + d.IntN(wildTurns)
	for ; d.turns < maxTurns; d.turns++ {
		synctest.Wait()
		if d.store.Failure() != nil {
			d.note("crash, for a commit failed")
			d.crash(d.IntN(3) == 0)
			d.carried = false
		}
		if d.over() {
			return
		}
		if d.faults && d.turns < wild {
			d.anything()
		} else {
			d.forward()
		}
	}
	d.fault("the run has not ended after %d turns: %s", maxTurns, d.standing())
}

// standing tells how all runs stand that have not ended, with their journals.
func (d *driver) standing() string {
	l, err := d.engine.List(d.ctx, runtime.Query{})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, r := range l.Runs {
		fmt.Fprintf(&b, "\n%+v", r)
		err := d.engine.Watch(d.ctx, runtime.WatchRequest{Run: r.ID}, func(ev runtime.Event) error {
			fmt.Fprintf(&b, "\n\t%d %s %s %s %.200s", ev.Seq, ev.Time.Format("15:04:05.000"), ev.Type, ev.Step, ev.Data)
			return nil
		})
		if err != nil {
			fmt.Fprintf(&b, "\n\t%v", err)
		}
	}
	return b.String()
}

func (d *driver) start() {
	r := runtime.StartRequest{Key: "start", Bundle: bundle(d.t, d.plan.script, d.plan.files), Script: "main.star"}
	if d.plan.racy && d.IntN(10) == 0 {
		r.Timeout = time.Minute
	}
	if d.faults && d.IntN(4) == 0 {
		d.failCommit()
	}
	for {
		run, err := d.engine.Start(d.ctx, r)
		if err == nil {
			d.top, d.carried = run.ID, true
			return
		}
		if d.store.Failure() == nil {
			d.t.Fatal(err)
		}
		d.note("start: %v", err)
		d.crash(false)
	}
}

// over tells whether all runs have ended.
func (d *driver) over() bool {
	l, err := d.engine.List(d.ctx, runtime.Query{})
	return err == nil && len(l.Runs) == 0
}

// anything does one thing of all that may happen.
func (d *driver) anything() {
	switch n := d.IntN(24); {
	case n < 6:
		d.answer(d.IntN(4) == 0)
	case n < 8:
		d.mistake()
	case n == 8:
		d.send()
	case n < 13:
		d.wait(time.Duration(d.Int64N(int64(3 * time.Second))))
	case n == 13:
		d.untilDue()
	case n < 16:
		d.note("crash")
		d.crash(d.IntN(3) == 0)
		d.carried = d.IntN(3) > 0 && d.carry()
	case n == 16:
		d.note("leave")
		d.leave()
		d.carried = d.IntN(3) > 0 && d.carry()
	case n == 17:
		d.jump()
	case n < 20:
		d.failCommit()
	case n == 20:
		d.poison.Store(!d.poison.Load())
	case n == 21 && d.plan.racy && d.IntN(4) == 0:
		r, err := d.engine.Cancel(d.ctx, runtime.CancelRequest{Run: d.top, Key: "cancel"})
		d.note("cancel: %v %v", r, err)
	default:
		d.carried = d.carry()
	}
}

// forward does what brings the run on.
func (d *driver) forward() {
	d.poison.Store(false)
	switch {
	case !d.carried:
		d.carried = d.carry()
	case d.answer(false), d.send():
	default:
		d.untilDue()
	}
}

func (d *driver) carry() bool {
	_, err := d.engine.Resume(d.ctx, runtime.ResumeRequest{All: true})
	d.note("carry: %v", err)
	return err == nil
}

func (d *driver) wait(how time.Duration) {
	d.note("wait %s", how)
	time.Sleep(how)
}

// untilDue waits for what is due next, or for agents.
func (d *driver) untilDue() {
	how := time.Second
	l, err := d.engine.List(d.ctx, runtime.Query{})
	if err == nil {
		for _, r := range l.Runs {
			if r.NextDue != nil {
				how = max(how, min(r.NextDue.Sub(d.now()), time.Minute))
			}
		}
	}
	d.wait(how)
}

func (d *driver) jump() {
	how := time.Duration(d.Int64N(int64(20*time.Minute))) - 10*time.Minute
	d.note("the clock jumps by %s", how)
	d.skew.Add(int64(how))
}

func (d *driver) failCommit() {
	n, moment := 1+d.IntN(6), []memory.Moment{memory.BeforeApply, memory.AfterApply}[d.IntN(2)]
	d.note("commit %d will fail, applied: %t", n, moment == memory.AfterApply)
	d.store.FailCommit(n, errors.New("the power failed"), moment)
}

// answer answers one of the open gates as the plan says, and tells whether there was one. Many do
// so at once where a crowd does.
func (d *driver) answer(crowd bool) bool {
	run, err := d.engine.Get(d.ctx, d.top)
	if err != nil {
		return false
	}
	var could []runtime.Signal
	for _, g := range run.Gates {
		could = append(could, d.answers(&g)...)
	}
	if len(could) == 0 {
		return false
	}
	s := could[d.IntN(len(could))]
	if !crowd {
		d.signal(s)
		return true
	}
	var all sync.WaitGroup
	for i := range 2 + d.IntN(20) {
		s := s
		if i > 0 && d.IntN(2) == 0 {
			s.Key += fmt.Sprint(" ", i)
		}
		all.Go(func() { d.signal(s) })
	}
	all.Wait()
	return true
}

// answers are the signals that a gate still wants.
func (d *driver) answers(g *runtime.Gate) []runtime.Signal {
	key := fmt.Sprint(g.Gate, " ", g.OpenedAt.UnixMicro())
	if strings.Contains(g.Gate, "!") {
		choice := "retry"
		if d.plan.racy {
			choice = []string{"retry", "retry", "skip", "fail"}[d.IntN(4)]
		}
		if strings.Contains(g.Gate, "!quarantine") {
			d.poison.Store(false)
		}
		// It may open again at the same instant of the virtual clock: an answer that was taken is
		// not the answer to that.
		for key += choice; d.taken[key]; {
			key += " again"
		}
		return []runtime.Signal{{Kind: runtime.SignalAnswer, Key: key, Run: d.top, Gate: g.Gate, Choice: choice}}
	}
	name, _, _ := strings.Cut(g.Gate[strings.LastIndexByte(g.Gate, '/')+1:], "#")
	p := d.plan.gates[name]
	if p == nil || p.choice == "" {
		return nil
	}
	var out []runtime.Signal
	for i := range p.quorum {
		s := runtime.Signal{Kind: runtime.SignalAnswer, Key: fmt.Sprint(key, i), Run: d.top, Gate: g.Gate, Choice: p.choice, As: g.Target}
		if p.quorum > 1 {
			s.As = fmt.Sprint("voter", i)
		}
		if p.free {
			s.Choice, s.Data = "", json.RawMessage(fmt.Sprintf(`{"note": %q}`, p.choice))
		}
		out = append(out, s)
	}
	return out
}

// signal sends a signal. It may be refused, for somebody was first; it may not hang.
func (d *driver) signal(s runtime.Signal) error {
	r, err := d.engine.Signal(d.ctx, s)
	d.note("signal %s %s %s: %t %v", s.Gate, s.Name, s.Choice, r != nil, err)
	if err == nil {
		d.mu.Lock()
		d.taken[s.Key] = true
		d.mu.Unlock()
	}
	return err
}

// send sends a message, again and again until a receipt says that it was taken.
func (d *driver) send() bool {
	if len(d.left) == 0 {
		return false
	}
	name := d.left[0]
	err := d.signal(runtime.Signal{Kind: runtime.SignalMessage, Key: "message " + name, Run: d.top, Name: name, Data: json.RawMessage(`"` + name + `"`)})
	if err == nil || runtime.AsRefusal(err).Kind == runtime.ErrClosed {
		d.left = d.left[1:]
	}
	return true
}

// mistake sends what must be refused.
func (d *driver) mistake() {
	run, err := d.engine.Get(d.ctx, d.top)
	if err != nil || len(run.Gates) == 0 {
		return
	}
	g := run.Gates[d.IntN(len(run.Gates))]
	s := runtime.Signal{Kind: runtime.SignalAnswer, Run: d.top, Gate: g.Gate, Choice: "maybe", As: g.Target, Key: fmt.Sprint("mistake ", d.turns)}
	switch d.IntN(6) {
	case 0:
		s.Gate = "nowhere"
	case 1:
		s.Data = json.RawMessage(`{"a":`)
	case 2:
		s.Kind, s.Name = runtime.SignalMessage, ""
	case 3:
		s.Kind, s.Bundle = runtime.SignalChunk, bundle(d.t, "x = 1\n", nil)
	case 4:
		if s.As = "stranger"; g.Target != "" && len(g.Options) > 0 {
			s.Choice = g.Options[0].Name
		}
	}
	if d.signal(s) == nil {
		d.fault("a mistake was accepted: %+v", s)
	}
}

// outcome is what a play came to.
type outcome struct {
	output  string
	journal []string // of all runs, without attempts, times, rests and refusals
	effects []string // what the world saw, once per idempotency key
}

// differs tells what two plays differ in. A plan that was not played straight differs in nothing.
func (o *outcome) differs(p *outcome) string {
	switch {
	case o == nil:
		return ""
	case o.output != p.output:
		return fmt.Sprintf("output %s, want %s", p.output, o.output)
	case !slices.Equal(o.journal, p.journal):
		return fmt.Sprintf("journal %v, want %v", without(p.journal, o.journal), without(o.journal, p.journal))
	case !slices.Equal(o.effects, p.effects):
		return fmt.Sprintf("effects %v, want %v", p.effects, o.effects)
	}
	return ""
}

// without lists what a has more often than b.
func without(a, b []string) []string {
	n := map[string]int{}
	for _, x := range b {
		n[x]++
	}
	var more []string
	for _, x := range a {
		if n[x]--; n[x] < 0 {
			more = append(more, x)
		}
	}
	return more
}

// look asks another owner what all came to, and holds the history against the journals.
func (d *driver) look() *outcome {
	select {
	case <-d.watched:
	case <-time.After(time.Hour):
		d.fault("the watcher has not seen the end")
	}
	time.Sleep(time.Hour) // whatever is still on its way arrives
	d.crash(true)
	time.Sleep(time.Minute) // what the last owner left undone is done
	defer d.local.Close()
	if err := d.history.Collect(d.ctx, d.engine); err != nil {
		d.fault("%v", err)
	}
	if err := d.history.Check(); err != nil {
		d.fault("%v", err)
	}
	d.keyframes()
	d.bills()
	run, err := d.engine.Get(d.ctx, d.top)
	if err != nil {
		d.fault("%v", err)
		return &outcome{}
	}
	if l, err := d.engine.List(d.ctx, runtime.Query{Gates: true}); err != nil || len(l.Gates) > 0 {
		d.fault("the inbox is not empty: %+v, %v", l, err)
	}
	o := &outcome{output: fmt.Sprint(run.Status, " ", string(run.Output))}
	if !d.plan.racy && run.Status != runtime.Completed {
		d.fault("the run is %s: %+v", run.Status, run.Error)
	}
	names := d.skeleton(o)
	for _, key := range slices.Sorted(maps.Keys(d.effects)) {
		id, step, _ := strings.Cut(key, "/")
		o.effects = append(o.effects, names[id]+"/"+step)
	}
	slices.Sort(o.effects)
	return o
}

// bills wants the index to say what the journals do of what agents have taken.
func (d *driver) bills() {
	for _, by := range []string{"run", "agent"} {
		got, err := query.CostOf(d.ctx, d.engine, query.CostQuery{By: by})
		want, failed := query.CostOf(d.ctx, unbilled{d.engine}, query.CostQuery{By: by})
		if err != nil || failed != nil || asJSON(got) != asJSON(want) {
			d.fault("the bills by %s: got %s, %v\nwant %s, %v", by, asJSON(got), err, asJSON(want), failed)
		}
	}
}

// keyframes wants every run to be the same from a keyframe at any of its commits on.
func (d *driver) keyframes() {
	if d.poison.Load() {
		return // nothing can be replayed
	}
	l, err := d.engine.List(d.ctx, runtime.Query{All: true})
	if err != nil {
		d.fault("%v", err)
		return
	}
	for _, r := range l.Runs {
		if _, err := d.local.Keyframes(d.ctx, r.ID, 1+int(d.dice("keyframes", r.Script)%5)); err != nil {
			d.fault("run %s (%s): %v", r.ID, r.Script, err)
		}
	}
}

// skeleton gathers the journals of all runs, and names the runs by the steps that lead to them.
func (d *driver) skeleton(o *outcome) (names map[string]string) {
	l, err := d.engine.List(d.ctx, runtime.Query{All: true})
	if err != nil {
		d.fault("%v", err)
		return nil
	}
	parents := map[string]string{}
	for _, r := range l.Runs {
		parents[r.ID] = r.Parent
	}
	names = map[string]string{}
	for id := range parents {
		names[id] = nameOf(id, parents)
		err := d.engine.Watch(d.ctx, runtime.WatchRequest{Run: id}, func(ev runtime.Event) error {
			switch kind, _, _ := strings.Cut(ev.Type, "."); {
			case strings.HasPrefix(ev.Step, "!"), kind == "attempt", kind == "timer", ev.Type == "run.suspended", ev.Type == "run.resumed", ev.Type == "signal.refused":
			default:
				o.journal = append(o.journal, strings.TrimSpace(names[id]+" "+ev.Type+" "+ev.Step))
			}
			return nil
		})
		if err != nil {
			d.fault("%v", err)
		}
	}
	slices.Sort(o.journal)
	return names
}

func nameOf(run string, parents map[string]string) string {
	parent, step, ok := strings.Cut(parents[run], "@")
	if !ok {
		return "top"
	}
	return nameOf(parent, parents) + "/" + step
}
