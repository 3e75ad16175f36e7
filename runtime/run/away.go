package run

import (
	"fmt"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// A run of a store that several machines share works in a folder of the machine on which it was
// started. On another it rests, once a step needs that folder, at the gate !workspace, which closes
// by itself when it is carried on its own machine again.

// goHere is the option with which a run goes on in the folder of that name on this machine.
const goHere = "here"

// away tells whether a step must wait for its workspace, and opens the gate of that.
func (t *Turn) away(st *Step) bool {
	h := t.Host.World.Handler(st.Kind)
	if h == nil || !h.Workspace {
		return false
	}
	where := t.Host.World.Elsewhere(t.Host.Settings)
	if where != "" && t.State.Gates[runtime.GateWorkspace] == nil {
		var args, b effect.Object
		args.Text("prompt", fmt.Sprintf("%s needs the workspace %s, but %s. Carry the run where its workspace is, or bring the folder here and say %s; "+
			"starling resume %s in another folder has it go on there. Fail ends the run.", st.Step, t.Host.Settings.Workspace, where, goHere, t.State.ID))
		args.Texts("options", []string{goHere, "fail"})
		t.record(journal.GateOpened, runtime.GateWorkspace, b.Raw("args", args.Payload()).Payload())
	}
	return where != ""
}

// home closes the gate of a run whose workspace is on this machine.
func (t *Turn) home() {
	if g := t.State.Gates[runtime.GateWorkspace]; g != nil && t.Host.World.Elsewhere(t.Host.Settings) == "" {
		t.withdrawGate(g, "")
	}
}

// decideWorkspace has the run work on this machine from now on, or ends it.
func (t *Turn) decideWorkspace(choice, by string) {
	if choice != goHere {
		t.fail(effect.Errorf(effect.KindRefused, "its workspace %s is on another machine", t.Host.Settings.Workspace))
		return
	}
	settings := *t.Host.Settings
	settings.Machine = t.Host.World.Machine()
	t.pin(&settings, by)
}
