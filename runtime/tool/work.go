package tool

import (
	"context"
	"encoding/json"

	"starling/runtime"
)

type claimArgs struct{ Run, Step, Lease, As, Key string }

func (d *Desk) claim(ctx context.Context, a claimArgs) (any, error) {
	if a.Step != "" && a.Run == "" {
		return nil, runtime.Refusef(runtime.ErrUsage, "got a step without its run")
	}
	return d.sendWork(ctx, runtime.Signal{Kind: runtime.SignalClaim, Key: a.Key, Run: a.Run, Step: a.Step, As: a.As}, a.Lease)
}

type heartbeatArgs struct {
	Claim, Lease, As, Key string
	Events                json.RawMessage
}

func (d *Desk) heartbeat(ctx context.Context, a heartbeatArgs) (any, error) {
	sig, err := claimed(runtime.SignalHeartbeat, a.Claim, a.As, a.Key, runtime.Report{Events: orAbsent(a.Events)})
	if err != nil {
		return nil, err
	}
	return d.sendWork(ctx, sig, a.Lease)
}

type submitArgs struct {
	Claim, Text, Status, Note, As, Key string
	Output, Usage, Events              json.RawMessage
	Artifacts                          map[string]string
}

func (d *Desk) submit(ctx context.Context, a submitArgs) (any, error) {
	sig, err := claimed(runtime.SignalSubmit, a.Claim, a.As, a.Key,
		runtime.Report{Output: orAbsent(a.Output), Text: a.Text, Status: a.Status, Note: a.Note, Usage: orAbsent(a.Usage), Events: orAbsent(a.Events), Artifacts: contents(a.Artifacts)})
	if err != nil {
		return nil, err
	}
	receipt, err := d.Send(ctx, sig)
	if err != nil {
		return nil, err
	}
	return Accepted{Status: "accepted", Run: receipt.Run, Repeated: receipt.Repeated, RunStatus: receipt.Status}, nil
}

func contents(texts map[string]string) map[string][]byte {
	files := make(map[string][]byte, len(texts))
	for name, text := range texts {
		files[name] = []byte(text)
	}
	return files
}

// claimed makes a signal about a claim.
func claimed(kind runtime.SignalKind, claim, as, key string, report runtime.Report) (sig runtime.Signal, err error) {
	sig = runtime.Signal{Kind: kind, Key: key, As: as, Report: &report}
	sig.Run, sig.Step, sig.Claim, err = runtime.ParseClaim(claim)
	return sig, err
}

// sendWork sends a signal that is answered with the claim.
func (d *Desk) sendWork(ctx context.Context, sig runtime.Signal, lease string) (any, error) {
	if lease != "" {
		within, err := lasting(string(sig.Kind)+": lease", lease)
		if err != nil {
			return nil, err
		}
		sig.Lease = within
	}
	receipt, err := d.Send(ctx, sig)
	if err != nil {
		return nil, err
	}
	return *receipt.Claim, nil
}

// orAbsent is JSON that an argument has, nothing for one that was left out.
func orAbsent(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}

type interveneArgs struct{ Run, Step, Message, Reason, As, Key string }

func (d *Desk) steer(ctx context.Context, a interveneArgs) (any, error) {
	return d.intervene(ctx, runtime.SignalSteer, a.Message, a)
}

func (d *Desk) stop(ctx context.Context, a interveneArgs) (any, error) {
	return d.intervene(ctx, runtime.SignalStop, a.Reason, a)
}

func (d *Desk) intervene(ctx context.Context, kind runtime.SignalKind, words string, a interveneArgs) (any, error) {
	receipt, err := d.Send(ctx, runtime.Signal{Kind: kind, Key: a.Key, Run: a.Run, Step: a.Step, Reason: words, As: a.As})
	if err != nil {
		return nil, err
	}
	return Accepted{Status: "accepted", Run: receipt.Run, Repeated: receipt.Repeated, RunStatus: receipt.Status}, nil
}
