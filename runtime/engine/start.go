package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Start makes a run durable and begins it.
func (e *Local) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	if err := need(ctx, runtime.CanRun, "start runs"); err != nil {
		return nil, err
	}
	if err := e.bound(ctx, &r); err != nil {
		return nil, err
	}
	var run *runtime.Run
	to := audienceOf(runtime.CallerOf(ctx))
	id, err := e.start(ctx, r, func(s *state) (err error) {
		run, err = e.document(s, 0, to)
		return err
	})
	if err != nil || run != nil {
		return run, err
	}
	return e.get(id, to)
}

// anyScript is the name under which a project grants what every script of others may use.
const anyScript = "*"

// bound sets what a script may use. Who may not bring a project file runs under the owner's. A script that is not the project's own uses what the project grants to
// its name: one that such a caller has defined, or brings. It is refused where that project has
// changed since somebody trusted it.
func (e *Local) bound(ctx context.Context, r *runtime.StartRequest) error {
	own := runtime.CallerOf(ctx).May(runtime.CanAdmin)
	if !own {
		settings, err := e.project()
		if err == nil {
			err = e.trusted(ctx, settings)
		}
		if err != nil {
			return err
		}
		r.Settings = *settings
	}
	r.Settings.Grant = ""
	d, err := e.definedAs(r.Script, journal.HashOf(r.Bundle))
	switch {
	case err != nil:
		return err
	case d != nil && d.Foreign:
		r.Settings.Grant = d.Name
	case d == nil && !own:
		r.Settings.Grant = anyScript
	}
	return nil
}

func (e *Local) project() (*effect.Settings, error) {
	if e.opts.Project == nil {
		return &effect.Settings{}, nil
	}
	return e.opts.Project()
}

func orUnknown(c runtime.Caller) string {
	if c.Agent != "" {
		return fmt.Sprintf("the agent %q", c.Agent)
	}
	if c.Name == "" {
		return "an unknown caller"
	}
	return c.Name
}

// start finds the run that was started with the same key, or makes one and shows it.
func (e *Local) start(ctx context.Context, r runtime.StartRequest, show func(*state) error) (string, error) {
	if r.Key == "" {
		return e.create(ctx, r, "", 0, show)
	}
	if err := checkStartKey(r.Key); err != nil {
		return "", err
	}
	release := e.hold(journal.PrefixStartKey + r.Key)
	defer release()
	id, err := e.started(r)
	if err != nil {
		return "", err
	}
	if id != "" {
		return id, e.carryOne(ctx, id, r.Env)
	}
	return e.create(ctx, r, "", 0, show)
}

// checkStartKey refuses a key that the store could not keep.
func checkStartKey(key string) error {
	if most := runtime.MaxKey - len(journal.PrefixStartKey); len(key) > most {
		return runtime.Refusef(runtime.ErrUsage, "the key has %d bytes; the longest has %d", len(key), most)
	}
	return nil
}

// create makes a run, and shows its first durable state if somebody wants to see it. Nothing exists yet that a refusal could leave behind. It waits for the commit even when whoever asked has gone: the key, or the step, must not
// start another meanwhile.
func (e *Local) create(ctx context.Context, r runtime.StartRequest, parent string, depth int, show func(*state) error) (string, error) {
	p, inputs, err := e.accept(&r)
	if err != nil {
		return "", err
	}
	id := newRunID(e.opts.Random)
	return id, e.begin(context.WithoutCancel(ctx), id, r, p, inputs, parent, depth, show)
}

// hold makes starts with one key wait for each other.
func (e *Local) hold(key string) (release func()) {
	for {
		e.mu.Lock()
		busy := e.starts[key]
		if busy == nil {
			mine := make(chan struct{})
			e.starts[key] = mine
			e.mu.Unlock()
			return func() {
				e.mu.Lock()
				delete(e.starts, key)
				e.mu.Unlock()
				close(mine)
			}
		}
		e.mu.Unlock()
		<-busy
	}
}

// started finds the run that a start key has made.
func (e *Local) started(r runtime.StartRequest) (string, error) {
	return e.startedBy(r.Key, digestOfStart(r))
}

func (e *Local) startedBy(key, digest string) (string, error) {
	v, err := e.store.Get([]byte(journal.PrefixStartKey + key))
	if errors.Is(err, runtime.ErrNoKey) {
		return "", nil
	}
	var k keyed
	if err == nil {
		err = json.Unmarshal(v, &k)
	}
	if err != nil {
		return "", err
	}
	if k.Digest != digest {
		return "", runtime.Refusef(runtime.ErrKeyConflict, "the key %q was used to start another run", key).WithHelp("use a new key for a new run")
	}
	return k.Run, nil
}

func digestOfStart(r runtime.StartRequest) string {
	text, _ := json.Marshal([]any{journal.HashOf(r.Bundle), r.Script, r.Inputs, r.Session, r.Settings, r.Timeout, r.Overtime}) // plain data
	return journal.HashOf(text)
}

// checkDeadline holds what is to become of a run at its deadline against that deadline.
func checkDeadline(r runtime.StartRequest) error {
	switch r.Overtime {
	case "", runtime.OvertimeFail, runtime.OvertimeCancel, runtime.OvertimeSuspend:
	default:
		return runtime.Refusef(runtime.ErrUsage, "got %q for what becomes of a run whose deadline has passed, want %s, %s or %s",
			r.Overtime, runtime.OvertimeFail, runtime.OvertimeCancel, runtime.OvertimeSuspend)
	}
	if r.Overtime != "" && r.Timeout <= 0 {
		return runtime.Refusef(runtime.ErrUsage, "got %q for what becomes of a run whose deadline has passed, and no deadline", r.Overtime).
			WithHelp("--deadline 2h gives it one").WithCall("give deadline too, such as %q", "2h")
	}
	return nil
}

// accept compiles the program and holds the inputs against it.
func (e *Local) accept(r *runtime.StartRequest) (*program, effect.Payload, error) {
	if err := checkDeadline(*r); err != nil {
		return nil, nil, err
	}
	p, err := e.programs.of(journal.HashOf(r.Bundle), func() ([]byte, error) { return r.Bundle, nil })
	if err != nil {
		return nil, nil, checkFailed(err)
	}
	var given []byte
	if len(r.Inputs) > 0 {
		given = r.Inputs
	}
	bound, err := p.code.BindInputs(given, nil)
	if err != nil {
		return nil, nil, runtime.Refusef(runtime.ErrBadInput, "%v", err).WithData(err)
	}
	inputs, err := effect.Encode(bound)
	if err != nil {
		return nil, nil, runtime.Refusef(runtime.ErrBadInput, "inputs: %v", err)
	}
	return p, inputs, nil
}

// checkFailed refuses a script that does not compile.
func checkFailed(err error) *runtime.Refusal {
	return runtime.Refusef(runtime.ErrCheckFailed, "%v", err).WithData(err)
}

// begin makes the first turn of a run.
func (e *Local) begin(ctx context.Context, id string, r runtime.StartRequest, p *program, inputs effect.Payload, parent string, depth int, show func(*state) error) error {
	e.carry(id, r.Env, false)
	a := e.actor(id)
	a.s, a.host = newState(id), e.hosted(&host{run: id, program: p, settings: &r.Settings, lend: a.lender()})
	in := &started{request: &r, program: p, behaviour: e.env.Behaviour, inputs: inputs, by: runtime.CallerOf(ctx).Name, parent: parent, depth: depth}
	var unseen error
	err := e.send(ctx, id, event{in: in, done: func(err error) {
		if err == nil && show != nil {
			unseen = show(a.s)
		}
	}})
	if err != nil {
		e.uncarry(id)
	}
	return cmp.Or(err, unseen)
}

// begun makes the first record of a run, with its deadline if it has one, and lets its machine go.
func (t *turn) begun(in *started) {
	r, settings := in.request, settingsPayload(&in.request.Settings)
	bundleHash, settingsHash := journal.HashOf(r.Bundle), journal.HashOf(settings)
	var first effect.Object
	first.Text("script", r.Script).Blob("bundle", journal.BytesOf(bundleHash)).Blob("program", in.program.code.Hash[:]).Blob("settings", journal.BytesOf(settingsHash)).
		Raw("inputs", in.inputs).Text("by", in.by).Text("parent", in.parent).Int("depth", int64(in.depth)).Flag("session", r.Session).
		Int("behaviour", int64(in.behaviour))
	if r.Timeout > 0 {
		first.Int("deadline", micros(t.now.Add(r.Timeout))).Text("overtime", string(r.Overtime))
	}
	t.record(journal.RunStarted, "", first.Payload())
	if r.Timeout > 0 {
		t.timer(timerDeadline, "", t.now.Add(r.Timeout))
	}
	t.keep(bundleHash, r.Bundle)
	t.keep(settingsHash, settings)
	t.rows = append(t.rows, rowsOfStart(*r, t.s.ID, in.parent, t.now)...)
	t.launch()
}

// rowsOfStart are the rows by which a new run is found: in the order of starts, and by its key or the step that started it.
func rowsOfStart(r runtime.StartRequest, id, parent string, now time.Time) []runtime.Write {
	rows := []runtime.Write{{Key: journal.OrderKey(now, id), Value: []byte(parent)}, {Key: liveKey(now, id), Value: []byte{}}}
	switch {
	case parent != "":
		rows = append(rows, runtime.Write{Key: childKey(parent), Value: []byte(id)})
	case r.Key != "":
		text, _ := json.Marshal(keyed{Digest: digestOfStart(r), Run: id}) // plain data
		rows = append(rows, runtime.Write{Key: []byte(journal.PrefixStartKey + r.Key), Value: text})
	}
	return rows
}

// launch makes the machine of a new run and lets it go.
func (t *turn) launch() {
	m, err := t.host.start(t.s)
	if err != nil {
		t.fail(scriptError(err))
		return
	}
	t.m = m
	t.slice()
}

func scriptError(err error) *effect.Error {
	var e *effect.Error
	if errors.As(err, &e) {
		return e
	}
	return effect.Errorf(effect.KindScript, "%v", err)
}
