package runtime

import (
	"encoding/json"

	"starling/lang/effect"
)

// LineageKind says how a run was made of another.
type LineageKind string

// The kinds of lineage.
const (
	LineageFork  LineageKind = "fork"  // from a step on, possibly with other inputs
	LineageRerun LineageKind = "rerun" // from a step on, which may be set otherwise
	LineageOnly  LineageKind = "only"  // one step, with the recorded outcomes of all others
)

// Lineage tells of which run another was made, and how. It is recorded with run.started and never changes.
type Lineage struct {
	Kind LineageKind     `json:"kind"`
	Run  string          `json:"run"`           // the original, which stays as it was
	Step string          `json:"step"`          // the first step that is done again
	Seq  uint64          `json:"seq"`           // of its request in the original's journal: what stands before it came along
	Set  json.RawMessage `json:"set,omitempty"` // an object: arguments of the step that count instead of the script's

	// Head is the commit at which the workspace stood when the new run was made, where that is another than the original's; "" where it is the same.
	Head string `json:"head,omitempty"`

	// Copied is the newest record that came along: what stands behind it is the new run's own.
	Copied uint64 `json:"copied"`

	Changed effect.Payload `json:"-"` // the same as Set, as the engine has it
}

func lineagePayload(l *Lineage) effect.Payload {
	if l == nil {
		return nil
	}
	var b effect.Object
	return b.Text("kind", string(l.Kind)).Text("run", l.Run).Text("step", l.Step).Int("seq", int64(l.Seq)).Int("copied", int64(l.Copied)).Text("head", l.Head).Raw("set", l.Changed).Payload()
}

// lineageOf reads what payload wrote, nil from an absent field.
func lineageOf(v effect.View) *Lineage {
	if !v.Has("kind") {
		return nil
	}
	l := &Lineage{Kind: LineageKind(v.Text("kind")), Run: v.Text("run"), Step: v.Text("step"), Seq: uint64(v.Int("seq")), Copied: uint64(v.Int("copied")), Head: v.Text("head"), Changed: v.Raw("set")}
	if l.Changed != nil {
		l.Set = jsonOfPayload(l.Changed)
	}
	return l
}

// setsInput tells whether arguments of a step are set otherwise.
func setsInput(l *Lineage, step string) bool { return l != nil && l.Changed != nil && l.Step == step }

// performs tells whether a step may be performed at all.
func performs(l *Lineage, step string) bool {
	return l == nil || l.Kind != LineageOnly || l.Step == step
}

// drifted tells of a run that is made of another the commit at which the workspace stands now, "" where that is the one the other run began at. What was done before was done with what
// was there then: unless whoever asks accepts that, it is refused.
func (e *Local) drifted(r ForkRequest, set *effect.Settings, first *state) (string, error) {
	began := set.Head
	if l := first.Lineage; l != nil && l.Head != "" {
		began = l.Head
	}
	if began == "" || e.opts.Head == nil {
		return "", nil
	}
	now := e.opts.Head(set.Workspace)
	switch {
	case now == began || now == "":
		return "", nil
	case !r.AcceptDrift:
		return "", refuse(ErrDrifted, "run %s began at commit %.12s; %s stands at %.12s now, and what was done before %q may not hold there", first.ID, began, set.Workspace, now, r.Step).
			WithHelp("add --accept-drift, or check out the commit").WithCall("add accept_drift, or have somebody check out the commit").WithData(map[string]string{"began": began, "now": now})
	}
	return now, nil
}
