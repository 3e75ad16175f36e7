package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// Start makes a run durable and begins it.
func (e *Local) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	if err := need(ctx, runtime.CanRun, "start runs"); err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.Key, scheduleMark) {
		return nil, runtime.Refusef(runtime.ErrUsage, "got the key %q, want one that does not begin with %q", r.Key, scheduleMark)
	}
	if err := e.bound(ctx, &r); err != nil {
		return nil, err
	}
	var made *runtime.Run
	to := runtime.CallerOf(ctx).Audience()
	id, err := e.start(ctx, r, func(s *run.State) (err error) {
		made, err = e.document(s, 0, to)
		return err
	})
	if err != nil || made != nil {
		return made, err
	}
	return e.get(id, to)
}

// anyScript is the name under which a project grants what every script of others may use.
const anyScript = "*"

// bound sets what a script may use. Who may not bring a project file runs under the owner's. A
// script that is not the project's own uses what the project grants to its name: one that such a
// caller has defined, or brings. It is refused where that project has changed since somebody
// trusted it.
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

// start finds the run that was started with the same key, or makes one and shows it.
func (e *Local) start(ctx context.Context, r runtime.StartRequest, show func(*run.State) error) (string, error) {
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
		return id, e.resumeOne(ctx, id, variables{env: r.Env})
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

// create makes a run, and shows its first durable state if somebody wants to see it. Nothing exists
// yet that a refusal could leave behind. It waits for the commit even when whoever asked has gone:
// the key, or the step, must not start another meanwhile.
func (e *Local) create(ctx context.Context, r runtime.StartRequest, parent string, depth int, show func(*run.State) error) (string, error) {
	made, inputs, err := e.programs.accept(&r)
	if err != nil {
		return "", err
	}
	if parent == "" {
		r.Settings.Machine = e.opts.Machine
	}
	id := newRunID(e.opts.Random)
	return id, e.begin(context.WithoutCancel(ctx), id, r, made, inputs, parent, depth, show)
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
	return e.startedBy(r.Key, run.StartDigest(r))
}

func (e *Local) startedBy(key, digest string) (string, error) {
	v, err := e.store.Get([]byte(journal.PrefixStartKey + key))
	if errors.Is(err, runtime.ErrNoKey) {
		return "", nil
	}
	var k journal.Keyed
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

// checkDeadline holds what is to become of a run at its deadline against that deadline.
func checkDeadline(r runtime.StartRequest) error {
	switch r.OnDeadline {
	case "", runtime.DeadlineFail, runtime.DeadlineCancel, runtime.DeadlineSuspend:
	default:
		return runtime.Refusef(runtime.ErrUsage, "got %q for what becomes of a run whose deadline has passed, want %s, %s or %s",
			r.OnDeadline, runtime.DeadlineFail, runtime.DeadlineCancel, runtime.DeadlineSuspend)
	}
	if r.OnDeadline != "" && r.Timeout <= 0 {
		return runtime.Refusef(runtime.ErrUsage, "got %q for what becomes of a run whose deadline has passed, and no deadline", r.OnDeadline).
			WithHelp("--deadline 2h gives it one").WithCall("give deadline too, such as %q", "2h")
	}
	return nil
}

// accept compiles the program and holds the inputs against it.
func (p *programs) accept(r *runtime.StartRequest) (*run.Program, effect.Payload, error) {
	if err := checkDeadline(*r); err != nil {
		return nil, nil, err
	}
	if err := r.Labels.Check(); err != nil {
		return nil, nil, runtime.Refusef(runtime.ErrUsage, "labels: %v", err)
	}
	made, err := p.of(journal.HashOf(r.Bundle), func() ([]byte, error) { return r.Bundle, nil })
	if err != nil {
		return nil, nil, run.CheckFailed(err)
	}
	var given []byte
	if len(r.Inputs) > 0 {
		given = r.Inputs
	}
	bound, err := made.Code.BindInputs(given, nil)
	if err != nil {
		return nil, nil, runtime.Refusef(runtime.ErrBadInput, "%v", err).WithData(err)
	}
	inputs, err := effect.Encode(bound)
	if err != nil {
		return nil, nil, runtime.Refusef(runtime.ErrBadInput, "inputs: %v", err)
	}
	return made, inputs, nil
}

// begin makes the first turn of a run.
func (e *Local) begin(ctx context.Context, id string, r runtime.StartRequest, p *run.Program, inputs effect.Payload, parent string, depth int, show func(*run.State) error) error {
	brought := variables{env: r.Env}
	if above, _, ok := journal.CutParent(parent); ok {
		brought.lookup = e.brought(above).lookup
	}
	e.carry(id, brought, false)
	a := e.actor(id)
	a.s, a.host = run.NewState(id), e.hosted(&run.Host{Run: id, Program: p, Settings: &r.Settings, Lend: a.lender()})
	in := &run.Started{Request: &r, Program: p, Behaviour: e.env.Behaviour, Inputs: inputs, By: runtime.CallerOf(ctx).Name, Parent: parent, Depth: depth}
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

// newRunID is 12 random letters, 60 bits: short prefixes tell runs apart from the first letter on.
func newRunID(from io.Reader) string {
	var b [journal.RunIDLength]byte
	_, _ = io.ReadFull(from, b[:])
	for i := range b {
		b[i] = journal.Crockford[b[i]&31]
	}
	return string(b[:])
}
