package runtime

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
)

// program is a compiled program with its permanents. It is made once and shared by all runs of the same sources.
type program struct {
	env    *effect.Environment
	bundle *lang.Bundle
	code   *lang.Program
	image  *vm.Image
}

// programs is the cache of compiled programs, by the hash of the bundle. A program is made once however many runs ask for it at the same time, and while it is made
// nobody waits who asks for another.
type programs struct {
	env *effect.Environment

	mu   sync.Mutex // guards what follows
	made map[string]*making
	asks uint64 // so far
}

// making is a program that is made, or is being made.
type making struct {
	program func() (*program, error)
	asked   uint64 // when it was asked for last, counted in asks
}

// maxPrograms bounds the cache; beyond it the one that nobody has asked for longest is forgotten, and made again when it is needed.
const maxPrograms = 128

func newPrograms(env *effect.Environment) programs {
	return programs{env: env, made: map[string]*making{}}
}

// of finds a bundle compiled, or reads and compiles it. What could not be made is tried again by whoever asks next.
func (p *programs) of(hash string, read func() ([]byte, error)) (made *program, err error) {
	m := p.making(hash, read)
	defer func() {
		if made == nil { // it failed, or panicked
			p.forget(hash, m)
		}
	}()
	return m.program()
}

func (p *programs) making(hash string, read func() ([]byte, error)) *making {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.made[hash]
	if m == nil {
		m = &making{program: sync.OnceValues(func() (*program, error) { return p.make(read) })}
		p.made[hash] = m
	}
	p.asks++
	m.asked = p.asks
	if len(p.made) > maxPrograms {
		delete(p.made, p.oldest())
	}
	return m
}

// oldest is the program that nobody has asked for longest. It is called with mu held.
func (p *programs) oldest() (hash string) {
	for h, m := range p.made {
		if hash == "" || m.asked < p.made[hash].asked {
			hash = h
		}
	}
	return hash
}

func (p *programs) forget(hash string, m *making) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made[hash] == m {
		delete(p.made, hash)
	}
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
	if s.Behaviour != p.env.Behaviour {
		return nil, refuse(ErrKindNewer, "run %s was started with behaviour %d of the builtins; this build has %d", s.ID, s.Behaviour, p.env.Behaviour).
			help("go on with the build that started it, or end it with: starling cancel %s", s.ID)
	}
	made, err := p.of(s.Bundle, func() ([]byte, error) { return r.needed(s.Bundle) })
	if err != nil {
		return nil, fmt.Errorf("run %s: its program: %w", s.ID, err)
	}
	settings, err := r.settings(s.Settings)
	if err != nil {
		return nil, fmt.Errorf("run %s: its settings: %w", s.ID, err)
	}
	return &host{run: s.ID, program: made, settings: settings}, nil
}

// host is what a run's turns need to know of the world without touching it: its program, its settings, what its carrier brought.
type host struct {
	e        *Local
	run      string
	program  *program // nil where there is no machine
	settings *effect.Settings
	kids     map[string]bool // the open child runs that were looked after: whether each is in motion
}

func settingsPayload(s *effect.Settings) effect.Payload {
	var b effect.Object
	return b.Text("workspace", s.Workspace).Text("project_file", s.ProjectFile).Blob("project", s.Project).Text("fake_file", s.FakeFile).
		Blob("fake", s.Fake).Flag("fake_given", s.FakeGiven).Texts("env", s.Env).Texts("optional", s.Optional).Int("max_steps", s.MaxSteps).Int("max_memory", s.MaxMemory).
		Text("grant", s.Grant).Text("head", s.Head).Text("cassettes", s.Cassettes).Raw("notify", noticesPayload(s.Notify)).Payload()
}

// limits are those of the run's machine: a restored one is given them anew.
func (h *host) limits() vm.Limits {
	return vm.Limits{Steps: h.settings.MaxSteps, Memory: h.settings.MaxMemory}
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
	handler := h.e.env.Handlers[r.Kind]
	if handler == nil {
		return effect.Errorf(effect.KindRefused, "nothing here serves %s", r.Kind)
	}
	if handler.Resolve == nil {
		return nil
	}
	return handler.Resolve(h.settings, r)
}

// draining tells whether new attempts may start.
func (h *host) draining() bool { return h.e.leaving.Load() || !h.e.carries(h.run) }

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
		if _, ok := h.e.variable(h.run, name); !ok && !slices.Contains(h.settings.Optional, name) {
			out = append(out, name)
		}
	}
	return out
}

// attempt makes the attempt that a handler performs.
func (h *host) attempt(s *state, st *step, emit func(string, starlark.Value)) (*effect.Attempt, *effect.Handler, *effect.Error) {
	handler := h.e.env.Handlers[st.Kind]
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
	return &effect.Attempt{GoesOn: goesOn != "", Run: run, Step: st.Step, Branch: branchOf(st.Step), Kind: st.Kind, Number: st.Attempt, Backend: st.Serving, Key: run + "/" + st.Step, Args: args,
		Resolved: resolved, Returns: st.Returns, Feedback: feedbackOf(st.Feedback), Session: session, Messages: st.messages(), Memory: s.shared.given(args, st), Settings: h.within(st.Tree), Emit: emit, Lock: h.e.lockPath(run, st.Step),
		Store: h.e.store.Info().Path, Tree: st.Tree, Trees: h.e.trees(run, h.settings), Owns: s.owned(effect.ViewOf(args).Text("branch")),
		Journal: func(l effect.Look) (starlark.Value, *effect.Error) { return h.e.look(run, st.Step, l) },
		Env:     func(name string) (string, bool) { return h.e.variable(run, name) }}, handler, nil
}
