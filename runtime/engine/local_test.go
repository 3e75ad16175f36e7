package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/runtime/runtimetest"
	"starling/stdlib"
)

// world is a local engine over a memory store, with builtins enough to ask for anything: the
// world's side of "work" is the test's own function.
type world struct {
	t      *testing.T
	store  *memory.Store
	engine runtime.Engine
	ctx    context.Context

	history *runtimetest.History // what callers and the world saw; held against the journals when the test is over
	spoiled bool                 // journals were damaged or trimmed, and cannot be held against anything
	unseen  bool                 // what callers see is not noted: the engine serves all its extensions
	keep    int                  // records that a run keeps
	machine string               // what the machine is called in a store that machines share

	mu    sync.Mutex
	calls []string // keys of the attempts of work, in the order they were performed
	work  func(ctx context.Context, a *effect.Attempt) effect.Reply
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, store: memory.New(), history: &runtimetest.History{}, ctx: runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:ann", Local: true})}
	w.work = func(_ context.Context, a *effect.Attempt) effect.Reply {
		return effect.Reply{Value: effect.ViewOf(a.Args).Value("value")}
	}
	w.open()
	t.Cleanup(func() {
		w.engine.Close()
		w.check()
	})
	return w
}

// check holds what was seen against what is durable.
func (w *world) check() {
	if w.spoiled {
		return
	}
	if err := w.history.Collect(w.ctx, engine.NewReader(w.store.Reader(), environment(w.perform), nil)); err != nil {
		w.t.Error(err)
	}
	if err := w.history.Check(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) open() {
	w.t.Helper()
	w.engine = w.build(w.store, 0)
	if !w.unseen {
		w.engine = runtimetest.Observe(w.engine, w.history)
	}
}

// build opens a store with the engine of a build whose builtins have this behaviour.
func (w *world) build(s runtime.Store, behaviour uint32) *engine.Local {
	w.t.Helper()
	env := environment(w.perform)
	env.Behaviour = behaviour
	e, err := engine.Open(s, env, engine.Options{Log: w.t.Logf, Grace: time.Millisecond, Keep: w.keep, Machine: w.machine})
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *world) perform(ctx context.Context, a *effect.Attempt) effect.Reply {
	w.history.Performed(a)
	w.mu.Lock()
	w.calls = append(w.calls, a.Key)
	work := w.work
	w.mu.Unlock()
	return work(ctx, a)
}

// does changes what work does from now on, also while attempts of an engine that has crashed are
// still about.
func (w *world) does(work func(context.Context, *effect.Attempt) effect.Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.work = work
}

// restart closes the engine as a process that leaves would, and opens another on the same store.
func (w *world) restart() {
	w.t.Helper()
	if err := w.engine.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.store = w.store.Reopen()
	w.open()
}

// environment declares the builtins of these tests.
func environment(perform func(context.Context, *effect.Attempt) effect.Reply) *effect.Environment {
	names := vm.Natives()
	for _, b := range []*effect.Builtin{
		ask("gate", effect.Waiting, "name", "prompt", "options", "target", "data", "data_schema", "editable", "schema", "timeout", "fallback", "on_timeout", "quorum", "escalate", "wait"),
		ask("sleep", effect.Waiting, "duration"),
		ask("take", effect.Waiting, "name", "timeout"),
		ask("run", effect.Waiting, "script", "inputs", "name", "on_error"),
		ask("work", effect.Waiting, "name", "value", "on_uncertain", "retries", "timeout", "returns", "backends", "pulls", "reasks", "who", "limit", "total"),
		ask("agent", effect.Waiting, "name", "who", "on_uncertain", "retries"), ask("now", effect.Answer), ask("uuid", effect.Answer), ask("random", effect.Answer),
		printBuiltin, contractBuiltin,
	} {
		names[b.FullName] = b
	}
	std := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	for _, module := range []string{"queue", "memory", "schedule"} {
		names[module] = std.Names[module]
	}
	return &effect.Environment{Names: names, Handlers: map[string]*effect.Handler{"agent": {Perform: perform, Workspace: true}, effect.KindSchedule: std.Handlers[effect.KindSchedule], "work": {Perform: perform,
		Question: func(a *effect.Attempt) (starlark.Value, *effect.Error) { return a.Args, nil }}}}
}

var printBuiltin = &effect.Builtin{
	FullName: "print", Class: effect.Output, Params: []effect.Param{{Name: "args", Variadic: true}},
	Request: func(c *effect.Call) (*effect.Request, error) {
		var words []string
		for _, v := range c.Get("args").(starlark.Tuple) {
			s, ok := starlark.AsString(v)
			if !ok {
				s = v.String()
			}
			words = append(words, s)
		}
		var b effect.Object
		return &effect.Request{Kind: "print", Args: b.Text("text", strings.Join(words, " ")).Payload()}, nil
	},
}

var contractBuiltin = &effect.Builtin{
	FullName: "contract", Params: []effect.Param{{Name: "text", Type: "string"}},
	Pure: func(c *effect.Call) (starlark.Value, error) { return contract.Parse("contract", c.Text("text", "")) },
}

// ask declares an effect whose arguments go over as they are.
func ask(name string, class effect.Class, params ...string) *effect.Builtin {
	b := &effect.Builtin{FullName: name, Class: class}
	for _, p := range params {
		b.Params = append(b.Params, effect.Param{Name: p, Default: "None"})
	}
	b.Request = func(c *effect.Call) (*effect.Request, error) {
		args := new(starlark.Dict)
		for _, p := range params {
			if v := c.Get(p); v != nil {
				args.SetKey(starlark.String(p), v)
			}
		}
		payload, err := effect.Encode(args)
		r := &effect.Request{Class: class, Kind: map[string]string{"take": "mailbox.take"}[name], Name: name, Args: payload}
		if r.Kind == "" {
			r.Kind = name
		}
		if slices.Contains(params, "name") && name != "take" {
			r.Name = c.Text("name", name)
		}
		if slices.Contains(params, "timeout") {
			r.Policy.Timeout = c.Duration("timeout", 0)
		}
		if name == "gate" && !c.Flag("wait", true) {
			r.Class = effect.Open
		}
		if name == "work" {
			r.Policy.OnUncertain, _ = effect.ParseOnUncertain(c.Text("on_uncertain", "retry"))
			r.Policy.Retries, _ = c.Count("retries", 0)
			r.Returns = c.Text("returns", "")
			if names := c.Text("backends", ""); names != "" {
				r.Backends, r.Breaker = strings.Fields(names), true
			}
			if names := c.Text("pulls", ""); names != "" {
				r.Pulls = strings.Fields(names)
				r.Backends = append(r.Backends, r.Pulls...)
			}
			r.Policy.Reasks, _ = c.Count("reasks", 0)
			r.Limit, _ = c.Count("limit", 0)
			r.Total, _ = c.Count("total", 0)
		}
		if name == "agent" && slices.Contains(params, "retries") {
			if text := c.Text("on_uncertain", ""); text != "" {
				r.Policy.OnUncertain, _ = effect.ParseOnUncertain(text)
			}
			r.Policy.Retries, _ = c.Count("retries", 0)
		}
		if name == "run" && c.Text("on_error", "") == "return" {
			r.Policy.OnError = effect.Return
		}
		return r, err
	}
	return b
}

// bundle makes the bundle of a script and of further files.
func bundle(t testing.TB, script string, files map[string]string) []byte {
	t.Helper()
	b, err := lang.Read("main.star", func(name string) ([]byte, error) {
		if name == "main.star" {
			return []byte(script), nil
		}
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Encode()
}

func (w *world) start(script string, inputs string) *runtime.Run {
	w.t.Helper()
	return w.startFiles(script, inputs, nil)
}

func (w *world) startFiles(script, inputs string, files map[string]string) *runtime.Run {
	w.t.Helper()
	run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(w.t, script, files), Script: "main.star", Inputs: json.RawMessage(inputs)})
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// until follows a run until its status is one of these.
// horizon is where the journal of a run begins.
func (w *world) horizon(run string) uint64 {
	w.t.Helper()
	r, err := w.engine.Get(w.ctx, run)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Details.Horizon
}

func (w *world) until(run string, statuses ...runtime.Status) *runtime.Run {
	w.t.Helper()
	var got *runtime.Run
	watch := func() error {
		return w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run, Follow: true, After: w.horizon(run)}, func(runtime.Event) error {
			r, err := w.engine.Get(w.ctx, run)
			if err != nil {
				return err
			}
			if got = r; slices.Contains(statuses, r.Status) {
				return runtime.ErrStopWatch
			}
			return nil
		})
	}
	err := watch()
	for err != nil && runtime.AsRefusal(err).Kind == runtime.ErrTrimmed { // since the horizon was read
		err = watch()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if !slices.Contains(statuses, got.Status) {
		w.t.Fatalf("run %s is %s, want %v; error %+v", run, got.Status, statuses, got.Error)
	}
	return got
}

// signal sends a signal and wants it accepted.
func (w *world) signal(s runtime.Signal) *runtime.Receipt {
	w.t.Helper()
	r, err := w.engine.Signal(w.ctx, s)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// refused sends a signal and wants it refused with a kind.
func (w *world) refused(want runtime.ErrorKind, s runtime.Signal) *runtime.Refusal {
	w.t.Helper()
	_, err := w.engine.Signal(w.ctx, s)
	var r *runtime.Refusal
	if !errors.As(err, &r) || r.Kind != want {
		w.t.Fatalf("signal %+v: got %v, want refusal %s", s, err, want)
	}
	return r
}

func answer(run, gate, choice string) runtime.Signal {
	return runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: gate, Choice: choice}
}

// types lists the types of a run's events.
func (w *world) types(run string) []string {
	w.t.Helper()
	var out []string
	err := w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run}, func(ev runtime.Event) error {
		out = append(out, ev.Type)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

const review = `
def main(items, threshold = 0.8):
    good = [i for i in items if i["score"] >= threshold]
    d = gate("review", options = ["approve", "reject"], target = "reviewer", data = {"good": good})
    if d.choice == "approve":
        work("publish", value = good)
    return {"decision": d.choice, "by": d.by, "published": len(good)}
`

func TestGateAcrossRestart(t *testing.T) { // S0-07, S0-10, S0-14, S0-24
	w := newWorld(t)
	run := w.start(review, `{"items": [{"score": 0.9}, {"score": 0.5}, {"score": 0.85}]}`)
	at := w.until(run.ID, runtime.Suspended)
	if len(at.Gates) != 1 || at.Gates[0].Address != run.ID+"/review" || string(at.Gates[0].Data) != `{"good":[{"score":0.9},{"score":0.85}]}` {
		t.Fatalf("gates: %+v", at.Gates)
	}
	if want := "starling signal " + run.ID + "/review --choice approve --as reviewer"; at.Gates[0].AnswerWith != want {
		t.Errorf("answer_with: got %s, want %s", at.Gates[0].AnswerWith, want)
	}
	w.restart()
	s := answer(run.ID[:4], "review", "approve")
	s.As, s.Reason = "reviewer", "looks good"
	receipt := w.signal(s)
	if receipt.Gate != "review" || !strings.Contains(string(receipt.Decision), `"choice":"approve","reason":"looks good"`) {
		t.Errorf("receipt: %+v", receipt)
	}
	end := w.until(run.ID, runtime.Completed)
	if want := `{"decision":"approve","by":"reviewer","published":2}`; string(end.Output) != want {
		t.Errorf("output: got %s, want %s", end.Output, want)
	}
	if !slices.Equal(w.calls, []string{run.ID + "/publish"}) {
		t.Errorf("work was performed for %v", w.calls)
	}
	want := []string{"run.started", "step.requested", "gate.opened", "run.suspended", "signal.accepted", "run.resumed", "gate.decided", "step.settled",
		"step.requested", "attempt.started", "attempt.ended", "step.settled", "run.completed"}
	if got := w.types(run.ID); !slices.Equal(got, want) {
		t.Errorf("journal: got %v, want %v", got, want)
	}
}

// What Start says of a new run is what everybody is told of it.
func TestStartSaysHowTheRunStands(t *testing.T) {
	w := newWorld(t)
	for _, script := range []string{
		`def main(): return gate("g", options = ["on"], data = {"n": 1}).choice`,
		`def main(): return [1, {"a": None}]`,
		`def main(): fail("no")`,
	} {
		began := w.start(script, `{}`)
		now, err := w.engine.Get(w.ctx, began.ID)
		if err != nil {
			t.Fatal(err)
		}
		if mustJSON(t, began) != mustJSON(t, now) {
			t.Errorf("%s\nit began as\n%s\nand is\n%s", script, mustJSON(t, began), mustJSON(t, now))
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// When the disk fails, whoever follows a run is told so: nothing comes any more. A new owner finds
// everything that was acknowledged.
func TestWatchersHearThatTheStoreHasFailed(t *testing.T) {
	w := newWorld(t)
	followed, other := w.start(asks, `{}`), w.start(asks, `{}`)
	heard := make(chan error)
	go func() {
		heard <- w.engine.Watch(w.ctx, runtime.WatchRequest{Run: followed.ID, Follow: true}, func(runtime.Event) error { return nil })
	}()
	w.store.FailCommit(1, errors.New("input/output error"), memory.BeforeApply)
	_, err := w.engine.Signal(w.ctx, answer(other.ID, "g", "go"))
	for _, err := range []error{err, <-heard} {
		if r := runtime.AsRefusal(err); !errors.Is(err, runtime.ErrFailed) || r.Kind != runtime.ErrKindFailed || r.Kind.ExitCode() != 7 || !strings.Contains(r.Help, "start again") {
			t.Errorf("got %v, %+v", err, r)
		}
	}
	w.crash()
	for _, run := range []string{followed.ID, other.ID} {
		w.signal(answer(run, "g", "go"))
		w.until(run, runtime.Completed)
	}
}

func TestRefusedSignalsChangeNothing(t *testing.T) { // S0-25, S0-26, S0-28
	w := newWorld(t)
	run := w.start(`
def main():
    d = gate("review", options = ["approve", "reject"], target = "reviewer", schema = None)
    gate("later", options = ["go"])
    return d.choice
`, "")
	w.until(run.ID, runtime.Suspended)
	as := func(s runtime.Signal, who string) runtime.Signal { s.As = who; return s }
	w.refused(runtime.ErrUnknownRun, answer("zzzz", "review", "approve"))
	w.refused(runtime.ErrUnknownGate, answer(run.ID, "revue", "approve"))
	w.refused(runtime.ErrNotOpen, answer(run.ID, "later", "go"))
	w.refused(runtime.ErrWrongTarget, answer(run.ID, "review", "approve"))
	w.refused(runtime.ErrWrongTarget, as(answer(run.ID, "review", "approve"), "somebody"))
	w.refused(runtime.ErrBadChoice, as(answer(run.ID, "review", ""), "reviewer"))
	if r := w.refused(runtime.ErrBadChoice, as(answer(run.ID, "review", "aprove"), "reviewer")); r.Help != `did you mean "approve"?` {
		t.Errorf("help: %q", r.Help)
	}
	bad := as(answer(run.ID, "review", "approve"), "reviewer")
	bad.Data = json.RawMessage(`{"a":`)
	w.refused(runtime.ErrBadPayload, bad)
	if got := w.until(run.ID, runtime.Suspended); len(got.Gates) != 1 {
		t.Errorf("gates: %+v", got.Gates)
	}

	keyed := as(answer(run.ID, "review", "approve"), "reviewer")
	keyed.Key = "k1"
	first := w.signal(keyed)
	again := w.signal(keyed)
	if !again.Repeated || again.Seq != first.Seq || string(again.Decision) != string(first.Decision) {
		t.Errorf("repeated: got %+v, want %+v", again, first)
	}
	keyed.Choice = "reject"
	w.refused(runtime.ErrKeyConflict, keyed)
	if r := w.refused(runtime.ErrDecided, as(answer(run.ID, "review", "reject"), "reviewer")); !strings.Contains(string(r.Data), `"choice":"approve"`) {
		t.Errorf("the refusal does not carry the decision: %s", r.Data)
	}
	refusals := 0
	for _, typ := range w.types(run.ID) {
		if typ == "signal.refused" {
			refusals++
		}
	}
	if refusals != 9 { // all but that for an unknown run
		t.Errorf("%d refusals are recorded, want 9", refusals)
	}
}
