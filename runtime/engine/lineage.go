package engine

import (
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/run"
)

// drifted tells of a run that is made of another the commit at which the workspace stands now, "" where that is the one the other run began at. What was done before was done with what
// was there then: unless whoever asks accepts that, it is refused.
func (e *Local) drifted(r runtime.ForkRequest, set *effect.Settings, first *run.State) (string, error) {
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
