package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/runtime/memory"
	"starling/runtime/query"
)

// site is a store with its own project, which is a text that names its agents.
type site struct {
	t        *testing.T
	ctx      context.Context
	store    *memory.Store
	engine   *engine.Local
	settings effect.Settings
	hold     bool // attempts do not end

	mu        sync.Mutex
	performed []string // what every attempt was given
}

func newSite(t *testing.T, project string) *site {
	ann := runtime.Caller{Name: "local:ann", Local: true}
	s := &site{t: t, store: memory.New(), ctx: runtime.WithCaller(context.Background(), ann)}
	s.settings.Workspace = "/" + project[:4]
	s.settings.Project, s.settings.ProjectFile = []byte(project), s.settings.Workspace+"/starling.toml"
	s.open()
	t.Cleanup(func() { s.engine.Close() })
	return s
}

func (s *site) open() {
	s.t.Helper()
	env := environment(nil)
	env.Names["agent"] = ask("agent", effect.Waiting, "name", "session", "timeout")
	env.Handlers["agent"] = &effect.Handler{Resolve: resolveFrom, Perform: s.perform}
	env.Handlers["notify"] = &effect.Handler{Perform: s.perform}
	var err error
	s.engine, err = engine.Open(s.store, env, engine.Options{Log: s.t.Logf, Grace: time.Millisecond})
	s.ok(err)
}

// resolveFrom looks an agent up in the text of the project.
func resolveFrom(s *effect.Settings, r *effect.Request) *effect.Error {
	args, _ := r.Args.View()
	name := args.Text("name")
	if !strings.Contains(string(s.Project), name) {
		return effect.Errorf(effect.KindRefused, "no agent %s in %s", name, s.ProjectFile)
	}
	var o effect.Object
	r.Resolved = o.Text("program", string(s.Project)).Payload()
	r.Backends, r.Changes = []string{string(s.Project[:4])}, []string{string(s.Project[:4])}
	r.Policy.Timeout = time.Hour
	return nil
}

func (s *site) perform(ctx context.Context, a *effect.Attempt) effect.Reply {
	granted := false
	if a.Ask != nil && effect.ViewOf(a.Args).Text("name") == "asks" {
		hasty, cancel := context.WithTimeout(ctx, time.Minute)
		granted, _ = a.Ask(hasty, effect.Leave{Prompt: "may I?"})
		cancel()
	}
	given := fmt.Sprintf("%s %s %s %v %q %v %s %s %s %v", a.Kind, a.Step, a.Resolved, a.Owns,
		a.Session, a.Messages, a.Settings.Workspace, a.Settings.ProjectFile, a.Settings.Project, granted)
	s.mu.Lock()
	s.performed = append(s.performed, given)
	s.mu.Unlock()
	if s.hold {
		<-ctx.Done()
		return effect.Reply{Err: effect.Errorf(effect.KindCancelled, "held")}
	}
	by := string(a.Settings.Project[:4])
	return effect.Reply{Text: "by " + by, Session: "session of " + by}
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// started is a run that has gone as far as it can.
func (s *site) started(script string, timeout time.Duration) string {
	s.t.Helper()
	b := bundle(s.t, script, map[string]string{"child.star": childScript})
	run, err := s.engine.Start(s.ctx, runtime.StartRequest{Bundle: b, Script: "main.star",
		Settings: s.settings, Timeout: timeout})
	s.ok(err)
	synctest.Wait()
	return run.ID
}

func (s *site) export(run string) []byte {
	s.t.Helper()
	file, err := s.engine.Export(s.ctx, run)
	s.ok(err)
	return file
}

func (s *site) imports(file []byte, trust bool) *runtime.Imported {
	s.t.Helper()
	r := runtime.ImportRequest{File: file, Settings: s.settings, TrustProject: trust}
	done, err := s.engine.Import(s.ctx, r)
	s.ok(err)
	return done
}

// carried is a run that was carried as far as it goes; gates that ask whether it may go on are
// answered.
func (s *site) carried(run string, settings *effect.Settings) *runtime.Run {
	s.t.Helper()
	_, err := s.engine.Resume(s.ctx, runtime.ResumeRequest{Runs: []string{run}, Settings: settings})
	s.ok(err)
	for {
		time.Sleep(time.Hour) // of the bubble: nobody gives leave
		at, err := s.engine.Get(s.ctx, run)
		s.ok(err)
		if len(at.Gates) == 0 || !strings.HasSuffix(at.Gates[0].Gate, "go") {
			return at
		}
		_, err = s.engine.Signal(s.ctx, answer(run, at.Gates[0].Gate, "yes"))
		s.ok(err)
	}
}

// clean wants that nothing was performed in which there is anything of another site.
func (s *site) clean(least int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.performed) < least {
		s.t.Errorf("performed only %q", s.performed)
	}
	for _, what := range s.performed {
		if strings.Contains(what, "EVIL") || strings.Contains(what, "true") {
			s.t.Errorf("performed %s", what)
		}
	}
}

const (
	childScript = `
def main():
    return [gate("go", options = ["yes"]).choice, agent("judge").text]
`
	gateThenAgents = `
def main():
    before = agent("judge", session = "s").text
    c = gate("go", options = ["yes"]).choice
    return [c, agent("judge", session = "s").text, agent("asks").text]
`
	inFlight = `
def main():
    return agent("judge", session = "s").text
`
	withChild = `
def main():
    return run("child.star")
`
	asksLeave = `
def main():
    return agent("asks").text
`
)

// forgery is an export whose maker puts what he likes where an engine would look for who serves a
// step, and how.
type forgery struct {
	script  string
	hold    bool          // the attempts of the run do not end where it comes from
	timeout time.Duration // of the run; it has passed when the run is carried
	before  func(from *site, run string)
	change  func(j *forgedJournal)
	ends    runtime.Status
	least   int // attempts that are performed here
}

// forgedJournal is one that is forged.
type forgedJournal struct {
	t       *testing.T
	records []journal.Record
}

// add puts a record behind the others.
func (j *forgedJournal) add(typ journal.RecordType, step string, data *effect.Object) {
	j.records = append(j.records,
		journal.Record{Time: j.records[0].Time, Type: typ, Step: step, Data: data.Payload()})
}

// set changes fields of the first record of a type and a step.
func (j *forgedJournal) set(typ journal.RecordType, step string, fields *effect.Object) *journal.Record {
	for i := range j.records {
		r := &j.records[i]
		if r.Type != typ || r.Step != step {
			continue
		}
		set, _ := fields.Payload().View()
		set.Each(func(key string, _ effect.View) {
			v, _ := r.Data.View()
			r.Data = v.Without(key).Raw(key, set.Raw(key)).Payload()
		})
		return r
	}
	j.t.Fatalf("no %s %s in the journal", typ, step)
	return nil
}

func fields() *effect.Object { return new(effect.Object) }

// evils say who serves a step.
func evils() *effect.Object {
	return fields().Raw("resolved", fields().Text("program", "EVIL").Payload()).
		Texts("backends", []string{"EVIL"}).Texts("changes", []string{"EVIL"})
}

// held is an export of a run whose only attempt is in flight.
func held(change func(j *forgedJournal)) forgery {
	return forgery{script: inFlight, hold: true, change: change}
}

// gated is one of a run that waits at its gate.
func gated(change func(j *forgedJournal)) forgery {
	return forgery{script: gateThenAgents, change: change}
}

var forgeries = map[string]forgery{
	"as it is":    {script: gateThenAgents, least: 2},
	"in flight":   held(nil),
	"a child run": {script: withChild},
	"past its deadline": {script: gateThenAgents, timeout: time.Minute, least: -1,
		ends: runtime.Failed},
	"pinned": {script: gateThenAgents, before: func(from *site, run string) {
		other := from.settings
		other.Workspace = "/EVIL/2"
		pin := runtime.ResumeRequest{Runs: []string{run}, Settings: &other}
		_, err := from.engine.Resume(from.ctx, pin)
		from.ok(err)
		synctest.Wait()
	}},
	"leave that was given": {script: asksLeave, hold: true, before: func(from *site, run string) {
		_, err := from.engine.Signal(from.ctx, answer(run, "!permission:asks", "approve"))
		from.ok(err)
		synctest.Wait()
	}},
	"resolved again": held(func(j *forgedJournal) { j.add(journal.StepResolved, "judge", evils()) }),
	"foreign already": held(func(j *forgedJournal) {
		j.set(journal.StepRequested, "judge", evils().Flag("foreign", true))
	}),
	"twice a field": held(func(j *forgedJournal) {
		doubled(j.set(journal.StepRequested, "judge", fields()))
	}),
	"a session": gated(func(j *forgedJournal) {
		j.set(journal.AttemptEnded, "judge", fields().Text("session", "--EVIL"))
	}),
	"a tree": held(func(j *forgedJournal) {
		j.set(journal.StepRequested, "judge", fields().Text("tree", "../.."))
	}),
	"a mark of its own": gated(func(j *forgedJournal) {
		mark := fields().Text("journal", "EVIL").Payload()
		j.set(journal.RunStarted, "", fields().Raw("imported", mark))
	}),
	"a gate of ours": held(func(j *forgedJournal) {
		args := fields().Text("prompt", "EVIL").Payload()
		j.add(journal.GateOpened, "!project:judge", fields().Raw("args", args))
	}),
	"an offer": held(func(j *forgedJournal) {
		j.set(journal.StepRequested, "judge", evils().Texts("pulls", []string{"EVIL"}))
		r := j.set(journal.AttemptStarted, "judge", fields())
		r.Type, r.Data = journal.WorkOffered, fields().Text("for", "EVIL").Payload()
	}),
	"a claim": held(func(j *forgedJournal) {
		j.set(journal.StepRequested, "judge", evils().Texts("pulls", []string{"EVIL"}))
		claim := fields().Int("claim", 1).Text("worker", "EVIL").Int("lease", int64(time.Hour))
		j.set(journal.AttemptStarted, "judge", claim)
		j.add(journal.TimerSet, "judge", fields().Text("purpose", "lease").Int("due", 1))
	}),
	"a backend that was left": held(func(j *forgedJournal) {
		evil := effect.Errorf(effect.KindAgent, "EVIL").Payload()
		r := j.set(journal.AttemptStarted, "judge", fields())
		r.Type, r.Data = journal.AttemptSkipped, fields().Raw("error", evil).Payload()
	}),
}

// doubled has a record name its fields once more.
func doubled(r *journal.Record) {
	v, _ := r.Data.View()
	evil, _ := evils().Payload().View()
	o := v.Without()
	evil.Each(func(key string, _ effect.View) { o.Raw(key, evil.Raw(key)) })
	r.Data = o.Payload()
}

// Whatever an export says of who serves its steps, and how, it is served by the project here: when
// it is carried, after a restart, when it is made into another run, and when it is exported again.
func TestImportedRunsWorkHere(t *testing.T) {
	for name, f := range forgeries {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f.play(t) })
		})
	}
}

func (f *forgery) play(t *testing.T) {
	from := newSite(t, "EVIL: judge asks")
	told := []string{effect.NoticeGate, effect.NoticeEnd}
	from.settings.Notify = []effect.Notice{{Channel: "EVIL", On: told}}
	from.hold = f.hold
	run := from.started(f.script, f.timeout)
	if f.before != nil {
		f.before(from, run)
	}
	file := from.export(run)
	if f.change != nil {
		var err error
		file, err = engine.Forge(file, func(_ int, records []journal.Record) []journal.Record {
			j := &forgedJournal{t, records}
			f.change(j)
			return j.records
		})
		from.ok(err)
	}
	time.Sleep(f.timeout) // of the bubble: it has passed

	here, next := newSite(t, "good: judge asks"), newSite(t, "next: judge asks")
	want := runtime.Project{File: "/good/starling.toml", From: runtime.ProjectLocal}
	if done := here.imports(file, false); *done.Project != want {
		t.Errorf("imported under %+v, want %+v", done.Project, want)
	}
	here.ok(here.engine.Close())
	here.store = here.store.Reopen()
	here.open()
	next.imports(here.export(run), false)
	for _, s := range []*site{here, next} {
		end := s.carried(run, nil)
		if want := cmp.Or(f.ends, runtime.Completed); end.Status != want {
			t.Errorf("it is %s, want %s: %+v %+v", end.Status, want, end.Error, end.Gates)
		}
		s.clean(cmp.Or(f.least, 1))
	}
	if f.ends == "" {
		here.again(run)
		here.clean(2)
	}
}

// again performs a run anew from its first step.
func (s *site) again(run string) {
	s.t.Helper()
	steps, err := query.Steps(s.ctx, s.engine, run)
	s.ok(err)
	r := runtime.ForkRequest{Kind: runtime.LineageFork, Run: run, Step: steps[0].Step}
	fork, err := s.engine.Fork(s.ctx, r)
	s.ok(err)
	end := s.carried(fork.ID, nil)
	if p := end.Details.Project; end.Status != runtime.Completed || p.From != runtime.ProjectLocal {
		s.t.Errorf("the fork is %s under %+v: %+v %+v", end.Status, p, end.Error, end.Gates)
	}
}

const namesSomebody = `
def main():
    c = gate("go", options = ["yes"]).choice
    return [c, agent("judge").text]
`

// Exports that were kept are imported and go on. Each has agents of a project that is not here, and
// was written by a build that knew nothing of foreign steps.
func TestKeptExports(t *testing.T) {
	for name, want := range map[string]string{
		"gate":   `["yes","by good","by good"]`,
		"flight": `"by good"`,
		"child":  `["yes","by good"]`,
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wire", "export-v1", name+".export"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				here := newSite(t, "good: judge asks")
				end := here.carried(here.imports(file, false).Run, nil)
				if end.Status != runtime.Completed || string(end.Output) != want {
					t.Errorf("it is %s with %s, want %s: %+v", end.Status, end.Output, want, end.Error)
				}
				here.clean(1)
			})
		})
	}
}

// unservedCase is what somebody does about a run that the project here cannot serve.
type unservedCase struct {
	do     func(s *site, run string, file []byte)
	ends   runtime.Status
	output string
	from   runtime.ProjectFrom
	opened int // how often it was asked
}

func chosen(choice string) func(*site, string, []byte) {
	return func(s *site, run string, _ []byte) {
		_, err := s.engine.Signal(s.ctx, answer(run, "!project:judge", choice))
		s.ok(err)
	}
}

var unservedCases = map[string]unservedCase{
	"asked again": {do: chosen("retry"), ends: runtime.Suspended, opened: 2},
	"left out":    {do: chosen("skip"), output: `["yes",""]`},
	"given up":    {do: chosen("fail"), ends: runtime.Failed},
	"mended": {do: func(s *site, run string, _ []byte) {
		s.settings.Project = []byte("good: judge")
		s.carried(run, &s.settings)
	}, output: `["yes","by good"]`},
	"trusted": {do: func(s *site, run string, file []byte) {
		done := s.imports(file, true)
		if !done.Known || done.Project.From != runtime.ProjectExport {
			s.t.Errorf("imported again: %+v under %+v", done, done.Project)
		}
	}, output: `["yes","by EVIL"]`, from: runtime.ProjectExport},
	"carried again": {do: func(s *site, run string, _ []byte) {
		s.ok(s.engine.Close())
		s.store = s.store.Reopen()
		s.open()
	}, ends: runtime.Suspended},
}

// What the project here cannot serve is asked about, once, also by those who come after it; nothing
// is lost, and it goes on when the project can, when it is told to, or under the project that came
// with it.
func TestProjectThatCannotServe(t *testing.T) {
	for name, c := range unservedCases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.play(t) })
		})
	}
}

func (c *unservedCase) play(t *testing.T) {
	from, here := newSite(t, "EVIL: judge"), newSite(t, "good: nobody")
	run := from.started(namesSomebody, 0)
	file := from.export(run)
	here.imports(file, false)
	at := here.carried(run, nil)
	if at.Status != runtime.Suspended || len(at.Gates) != 1 || at.Gates[0].Gate != "!project:judge" ||
		!strings.Contains(at.Gates[0].Prompt, "no agent judge in /good/starling.toml") {
		t.Fatalf("it is %s at %+v: %+v", at.Status, at.Gates, at.Error)
	}
	c.do(here, run, file)
	end := here.carried(run, nil)
	if want := cmp.Or(c.ends, runtime.Completed); end.Status != want {
		t.Errorf("it is %s, want %s: %+v %+v", end.Status, want, end.Error, end.Gates)
	}
	if c.output != "" && string(end.Output) != c.output {
		t.Errorf("output %s, want %s", end.Output, c.output)
	}
	if want := cmp.Or(c.from, runtime.ProjectLocal); end.Details.Project.From != want {
		t.Errorf("it works under %+v, want %s", end.Details.Project, want)
	}
	if got, want := here.opened(run), cmp.Or(c.opened, 1); got != want {
		t.Errorf("asked %d times, want %d", got, want)
	}
}

// A child run that an imported one starts here is asked about as well, and mended with its parent.
func TestUnservedChild(t *testing.T) {
	for name, mend := range map[string]func(s *site, run string, file []byte){
		"mended": func(s *site, run string, _ []byte) {
			s.settings.Project = []byte("good: judge")
			s.carried(run, &s.settings)
		},
		"trusted": func(s *site, _ string, file []byte) { s.imports(file, true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from, here := newSite(t, "EVIL: judge"), newSite(t, "good: nobody")
				run := from.started(`
def main():
    gate("go", options = ["yes"])
    return run("child.star", name = "child")
`, 0)
				file := from.export(run)
				here.imports(file, false)
				at := here.carried(run, nil)
				if len(at.Gates) != 1 || at.Gates[0].Gate != "child/!project:judge" {
					t.Fatalf("it is %s at %+v: %+v", at.Status, at.Gates, at.Error)
				}
				mend(here, run, file)
				if end := here.carried(run, nil); end.Status != runtime.Completed {
					t.Errorf("it is %s at %+v: %+v", end.Status, end.Gates, end.Error)
				}
			})
		})
	}
}

// opened counts how often a run has opened the gate of a step that nobody serves.
func (s *site) opened(run string) (n int) {
	s.t.Helper()
	s.ok(s.engine.Watch(s.ctx, runtime.WatchRequest{Run: run}, func(ev runtime.Event) error {
		if ev.Type == "gate.opened" && ev.Step == "!project:judge" {
			n++
		}
		return nil
	}))
	return n
}

// A gate closes with the step that it is about, and one that nobody serves does not keep its
// neighbours for ever.
func TestUnservedStepIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, here := newSite(t, "EVIL: judge first"), newSite(t, "good: first")
		run := from.started(`
def main():
    gate("go", options = ["yes"])
    return parallel({
        "a": lambda: gate("stop", options = ["yes"]).choice,
        "b": lambda: agent("judge").text,
    }, wait = "any")
`, 0)
		here.imports(from.export(run), false)
		if at := here.carried(run, nil); len(at.Gates) != 2 {
			t.Fatalf("gates %+v", at.Gates)
		}
		_, err := here.engine.Signal(here.ctx, answer(run, "stop", "yes"))
		here.ok(err)
		if end := here.carried(run, nil); end.Status != runtime.Completed || len(end.Gates) > 0 {
			t.Errorf("it is %s at %+v: %+v", end.Status, end.Gates, end.Error)
		}
	})
}

// Of the file only what its runs go on to need is in the store: its project is not.
func TestImportLeavesTheProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, here := newSite(t, "EVIL: judge"), newSite(t, "good: judge")
		here.imports(from.export(from.started(namesSomebody, 0)), false)
		here.ok(here.store.Scan([]byte("b"), []byte("c"), func(k, v []byte) error {
			if strings.Contains(string(v), "EVIL") {
				t.Errorf("%q is %q", k, v)
			}
			return nil
		}))
	})
}
