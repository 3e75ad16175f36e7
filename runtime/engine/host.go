package engine

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// program is a compiled program with its permanents. It is made once and shared by all runs of the same sources.
type program struct {
	env    *effect.Environment
	bundle *lang.Bundle
	code   *lang.Program
	image  *vm.Image
}

// programs has the programs, and the settings, that runs were last loaded with: most runs share both with many.
type programs struct {
	env      *effect.Environment
	made     recent[*program]         // by the hash of the bundle
	settings recent[*effect.Settings] // by that of their content
	origins  recent[origin]           // by their names in heads
}

// of finds a bundle compiled, or reads and compiles it.
func (p *programs) of(hash string, read func() ([]byte, error)) (*program, error) {
	return p.made.of(hash, func() (*program, error) { return p.make(read) })
}

// at is of for a run that began under an earlier behaviour, whose machine is what it was then.
func (p *programs) at(behaviour uint32, hash string, read func() ([]byte, error)) (*program, error) {
	if behaviour == p.env.Behaviour {
		return p.of(hash, read)
	}
	then := programs{env: p.env.At(behaviour)}
	return p.made.of(fmt.Sprintf("%s at %d", hash, behaviour), func() (*program, error) { return then.make(read) })
}

func (p *programs) make(read func() ([]byte, error)) (*program, error) {
	encoded, err := read()
	if err != nil {
		return nil, err
	}
	bundle, err := lang.Decode(encoded)
	if err != nil {
		return nil, err
	}
	return p.compile(bundle)
}

func (p *programs) compile(bundle *lang.Bundle) (*program, error) {
	code, err := lang.Compile(bundle, p.env)
	if err != nil {
		return nil, err
	}
	image, err := vm.Load(code.Modules, p.env)
	if err != nil {
		return nil, err
	}
	return &program{env: p.env, bundle: bundle, code: code, image: image}, nil
}

// host finds what a run, as its state has it, needs of its program and its settings.
func (p *programs) host(r *reader, s *state) (*host, error) {
	if !p.env.Keeps(s.Behaviour) {
		return nil, runtime.Refusef(runtime.ErrKindNewer, "run %s was started with behaviour %d of the builtins; this build has %d", s.ID, s.Behaviour, p.env.Behaviour).
			WithHelp("go on with the build that started it, or end it with: starling cancel %s", s.ID).WithCall("cancel ends it; the build that started it goes on with it")
	}
	made, err := p.at(s.Behaviour, s.Bundle, func() ([]byte, error) { return r.needed(s.Bundle) })
	if err != nil {
		return nil, fmt.Errorf("run %s: its program: %w", s.ID, err)
	}
	settings, err := p.settings.of(s.Settings, func() (*effect.Settings, error) { return r.settings(s.Settings) })
	if err != nil {
		return nil, fmt.Errorf("run %s: its settings: %w", s.ID, err)
	}
	return &host{run: s.ID, program: made, settings: settings}, nil
}

// host is what a run's turns need to know of the world without touching it: its program, its settings, what its carrier brought.
type host struct {
	world   world // nil, as are the two others, of a run that is only executed again
	commons commons
	quotas  quotas

	run      string
	program  *program // nil where there is no machine
	settings *effect.Settings
	kids     map[string]bool // the open child runs that were looked after: whether each is in motion
	macKey   []byte          // of the snapshots of machines

	lend func(most int64, held func() int64) (more int64) // vm.Limits.Lend
}

func settingsPayload(s *effect.Settings) effect.Payload {
	var b effect.Object
	return b.Text("workspace", s.Workspace).Text("project_file", s.ProjectFile).Blob("project", s.Project).Text("fake_file", s.FakeFile).
		Blob("fake", s.Fake).Flag("fake_given", s.FakeGiven).Texts("env", s.Env).Texts("optional", s.Optional).Int("max_steps", s.MaxSteps).Int("max_memory", s.MaxMemory).
		Text("grant", s.Grant).Text("head", s.Head).Text("cassettes", s.Cassettes).Raw("notify", noticesPayload(s.Notify)).
		Text("imported", s.Imported).Raw("budgets", effect.CeilingsPayload(s.Budgets)).Payload()
}

// settingsOf reads what settingsPayload wrote.
func settingsOf(content []byte) (*effect.Settings, error) {
	v, err := effect.Payload(content).View()
	if err != nil {
		return nil, err
	}
	return &effect.Settings{Workspace: v.Text("workspace"), ProjectFile: v.Text("project_file"), Project: v.Blob("project"), FakeFile: v.Text("fake_file"),
		Fake: v.Blob("fake"), Cassettes: v.Text("cassettes"), FakeGiven: v.Flag("fake_given"), Env: v.Texts("env"), Optional: v.Texts("optional"), MaxSteps: v.Int("max_steps"), MaxMemory: v.Int("max_memory"),
		Grant: v.Text("grant"), Head: v.Text("head"), Notify: noticesOf(v.Sub("notify")), Imported: v.Text("imported"),
		Budgets: effect.CeilingsOf(v.Raw("budgets"))}, nil
}

// limits are those of the run's machine: a restored one is given them anew.
func (h *host) limits() vm.Limits {
	return vm.Limits{Steps: h.settings.MaxSteps, Memory: h.settings.MaxMemory, Lend: h.lend}
}

// start makes the machine of a run that has done nothing yet.
func (h *host) start(s *state) (*vm.Machine, error) {
	m, err := h.fresh(s)
	if err == nil {
		m.SetLimits(h.limits())
	}
	return m, err
}

func (h *host) fresh(s *state) (*vm.Machine, error) {
	if s.Session {
		return h.program.image.StartSession(), nil
	}
	inputs, err := s.Inputs.Value()
	if err != nil {
		return nil, err
	}
	d, ok := inputs.(*starlark.Dict)
	if !ok {
		d = new(starlark.Dict)
	}
	return h.program.image.Start(d)
}

// resolve completes a request before it is recorded.
func (h *host) resolve(r *effect.Request) *effect.Error {
	if native(r.Kind) {
		return nil
	}
	handler := h.world.Handler(r.Kind)
	if handler == nil {
		return effect.Errorf(effect.KindRefused, "nothing here serves %s", r.Kind)
	}
	if handler.Resolve == nil {
		return nil
	}
	return handler.Resolve(h.settings, r)
}

// draining tells whether new attempts may start.
func (h *host) draining() bool { return h.world.Draining(h.run) }

// mentions tells whether the program's text holds a gate's name as a literal: the gate may open later.
func (h *host) mentions(address string) bool {
	if h.program == nil {
		return false
	}
	name, _, _ := strings.Cut(address[strings.LastIndexByte(address, '/')+1:], "#")
	for _, m := range h.program.code.Modules {
		if slices.Contains(m.Constants, starlark.Value(starlark.String(name))) {
			return true
		}
	}
	return false
}

// missing lists the declared variables that no carrier has brought.
func (h *host) missing() []string {
	if h.settings == nil {
		return nil
	}
	var out []string
	for _, name := range h.settings.Env {
		if _, ok := h.world.Variable(h.run, name); !ok && !slices.Contains(h.settings.Optional, name) {
			out = append(out, name)
		}
	}
	return out
}

// attempt makes the attempt that a handler performs.
func (h *host) attempt(s *state, st *step, emit func(string, starlark.Value)) (*effect.Attempt, *effect.Handler, *effect.Error) {
	handler := h.world.Handler(st.Kind)
	if handler == nil {
		return nil, nil, effect.Errorf(effect.KindRefused, "nothing here serves %s", st.Kind)
	}
	args, err := st.Args.Value()
	if err != nil {
		return nil, nil, effect.Errorf(effect.KindInvalid, "%s: its arguments cannot be read: %v", st.Step, err)
	}
	resolved, err := st.Resolved.Value()
	if err != nil {
		return nil, nil, effect.Errorf(effect.KindInvalid, "%s: its definition cannot be read: %v", st.Step, err)
	}
	run, session, goesOn := s.ID, st.Session, ""
	if session == "" {
		goesOn = s.goesOn(st)
		session = goesOn
	}
	at := &effect.Attempt{GoesOn: goesOn != "", Cut: st.Interrupted && st.Session != "", Run: run, Step: st.Step, Branch: journal.BranchOf(st.Step), Kind: st.Kind, Number: st.Attempt, Backend: st.Serving, Key: run + "/" + st.Step, Args: args,
		Resolved: resolved, Returns: st.Returns, Feedback: feedbackOf(st.Feedback), Rejected: st.Rejected, Session: session, Messages: st.messages(), Memory: s.memory.given(args, st), Settings: h.within(st.Tree), Emit: emit,
		Tree: st.Tree, Trees: h.trees(), Owns: s.owned(st)}
	h.world.Equip(at)
	return at, handler, nil
}
