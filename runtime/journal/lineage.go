package journal

import (
	"starling/lang/effect"
	"starling/runtime"
)

// LineagePayload is a lineage in the first record of a run, nil for none.
func LineagePayload(l *runtime.Lineage) effect.Payload {
	if l == nil {
		return nil
	}
	var b effect.Object
	return b.Text("kind", string(l.Kind)).Text("run", l.Run).Text("step", l.Step).Int("seq", int64(l.Seq)).Int("copied", int64(l.Copied)).Text("head", l.Head).Raw("set", l.Changed).Payload()
}

// LineageOf reads what [LineagePayload] wrote, nil from an absent field.
func LineageOf(v effect.View) *runtime.Lineage {
	if !v.Has("kind") {
		return nil
	}
	l := &runtime.Lineage{Kind: runtime.LineageKind(v.Text("kind")), Run: v.Text("run"), Step: v.Text("step"), Seq: uint64(v.Int("seq")), Copied: uint64(v.Int("copied")), Head: v.Text("head"), Changed: v.Raw("set")}
	if l.Changed != nil {
		l.Set = JSONOfPayload(l.Changed)
	}
	return l
}

// Performs tells whether a step may be performed at all.
func Performs(l *runtime.Lineage, step string) bool {
	return l == nil || l.Kind != runtime.LineageOnly || l.Step == step
}
