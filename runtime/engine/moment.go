package engine

import (
	"context"

	"starling/runtime"
	"starling/runtime/run"
)

var _ runtime.Moments = (*Local)(nil)

// Look looks into a run at one of its moments.
func (e *Local) Look(ctx context.Context, r runtime.LookRequest) (*runtime.Sight, error) {
	if err := need(ctx, runtime.CanRun|runtime.CanSeeHidden, "look into runs"); err != nil {
		return nil, err
	}
	o, err := e.programs.original(&e.reader, r.Run)
	if err != nil {
		return nil, err
	}
	r.Run = o.run
	now, records := e.now(), o.journal
	if r.At != "" {
		c, err := run.CutAt(o.run, records, r.At, now)
		if err != nil {
			return nil, err
		}
		r.At = c.Step
		l := &runtime.Lineage{Kind: runtime.LineageFork, Run: o.run, Step: c.Step, Seq: c.At, Copied: uint64(len(c.Records))}
		records = number(c.Records)
		records[0].Data = o.first.Descend(l, o.first.Inputs, c.Deadline, runtime.CallerOf(ctx).Name)
	}
	m, err := run.MomentOf(o.host, records, r.At, now)
	if err != nil {
		return nil, run.Diverged(err)
	}
	return m.Look(r)
}
