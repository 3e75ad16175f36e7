package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/tool"
)

// answer is what an agent said.
type answer struct {
	output starlark.Value // nil when there is text only
	text   string
	status string // "ok", "stopped", "blocked" or "error"
	note   string
	usage  starlark.Value // a dict, or nil
	events []starlark.Value

	session string // how the backend calls the conversation
}

// The statuses that an agent may claim. Timeout and invalid are for others to judge.
var statuses = []string{"ok", "stopped", "blocked", "error"}

// parseAnswer reads what a command wrote. The last JSON object is its answer if it has an output or
// a text, or says with a note and nothing else why there is none:
//
//	{output: any} or {text: string}, or {status, note} with another status than ok, and with each
//	status?: "ok" | "stopped" | "blocked" | "error"    "ok" when it is not there
//	note?: string                                       a remark for people
//	usage?: {string: any}                               tokens and cost
//	events?: [{kind: string, *: any}]                   what happened meanwhile
//
// Anything else is text: an agent may write its reply as prose and the JSON that a contract asks
// for within it. Other keys are ignored. What has the form of an answer but not its types is a
// failure, with the paths at fault.
func parseAnswer(stdout string) (answer, contract.Violations) {
	stdout = strings.ToValidUTF8(stdout, "\uFFFD")
	if object, ok := lastObject(stdout); ok {
		fields := effect.ViewOf(object)
		if fields.Has("output") || fields.Has("text") || declines(object) {
			return answerOf(fields)
		}
	}
	return answer{text: strings.TrimSpace(stdout), status: "ok"}, nil
}

// declines tells whether an object says why there is no reply. One with other keys may be the reply
// itself, of which a status and a note are parts.
func declines(object *starlark.Dict) bool {
	fields := effect.ViewOf(object)
	for _, key := range object.Keys() {
		name, _ := starlark.AsString(key)
		if !slices.Contains([]string{"status", "note", "usage", "events"}, name) {
			return false
		}
	}
	return fields.Has("note") && slices.Contains(statuses[1:], fields.Text("status"))
}

// answerOf checks the fields of an answer.
func answerOf(fields effect.View) (answer, contract.Violations) {
	a := answer{status: "ok"}
	var wrong contract.Violations
	if fields.Has("output") {
		a.output = fields.Value("output")
	}
	for _, f := range []struct {
		name string
		to   *string
	}{{"text", &a.text}, {"status", &a.status}, {"note", &a.note}} {
		v := fields.Value(f.name)
		s, ok := starlark.AsString(v)
		switch {
		case ok:
			*f.to = s
		case v != starlark.None:
			wrong = append(wrong, contract.Violation{Path: f.name, Got: v.Type(), Want: "string"})
		}
	}
	if !slices.Contains(statuses, a.status) {
		wrong = append(wrong, contract.Violation{Path: "status", Got: fmt.Sprintf("%q", a.status), Want: "one of " + strings.Join(statuses, ", ")})
	}
	wrong = append(wrong, a.takeUsage(fields.Value("usage"))...)
	return a, append(wrong, a.takeEvents(fields.Value("events"))...)
}

func (a *answer) takeUsage(v starlark.Value) contract.Violations {
	if v == starlark.None {
		return nil
	}
	if _, ok := v.(*starlark.Dict); !ok || !plain(v) {
		return contract.Violations{{Path: "usage", Got: v.Type(), Want: "a dict of plain values"}}
	}
	a.usage = v
	return nil
}

// plain tells whether a value can be journaled: a scripted agent may hand over anything.
func plain(v starlark.Value) bool {
	_, err := effect.Encode(v)
	return err == nil
}

func (a *answer) takeEvents(v starlark.Value) contract.Violations {
	if v == starlark.None {
		return nil
	}
	list, ok := v.(starlark.Iterable)
	if _, dict := v.(*starlark.Dict); !ok || dict {
		return contract.Violations{{Path: "events", Got: v.Type(), Want: "list"}}
	}
	var wrong contract.Violations
	i := 0
	for e := range starlark.Elements(list) {
		kind := effect.ViewOf(e).Text("kind")
		if effect.CheckName(kind) != nil {
			wrong = append(wrong, contract.Violation{Path: fmt.Sprintf("events[%d].kind", i), Got: fmt.Sprintf("%q", kind),
				Want: "the name of a kind of event"})
		} else if !plain(e) {
			wrong = append(wrong, contract.Violation{Path: fmt.Sprintf("events[%d]", i), Got: "a value that cannot be recorded", Want: "plain values"})
		}
		a.events = append(a.events, e)
		i++
	}
	return wrong
}

// empty tells whether an agent said nothing, which is a failure whatever else it claims.
func (a *answer) empty() bool { return a.output == nil && strings.TrimSpace(a.text) == "" }

// reply judges an answer and makes the reply of it. returns is the contract that the runtime will
// check it against; here it only decides which JSON of a text is meant.
func (a *answer) reply(agent, returns string) effect.Reply {
	if a.status == "error" {
		return failed(effect.Errorf(effect.KindAgent, "%s: %s", agent, firstOf(a.note, a.text, "it reports an error and does not say which")),
			effect.Final)
	}
	if a.empty() && a.status == "ok" {
		return failed(effect.Errorf(effect.KindAgent, "%s: the reply is empty", agent), effect.Retryable)
	}
	r := effect.Reply{Value: a.output, Text: a.text, Note: a.note, Usage: a.usage, Session: a.session}
	if a.status != "ok" {
		r.Status = a.status
	}
	if r.Value == nil && r.Text != "" && returns != "" {
		r.Value = valueIn(a.text, returns)
	}
	return r
}

// act journals the events of one that plays an agent. A call of the run's variables it makes: else
// the script would not find there what the agent set.
func act(ctx context.Context, q Question, kind string, data starlark.Value) {
	call := effect.ViewOf(data)
	if kind != "tool_call" || call.Text("server") != tool.Variables {
		q.Emit(kind, claimed(kind, data))
		return
	}
	if q.Tools == nil {
		text := tool.Variables + "." + call.Text("tool") + ": denied: it is not among its tools"
		q.Emit("tool_denied", dict("server", tool.Variables, "tool", call.Text("tool"),
			"code", string(tool.NotAllowed), "text", text))
		return
	}
	input, err := contract.ToJSON(call.Value("input"))
	if err != nil {
		input = nil // the call says what it lacks
	}
	_, _ = q.Tools.Call(ctx, tool.Variables, call.Text("tool"), input) // its event says what it came to
}

// emit journals the events of an answer.
func (a *answer) emit(to *effect.Attempt) {
	for _, e := range a.events {
		kind := effect.ViewOf(e).Text("kind")
		to.Emit(kind, claimed(kind, e))
	}
}

// malformed is the reply for an answer that has the wrong types. That is a mistake of the program
// around the agent, not of what it says: asking again with the paths at fault would tell the wrong
// one.
func malformed(agent string, wrong contract.Violations) effect.Reply {
	return failed(violations(agent+": the reply has the wrong form", wrong), effect.Retryable)
}
