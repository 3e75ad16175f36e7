package run

import (
	"starling/runtime"
)

// childStatusChanged notes whether a child run is in motion now: of several reports the last one counts, whichever comes last.
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

// childMoves tells whether a child run is in motion. One of which nothing is known yet is about to be started or, in a run that rests, rests with it.
func (t *Turn) childMoves() bool {
	for step := range t.State.children {
		moves, known := t.Host.kids[step]
		if moves || !known && t.State.Status != runtime.Suspended {
			return true
		}
	}
	return false
}
