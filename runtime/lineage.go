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

	// Copied is the newest record that came along: what stands behind it is the new run's own.
	Copied uint64 `json:"copied"`

	set effect.Payload // the same as Set
}

func (l *Lineage) payload() effect.Payload {
	if l == nil {
		return nil
	}
	var b effect.Object
	return b.Text("kind", string(l.Kind)).Text("run", l.Run).Text("step", l.Step).Int("seq", int64(l.Seq)).Int("copied", int64(l.Copied)).Raw("set", l.set).Payload()
}

// lineageOf reads what payload wrote, nil from an absent field.
func lineageOf(v effect.View) *Lineage {
	if !v.Has("kind") {
		return nil
	}
	l := &Lineage{Kind: LineageKind(v.Text("kind")), Run: v.Text("run"), Step: v.Text("step"), Seq: uint64(v.Int("seq")), Copied: uint64(v.Int("copied")), set: v.Raw("set")}
	if l.set != nil {
		l.Set = jsonOfPayload(l.set)
	}
	return l
}

// sets tells whether arguments of a step are set otherwise.
func (l *Lineage) sets(step string) bool { return l != nil && l.set != nil && l.Step == step }

// performs tells whether a step may be performed at all.
func (l *Lineage) performs(step string) bool {
	return l == nil || l.Kind != LineageOnly || l.Step == step
}
