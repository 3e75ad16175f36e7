package agent

import (
	"fmt"
	"maps"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/window"
	"starling/stdlib/yamltext"
)

// handoff is agent with both sides typed. Everything that is wrong with what the sender brings is
// found here, before anything is sent.
func (r resolver) handoff(s *effect.Settings, q *effect.Request) *effect.Error {
	args, err := q.Args.View()
	if err != nil {
		return effect.Errorf(effect.KindRefused, "handoff: %v", err)
	}
	p, fault := r.find(s, roleOf(args.Value("to")), names(args.Value("backend")), args.Value("tools"))
	if fault != nil {
		return fault
	}
	if fault := p.exclude(args.Value("not_by")); fault != nil {
		return fault
	}
	accepts := p.contract(args.Value("accepts"), "input", p.project.Input)
	payload, fault := checked(p.role.name, accepts, args.Value("payload"))
	if fault != nil {
		return fault
	}
	context, constraints, fault := p.context(args)
	if fault != nil {
		return fault
	}
	if fault := p.fits(args.Int("budget"), payload, context, constraints); fault != nil {
		return fault
	}
	returns := p.contract(args.Value("returns"), "output", p.project.Output)
	if p.definition.Envelope, err = p.envelope(args, payload, context, constraints, returns); err != nil {
		return effect.Errorf(effect.KindInvalid, "handoff to %s: %v", p.role.name, err)
	}
	p.complete(q, args, "returns")
	return nil
}

// checked gives the payload that the contract makes of it, defaults filled in.
func checked(to, accepts string, payload starlark.Value) (starlark.Value, *effect.Error) {
	if accepts == "" {
		return payload, nil
	}
	c, err := contract.Parse("accepts", accepts)
	if err != nil {
		return nil, effect.Errorf(effect.KindRefused, "handoff to %s: %v", to, err)
	}
	v, wrong := c.Check(payload)
	if len(wrong) > 0 {
		return nil, violations(fmt.Sprintf("handoff to %s: the payload is not what it accepts", to), wrong)
	}
	return v, nil
}

// fits finds whether what is handed over keeps to a budget of tokens; 0 is none.
func (p *party) fits(budget int64, parts ...starlark.Value) *effect.Error {
	n, err := window.Tokens(starlark.NewList(parts))
	switch {
	case budget == 0:
		return nil
	case err != nil:
		return effect.Errorf(effect.KindInvalid, "handoff to %s: %v", p.role.name, err)
	case int64(n) <= budget:
		return nil
	}
	over := &window.OverBudget{Tokens: n, Budget: int(budget), What: "payload and context"}
	fault := effect.Errorf(effect.KindBudget, "handoff to %s: %v; pass less, for example what context.trim makes of it", p.role.name, over)
	fault.Data = over.Payload()
	return fault
}

// context takes the constraints out of the context, leaves out the history, and finds what the
// receiver requires of it.
func (p *party) context(args effect.View) (context *starlark.Dict, constraints starlark.Value, fault *effect.Error) {
	context = new(starlark.Dict)
	constraints = starlark.NewList(nil)
	given, _ := args.Value("context").(*starlark.Dict)
	if given == nil {
		given = new(starlark.Dict)
	}
	if missing := p.missing(given); len(missing) > 0 {
		return nil, nil, violations(fmt.Sprintf("handoff to %s: the context lacks what its role requires", p.role.name), missing)
	}
	for k, v := range given.Entries() {
		switch k {
		case starlark.String("constraints"):
			constraints = v
			continue
		case starlark.String("history"):
			continue
		}
		if err := context.SetKey(k, v); err != nil {
			return nil, nil, effect.Errorf(effect.KindRefused, "handoff to %s: %v", p.role.name, err)
		}
	}
	return context, constraints, nil
}

func (p *party) missing(context *starlark.Dict) contract.Violations {
	required, ok := p.role.field("requires").(starlark.Iterable)
	if !ok {
		return nil
	}
	var list contract.Violations
	for key := range starlark.Elements(required) {
		if v, found, _ := context.Get(key); !found || v == starlark.None {
			name, _ := starlark.AsString(key)
			list = append(list, contract.Violation{Path: "context." + name, Got: "nothing", Want: "what the role requires"})
		}
	}
	return list
}

// The envelope of a handoff as artifacts of its step.
const (
	envelopeJSON = "handoff.json"
	envelopeYAML = "handoff.yaml"
)

// keepEnvelope adds the envelope to what an attempt leaves.
func keepEnvelope(reply *effect.Reply, envelope effect.Payload) {
	v, err := envelope.Value()
	if err != nil {
		return // it was written by this package
	}
	blobs := map[string][]byte{}
	maps.Copy(blobs, reply.Blobs)
	if text, err := contract.ToJSON(v); err == nil {
		blobs[envelopeJSON] = append(text, '\n')
	}
	if text, err := yamltext.Encode(v); err == nil {
		blobs[envelopeYAML] = []byte(text)
	}
	reply.Blobs = blobs
}

// tellLeftOut journals that a handoff did not pass something on.
func tellLeftOut(a *effect.Attempt, envelope effect.Payload) {
	v, err := envelope.View()
	if err != nil {
		return // it was written by this package
	}
	for _, name := range v.Texts("left_out") {
		var o effect.Object
		text, _ := o.Text("text", name+" of the context is not passed on: a receiver is told what matters to it, such as learnings").Payload().Value()
		a.Emit("warning", text)
	}
}

// envelope puts together what passes from one role to the other. It is made of the call alone, so
// that the same call makes the same bytes; its time is that of the record that holds it.
func (p *party) envelope(args effect.View, payload starlark.Value, context *starlark.Dict, constraints starlark.Value, returns string) (effect.Payload,
	error) {
	work, err := effect.Encode(payload) // defaults may have made it larger than what was sent
	if err != nil {
		return nil, err
	}
	var o effect.Object
	o.Text("from", roleOf(args.Value("sender")).name).Text("to", p.role.name).Raw("cycle", args.Raw("cycle"))
	o.Raw("context", effect.MustEncode(context)).Raw("constraints", effect.MustEncode(constraints)) // parts of what was encoded before
	o.Raw("payload", work).Text("expected_output", returns)
	if args.Sub("context").Has("history") {
		o.Texts("left_out", []string{"history"})
	}
	return o.Payload(), nil
}
