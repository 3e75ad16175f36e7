package engine

import (
	"context"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Cancel ends a run and all it started. It needs no machine: a run that is busy, is quarantined or cannot be served by this build is cancelled like any other.
func (e *Local) Cancel(ctx context.Context, c runtime.CancelRequest) (*runtime.Receipt, error) {
	if err := need(ctx, runtime.CanCancel, "cancel runs"); err != nil {
		return nil, err
	}
	run, err := e.resolveRun(c.Run)
	if err != nil {
		return nil, err
	}
	who, refused := identify(runtime.CallerOf(ctx), c.As)
	if refused != nil {
		return nil, refused
	}
	return e.cancel(ctx, run, who, c)
}

func (e *Local) cancel(ctx context.Context, run string, who []string, c runtime.CancelRequest) (*runtime.Receipt, error) {
	in := &cancelled{who: who, request: c}
	if err := e.send(ctx, run, event{in: in, urgent: true}); err != nil {
		return nil, err
	}
	return in.receipt, nil
}

func (t *turn) cancelled(who []string, c runtime.CancelRequest) (*runtime.Receipt, *runtime.Refusal) {
	digest := journal.HashOf([]byte("cancel " + c.Reason + " " + c.As))
	if c.Key != "" {
		if k, ok := t.lookupKey(c.Key); ok {
			return t.repeated(runtime.Signal{Key: c.Key}, k, digest)
		}
	}
	if t.s.Status.Ended() {
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s already", t.s.ID, t.s.Status)
	}
	t.cancelRun(who, c.Reason)
	r := &runtime.Receipt{Schema: runtime.Schema, Accepted: true, Run: t.s.ID, Seq: t.s.Seq, Status: t.s.Status}
	t.remember(c.Key, keyed{Digest: digest, Receipt: r})
	return r, nil
}

// cancelRun ends the run by order. Both names are recorded of who acts for another.
func (t *turn) cancelRun(who []string, reason string) {
	t.close()
	err := effect.Errorf(effect.KindCancelled, "cancelled by %s", who[0])
	if reason != "" {
		err.Message += ": " + reason
	}
	var b effect.Object
	t.record(journal.RunCancelled, "", b.Text("by", who[0]).Texts("who", who).Text("reason", reason).Raw("error", err.Payload()).Payload())
}
