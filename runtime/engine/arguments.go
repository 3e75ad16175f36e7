package engine

import (
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// argument is one that a rerun may set otherwise.
type argument struct {
	name string
	read func(text string) (v starlark.Value, want string) // nil for a text that is not what is wanted
}

// settable are those that say how a call is done and not what it asks.
var settable = []argument{
	{"backend", backendArgument},
	{"timeout", timeoutArgument},
	{"retries", countArgument},
	{"reasks", countArgument},
}

// otherArguments reads what a rerun sets for its step, nil for nothing.
func otherArguments(c *run.Cut, set []string) (effect.Payload, error) {
	args, err := parseSet(set)
	if err != nil || len(args) == 0 {
		return nil, err
	}
	kind := c.Request.Text("kind")
	if !journal.AgentKind(kind) {
		return nil, runtime.Refusef(runtime.ErrUsage, "step %q is of the kind %s: nothing of it can be set", c.Step, kind).
			WithHelp("--set is for agents and handoffs: %s", settableNames()).WithCall("set is for agents and handoffs: %s", settableNames())
	}
	d := starlark.NewDict(len(args))
	for _, a := range args {
		i := slices.IndexFunc(settable, func(s argument) bool { return s.name == a.Name })
		if i < 0 {
			return nil, runtime.Refusef(runtime.ErrUsage, "step %q: %s cannot be set; want one of %s", c.Step, a.Name, settableNames())
		}
		v, want := settable[i].read(a.Text)
		if v == nil {
			return nil, runtime.Refusef(runtime.ErrUsage, "step %q: %s: got %s, want %s", c.Step, a.Name, strconv.Quote(a.Text), want)
		}
		_ = d.SetKey(starlark.String(a.Name), v) // a fresh dict and a string key
	}
	return effect.Encode(d)
}

func settableNames() string {
	names := make([]string, len(settable))
	for i, s := range settable {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}

func backendArgument(text string) (starlark.Value, string) {
	if effect.CheckName(text) != nil {
		return nil, "the name of an agent"
	}
	return starlark.String(text), ""
}

func timeoutArgument(text string) (starlark.Value, string) {
	if d, err := contract.ParseDuration(text); err != nil || d <= 0 {
		return nil, `a duration above zero such as "5m"`
	}
	return starlark.String(text), ""
}

func countArgument(text string) (starlark.Value, string) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 100 {
		return nil, "a number from 0 to 100"
	}
	return starlark.MakeInt(n), ""
}
