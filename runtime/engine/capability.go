package engine

import (
	"context"
	"strings"

	"starling/lang/contract"
	"starling/runtime"
)

// audienceOf is whom a caller counts as when contracts hide something from people: who works for an attempt is an agent, and so is the bearer of a token that says so.
func audienceOf(c runtime.Caller) contract.Audience {
	if c.Agent != "" || !c.Local && c.Can&runtime.CanSeeHidden != 0 {
		return contract.Agents
	}
	return contract.People
}

// need refuses a caller who may not do something; doing is how the refusal calls it.
func need(ctx context.Context, want runtime.Capability, doing string) error {
	if refused := lacking(runtime.CallerOf(ctx), want, doing); refused != nil {
		return refused
	}
	return nil
}

// lacking is the refusal of a caller who may not do something, nil for one who may.
func lacking(c runtime.Caller, want runtime.Capability, doing string) *runtime.Refusal {
	if c.May(want) {
		return nil
	}
	r := runtime.Refusef(runtime.ErrDenied, "%s may not %s", orUnknown(c), doing)
	if c.Name != "" && c.Agent == "" {
		r.WithHelp("the token needs the capability %s", strings.Join((want&^c.Can).Names(), ", "))
	}
	return r
}
