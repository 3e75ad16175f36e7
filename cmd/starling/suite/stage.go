package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/runtime/memory"
	"starling/runtime/query"
)

// Result is what one test came to.
type Result struct {
	Test
	File     string          `json:"file"`
	Passed   bool            `json:"passed"`
	Findings diagnostic.List `json:"diagnostics"` // why it has not
	Printed  []string        `json:"printed"`
	Ended    string          `json:"ended,omitempty"` // by which bound it was, see Ended
	Crashes  int             `json:"crashes"`
	Git      bool            `json:"-"`          // it has used workspace, which starts programs and takes long
	Took     time.Duration   `json:"took_ns"`    // on the wall
	Virtual  time.Duration   `json:"virtual_ns"` // by the clock of the test
}

// What a test was ended by, in [Result.Ended].
const (
	EndedByTime   = "time"   // Bounds.Time
	EndedBySize   = "size"   // Bounds.Memory, by what the test has written down
	EndedByScript = "script" // Bounds.Steps or Bounds.Memory, or the depth of calls, by what its script did
)

// Bounds are what one test may take. Each must be above 0.
type Bounds struct {
	Time   time.Duration // on the wall
	Steps  int64         // of each run between two outcomes
	Memory int64         // that each run may hold, bytes; what is written down may take a quarter of it
}

// written is what may be written down: a record takes a few times its size until the test is over.
func (b Bounds) written() int64 { return b.Memory / 4 }

// Options of a play.
type Options struct {
	Settings effect.Settings // with the project file; workspace, fake and limits are the test's own
	Bounds   Bounds
	Coverage *Coverage // counts what the play reaches; nil for nobody

	// Snapshot compares what a test gives to assert.snapshot with what was kept of it. It may be
	// called by several plays at once.
	Snapshot func(test, name string, got starlark.Value) error
}

// Run plays one test. An error means that it could not be played at all.
func (f *File) Run(ctx context.Context, t Test, o Options) (*Result, error) {
	dir, err := os.MkdirTemp("", "starling-test")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &stage{file: f, test: t, clock: &clock{now: beginning()}, store: memory.New(), ctx: runtime.WithCaller(ctx, runtime.Caller{Name: "test", Local: true}),
		world: &world{fake: f.bundle.Encode(), folder: dir, compiled: f.compiled}, random: newRandom(f.Name + "/" + t.Name), seen: map[string]uint64{}, where: map[string]string{},
		result: &Result{Test: t, File: f.Name, Findings: diagnostic.List{}, Printed: []string{}}}
	s.world.define = s.define
	s.world.keep = func(name string, got starlark.Value) error { return o.Snapshot(t.Name, name, got) }
	if o.Coverage != nil {
		s.world.reached = o.Coverage.counters
	}
	s.settings = o.Settings
	s.settings.Workspace, s.settings.FakeFile, s.settings.Fake, s.settings.FakeGiven = dir, f.Name, s.world.fake, true
	s.settings.Env, s.settings.Optional, s.settings.Notify, s.settings.Cassettes = nil, nil, nil, effect.CassettesPlay
	s.settings.Budgets = nil // a test spends nothing
	s.settings.MaxSteps = lesser(s.settings.MaxSteps, o.Bounds.Steps)
	s.settings.MaxMemory = lesser(s.settings.MaxMemory, o.Bounds.Memory)
	began := time.Now()
	err = s.play(o.Bounds)
	s.result.Took, s.result.Virtual = time.Since(began), s.clock.Now().Sub(beginning())
	s.result.Passed = len(s.result.Findings) == 0
	s.result.Git = s.world.made
	return s.result, err
}

// lesser is the bound that holds where a project has one, or 0, and the test another.
func lesser(project, test int64) int64 {
	if project == 0 {
		return test
	}
	return min(project, test)
}

// stage is one play of one test.
type stage struct {
	file     *File
	test     Test
	settings effect.Settings
	ctx      context.Context
	clock    *clock
	world    *world
	store    *memory.Store
	random   *random
	result   *Result

	mu     sync.Mutex // guards what follows, for the limit on the wall
	engine *engine.Local

	run   string            // of the test
	seen  map[string]uint64 // the newest event that was looked at, by run
	where map[string]string // of the calls of the test, by step
	asked []string          // gates that were open
	late  atomic.Bool       // it was ended for its time
	heavy atomic.Bool       // it was ended for what it has written down
}

// random is a source that is the same for every play of one test. It may be read concurrently.
type random struct {
	mu   sync.Mutex
	from *rand.ChaCha8
}

func newRandom(name string) *random {
	h := fnv.New64a()
	h.Write([]byte(name))
	var seed [32]byte
	h.Sum(seed[:0])
	return &random{from: rand.NewChaCha8(seed)}
}

func (r *random) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.from.Read(p)
}

// open opens an engine on what the store has.
func (s *stage) open() error {
	e, err := engine.Open(s.store, s.world.environment(), engine.Options{Grace: 1, Clock: s.clock.Now, After: s.clock.After, Random: s.random})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engine = e
	return err
}

// define keeps a script under a name, as if its file lay beside the test file.
func (s *stage) define(name, source string) error {
	file := path.Join(path.Dir(s.file.Name), name+runtime.ScriptSuffix)
	bundle, err := lang.Read(file, func(other string) ([]byte, error) {
		if other == file {
			return []byte(source), nil
		}
		return s.file.files(other)
	}, s.file.library)
	if err != nil {
		return err
	}
	s.mu.Lock()
	engine := s.engine
	s.mu.Unlock()
	_, err = engine.Define(s.ctx, runtime.DefineRequest{Name: name, Bundle: bundle.Encode()})
	return err
}

func (s *stage) play(b Bounds) error {
	if err := s.open(); err != nil {
		return err
	}
	defer func() { s.engine.Close() }()
	inputs, _ := json.Marshal(map[string]string{"test": s.test.Name})
	run, err := s.engine.Start(s.ctx, runtime.StartRequest{Bundle: s.file.program.Encode(), Script: s.file.Name, Inputs: inputs, Settings: s.settings})
	if err != nil {
		return s.unloadable(err)
	}
	s.run = run.ID
	overtime := time.AfterFunc(b.Time, func() { s.cancel(&s.late) })
	defer overtime.Stop()
	s.store.Bound(b.written(), func() { s.cancel(&s.heavy) })
	for over := false; !over && err == nil; {
		over, err = s.step()
	}
	if err != nil {
		return err
	}
	return s.conclude(b)
}

// unloadable finds the error of a module whose top level fails, which no test of the file comes
// past. Any other error is given back.
func (s *stage) unloadable(err error) error {
	env := s.world.environment()
	code, failed := lang.Compile(s.file.program, env)
	if failed == nil {
		_, failed = vm.Load(code.Modules, env)
	}
	var wrong *vm.Error
	if !errors.As(failed, &wrong) {
		return err
	}
	s.result.Findings = lang.Explain(wrong.Effect(), s.file.bundle.Files())
	return nil
}

// cancel ends the test from outside.
func (s *stage) cancel(why *atomic.Bool) {
	why.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.engine.Cancel(s.ctx, runtime.CancelRequest{Run: s.run}) // one that has ended needs no end
}

// step lets one thing happen when nothing is in motion, and tells whether the test is over.
func (s *stage) step() (over bool, err error) {
	s.engine.Settle()
	if err := s.look(); err != nil {
		return false, err
	}
	run, err := s.engine.Get(s.ctx, s.run)
	switch {
	case err != nil || run.Status.Ended():
		return true, err
	case s.ctx.Err() != nil:
		return false, s.ctx.Err()
	case s.world.failing():
		return false, s.crash()
	}
	given, err := s.answer(run.Gates)
	if given || err != nil {
		return false, err
	}
	if !s.clock.advance() {
		s.stuck(run)
		s.cancel(new(atomic.Bool))
	}
	return false, nil
}

// crash opens another engine on what the store would have after a power cut, and lets the runs go
// on.
func (s *stage) crash() error {
	s.result.Crashes++
	cut := s.engine
	s.store = s.store.Crash()
	cut.Close() // its commits are refused
	if err := s.open(); err != nil {
		return err
	}
	_, err := s.engine.Resume(s.ctx, runtime.ResumeRequest{All: true})
	return err
}

// look reads what the runs have recorded since.
func (s *stage) look() error {
	l, err := s.engine.List(s.ctx, runtime.Query{All: true})
	if err != nil {
		return err
	}
	for _, run := range l.Runs {
		err := s.engine.Watch(s.ctx, runtime.WatchRequest{Run: run.ID, After: s.seen[run.ID]}, func(ev runtime.Event) error {
			s.seen[run.ID] = ev.Seq
			s.take(&ev)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// take notes what an event means for the play.
func (s *stage) take(ev *runtime.Event) {
	var data struct{ Kind, Where, Text string }
	_ = json.Unmarshal(ev.Data, &data) // an engine's own
	switch ev.Type {
	case journal.OutputPrint.String():
		s.result.Printed = append(s.result.Printed, data.Text)
	case journal.GateOpened.String():
		s.asked = append(s.asked, ev.Step)
		s.world.cuts(ev.Step)
	case journal.StepRequested.String():
		if ev.Run == s.run {
			s.where[ev.Step] = data.Where
		}
		switch data.Kind {
		case "sleep", "run", "mailbox.take", "queue", "memory.project":
			s.world.cuts(ev.Step)
		}
	}
}

// stuck tells why nothing happens any more.
func (s *stage) stuck(run *runtime.Run) {
	for _, g := range run.Gates {
		hint := fmt.Sprintf("answer(%q)", g.Gate)
		if len(g.Options) > 0 {
			hint = fmt.Sprintf("answer(%q, choice = %q)", g.Gate, g.Options[0].Name)
		}
		s.find(s.whereOf(g.Gate), hint, "the test waits at the gate %q, and nobody answers", g.Gate)
	}
	if len(run.Gates) > 0 {
		return
	}
	steps, _ := query.Steps(s.ctx, s.engine, s.run) // of an engine that has just answered
	for _, st := range steps {
		if st.EndedAt == nil {
			s.find(s.where[st.Step], "", "the test waits at %q for what never comes", st.Step)
		}
	}
	if len(s.result.Findings) == 0 {
		s.find("", "", "%s waits for what never comes", s.test.Name)
	}
}

// whereOf is the place of the call by which the test has come to an address: the step itself, or
// the one that has started the child run it is in.
func (s *stage) whereOf(address string) string {
	for {
		if where, ok := s.where[address]; ok {
			return where
		}
		i := strings.LastIndexByte(address, '/')
		if i < 0 {
			return ""
		}
		address = address[:i]
	}
}

// find notes a finding at the place of a call.
func (s *stage) find(where, hint, format string, args ...any) {
	if where == "" {
		where = fmt.Sprintf("%s:%d:5", s.file.Name, s.test.Line)
	}
	d := lang.Explain(&effect.Error{Kind: "test", Message: fmt.Sprintf(format, args...), Where: where}, s.file.bundle.Files())[0]
	d.Hint = hint
	s.result.Findings = append(s.result.Findings, d)
}
