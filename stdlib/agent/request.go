package agent

import (
	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// Schema names the version of what agents are sent.
const Schema = "starling/agent/v1"

// newRequest makes the record that an agent is sent.
func newRequest(a *effect.Attempt, d Definition, files []file) (*effect.Record, error) {
	schema, err := outputSchema(a.Returns)
	if err != nil {
		return nil, err
	}
	args := effect.ViewOf(a.Args)
	input, context, handoff := args.Value("input"), args.Value("context"), starlark.Value(starlark.None)
	if d.Envelope != nil {
		envelope, err := d.Envelope.View()
		if err != nil {
			return nil, err
		}
		input, context, handoff = envelope.Value("payload"), envelope.Value("context"), rest(envelope)
	}
	return effect.NewRecord(effect.QuestionType,
		starlark.String(Schema), starlark.String(a.Key), starlark.String(a.Run), starlark.String(a.Step), starlark.MakeInt(a.Number),
		starlark.String(d.Agent), starlark.String(args.Text("task")), input, context, textOrNone(d.Instructions), schema,
		feedback(a.Feedback), deadline(a), handoff, a.Memory, messages(a.Messages), describe(files, true)), nil
}

// rest is the part of an envelope that is neither input nor context.
func rest(envelope effect.View) starlark.Value {
	d := new(starlark.Dict)
	for _, name := range []string{"from", "to", "cycle", "constraints"} {
		if err := d.SetKey(starlark.String(name), envelope.Value(name)); err != nil {
			panic("agent: " + err.Error()) // a fresh dict with keys that are strings
		}
	}
	return d
}

func outputSchema(returns string) (starlark.Value, error) {
	if returns == "" {
		return starlark.None, nil
	}
	c, err := contract.Parse("output", returns)
	if err != nil {
		return nil, err
	}
	return c.Schema(contract.Validate).Root, nil
}

// messages are what the agent was told while it worked.
func messages(list []string) starlark.Value {
	out := make([]starlark.Value, len(list))
	for i, m := range list {
		out[i] = starlark.String(m)
	}
	return starlark.NewList(out)
}

func textOrNone(s string) starlark.Value {
	if s == "" {
		return starlark.None
	}
	return starlark.String(s)
}

func deadline(a *effect.Attempt) starlark.Value {
	if a.Deadline.IsZero() {
		return starlark.None
	}
	return effect.Timestamp(a.Deadline)
}
