package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/runtime/memory"
	"starling/runtime/runtimetest"
)

// deciding asks at four gates and, in a child run, at another.
const deciding = `
def main():
    gate("g", options = ["yes", "no"])
    run("child.star")
    for i in range(3):
        gate("g", options = ["yes", "no"])
`

var decidingFiles = map[string]string{"child.star": `
def main():
    return gate("below", options = ["yes", "no"]).choice
`}

// agree wants the record to be what the journals say.
func (w *world) agree(when string) {
	w.t.Helper()
	if err := runtimetest.DecisionsAgree(w.ctx, w.engine); err != nil {
		l, _ := w.engine.List(w.ctx, runtime.Query{All: true}) // whose child is whose, then and by its row
		for _, r := range l.Runs {
			w.t.Logf("run %s is %s, of %q, changed at %s", r.ID, r.Status, r.Parent, r.UpdatedAt)
		}
		_ = w.store.Scan([]byte(journal.PrefixChild), journal.AfterPrefix([]byte(journal.PrefixChild)), func(k, v []byte) error {
			w.t.Logf("row %s: %s", k, v)
			return nil
		})
		w.t.Fatalf("%s: %v", when, err)
	}
	if n, _ := w.size("e/d"); n != len(w.decisions(runtime.DecisionQuery{})) {
		w.t.Errorf("%s: the index has %d entries of %d decisions", when, n, len(w.decisions(runtime.DecisionQuery{})))
	}
}

func (w *world) decisions(q runtime.DecisionQuery) []runtime.Decision {
	w.t.Helper()
	f, err := runtime.Extension[runtime.Decisions](w.engine)
	if err != nil {
		w.t.Fatal(err)
	}
	page, err := f.Decisions(w.ctx, q)
	if err != nil {
		w.t.Fatal(err)
	}
	return page.Decisions
}

// Whatever happens to the runs and to their owner, the record of decisions and the journals say the
// same. S0-27
func TestTheRecordOfDecisionsIsTheJournals(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w, draw := trims(t, 0), rand.New(rand.NewPCG(seed, 3))
			deeds := w.deeds(draw)
			for range 60 {
				d := deeds[draw.IntN(len(deeds))]
				d.do()
				w.agree(d.name)
			}
			w.restart()
			w.agree("in the end")
		})
	}
}

type deed struct {
	name string
	do   func()
}

// deeds are what may happen to a store. Answers come most often.
func (w *world) deeds(draw *rand.Rand) []deed {
	answerOne := deed{"answer", func() {
		if run := w.answerOne(draw); run != "" {
			w.rests(run)
		}
	}}
	cut := func(moment memory.Moment) func() {
		return func() {
			w.store.FailCommit(1+draw.IntN(3), errors.New("cut"), moment)
			w.answerOne(draw)
			w.crash()
			w.carryAll()
		}
	}
	return []deed{
		{"start", func() { w.rests(w.startFiles(deciding, "", decidingFiles).ID) }},
		answerOne, answerOne, answerOne, answerOne, answerOne,
		{"restart", func() { w.restart(); w.carryAll() }},
		{"crash", func() { w.crash(); w.carryAll() }},
		{"a commit fails", cut(memory.BeforeApply)},
		{"a commit is not heard of", cut(memory.AfterApply)},
		{"prune", func() { w.pruneAll() }},
		{"trim", func() { w.trim(5) }},
		{"fork", func() { w.forkOne(draw) }},
		{"out and in", func() { w.outAndIn(draw) }},
	}
}

// carryAll carries what can be carried: a run that was often there at a crash is quarantined.
func (w *world) carryAll() {
	if _, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{All: true}); err != nil {
		w.t.Log(err)
	}
}

// answerOne answers some open gate and gives its run, "" where there is none.
func (w *world) answerOne(draw *rand.Rand) string {
	l, err := w.engine.List(w.ctx, runtime.Query{Gates: true})
	if err != nil || len(l.Gates) == 0 {
		return ""
	}
	g := l.Gates[draw.IntN(len(l.Gates))]
	run, gate, _ := strings.Cut(g.Address, "/")
	if _, err := w.engine.Signal(w.ctx, answer(run, gate, g.Options[0].Name)); err != nil {
		w.t.Log(err) // its commit failed, or the run is quarantined
	}
	return run
}

// some is one of the runs that no other has started, "" where there is none.
func (w *world) some(draw *rand.Rand) string {
	l, err := w.engine.List(w.ctx, runtime.Query{All: true})
	if err != nil {
		w.t.Fatal(err)
	}
	var tops []string
	for _, r := range l.Runs {
		if r.Parent == "" {
			tops = append(tops, r.ID)
		}
	}
	if len(tops) == 0 {
		return ""
	}
	return tops[draw.IntN(len(tops))]
}

// forkOne makes a run of another from one of its later gates on, where that has come so far.
func (w *world) forkOne(draw *rand.Rand) {
	run := w.some(draw)
	f, err := runtime.Extension[runtime.Reruns](w.engine)
	if err != nil {
		w.t.Fatal(err)
	}
	if made, err := f.Fork(w.ctx, runtime.ForkRequest{Kind: runtime.LineageFork, Run: run, Step: "g#2"}); err == nil {
		w.rests(made.ID)
	}
}

// outAndIn takes a run out of the store and brings it back from its file.
func (w *world) outAndIn(draw *rand.Rand) {
	archive, err := runtime.Extension[runtime.Archive](w.engine)
	if err != nil {
		w.t.Fatal(err)
	}
	run := w.some(draw)
	file, err := archive.Export(w.ctx, run)
	if err != nil {
		return // it was trimmed, or there is none
	}
	if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: run}); err == nil {
		w.rests(run)
	}
	w.pruneAll()
	_, err = archive.Import(w.ctx, runtime.ImportRequest{File: file})
	if err != nil && runtime.AsRefusal(err).Kind != runtime.ErrExists { // its child had not ended yet
		w.t.Fatal(err)
	}
}

// One question of the runtime may be asked again and again: each answer is a decision.
func TestEachAnswerOfOneQuestionIsADecision(t *testing.T) {
	w := trims(t, 0)
	begun := make(chan string, 3)
	w.does(hanging(begun))
	run := w.start(`
def main():
    return work("post", value = 7, on_uncertain = "ask")
`, "")
	<-begun
	for range 2 {
		w.crash()
		w.resume(run.ID)
		w.rests(run.ID)
		w.signal(answer(run.ID, "!uncertain:post", "retry"))
		<-begun
	}
	w.agree("after two retries")
	if list := w.decisions(runtime.DecisionQuery{}); len(list) != 2 || list[1].Gate != "!uncertain:post" || list[1].Choice != "retry" {
		t.Errorf("got %s, want both answers", asJSON(list))
	}
}

// A decision says in which run it was made, by whom that was started, and what came along with a
// fork or an import. S0-27
func TestWhatCameAlongIsSaid(t *testing.T) {
	w := trims(t, 0)
	run := w.startFiles(deciding, "", decidingFiles)
	w.rests(run.ID)
	w.signal(answer(run.ID, "g", "yes"))
	w.rests(run.ID)
	w.signal(runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "run/below", Choice: "no", Reason: "not yet", As: "bob"})
	w.rests(run.ID)
	list := w.decisions(runtime.DecisionQuery{})
	if len(list) != 2 {
		t.Fatalf("got %s", asJSON(list))
	}
	d := list[0]
	if d.Address != run.ID+"/run/below" || d.Choice != "no" || d.Reason != "not yet" || d.By != "bob" || d.Through != "local:ann" ||
		d.Via != "signal" || d.StartedBy != "local:ann" || d.Copied || d.Imported {
		t.Errorf("got %s", asJSON(d))
	}
	fork := w.fork(runtime.ForkRequest{Kind: runtime.LineageFork, Run: run.ID, Step: "g#2"})
	w.rests(fork.ID)
	for _, d := range w.decisions(runtime.DecisionQuery{Run: fork.ID}) {
		if !d.Copied {
			t.Errorf("in the fork: %s", asJSON(d))
		}
	}
	file := w.export(run.ID)
	other := trims(t, 0)
	archive, _ := runtime.Extension[runtime.Archive](other.engine)
	if _, err := archive.Import(other.ctx, runtime.ImportRequest{File: file}); err != nil {
		t.Fatal(err)
	}
	other.agree("imported")
	for _, d := range other.decisions(runtime.DecisionQuery{}) {
		if !d.Imported || d.Copied {
			t.Errorf("imported: %s", asJSON(d))
		}
	}
}

// What is long stands in the journal whole; lists have its size.
func TestALongDecisionIsCutShort(t *testing.T) {
	w := trims(t, 0)
	run := w.start(`def main(): gate("free")`, "")
	w.rests(run.ID)
	long := strings.Repeat("ä", 3000)
	w.signal(runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Reason: long, Data: []byte(`"` + long + `"`)})
	got, err := w.engine.Get(w.ctx, run.ID)
	if err != nil || len(got.Decisions) != 1 {
		t.Fatalf("%s, %v", asJSON(got), err)
	}
	for _, d := range append(got.Decisions, w.decisions(runtime.DecisionQuery{})[0].Decided) {
		if want := strings.Repeat("ä", 512) + "…"; d.Reason != want || d.Data != nil || d.DataBytes != 6002 {
			t.Errorf("a reason of %d bytes, data %s of %d bytes", len(d.Reason), d.Data, d.DataBytes)
		}
	}
	w.agree("long")
}

// The decisions of kept stores, which have none in their index, are found by readers and owners.
func TestKeptStoresHaveTheirDecisions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(storeDir(), "*.store"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := 0
	for _, file := range files {
		w := newWorld(t)
		w.unseen = true
		w.load(file)
		if err := runtimetest.DecisionsAgree(w.ctx, engine.NewReader(w.store.Reader(), environment(nothingDone), nil)); err != nil {
			t.Errorf("%s, a reader: %v", file, err)
		}
		w.open()
		w.agree(file)
		found += len(w.decisions(runtime.DecisionQuery{}))
	}
	if found == 0 {
		t.Error("the kept stores have no decision")
	}
}

// The entries are made anew where a build has had the store that does not know them, also when that
// is cut; what such a build has pruned goes, and an entry that cannot be read is read in the
// journal.
func TestTheRecordIsMadeAnew(t *testing.T) {
	decided := func(t *testing.T) *world {
		w := trims(t, 0)
		for range 4 {
			run := w.start(`def main(): gate("g", options = ["yes"])`, "")
			w.rests(run.ID)
			w.signal(answer(run.ID, "g", "yes"))
		}
		if err := w.engine.Close(); err != nil {
			t.Fatal(err)
		}
		w.store = w.store.Reopen()
		return w
	}
	older := func(w *world) {
		w.each("e/d", func([]byte) []byte { return nil })
		commit(w.t, w.store, runtime.Write{Key: []byte("e/d\x00\x00\x00\x00\x00\x00\x00\x00nosuchrun000/g"), Value: []byte{}})
		w.store = w.store.Reopen()
	}
	t.Run("an older build", func(t *testing.T) {
		w := decided(t)
		older(w)
		w.open()
		w.agree("made anew")
		if n, _ := w.size("e/d"); n != 4 {
			t.Errorf("%d entries", n)
		}
	})
	t.Run("an older build, one question answered twice", func(t *testing.T) {
		w := trims(t, 0)
		begun := make(chan string, 3)
		w.does(hanging(begun))
		run := w.start(`
def main():
    return work("post", value = 7, on_uncertain = "ask")
`, "")
		<-begun
		for range 2 {
			w.crash()
			w.resume(run.ID)
			w.rests(run.ID)
			w.signal(answer(run.ID, "!uncertain:post", "retry"))
			<-begun
		}
		dead := w.engine
		t.Cleanup(func() { dead.Close() })
		w.store = w.store.Crash()
		older(w)
		w.open()
		w.agree("made anew")
		if list := w.decisions(runtime.DecisionQuery{}); len(list) != 2 {
			t.Errorf("got %s, want both answers", asJSON(list))
		}
	})
	t.Run("an older form", func(t *testing.T) {
		w := decided(t)
		w.each("e/d", func([]byte) []byte { return nil })
		w.each("m/index", func(mark []byte) []byte { return append([]byte{1}, mark[1:]...) })
		w.open()
		w.agree("made anew")
	})
	t.Run("cut", func(t *testing.T) {
		w := decided(t)
		older(w)
		w.store.FailCommit(1, errors.New("cut"), memory.BeforeApply)
		if _, err := engine.Open(w.store, environment(nothingDone), engine.Options{}); err == nil {
			t.Fatal("it opens")
		}
		w.store = w.store.Crash()
		w.open()
		w.agree("after a cut")
	})
	t.Run("damaged", func(t *testing.T) {
		w := decided(t)
		w.each("e/d", func([]byte) []byte { return []byte("?") })
		w.open()
		w.agree("damaged")
	})
}

// A page of the record, and the decisions of one run, cost what they have, however many there are.
func TestAPageOfDecisionsCostsTheSameBesideMany(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	of := func(n int) (first, narrow, one effort) {
		p := newPlot(t, memory.New())
		var run string
		var middle time.Time
		for i := range n {
			run = p.start(`def main(): gate("g", options = ["yes"])`, `{}`, "run.suspended")
			if _, err := p.e.Signal(p.ctx, answer(run, "g", "yes")); err != nil {
				t.Fatal(err)
			}
			if i == 20 {
				middle = time.Now()
			}
		}
		page := func(q runtime.DecisionQuery, want int) effort {
			return p.meter.during(func() {
				got, err := p.e.Decisions(p.ctx, q)
				if err != nil || len(got.Decisions) != want {
					t.Errorf("%+v: %s, %v", q, asJSON(got), err)
				}
			})
		}
		return page(runtime.DecisionQuery{Limit: 10}, 10), page(runtime.DecisionQuery{Limit: 10, Until: middle}, 10),
			page(runtime.DecisionQuery{Run: run}, 1)
	}
	f1, f2, f3 := of(300)
	m1, m2, m3 := of(900)
	for what, e := range map[string][2]effort{"a page": {f1, m1}, "an older page": {f2, m2}, "a run": {f3, m3}} {
		if few, many := e[0], e[1]; many.keys > few.keys*12/10 || many.bytes > few.bytes*12/10 {
			t.Errorf("%s: of 300 it costs %+v, of 900 %+v", what, few, many)
		}
	}
}

// What a contract hides from people is not in the data of a decision that they are shown.
func TestDecisionsHideWhatContractsHide(t *testing.T) {
	w := trims(t, 0)
	run := w.start(`
def main():
    gate("g", schema = contract("{note: string, plan?: string @agent}"))
    gate("h", schema = contract("{note: string, plan?: string @agent}"))
`, "")
	for _, data := range []string{`{"note": "n", "plan": "hush"}`, `{"note": "n"}`} {
		w.rests(run.ID)
		w.signal(runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Data: []byte(data)})
	}
	w.rests(run.ID)
	agent := runtime.WithCaller(w.ctx, runtime.Caller{Name: "judge", Can: runtime.CanRead | runtime.CanSeeHidden})
	for _, c := range []struct {
		ctx  context.Context
		want string
	}{
		{w.ctx, `[{"note":"n"} 0] [ 26]`},
		{agent, `[{"note":"n"} 0] [{"note":"n","plan":"hush"} 0]`},
	} {
		record, _ := runtime.Extension[runtime.Decisions](w.engine)
		page, err := record.Decisions(c.ctx, runtime.DecisionQuery{})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := w.engine.Get(c.ctx, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		var list, document []string
		for _, d := range page.Decisions {
			list = append(list, fmt.Sprintf("[%s %d]", d.Data, d.DataBytes))
		}
		for _, d := range whole.Decisions {
			document = append([]string{fmt.Sprintf("[%s %d]", d.Data, d.DataBytes)}, document...)
		}
		if got := strings.Join(list, " "); got != c.want || strings.Join(document, " ") != got {
			t.Errorf("got %s and %s, want %s", got, document, c.want)
		}
	}
}

// What a person edits keeps what was hidden from them; what an agent edits is as it says, for it
// has seen all.
func TestEditedDataKeepsWhatWasHidden(t *testing.T) {
	w := trims(t, 0)
	run := w.start(`
PLAN = contract("{title: string, plan: string @agent, files: [{path: string, why?: string @agent}], more?: {a: int, b: int @agent}}")

def main():
    data = {"title": "t", "plan": "hush", "files": [{"path": p, "why": p + "!"} for p in ["a", "b", "c"]], "more": {"a": 1, "b": 2}}
    for i in range(5):
        gate("g%d" % i, data = data, data_schema = PLAN, schema = PLAN, editable = True)
`, "")
	agent := runtime.WithCaller(w.ctx, runtime.Caller{Name: "judge", Can: runtime.CanRead | runtime.CanSignal | runtime.CanSeeHidden})
	for i, c := range []struct {
		ctx        context.Context
		data, want string
	}{
		{w.ctx, `{"title": "T", "files": [{"path": "a"}, {"path": "b"}, {"path": "c"}], "more": {"a": 3}}`,
			`{"title":"T","plan":"hush","files":[{"path":"a","why":"a!"},{"path":"b","why":"b!"},{"path":"c","why":"c!"}],"more":{"a":3,"b":2}}`},
		{w.ctx, `{"title": "t", "files": [{"path": "c"}, {"path": "a"}, {"path": "new"}, {"path": "b"}], "more": {"a": 1}}`,
			`{"title":"t","plan":"hush","files":[{"path":"c","why":"c!"},{"path":"a","why":"a!"},{"path":"new"},{"path":"b","why":"b!"}],"more":{"a":1,"b":2}}`},
		{w.ctx, `{"title": "t", "files": [{"path": "a"}, {"path": "B"}, {"path": "c"}]}`,
			`{"title":"t","plan":"hush","files":[{"path":"a","why":"a!"},{"path":"B","why":"b!"},{"path":"c","why":"c!"}]}`},
		{w.ctx, `{"title": "t", "plan": "mine", "files": []}`, `{"title":"t","plan":"mine","files":[]}`},
		{agent, `{"title": "t", "plan": "p", "files": [{"path": "a"}]}`, `{"title":"t","plan":"p","files":[{"path":"a"}]}`},
	} {
		w.rests(run.ID)
		if _, err := w.engine.Signal(c.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: fmt.Sprintf("g%d", i), Data: []byte(c.data)}); err != nil {
			t.Fatal(err)
		}
		record, _ := runtime.Extension[runtime.Decisions](w.engine)
		page, err := record.Decisions(runtime.WithCaller(w.ctx, runtime.Caller{Name: "judge", Can: runtime.CanRead | runtime.CanSeeHidden}),
			runtime.DecisionQuery{Run: run.ID})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(page.Decisions[0].Data); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.data, got, c.want)
		}
	}
}

// What is edited in another form than that of the data has nothing put into it, and a long list
// takes time in proportion to its length.
func TestEditedDataInAnotherForm(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	w := trims(t, 0)
	run := w.start(`
HIDES = contract("{n: int, items: [int], plan?: string @agent}")

def main():
    data = {"n": 1, "items": [i % 3 for i in range(100000)], "plan": "hush"}
    gate("g", data = data, data_schema = HIDES, schema = contract("{verdict: string}"), editable = True)
    gate("h", data = data, data_schema = HIDES, schema = HIDES, editable = True)
`, "")
	answer := func(gate, data string) {
		t.Helper()
		w.rests(run.ID)
		if _, err := w.engine.Signal(w.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: gate, Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	answer("g", `{"verdict": "good"}`)
	answer("h", `{"n": 2, "items": [`+strings.Repeat("7, 8, 9, 4, ", 25_000)+`5]}`)
}
