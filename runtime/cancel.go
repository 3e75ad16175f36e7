package runtime

import "context"

// Cancel ends a run and all it started.
func (e *Local) Cancel(ctx context.Context, c CancelRequest) (*Receipt, error) {
	run, err := e.resolveRun(c.Run)
	if err != nil {
		return nil, err
	}
	who, refused := identify(CallerOf(ctx), c.As)
	if refused == nil && CallerOf(ctx).Agent != "" {
		refused = refuse(ErrDenied, "%s may not cancel runs", orUnknown(CallerOf(ctx)))
	}
	if refused != nil {
		return nil, refused
	}
	var receipt *Receipt
	err = e.send(ctx, run, func(t *turn) { receipt, refused = t.cancelled(who, c, e.known(run)) })
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	return receipt, nil
}

func (t *turn) cancelled(who []string, c CancelRequest, known func(string) (keyed, bool)) (*Receipt, *Refusal) {
	digest := hashOf([]byte("cancel " + c.Reason + " " + c.As))
	if k, ok := known(c.Key); ok && c.Key != "" {
		return t.repeated(Signal{Key: c.Key}, k, digest)
	}
	if t.s.Status.Ended() {
		return nil, refuse(ErrClosed, "run %s is %s already", t.s.ID, t.s.Status)
	}
	t.cancelRun(who[0], c.Reason)
	r := &Receipt{Schema: Schema, Accepted: true, Run: t.s.ID, Seq: t.s.Seq, Status: t.s.Status}
	if c.Key != "" {
		t.keys[c.Key] = keyed{Digest: digest, Receipt: r}
	}
	return r, nil
}
