package run

import (
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

func (t *Turn) cancelled(who []string, c runtime.CancelRequest) (*runtime.Receipt, *runtime.Refusal) {
	digest := journal.HashOf([]byte("cancel " + c.Reason + " " + c.As))
	if c.Key != "" {
		if k, ok := t.lookupKey(c.Key); ok {
			return t.repeated(runtime.Signal{Key: c.Key}, k, digest)
		}
	}
	if t.State.Status.Ended() {
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s already", t.State.ID, t.State.Status)
	}
	t.cancelRun(who, c.Reason)
	r := &runtime.Receipt{Schema: runtime.Schema, Accepted: true, Run: t.State.ID, Seq: t.State.Seq, Status: t.State.Status}
	t.remember(c.Key, journal.Keyed{Digest: digest, Receipt: r})
	return r, nil
}

// cancelRun ends the run by order. Both names are recorded of who acts for another.
func (t *Turn) cancelRun(who []string, reason string) {
	t.close()
	err := effect.Errorf(effect.KindCancelled, "cancelled by %s", who[0])
	if reason != "" {
		err.Message += ": " + reason
	}
	var b effect.Object
	t.record(journal.RunCancelled, "", b.Text("by", who[0]).Texts("who", who).Text("reason", reason).Raw("error", err.Payload()).Payload())
}
