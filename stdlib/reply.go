package stdlib

import (
	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// replyBuiltin is for scripted agents: what a function of a fake returns when a value or a text is
// not enough.
func replyBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "reply",
		Doc:      "What a scripted agent answers, with more than its output.",
		Params: []effect.Param{
			{Name: "output", Default: "None", KeywordOnly: true, Doc: "The typed reply."},
			{Name: "text", Type: "string", Default: "None", KeywordOnly: true, Doc: "The reply in words."},
			{Name: "events", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: "Events before the reply: dicts with a kind."},
			{Name: "usage", Type: "dict", Default: "None", KeywordOnly: true, Doc: "Tokens and cost that it claims."},
			{Name: "delay", Type: "duration", Default: "None", KeywordOnly: true, Doc: "How long it takes, after the events."},
			{Name: "status", Type: "string", Default: `"ok"`, OneOf: []string{"ok", "stopped", "blocked", "error"}, KeywordOnly: true,
				Doc: "How it ended."},
			{Name: "note", Type: "string", Default: "None", KeywordOnly: true, Doc: "A remark for people."},
			{Name: "files", Type: "dict", Default: "None", KeywordOnly: true,
				Doc: "What it changes in the workspace before it replies: path to content, None to remove the file."},
		},
		Result: "Reply",
		Pure:   func(c *effect.Call) (starlark.Value, error) { return recordOf(c, effect.ReplyType), nil },
	}
}

// recordOf makes a record of the arguments that have the names of its fields.
func recordOf(c *effect.Call, t *effect.RecordType) *effect.Record {
	fields := make([]starlark.Value, len(t.Fields))
	for i, name := range t.Fields {
		fields[i] = c.Get(name)
	}
	return effect.NewRecord(t, fields...)
}

// verdictBuiltins are what on_event may answer.
func verdictBuiltins() []*effect.Builtin {
	return []*effect.Builtin{
		{FullName: "proceed", Doc: "Answer of on_event: go on. None is the same.", Result: "Verdict", Pure: verdict("proceed", "")},
		{
			FullName: "stop", Doc: "Answer of on_event: end the agent. Its Result has the status stopped, and the text that it has said so far.", Result: "Verdict",
			Params: []effect.Param{{Name: "reason", Type: "string", Default: `""`, Doc: "Why."}},
			Pure:   verdict("stop", "reason"),
		},
		{
			FullName: "steer", Doc: "Answer of on_event: tell the agent something while it works.", Result: "Verdict",
			Params: []effect.Param{{Name: "message", Type: "string", Doc: "What."}},
			Pure:   verdict("steer", "message"),
		},
	}
}

func verdict(action, param string) func(*effect.Call) (starlark.Value, error) {
	return func(c *effect.Call) (starlark.Value, error) {
		message := ""
		if param != "" {
			message = c.Text(param, "")
		}
		return effect.NewRecord(effect.VerdictType, starlark.String(action), starlark.String(message)), nil
	}
}
