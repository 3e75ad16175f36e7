package run

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime/journal"
)

// Program is a compiled program with its permanents. It is made once and shared by all runs of the
// same sources.
type Program struct {
	Env    *effect.Environment
	Bundle *lang.Bundle
	Code   *lang.Program
	Image  *vm.Image
}

// Host is what a run's turns need to know of the world without touching it: its program, its
// settings, what its carrier brought.
type Host struct {
	World   World // nil, as are the two others, of a run that is only executed again
	Commons Commons
	Quotas  Quotas

	Run      string
	Program  *Program // nil where there is no machine
	Settings *effect.Settings
	kids     map[string]bool // the open child runs that were looked after: whether each is in motion
	MacKey   []byte          // of the snapshots of machines

	Lend func(most int64, held func() int64) (more int64) // vm.Limits.Lend
}

// SettingsPayload is the content that settings are kept as, under its hash.
func SettingsPayload(s *effect.Settings) effect.Payload {
	var b effect.Object
	return b.Text("workspace", s.Workspace).Text("project_file", s.ProjectFile).Blob("project", s.Project).Text("fake_file", s.FakeFile).
		Blob("fake", s.Fake).Flag("fake_given", s.FakeGiven).Texts("env", s.Env).Texts("optional", s.Optional).Int("max_steps", s.MaxSteps).Int("max_memory", s.MaxMemory).
		Text("grant", s.Grant).Text("head", s.Head).Text("cassettes", s.Cassettes).Raw("notify", noticesPayload(s.Notify)).
		Text("imported", s.Imported).Text("machine", s.Machine).Raw("budgets", effect.CeilingsPayload(s.Budgets)).Payload()
}

// SettingsOf reads what [SettingsPayload] wrote.
func SettingsOf(content []byte) (*effect.Settings, error) {
	v, err := effect.Payload(content).View()
	if err != nil {
		return nil, err
	}
	return &effect.Settings{Workspace: v.Text("workspace"), ProjectFile: v.Text("project_file"), Project: v.Blob("project"), FakeFile: v.Text("fake_file"),
		Fake: v.Blob("fake"), Cassettes: v.Text("cassettes"), FakeGiven: v.Flag("fake_given"), Env: v.Texts("env"), Optional: v.Texts("optional"), MaxSteps: v.Int("max_steps"), MaxMemory: v.Int("max_memory"),
		Grant: v.Text("grant"), Head: v.Text("head"), Notify: noticesOf(v.Sub("notify")), Imported: v.Text("imported"), Machine: v.Text("machine"),
		Budgets: effect.CeilingsOf(v.Raw("budgets"))}, nil
}

// Limits are those of the run's machine: a restored one is given them anew.
func (h *Host) Limits() vm.Limits {
	return vm.Limits{Steps: h.Settings.MaxSteps, Memory: h.Settings.MaxMemory, Lend: h.Lend}
}

// start makes the machine of a run that has done nothing yet.
func (h *Host) start(s *State) (*vm.Machine, error) {
	m, err := h.fresh(s)
	if err == nil {
		m.SetLimits(h.Limits())
	}
	return m, err
}

func (h *Host) fresh(s *State) (*vm.Machine, error) {
	if s.Session {
		return h.Program.Image.StartSession(), nil
	}
	inputs, err := s.Inputs.Value()
	if err != nil {
		return nil, err
	}
	d, ok := inputs.(*starlark.Dict)
	if !ok {
		d = new(starlark.Dict)
	}
	return h.Program.Image.Start(d)
}

// resolve completes a request before it is recorded.
func (h *Host) resolve(r *effect.Request) *effect.Error {
	if native(r.Kind) {
		return nil
	}
	handler := h.World.Handler(r.Kind)
	if handler == nil {
		return effect.Errorf(effect.KindRefused, "nothing here serves %s", r.Kind)
	}
	if handler.Resolve == nil {
		return nil
	}
	return handler.Resolve(h.Settings, r)
}

// Draining tells whether new attempts may start.
func (h *Host) Draining() bool { return h.World.Draining(h.Run) }

// mentions tells whether the program's text holds a gate's name as a literal: the gate may open
// later.
func (h *Host) mentions(address string) bool {
	if h.Program == nil {
		return false
	}
	name, _, _ := strings.Cut(address[strings.LastIndexByte(address, '/')+1:], "#")
	for _, m := range h.Program.Code.Modules {
		if slices.Contains(m.Constants, starlark.Value(starlark.String(name))) {
			return true
		}
	}
	return false
}

// missing lists the declared variables that no carrier has brought.
func (h *Host) missing() []string {
	if h.Settings == nil {
		return nil
	}
	var out []string
	for _, name := range h.Settings.Env {
		if _, ok := h.World.Variable(h.Run, name); !ok && !slices.Contains(h.Settings.Optional, name) {
			out = append(out, name)
		}
	}
	return out
}

// Attempt makes the attempt that a handler performs.
func (h *Host) Attempt(s *State, st *Step, emit func(string, starlark.Value)) (*effect.Attempt, *effect.Handler, *effect.Error) {
	handler := h.World.Handler(st.Kind)
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
		Resolved: resolved, Returns: st.Returns, Feedback: feedbackOf(st.Feedback), Rejected: st.Rejected, Session: session, Messages: st.messages(), Memory: s.memory.given(args, st), Settings: h.Within(st.Tree), Emit: emit,
		Tree: st.Tree, Trees: h.trees(), Owns: s.owned(st)}
	h.World.Equip(at)
	return at, handler, nil
}
