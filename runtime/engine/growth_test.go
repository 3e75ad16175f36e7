package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/runtime/query"
)

// meter is a store that counts the work that it is asked for.
type meter struct {
	runtime.Store
	keys  atomic.Int64 // read, by Get and Scan
	bytes atomic.Int64 // of their values
	wrote atomic.Int64 // bytes committed
}

func (m *meter) Get(key []byte) ([]byte, error) {
	v, err := m.Store.Get(key)
	m.read(v)
	return v, err
}

func (m *meter) Scan(from, to []byte, fn func(key, value []byte) error) error {
	return m.Store.Scan(from, to, func(k, v []byte) error {
		m.read(v)
		return fn(k, v)
	})
}

func (m *meter) Head(run string) (uint64, []byte, error) {
	at, head, err := m.Store.Head(run)
	m.read(head)
	return at, head, err
}

func (m *meter) Commit(ctx context.Context, b *runtime.Batch) error {
	for _, w := range b.Writes {
		m.wrote.Add(int64(len(w.Key) + len(w.Value)))
	}
	for _, f := range b.Fences {
		m.wrote.Add(int64(len(f.Head)))
	}
	return m.Store.Commit(ctx, b)
}

func (m *meter) read(v []byte) {
	m.keys.Add(1)
	m.bytes.Add(int64(len(v)))
}

// nothingDone performs whatever is asked for.
func nothingDone(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{} }

// effort is what a meter has counted.
type effort struct{ keys, bytes, wrote int64 }

// during counts the work of do.
func (m *meter) during(do func()) effort {
	before := effort{m.keys.Load(), m.bytes.Load(), m.wrote.Load()}
	do()
	return effort{m.keys.Load() - before.keys, m.bytes.Load() - before.bytes, m.wrote.Load() - before.wrote}
}

// plot is an engine whose store counts.
type plot struct {
	t     testing.TB
	ctx   context.Context
	store *memory.Store
	meter *meter
	e     *engine.Local
}

func newPlot(t testing.TB, store *memory.Store) *plot {
	p := &plot{t: t, store: store, meter: &meter{Store: store}}
	p.ctx = runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:ann", Local: true})
	var err error
	if p.e, err = engine.Open(p.meter, environment(nothingDone), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.e.Close() })
	return p
}

// start starts a run and waits until it rests or has ended.
func (p *plot) start(script, inputs, until string) string {
	p.t.Helper()
	run, err := p.e.Start(p.ctx, runtime.StartRequest{Bundle: bundle(p.t, script, nil), Script: "grow.star", Inputs: json.RawMessage(inputs)})
	if err != nil {
		p.t.Fatal(err)
	}
	follow(p.t, p.e, p.ctx, run.ID, until)
	return run.ID
}

const manyGates = `
def main(n):
    parallel({"b%d" % i: lambda: gate("g", options = ["yes"]) for i in range(n)})
`

func answerBranch(p *plot, run string, i int) {
	p.t.Helper()
	address := fmt.Sprintf("parallel/b%d/g", i)
	if _, err := p.e.Signal(p.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: address, Choice: "yes"}); err != nil {
		p.t.Fatal(err)
	}
}

// To answer one of a run's open gates costs the same however many are open beside it.
func TestAGateCostsTheSameBesideMany(t *testing.T) {
	of := func(n int) effort {
		p := newPlot(t, memory.New())
		run := p.start(manyGates, fmt.Sprintf(`{"n": %d}`, n), "run.suspended")
		answerBranch(p, run, 0)
		return p.meter.during(func() {
			for i := range 20 {
				answerBranch(p, run, i+1)
			}
		})
	}
	few, many := of(200), of(2000)
	if many.wrote > few.wrote*11/10 || many.keys > few.keys+2 || many.bytes > few.bytes*11/10 {
		t.Errorf("20 answers beside 200 gates cost %+v, beside 2000 %+v", few, many)
	}
}

// waitingRuns fills a store with runs that wait at a gate, for one of ten.
func waitingRuns(p *plot, n int) {
	for i := range n {
		p.start(`
def main(i):
    gate("g", options = ["yes"], target = "t%d" % (i % 10))
`, fmt.Sprintf(`{"i": %d}`, i), "run.suspended")
	}
}

// A page of runs, and one of gates, costs what the page has, however many there are.
func TestAPageCostsTheSameBesideMany(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	queries := map[string]runtime.Query{
		"ps":        {Limit: 10},
		"ps -a":     {Limit: 10, All: true},
		"suspended": {Limit: 10, Status: []runtime.Status{runtime.Suspended}},
		"inbox":     {Limit: 10, Gates: true},
	}
	of := func(n int) map[string]effort {
		p := newPlot(t, memory.New())
		waitingRuns(p, n)
		done := map[string]effort{}
		for name, q := range queries {
			done[name] = p.meter.during(func() {
				l, err := p.e.List(p.ctx, q)
				if err != nil || len(l.Runs)+len(l.Gates) != 10 || l.Next == "" {
					t.Errorf("%s: %d runs, %d gates, next %q, %v", name, len(l.Runs), len(l.Gates), l.Next, err)
				}
			})
		}
		return done
	}
	few, many := of(300), of(900)
	for name := range queries {
		if f, m := few[name], many[name]; m.keys > f.keys || m.bytes > f.bytes*11/10 {
			t.Errorf("%s: of 300 it costs %+v, of 900 %+v", name, f, m)
		}
	}
}

// Pages, put together, are the list: nothing is missed and nothing is there twice, also when what
// the cursor names has gone since.
func TestPagesAreTheList(t *testing.T) {
	p := newPlot(t, memory.New())
	waitingRuns(p, 25)
	for name, q := range map[string]runtime.Query{
		"live":   {},
		"all":    {All: true},
		"gates":  {Gates: true},
		"target": {Gates: true, Target: "t3"},
	} {
		whole, err := p.e.List(p.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := paged(p, q, 4), told(whole); got != want {
			t.Errorf("%s: the pages are\n%s\nthe list is\n%s", name, got, want)
		}
	}
	first, err := p.e.List(p.ctx, runtime.Query{Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.e.Cancel(p.ctx, runtime.CancelRequest{Run: first.Runs[2].ID}); err != nil {
		t.Fatal(err)
	}
	rest, err := p.e.List(p.ctx, runtime.Query{Limit: 100, After: first.Next})
	if err != nil || len(rest.Runs) != 22 || rest.Next != "" {
		t.Errorf("behind a run that has ended: %d runs, next %q, %v; want 22", len(rest.Runs), rest.Next, err)
	}
	for _, bad := range []string{"x", ".", "!", "AAAA", "AAAAAAAAAAA="} {
		if _, err := p.e.List(p.ctx, runtime.Query{Limit: 3, After: bad}); runtime.AsRefusal(err).Kind != runtime.ErrUsage {
			t.Errorf("the cursor %q: %v", bad, err)
		}
	}
}

// told is a listing in brief.
func told(l *runtime.Listing) string {
	var b strings.Builder
	for _, r := range l.Runs {
		b.WriteString(r.ID + "\n")
	}
	for _, g := range l.Gates {
		b.WriteString(g.Address + "\n")
	}
	return b.String()
}

// paged reads a list by pages, and wants of each entry the cursor that leads behind it.
func paged(p *plot, q runtime.Query, limit int) string {
	p.t.Helper()
	all := ""
	for q.Limit, q.Cursors = limit, true; ; {
		l, err := p.e.List(p.ctx, q)
		if err != nil {
			p.t.Fatal(err)
		}
		all += told(l)
		if l.Next == "" {
			return all
		}
		if n := len(l.Cursors); n < limit || l.Cursors[limit-1] != l.Next {
			p.t.Fatalf("cursors %q, next %q", l.Cursors, l.Next)
		}
		q.After = l.Next
	}
}

// The index is made anew where another build has had the store meanwhile, which does not know it,
// and where it is gone; until then a reader reads every row.
func TestTheIndexIsMadeAnew(t *testing.T) {
	for name, spoil := range map[string]func(*memory.Store) *memory.Store{
		"an older build had it": func(s *memory.Store) *memory.Store {
			for key := range keysOf(t, s, "e/") {
				commit(t, s, runtime.Write{Key: []byte(key)}) // as if these runs and gates were its
			}
			commit(t, s, runtime.Write{Key: []byte("e/r\x00\x00\x00\x00\x00\x00\x00\x00nosuchrun"), Value: []byte{}})
			return s.Reopen()
		},
		"it has no mark": func(s *memory.Store) *memory.Store {
			commit(t, s, runtime.Write{Key: []byte("m/index")})
			return s
		},
	} {
		p := newPlot(t, memory.New())
		waitingRuns(p, 12)
		want := paged(p, runtime.Query{}, 5) + paged(p, runtime.Query{Gates: true}, 5)
		p.e.Close()
		s := spoil(p.store.Reopen())
		r := &plot{t: t, ctx: p.ctx}
		reader := engine.NewReader(s.Reader(), environment(nothingDone), nil)
		l, err := reader.List(p.ctx, runtime.Query{Limit: 12})
		gates, failed := reader.List(p.ctx, runtime.Query{Limit: 12, Gates: true})
		if err != nil || failed != nil || told(l)+told(gates) != want {
			t.Errorf("%s: a reader lists\n%s%s\nwant\n%s", name, told(l), told(gates), want)
		}
		r = newPlot(t, s.Reopen())
		if got := paged(r, runtime.Query{}, 5) + paged(r, runtime.Query{Gates: true}, 5); got != want {
			t.Errorf("%s: an owner lists\n%s\nwant\n%s", name, got, want)
		}
	}
}

// What ends or is cancelled with very many gates leaves nothing behind in the index.
func TestTheIndexForgets(t *testing.T) {
	p := newPlot(t, memory.New())
	for _, n := range []int{3, 1500} {
		run := p.start(manyGates, fmt.Sprintf(`{"n": %d}`, n), "run.suspended")
		if got := len(keysOf(t, p.store, "e/g")); got != n {
			t.Errorf("%d entries of %d gates", got, n)
		}
		if _, err := p.e.Cancel(p.ctx, runtime.CancelRequest{Run: run}); err != nil {
			t.Fatal(err)
		}
		p.start("def main():\n    pass\n", `{}`, "run.completed") // brings the mark again
		if left := len(keysOf(t, p.store, "e/")) - len(keysOf(t, p.store, "e/f")); left != 0 {
			t.Errorf("%d entries are left of what has ended with %d gates", left, n)
		}
		if len(keysOf(t, p.store, "m/index")) != 1 {
			t.Errorf("with %d gates: the mark is gone", n)
		}
	}
}

func keysOf(t testing.TB, s runtime.Store, prefix string) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	err := s.Scan([]byte(prefix), []byte(prefix+"\xff"), func(k, _ []byte) error {
		keys[string(k)] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func commit(t testing.TB, s runtime.Store, w runtime.Write) {
	t.Helper()
	if err := s.Commit(t.Context(), &runtime.Batch{Writes: []runtime.Write{w}}); err != nil {
		t.Fatal(err)
	}
}

const longRun = `
def main(n):
    parallel([lambda: gate("early", options = ["yes"]), lambda: loop(n)])

def loop(n):
    for i in range(n):
        work("w", value = i)
    gate("late", options = ["yes"])
`

// The first page of a run's steps, and the newest, cost what the page has, however long the
// journal is.
func TestAPageOfStepsCostsTheSameInALongRun(t *testing.T) {
	queries := map[string]runtime.StepQuery{"oldest": {Limit: 20}, "newest": {Limit: 20, Newest: true}, "middle": {Limit: 20, After: 1000}}
	of := func(n int) map[string]effort {
		p := newPlot(t, memory.New())
		run := p.start(longRun, fmt.Sprintf(`{"n": %d}`, n), "run.suspended")
		done := map[string]effort{}
		for name, q := range queries {
			q.Run = run
			done[name] = p.meter.during(func() {
				page, err := p.e.StepPage(p.ctx, q)
				if err != nil || len(page.Steps) < 20 || (page.Next == 0) == (name != "newest") || page.Earlier != (name == "newest") {
					t.Errorf("%s of %d: %d steps, next %d, earlier %v, %v", name, n, len(page.Steps), page.Next, page.Earlier, err)
				}
			})
		}
		return done
	}
	few, many := of(1500), of(4500)
	for name := range queries {
		if f, m := few[name], many[name]; m.keys > f.keys*12/10 || m.bytes > f.bytes*12/10 {
			t.Errorf("%s: in a run of 1500 steps it costs %+v, of 4500 %+v", name, f, m)
		}
	}
}

// Pages of steps, put together, are what the whole journal says of them, and so are the newest.
func TestPagesOfStepsAreTheSteps(t *testing.T) {
	p := newPlot(t, memory.New())
	run := p.start(longRun, `{"n": 50}`, "run.suspended")
	if _, err := p.e.Signal(p.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: "parallel/0/early", Choice: "yes"}); err != nil {
		t.Fatal(err)
	}
	whole := stepsOfEvents(p, run)
	for _, limit := range []int{1, 7, 52, 100} {
		var got []runtime.Step
		for q := (runtime.StepQuery{Run: run, Limit: limit}); ; {
			page, err := p.e.StepPage(p.ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page.Steps...)
			if q.After = page.Next; q.After == 0 {
				break
			}
		}
		if a, b := asJSON(got), asJSON(whole); a != b {
			t.Errorf("by %d the steps are\n%s\nwant\n%s", limit, a, b)
		}
		page, err := p.e.StepPage(p.ctx, runtime.StepQuery{Run: run, Limit: limit, Newest: true})
		if want := whole[max(0, len(whole)-limit):]; err != nil || asJSON(page.Steps) != asJSON(want) || page.Earlier != (limit < len(whole)) {
			t.Errorf("the newest %d are\n%s\nwant\n%s\nearlier %v, %v", limit, asJSON(page.Steps), asJSON(want), page.Earlier, err)
		}
	}
}

// A step that is open and old is told of with the newest.
func TestWhatIsOpenIsAmongTheNewest(t *testing.T) {
	p := newPlot(t, memory.New())
	run := p.start(longRun, `{"n": 200}`, "run.suspended")
	page, err := p.e.StepPage(p.ctx, runtime.StepQuery{Run: run, Limit: 2, Newest: true})
	if err != nil || len(page.Steps) != 3 || page.Steps[0].Step != "parallel/0/early" || page.Steps[0].Status != "waiting" || !page.Earlier {
		t.Errorf("got %s, %v", asJSON(page), err)
	}
}

// stepsOfEvents folds all events of a run, as the steps were made before there were pages.
func stepsOfEvents(p *plot, run string) []runtime.Step {
	p.t.Helper()
	steps, err := query.Steps(p.ctx, onlyEngine{p.e}, run)
	if err != nil {
		p.t.Fatal(err)
	}
	return steps
}

// onlyEngine hides what an engine serves beside runtime.Engine.
type onlyEngine struct{ runtime.Engine }

func asJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
