package engine_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/runtime/runtimetest"
	"starling/stdlib"
)

// simulation is one play of a plan: an engine over a store in memory, in the time of a synctest
// bubble, and the world that its agents act on. What the world does about an attempt follows from
// the seed and the attempt alone, never from the order in which things happen.
type simulation struct {
	t       *testing.T
	seed    uint64
	faults  bool
	plan    *plan
	history *runtimetest.History
	ctx     context.Context

	store   *memory.Store
	local   *engine.Local
	engine  runtime.Engine            // local, observed
	owner   atomic.Pointer[ownership] // for those beside the driver
	commits atomic.Uint64
	skew    atomic.Int64  // of the clock on the wall
	watched chan struct{} // closed when the watcher has seen the end
	poison  atomic.Bool   // the machine panics when the script calls poison

	mu      sync.Mutex
	effects map[string]int // attempts that the world saw, by idempotency key
	wrong   []string       // what must not be
	trace   []string       // what was done
}

// ownership is the newest owner and its store.
type ownership struct {
	engine runtime.Engine
	store  *memory.Store
}

func newSimulation(t *testing.T, seed uint64, p *plan, faults bool) *simulation {
	caller := runtime.Caller{Name: "local:ann", Local: true}
	s := &simulation{t: t, watched: make(chan struct{}), seed: seed, faults: faults, plan: p, history: &runtimetest.History{}, store: memory.New(), effects: map[string]int{},
		ctx: runtime.WithCaller(context.Background(), caller)}
	s.open()
	return s
}

func (s *simulation) open() {
	open := func() (*engine.Local, error) {
		return engine.Open(runtimetest.Slow(s.store, s.delay), s.environment(), engine.Options{Log: s.log, Grace: time.Millisecond, Clock: s.now, Agents: int(s.seed % 4)})
	}
	e, err := open()
	for err != nil && s.store.Failure() != nil { // the power failed while it opened
		s.store = s.store.Crash()
		e, err = open()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.local, s.engine = e, runtimetest.Observe(e, s.history)
	s.owner.Store(&ownership{s.engine, s.store})
}

func (s *simulation) now() time.Time { return time.Now().Add(time.Duration(s.skew.Load())) }

// delay is how long a commit takes: a microsecond at least, as on any disk, for the times of two
// commits of a run differ (journal.DecidedKey).
func (s *simulation) delay() (before, after time.Duration) {
	after = time.Microsecond
	if !s.faults {
		return 0, after
	}
	n := s.commits.Add(1)
	if s.chance(3, "slow", n) {
		before = time.Duration(s.dice("before", n) % 5e6)
	}
	if s.chance(3, "late", n) {
		after += time.Duration(s.dice("after", n) % 5e6)
	}
	return before, after
}

// dice is a number that follows from the seed and the parts alone.
func (s *simulation) dice(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, append([]any{s.seed}, parts...)...)
	return rand.New(rand.NewPCG(h.Sum64(), 0)).Uint64()
}

// chance is true once in n times.
func (s *simulation) chance(n uint64, parts ...any) bool { return s.dice(parts...)%n == 0 }

// log takes what the engine logs. Whatever says that a machine or a journal is not what it was is a
// finding.
func (s *simulation) log(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	s.note("engine: %.300s", line)
	for _, bad := range []string{"replay differs", "cannot be written down", "cannot be used", "damaged", "the machine failed"} {
		if strings.Contains(line, bad) && !strings.Contains(line, poisonText) {
			s.fault("%s", line)
		}
	}
}

func (s *simulation) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// fault notes what must not be.
func (s *simulation) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

const poisonText = "poisoned on purpose"

// environment is what scripts see: all of the standard library, with agents of the plan, and
// poison.
func (s *simulation) environment() *effect.Environment {
	std := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	names := maps.Clone(std.Names)
	names["poison"] = &effect.Builtin{FullName: "poison", Pure: func(*effect.Call) (starlark.Value, error) {
		if s.poison.Load() {
			panic(poisonText)
		}
		return starlark.None, nil
	}}
	agent := &effect.Handler{Resolve: resolveAgent, Perform: s.perform}
	return &effect.Environment{Names: names, Handlers: map[string]*effect.Handler{"agent": agent, "handoff": agent}, Behaviour: std.Behaviour}
}

// resolveAgent fills the policy as the call has it.
func resolveAgent(_ *effect.Settings, r *effect.Request) *effect.Error {
	args, err := r.Args.View()
	if err != nil {
		return effect.Errorf(effect.KindRefused, "%v", err)
	}
	r.Policy.Retries, r.Policy.Reasks = int(args.Int("retries")), 2
	if text := args.Text("timeout"); text != "" {
		r.Policy.Timeout, _ = contract.ParseDuration(text)
	}
	if c, ok := args.Value("output").(*contract.Contract); ok {
		r.Returns = c.String()
	}
	return nil
}

// perform is an agent at work.
func (s *simulation) perform(ctx context.Context, a *effect.Attempt) effect.Reply {
	s.history.Performed(a)
	s.durable(a)
	s.mu.Lock()
	s.effects[a.Key]++
	n := s.effects[a.Key]
	s.mu.Unlock()
	p := s.planOf(a)
	for _, kind := range p.events {
		s.tell(a, kind)
	}
	select {
	case <-time.After(p.delay):
	case <-ctx.Done():
		if !p.deaf {
			return effect.Reply{Err: effect.Errorf(effect.KindEffect, "stopped"), Class: effect.Retryable}
		}
		time.Sleep(p.delay)
	}
	if s.faults && s.chance(8, "cut", a.Step, n) {
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "the peer is gone"), Class: effect.Cut}
	}
	r := p.reply(a, n)
	usage := starlark.NewDict(1)
	_ = usage.SetKey(starlark.String("input_tokens"), starlark.MakeInt(len(a.Step)+n)) // a fresh dict
	r.Usage = usage
	return r
}

func (s *simulation) planOf(a *effect.Attempt) *agentPlan {
	args := effect.ViewOf(a.Args)
	for _, field := range []string{"who", "to"} {
		if p := s.plan.agents[args.Text(field)]; p != nil {
			return p
		}
	}
	return &agentPlan{}
}

// tell emits an event: now, or after the attempt has ended.
func (s *simulation) tell(a *effect.Attempt, kind string) {
	event := starlark.NewDict(1)
	_ = event.SetKey(starlark.String("text"), starlark.String(kind)) // a fresh dict
	if kind == "late" {
		time.AfterFunc(time.Minute, func() { a.Emit(kind, event) })
		return
	}
	a.Emit(kind, event)
	time.Sleep(time.Millisecond)
}

// reply is what an agent says the n-th time that the world sees its key.
func (p *agentPlan) reply(a *effect.Attempt, n int) effect.Reply {
	name := a.Step[strings.LastIndexByte(a.Step, '/')+1:]
	switch {
	case p.panics:
		panic("the handler of " + a.Step)
	case p.hopeless:
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "no hope")}
	case n <= p.failures:
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "reset"), Class: effect.Retryable}
	case n <= p.failures+p.slips:
		return effect.Reply{Value: starlark.String("a slip")}
	case p.typed:
		d := starlark.NewDict(1)
		_ = d.SetKey(starlark.String("n"), starlark.MakeInt(len(name))) // a fresh dict
		return effect.Reply{Value: d}
	}
	return effect.Reply{Value: starlark.String(name)}
}

// durable wants an attempt to be recorded before it reaches the world (law 2).
func (s *simulation) durable(a *effect.Attempt) {
	want := fmt.Sprintf(`"attempt":%d`, a.Number)
	found := false
	err := engine.NewReader(s.owner.Load().store.Reader(), nil, nil).Watch(s.ctx, runtime.WatchRequest{Run: a.Run}, func(ev runtime.Event) error {
		found = found || ev.Type == "attempt.started" && ev.Step == a.Step && strings.Contains(string(ev.Data), want)
		return nil
	})
	if err != nil || !found {
		s.fault("attempt %d of %s/%s reached the world before it was durable: %v", a.Number, a.Run, a.Step, err)
	}
}

// crash drops the engine as SIGKILL would; what was in flight in it may still reach the world for a
// while. Sometimes the checkpoints are lost too.
func (s *simulation) crash(lose bool) {
	dead := s.local
	s.store = s.store.Crash()
	if lose {
		s.loseCheckpoints()
	}
	s.open()
	go dead.Close()
}

// leave closes the engine as a process that ends in peace, and opens the next.
func (s *simulation) leave() {
	if err := s.local.Close(); err != nil && s.store.Failure() == nil {
		s.fault("close: %v", err)
	}
	s.store = s.store.Reopen()
	s.open()
}

// loseCheckpoints leaves the journals alone to tell what the runs came to.
func (s *simulation) loseCheckpoints() {
	if _, err := changed(s.store, "", func([]byte) []byte { return nil }); err != nil {
		s.fault("losing checkpoints: %v", err)
	}
}

// watch follows a run as a client does whose connections break: it comes again with the number of
// the last event that it has.
func (s *simulation) watch(run string) {
	defer close(s.watched)
	last, patience := uint64(0), 0
	for s.ctx.Err() == nil {
		err := s.owner.Load().engine.Watch(s.ctx, runtime.WatchRequest{Run: run, After: last, Follow: true}, func(ev runtime.Event) error {
			last = ev.Seq
			if patience++; s.faults && s.chance(20, "broken", patience) {
				return errBroken
			}
			return nil
		})
		if err == nil {
			return
		}
		if !errors.Is(err, errBroken) {
			time.Sleep(10 * time.Millisecond) // the owner is gone: look for the next
		}
	}
}

var errBroken = errors.New("the connection broke")
