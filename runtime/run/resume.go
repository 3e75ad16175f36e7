package run

import (
	"slices"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

func (t *Turn) pin(settings *effect.Settings, by string) {
	content := SettingsPayload(settings)
	hash := journal.HashOf(content)
	if t.State.Settings == hash {
		return
	}
	t.keep(hash, content)
	t.record(journal.RunPinned, "", (&effect.Object{}).Text("settings", hash).Text("by", by).Payload())
	t.Host.Settings = settings
	t.home()
	t.reconsider()
}

// carried is what follows when a run is carried anew: its children are, and gates close whose
// variables have come.
func (t *Turn) carried() {
	if t.State.needy() { // a look at all that is open costs as much as is open
		missing := t.missing()
		for _, g := range t.State.OpenGates() {
			name, ok := strings.CutPrefix(g.Name, runtime.GateNeeds)
			if ok && !slices.Contains(missing, name) {
				t.withdrawGate(g, "")
			}
		}
	}
	t.home()
	t.reconsider()
	for _, st := range t.State.children {
		t.Effects.Children = append(t.Effects.Children, st)
	}
}

// A run whose declared variables nobody has brought rests at a gate !needs:NAME for each, which
// closes by itself when a carrier brings it.

// needs tells whether attempts must wait for variables, and opens the gates of those.
func (t *Turn) needs() bool {
	missing := t.missing()
	for _, name := range missing {
		if t.State.Gates[runtime.GateNeeds+name] == nil {
			t.openSystemGate(runtime.GateNeeds+name, "", "The project declares the environment variable "+name+", and nobody who carries the run has it. "+
				"Resume it with the variable set: starling resume "+t.State.ID+". Skip goes on without it, fail ends the run.")
		}
	}
	return len(missing) > 0
}

// missing lists the declared variables that the run has to wait for.
func (t *Turn) missing() []string {
	return slices.DeleteFunc(t.Host.missing(), func(name string) bool { return slices.Contains(t.State.Without, name) })
}

// needy tells whether a run rests at the gate of a variable.
func (s *State) needy() bool { return s.needs > 0 }

// childStatusChanged notes whether a child run is in motion now: of several reports the last one
// counts, whichever comes last.
func (t *Turn) childStatusChanged(step, child string) {
	status, err := t.Host.World.Status(child)
	if err != nil || t.State.children[step] == nil {
		return
	}
	if t.Host.kids == nil {
		t.Host.kids = map[string]bool{}
	}
	t.Host.kids[step] = status != runtime.Suspended
}

// childMoves tells whether a child run is in motion. One of which nothing is known yet is about to
// be started or, in a run that rests, rests with it.
func (t *Turn) childMoves() bool {
	for step := range t.State.children {
		moves, known := t.Host.kids[step]
		if moves || !known && t.State.Status != runtime.Suspended {
			return true
		}
	}
	return false
}
