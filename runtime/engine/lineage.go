package engine

import (
	"starling/lang/effect"
	"starling/runtime"
)

func lineagePayload(l *runtime.Lineage) effect.Payload {
	if l == nil {
		return nil
	}
	var b effect.Object
	return b.Text("kind", string(l.Kind)).Text("run", l.Run).Text("step", l.Step).Int("seq", int64(l.Seq)).Int("copied", int64(l.Copied)).Text("head", l.Head).Raw("set", l.Changed).Payload()
}

// lineageOf reads what payload wrote, nil from an absent field.
func lineageOf(v effect.View) *runtime.Lineage {
	if !v.Has("kind") {
		return nil
	}
	l := &runtime.Lineage{Kind: runtime.LineageKind(v.Text("kind")), Run: v.Text("run"), Step: v.Text("step"), Seq: uint64(v.Int("seq")), Copied: uint64(v.Int("copied")), Head: v.Text("head"), Changed: v.Raw("set")}
	if l.Changed != nil {
		l.Set = jsonOfPayload(l.Changed)
	}
	return l
}

// setsInput tells whether arguments of a step are set otherwise.
func setsInput(l *runtime.Lineage, step string) bool {
	return l != nil && l.Changed != nil && l.Step == step
}

// performs tells whether a step may be performed at all.
func performs(l *runtime.Lineage, step string) bool {
	return l == nil || l.Kind != runtime.LineageOnly || l.Step == step
}

// drifted tells of a run that is made of another the commit at which the workspace stands now, "" where that is the one the other run began at. What was done before was done with what
// was there then: unless whoever asks accepts that, it is refused.
func (e *Local) drifted(r runtime.ForkRequest, set *effect.Settings, first *state) (string, error) {
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
		return "", runtime.Refusef(runtime.ErrDrifted, "run %s began at commit %.12s; %s stands at %.12s now, and what was done before %q may not hold there", first.ID, began, set.Workspace, now, r.Step).
			WithHelp("add --accept-drift, or check out the commit").WithCall("add accept_drift, or have somebody check out the commit").WithData(map[string]string{"began": began, "now": now})
	}
	return now, nil
}
