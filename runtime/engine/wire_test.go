package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

var rewrite = flag.Bool("rewrite", false, "TestKeptStores keeps what testdata/wire lacks for the present layout of a store")

// kept are runs that are suspended when their store is kept: what brings them there, and what goes
// on from there. For each, testdata/wire/store-vN holds
//
//	NAME.store   the commits of the store, one a line
//	NAME.txt     the answers that come in later, and what the run came to when it was kept
//
// What is there is never written again.
var kept = []struct {
	name, script, inputs string
	before, after        []string // GATE CHOICE, or chunk TEXT of a session
	files                map[string]string
	session              bool
	trim                 int // records that are left of its journal, 0 for all
}{
	{name: "gates", inputs: `{"n": 3}`, before: []string{"one yes"}, after: []string{"two no"}, script: `
def main(n):
    squares = [i * i for i in range(n)]
    at, id = now(), uuid()
    print("begin", squares)
    first = gate("one", options = ["yes", "no"]).choice
    done = work("w", value = {"first": first})
    second = gate("two", options = ["yes", "no"]).choice
    return [squares, first, done, second, at > "2000", len(id)]
`},
	{name: "branches", before: []string{"parallel/b/b yes"}, after: []string{"parallel/c/c no", "parallel/a/a yes", "late yes"}, script: `
def one(name):
    return [name, gate(name, options = ["yes", "no"]).choice, work("after-" + name, value = 1)]

def main():
    late = gate("late", options = ["yes"], wait = False)
    got = parallel({k: (one, k) for k in ["a", "b", "c"]})
    return sorted(got.items(), key = lambda kv: kv[1][1] + kv[0]), late.decision().choice
`},
	{name: "children", before: nil, after: []string{"own yes"}, script: `
def main():
    def half():
        sleep("1ms")
        return attempt(work, "never", value = None, on_uncertain = "fail").ok
    return half(), run("child.star", inputs = {"n": 2}), gate("own", options = ["yes"]).choice
`, files: map[string]string{"child.star": "inputs = contract(\"{n: int}\")\ndef main(n):\n    return [n * i for i in range(4)]\n"}},
	{name: "session", session: true, before: []string{
		"chunk x = [1, 2]; f = lambda n: n + len(x)", "chunk x.append(work('w', value = 3))", "chunk 1 // 0", "chunk c = gate('g', options = ['on']).choice",
	}, after: []string{"g on", "chunk print(c, x, f(1))", "chunk x[9]"}},
	{name: "failing", after: []string{"g no"}, script: `
def main():
    l = [1]
    for x in l:
        l.append(gate("g", options = ["no"]).choice)
`},
	{name: "collected", after: []string{"parallel/good/go yes"}, script: failing},
	{name: "head", inputs: `{"names": ["a", "b"]}`, before: []string{"more yes"}, after: []string{"more#2 yes", "more#3 no"}, script: `
def main(names):
    seen = {n: [] for n in names}
    late = [gate("late", options = ["yes"], wait = False, timeout = "1000h")]
    for i in forever():
        seen[names[i % 2]].append((i, work("w", value = i)))
        if gate("more", options = ["yes", "no"]).choice == "no":
            return seen, len(late)
`},
	// Its checkpoint was written by code generator 0, which took the variables to be dead.
	{name: "variable", before: []string{"g yes"}, after: []string{"g#2 no"}, script: `
def main():
    last = 0
    for last in range(2):
        gate("g", options = ["yes", "no"])
        for unused in ["a", "b"]:
            pass
    return last, unused
`},
	{name: "trimmed", inputs: `{"n": 30}`, before: []string{"more yes"}, after: []string{"more#2 yes", "more#3 no"}, script: loops, trim: 20},
}

func storeDir() string {
	return filepath.Join("..", "..", "testdata", "wire", fmt.Sprintf("store-v%d", memory.New().Info().Format))
}

// recorder is a store that keeps its commits.
type recorder struct {
	*memory.Store

	mu      sync.Mutex // guards what follows
	batches bytes.Buffer
}

func (r *recorder) Commit(ctx context.Context, b *runtime.Batch) error {
	line, err := json.Marshal(b)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.Store.Commit(ctx, b); err != nil {
		return err
	}
	r.batches.Write(append(line, '\n'))
	return nil
}

// TestKeptStores goes on with runs that were written down in the past, to the end that they had
// then: as they are, from their journals alone, and with machines that cannot be read although
// nothing else is wrong.
func TestKeptStores(t *testing.T) {
	if *rewrite {
		keepStores(t)
	}
	for _, k := range kept {
		for how, damage := range map[string]func([]byte) []byte{
			"as it is":           func(v []byte) []byte { return v },
			"from its journal":   func([]byte) []byte { return nil },
			"damaged":            spoilByte,
			"another's machines": spoilMachine,
		} {
			t.Run(k.name+"/"+how, func(t *testing.T) {
				text, err := os.ReadFile(filepath.Join(storeDir(), k.name+".txt"))
				if err != nil {
					t.Fatalf("%v: nothing was kept of this layout: go test ./runtime/engine -run KeptStores -rewrite", err)
				}
				w := newWorld(t)
				w.load(filepath.Join(storeDir(), k.name+".store"))
				if !k.session { // which is replayed chunk by chunk, and has no checkpoints
					w.each("s/", damage)
				}
				w.store = w.store.Reopen()
				w.open()
				run, answers, want := readEnd(t, string(text))
				if got := w.play(run, answers); got != want {
					t.Errorf("it came to\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

// keepStores writes what is not there yet.
func keepStores(t *testing.T) {
	for _, k := range kept {
		stem := filepath.Join(storeDir(), k.name)
		if _, err := os.Stat(stem + ".txt"); err == nil {
			continue
		}
		w := newWorld(t)
		w.engine.Close()
		r := &recorder{Store: memory.New()}
		w.store, w.spoiled = r.Store, true
		w.engine = w.build(r, 0)
		run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, k.script, k.files), Script: "main.star", Inputs: json.RawMessage(k.inputs), Session: k.session})
		if err != nil {
			t.Fatal(err)
		}
		w.until(run.ID, runtime.Suspended)
		for _, answer := range k.before {
			w.answer(run.ID, answer)
		}
		w.until(run.ID, runtime.Suspended)
		if k.trim > 0 {
			w.care(runtime.MaintenanceRequest{Task: runtime.MaintenanceTrim, Keep: k.trim})
		}
		r.mu.Lock()
		commits := slices.Clone(r.batches.Bytes())
		r.mu.Unlock()
		write(t, stem+".store", commits)
		w.load(stem + ".store")
		w.open()
		end := w.play(run.ID, k.after)
		write(t, stem+".txt", []byte("run "+run.ID+"\n"+strings.Join(k.after, "\n")+"\n----\n"+end))
	}
}

func write(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// readEnd reads NAME.txt.
func readEnd(t *testing.T, text string) (run string, answers []string, end string) {
	t.Helper()
	head, end, ok := strings.Cut(text, "----\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	run, isRun := strings.CutPrefix(lines[0], "run ")
	if !ok || !isRun {
		t.Fatalf("not what is kept of a run: %q", text)
	}
	return run, lines[1:], end
}

// play gives the answers, one after another, and tells what the run came to and what it did.
func (w *world) play(run string, answers []string) string {
	w.t.Helper()
	w.resume(run)
	for _, text := range answers {
		w.answer(run, text)
	}
	end := w.until(run, runtime.Completed, runtime.Failed, runtime.Suspended)
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", end.Status, end.Output)
	if end.Error != nil {
		fmt.Fprintf(&out, "%s: %s\n", end.Error.Kind, end.Error.Message)
	}
	err := w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run, After: end.Details.Horizon}, func(ev runtime.Event) error {
		if ev.Type == "run.suspended" || ev.Type == "run.resumed" {
			return nil // whether a run rests between two steps depends on how soon the second is settled
		}
		var data struct {
			Text  string
			Error struct{ Message string }
		}
		if ev.Type == "output.print" || ev.Type == "chunk.ended" {
			if err := json.Unmarshal(ev.Data, &data); err != nil {
				return err
			}
		}
		fmt.Fprintln(&out, strings.Join(strings.Fields(strings.Join([]string{ev.Type, ev.Step, data.Text, data.Error.Message}, " ")), " "))
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.String()
}

// answer answers a gate as soon as it is open, or appends a chunk, and waits until the run has
// taken it.
func (w *world) answer(run, text string) {
	w.t.Helper()
	gate, choice, _ := strings.Cut(text, " ")
	if gate == "chunk" {
		(&session{w, run}).chunk(choice + "\n")
		w.until(run, runtime.Suspended)
		return
	}
	err := w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run, Follow: true, After: w.horizon(run)}, func(ev runtime.Event) error {
		if ev.Type == "gate.opened" && ev.Step == gate {
			return runtime.ErrStopWatch
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.signal(answer(run, gate, choice))
	w.until(run, runtime.Suspended, runtime.Completed, runtime.Failed)
}

// load makes the store of a file the world's; it is still to be opened.
func (w *world) load(file string) {
	w.t.Helper()
	if err := w.engine.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.store, w.spoiled = memory.New(), true
	f, err := os.Open(file)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var b runtime.Batch
		if err := json.Unmarshal(lines.Bytes(), &b); err != nil {
			w.t.Fatal(err)
		}
		if err := w.store.Commit(w.ctx, &b); err != nil {
			w.t.Fatal(err)
		}
	}
	if lines.Err() != nil {
		w.t.Fatal(lines.Err())
	}
}

// each replaces the values whose keys begin with a prefix; nil deletes. The checkpoints of a run
// are its head too.
func (w *world) each(prefix string, change func([]byte) []byte) {
	w.t.Helper()
	if run, ok := strings.CutPrefix(prefix, "s/"); ok {
		if n, err := changed(w.store, run, change); err != nil || n == 0 {
			w.t.Fatalf("%d checkpoints of %q: %v", n, run, err)
		}
		return
	}
	var b runtime.Batch
	err := w.store.Scan([]byte(prefix), []byte(prefix+"\xff\xff\xff"), func(k, v []byte) error {
		b.Writes = append(b.Writes, runtime.Write{Key: bytes.Clone(k), Value: change(bytes.Clone(v))})
		return nil
	})
	if err != nil || len(b.Writes) == 0 {
		w.t.Fatalf("%d values begin with %s: %v", len(b.Writes), prefix, err)
	}
	if err := w.store.Commit(w.ctx, &b); err != nil {
		w.t.Fatal(err)
	}
}

func spoilByte(v []byte) []byte {
	v[len(v)/2] ^= 0x40
	return v
}

// spoilMachine changes the last byte of a checkpoint, which is the machine's, and mends the
// checksum: the machine's own seal is what refuses it.
func spoilMachine(v []byte) []byte {
	v[len(v)-1] ^= 1
	binary.BigEndian.PutUint32(v, crc32.Checksum(v[4:], crc32.MakeTable(crc32.Castagnoli)))
	return v
}

// TestOtherBehaviourRefusesTheRun: a build whose builtins behave in another way leaves the run as
// it is, and the right one goes on with it.
func TestOtherBehaviourRefusesTheRun(t *testing.T) {
	w := newWorld(t)
	run := w.start(review, `{"items": [{"score": 0.9}]}`)
	w.until(run.ID, runtime.Suspended)
	before := w.types(run.ID)
	if err := w.engine.Close(); err != nil {
		t.Fatal(err)
	}
	w.store = w.store.Reopen()
	other := w.build(w.store, 7)
	s := answer(run.ID, "review", "approve")
	s.As = "reviewer"
	_, err := other.Signal(w.ctx, s)
	var r *runtime.Refusal
	if want := "run " + run.ID + " was started with behaviour 0 of the builtins; this build has 7"; !errors.As(err, &r) || !strings.Contains(r.Error(), want) {
		t.Errorf("got %v, want a refusal: %s", err, want)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	w.store = w.store.Reopen()
	w.open()
	if got := w.types(run.ID); !slices.Equal(got, before) {
		t.Errorf("the journal was changed: got %v, want %v", got, before)
	}
	w.signal(s)
	if end := w.until(run.ID, runtime.Completed); string(end.Output) != `{"decision":"approve","by":"reviewer","published":1}` {
		t.Errorf("output %s", end.Output)
	}
}

// TestBranchesOfABehaviourAreKept: a run whose branches failed by what they returned has them fail
// so to its end, also when a later build carries it or executes its journal again.
func TestBranchesOfABehaviourAreKept(t *testing.T) {
	const script = `
def main():
    gate("go", options = ["yes"])
    said = parallel([lambda: attempt(fail, "no"), lambda: attempt(lambda: "well")], on_error = "collect")
    return [o.ok for o in said]
`
	w := newWorld(t)
	early := w.restsUnder(effect.BehaviourReturnedFails, script, effect.Settings{})
	late := w.restsUnder(effect.BehaviourReturnedFails+1, script, effect.Settings{})
	for run, want := range map[string]string{early: "[false,true]", late: "[true,true]"} {
		w.signal(answer(run, "go", "yes"))
		if end := w.until(run, runtime.Completed, runtime.Failed); string(end.Output) != want {
			t.Errorf("got %s, want %s: %v", end.Output, want, end.Error)
		}
		if _, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: run}); err != nil {
			t.Errorf("executed again: %v", err)
		}
	}
}

// TestResultsOfABehaviourAreKept: a Result has the fields that the run's behaviour began with.
func TestResultsOfABehaviourAreKept(t *testing.T) {
	const script = `
def main():
    gate("go", options = ["yes"])
    r = agent("maker")
    return [hasattr(r, "tools"), str(r).count("tools = ")]
`
	w := newWorld(t)
	early := w.restsUnder(effect.BehaviourToollessResult, script, effect.Settings{})
	late := w.restsUnder(effect.BehaviourToollessResult+1, script, effect.Settings{})
	for run, want := range map[string]string{early: "[false,0]", late: "[true,1]"} {
		w.signal(answer(run, "go", "yes"))
		if end := w.until(run, runtime.Completed, runtime.Failed); string(end.Output) != want {
			t.Errorf("got %s, want %s: %v", end.Output, want, end.Error)
		}
		if _, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: run}); err != nil {
			t.Errorf("executed again: %v", err)
		}
	}
}

// TestLoadsOfABehaviourAreKept: what a chunk loads stays in a session, but in one that began when
// it did not: there it is unknown afterwards, and a chunk that both loads and uses it is as good as
// ever.
func TestLoadsOfABehaviourAreKept(t *testing.T) {
	w := newWorld(t)
	lib := map[string]string{"lib.star": "def hi(): return 'hi'\n_own = 1\n"}
	chunk := func(run, text string) runtime.Signal {
		return runtime.Signal{Kind: runtime.SignalChunk, Run: run, Bundle: bundle(t, text, lib)}
	}
	sit := func(behaviour uint32) *session {
		w.under(behaviour)
		request := runtime.StartRequest{Bundle: bundle(t, "", nil), Script: "session", Session: true}
		run, err := w.engine.Start(w.ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		w.signal(chunk(run.ID, "load('lib.star', 'hi', ho = 'hi')\nprint(hi())\n"))
		return &session{w, run.ID}
	}
	early, late := sit(effect.BehaviourLoadsForgotten), sit(effect.BehaviourLoadsForgotten+1)
	for range 2 {
		w.refused(runtime.ErrCheckFailed, chunk(early.id, "print(ho())\n"))
		early.chunk("hi = 1\n")
		late.chunk("hi = 1\nprint(ho(), 'later')\n")
		w.under(effect.BehaviourLoadsForgotten + 2)
	}
	w.signal(chunk(early.id, "load('lib.star', 'hi')\nprint(hi(), 'again')\n"))
	w.signal(chunk(late.id, "load('lib.star', 'hi')\nprint(hi(), 'again')\n"))
	want := map[*session]int{early: 0, late: 2}
	for s, n := range want {
		said := s.said()
		if strings.Count(said, "hi later") != n || !strings.Contains(said, "hi again") {
			t.Errorf("the session said\n%s\nwant %d times hi later", said, n)
		}
	}
}

// TestValuesOfABehaviourAreKept: a session that began when values were forgotten, and files loaded
// once only, goes on so.
func TestValuesOfABehaviourAreKept(t *testing.T) {
	w := newWorld(t)
	chunk := func(run, text string, n int) {
		t.Helper()
		lib := map[string]string{"lib.star": fmt.Sprintf("n = %d\n", n)}
		w.signal(runtime.Signal{Kind: runtime.SignalChunk, Run: run, Bundle: bundle(t, text, lib)})
	}
	sit := func(behaviour uint32) *session {
		w.under(behaviour)
		run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, "", nil), Script: "session", Session: true})
		if err != nil {
			t.Fatal(err)
		}
		chunk(run.ID, "load('lib.star', 'n')\n40 + n\n", 1)
		return &session{w, run.ID}
	}
	early, late := sit(effect.BehaviourValuesForgotten), sit(effect.BehaviourValuesForgotten+1)
	for range 2 {
		w.refused(runtime.ErrCheckFailed, runtime.Signal{Kind: runtime.SignalChunk, Run: early.id, Bundle: bundle(t, "print(_1)\n", nil)})
		chunk(early.id, "load('lib.star', 'n')\nprint(n, 'of an early one')\n", 2)
		chunk(late.id, "load('lib.star', 'n')\nprint(_1, Out[1], n, 'of a late one')\n", 2)
		w.under(effect.BehaviourValuesForgotten + 2)
	}
	if said := early.said(); strings.Count(said, "1 of an early one") != 2 {
		t.Errorf("the early session said\n%s", said)
	}
	if said := late.said(); strings.Count(said, "41 41 2 of a late one") != 2 {
		t.Errorf("the late session said\n%s", said)
	}
}

// TestChargesOfABehaviourAreKept: what a run began with decides where it meets its limits, also
// when a later build carries it, reads its checkpoint, executes its journal again or starts others.
func TestChargesOfABehaviourAreKept(t *testing.T) {
	const script = `
def main():
    gate("go", options = ["yes"])
    return len([{} for _ in range(1800)])
`
	w := newWorld(t)
	small := effect.Settings{MaxMemory: 1 << 20}
	early := w.restsUnder(effect.BehaviourUnbounded, script, small)
	late := w.restsUnder(effect.BehaviourUnbounded+1, script, small)
	w.signal(answer(early, "go", "yes"))
	if end := w.until(early, runtime.Completed, runtime.Failed); string(end.Output) != "1800" {
		t.Errorf("the run that began before: %s, %v", end.Status, end.Error)
	}
	w.signal(answer(late, "go", "yes"))
	if end := w.until(late, runtime.Completed, runtime.Failed); end.Error == nil || end.Error.Kind != string(effect.KindLimit) {
		t.Errorf("the run that began later: %s, %v", end.Status, end.Error)
	}
	if _, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: early}); err != nil {
		t.Errorf("executed again, the run that began before: %v", err)
	}
}

// under has a build carry on whose builtins have this behaviour, which knows those before it.
func (w *world) under(behaviour uint32) {
	w.t.Helper()
	if err := w.engine.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.store = w.store.Reopen()
	env := environment(w.perform)
	env.Behaviour, env.Since = behaviour, effect.BehaviourUnbounded
	engine, err := engine.Open(w.store, env, engine.Options{Log: w.t.Logf})
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine = engine
}

// restsUnder is under, and starts a run there that comes to rest.
func (w *world) restsUnder(behaviour uint32, script string, s effect.Settings) (run string) {
	w.t.Helper()
	w.under(behaviour)
	r, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(w.t, script, nil), Script: "main.star", Settings: s})
	if err != nil {
		w.t.Fatal(err)
	}
	w.until(r.ID, runtime.Suspended)
	return r.ID
}
