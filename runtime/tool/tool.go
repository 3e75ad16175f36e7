package tool

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/runtime"
	"starling/runtime/query"
)

// Tool is one thing that can be asked of an engine.
type Tool struct {
	Name   string
	Doc    string                    // for people and models
	Input  func() *contract.Contract // of the arguments
	Looks  bool                      // it changes nothing
	Ends   bool                      // it destroys something
	Answer any                       // a value of the type of its answers

	call func(d *Desk, ctx context.Context, arguments json.RawMessage) (any, error)
	can  runtime.Capability // all of these, or every call is refused
}

// Offered is what of the table a caller may use.
func Offered(c runtime.Caller) []Tool {
	return slices.DeleteFunc(Tools(), func(t Tool) bool { return !t.For(c) })
}

// For tells whether a caller may use the tool at all. What it may do with it is the engine's to
// say.
func (t *Tool) For(c runtime.Caller) bool {
	toOthers := t.Name == "steer" || t.Name == "stop" // which an agent may not do to agents
	return c.May(t.can) && !(toOthers && c.Agent != "")
}

// arguments that need more than their tool does.
func dearer() map[string]runtime.Capability {
	return map[string]runtime.Capability{"as": runtime.CanActAs, "override": runtime.CanOverride, "set": runtime.CanAdmin}
}

// Tools is the table.
func Tools() []Tool {
	return []Tool{
		{"define", "Keep a script under a name, with its versions; each is a tool run_NAME from then on. Give its text as source, or the path of its file as script.",
			args(`{name: string, source?: string, script?: string, key?: string}`), false, false, runtime.Definition{}, calls((*Desk).define), runtime.CanDefine},
		{"run", "Start a run and answer at once with its id, before it has done anything. Follow it with await or status.",
			args(`{script?: string, source?: string, inputs?: {string: any}, deadline?: duration, overtime?: "fail" | "cancel" | "suspend", labels?: {string: string}, key?: string}`), false, false, Standing{}, calls((*Desk).run), runtime.CanRun},
		{"status", "How a run stands: status, output or error, open gates; when asked, its newest steps too, or those behind one record.",
			args(`{run: string, steps: bool = false, limit: int(1..1000) = 200, after?: int(1..)}`), true, false, Standing{}, calls((*Desk).status), runtime.CanRead},
		{"signal", "Answer a gate, or leave a message in a run's mailbox. The answer is durable when it is accepted; a gate is answered once.",
			args(`{run: string, gate?: string, choice?: string, reason?: string, data?: any, message?: string, as?: string, override: bool = false, key?: string}`), false, false, Accepted{}, calls((*Desk).signal), runtime.CanSignal},
		{"inbox", "The open gates, the oldest first: what is asked, of whom, until when, and how to answer. It needs no run's id.",
			args(`{target?: string, filter: string = "", limit: int(1..1000) = 100, after?: string}`), true, false, Gates{}, calls((*Desk).inbox), runtime.CanRead},
		{"claim", "Take work that an agent comes for: the oldest on offer for you, or that of a run or a step. Keep it with heartbeat before until, bring the result with submit.",
			args(`{run?: string, step?: string, lease?: duration, as?: string, key?: string}`), false, false, runtime.Claim{}, calls((*Desk).claim), runtime.CanSignal},
		{"heartbeat", "Keep a claim and tell what happens meanwhile. Where the answer has over, stop working: somebody has ended it.",
			args(`{claim: string, lease?: duration, events?: [{kind: string, *: any}], as?: string, key?: string}`), false, false, runtime.Claim{}, calls((*Desk).heartbeat), runtime.CanSignal},
		{"submit", "Bring the result of a claim. One that breaks its contract is refused with the paths at fault: mend it and submit again with the same claim.",
			args(`{claim: string, output?: any, text?: string, status?: "ok" | "stopped" | "blocked" | "error", note?: string, usage?: {string: any}, events?: [{kind: string, *: any}], artifacts?: {string: string}, as?: string, key?: string}`),
			false, false, Accepted{}, calls((*Desk).submit), runtime.CanSignal},
		{"steer", "Tell an agent something while it works: before its next step, or as the conversation goes on.",
			args(`{run: string, step: string, message: string, as?: string, key?: string}`), false, false, Accepted{}, calls((*Desk).steer), runtime.CanSignal},
		{"stop", "End one agent at work. Its result has the status stopped, and the script goes on.",
			args(`{run: string, step: string, reason?: string, as?: string, key?: string}`), false, true, Accepted{}, calls((*Desk).stop), runtime.CanCancel},
		{"await", "Hold until a run has ended or, with gate, until that is decided; half a minute at most. If it says pending, call again with its handle: nothing is lost meanwhile.",
			args(`{run?: string, gate?: string, handle?: string, hold: number(0..28) = 25}`), true, false, Awaited{}, calls((*Desk).await), runtime.CanRead},
		{"cancel", "End a run and all it started.",
			args(`{run: string, reason?: string, as?: string, key?: string}`), false, true, Accepted{}, calls((*Desk).cancel), runtime.CanCancel},
		{"push", "Put an item at the end of a queue, for whichever run takes it. It is durable when this answers, and starts nothing.",
			args(`{queue: string(1..), value: any, key?: string}`), false, false, runtime.Pushed{}, calls((*Desk).push), runtime.CanSignal},
		{"schedule", "Start a defined script at its times: by cron, in five fields and a zone, or every so often. With another action pause it, have it go on, run it now, for the times of a span, or remove it. It fires while starling serve owns the store; query with resource schedules lists them.",
			args(`{name: string(1..), action: "set" | "pause" | "resume" | "trigger" | "backfill" | "remove" = "set", script?: string, cron?: string, every?: duration, zone?: string, jitter?: duration, inputs?: {string: any}, labels?: {string: string}, time_input?: string, overlap: "skip" | "queue" | "cancel" | "allow" = "skip", catch_up: "last" | "all" | "none" = "last", reason?: string, from?: string, to?: string}`),
			false, false, runtime.Schedule{}, calls((*Desk).schedule), runtime.CanRun},
		{"remember", "Keep something about this project that is worth knowing later: what was learned, decided or stumbled over. It is filed behind this call: looked up, merged, or put before a person where it contradicts.",
			args(`{category: string(1..), topic: string(1..200), details: string(1..), files: [string] = [], key?: string}`), false, false, Remembered{}, calls((*Desk).remember), runtime.CanSignal},
		{"query", "The runs that a filter means or, with resource decisions, who has decided what, why and when: in all runs, or in one and those it has started; the newest first. With resource schedules, what starts runs at its times.",
			args(`{resource: "runs" | "decisions" | "schedules" = "runs", run?: string, filter: string = "", limit: int(1..1000) = 100, after?: string}`), true, false, Found{}, calls((*Desk).query), runtime.CanRead},
		{"diagram", "A run as a Mermaid flowchart: its steps and branches, coloured by how they stand.",
			args(`{run: string, limit: int(1..1000) = 200, after?: int(1..)}`), true, false, Drawn{}, calls((*Desk).diagram), runtime.CanRead},
		{"cost", "What agents have cost, of one run or of all, and what is used and left of the project's budgets: those of a day as they are today and, of one run, that run's.",
			args(`{run?: string, by?: string, limit: int(1..1000) = 100}`), true, false, query.Cost{}, calls((*Desk).cost), runtime.CanRead},
		{"rerun", "Do a run again from a step on, or that step alone, as a new run; the old one stays as it is.",
			args(`{run: string, from?: string, only?: string, set?: {string: string}, accept_drift?: bool, key?: string}`), false, false, Standing{}, calls((*Desk).rerun), runtime.CanRead | runtime.CanRun},
	}
}

// words says what an argument means. One means the same wherever it stands.
func words() map[string]string {
	return map[string]string{
		"run":          "id of a run, a unique prefix of one, or @last",
		"gate":         "address of a gate within its run, as inbox lists it",
		"handle":       "what an await that was pending gave",
		"hold":         "seconds to wait",
		"script":       "a defined NAME or NAME@VERSION, or the path of a file that ends with .star or has a slash",
		"source":       "the text of a script that loads nothing but @std",
		"name":         "letters, digits, dots, dashes",
		"inputs":       "by name",
		"action":       "what is done to the schedule; set makes it, or gives it other times",
		"cron":         "minute, hour, day of month, month, day of week, such as 30 7 * * 1-5; or @hourly, @daily, @weekly, @monthly",
		"every":        "an interval, such as 6h, instead of cron",
		"zone":         "IANA name of the zone of cron, such as Europe/Zurich; UTC",
		"jitter":       "each time is put off by less than this",
		"time_input":   "the input that is given the time a run is for",
		"overlap":      "what becomes of a time that comes while an earlier run is at work",
		"catch_up":     "what becomes of times that were missed",
		"to":           "of a backfill: the end of the span, RFC 3339",
		"accept_drift": "go on though the repository stands at another commit than the run began at",
		"choice":       "one of the gate's options",
		"reason":       "why, in words",
		"data":         "the payload, for gates and messages that take one",
		"message":      "for signal the name of a message for the run's mailbox, instead of a gate; for steer what the agent is told",
		"as":           "act as another; needs the capability act-as, and both names are recorded",
		"override":     "answer a gate that is for somebody else, in your own name; needs that capability",
		"queue":        "its name; it needs no making",
		"value":        "any JSON",
		"category":     "architecture, patterns, dependencies, workflows or gotchas",
		"topic":        "what it is about, in a few words",
		"details":      "what is worth knowing, in Markdown",
		"files":        "paths that it is about",
		"key":          "idempotency: the same request with the same key is done once; for push and remember nothing is put into the queue while an item of the key is there",
		"deadline":     "the run must have ended after this duration, such as 2h",
		"overtime":     "what becomes of it then",
		"labels":       "what the run, or each run of the schedule, can be found and budgeted by: names and values as Kubernetes has them; they never change",
		"target":       "only what this name may answer",
		"filter":       `such as: status = suspended and target = "reviewer" and age > 2h; of decisions: by = reviewer and choice = reject and age < 1d`,
		"resource":     "what is looked for",
		"limit":        "at most so many",
		"by":           "what is summed up: agent, backend, model, day, run or label.NAME; run or, of one run, agent when it is left out",
		"after":        "for the page behind one, its next",
		"steps":        "with its steps",
		"step":         "address of a step within its run",
		"claim":        "what claim gave: RUN@STEP:N",
		"lease":        "it is offered again after so long without a heartbeat; 5m",
		"events":       "what happened, each with a kind",
		"artifacts":    "texts that the work leaves beside its result, by name: they are kept as artifacts of the step",
		"output":       "what the contract wants",
		"text":         "the result in words",
		"status":       "how it ended",
		"note":         "a remark for people",
		"usage":        "what it cost: usd, input_tokens, output_tokens",
		"from":         "of rerun the step from which it is live; of a backfill the begin of the span, RFC 3339",
		"only":         "the one step that is performed",
		"set":          "for the step: backend, timeout, retries or reasks",
	}
}

// args reads a contract of this file when it is asked for: the help of every command names the
// tools.
func args(text string) func() *contract.Contract {
	return sync.OnceValue(func() *contract.Contract {
		c, err := contract.Parse("arguments", text)
		if err != nil {
			panic(err) // the table is tested
		}
		return c
	})
}

// calls gives a method of the server its arguments.
func calls[A any](method func(*Desk, context.Context, A) (any, error)) func(*Desk, context.Context, json.RawMessage) (any, error) {
	return func(d *Desk, ctx context.Context, arguments json.RawMessage) (any, error) {
		var a A
		if err := json.Unmarshal(arguments, &a); err != nil {
			return nil, runtime.Refusef(runtime.ErrUsage, "the arguments are too large for what they are: %v", err)
		}
		return method(d, ctx, a)
	}
}

// Schema is the contract of the arguments that a caller may use as JSON Schema, with what each
// means.
func (t *Tool) Schema(c runtime.Caller) map[string]any {
	var schema map[string]any
	if err := json.Unmarshal(t.Input().Schema(contract.Validate).JSON(), &schema); err != nil {
		panic(err) // it is ours
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, needs := range dearer() {
		if !c.May(needs) {
			delete(properties, name) // none is required
		}
	}
	for name, p := range properties {
		if p, ok := p.(map[string]any); ok {
			p["description"] = words()[name]
		}
	}
	return schema
}

// checked holds arguments against the contract and fills in what they leave out.
func (t *Tool) checked(arguments json.RawMessage) (json.RawMessage, error) {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	v, err := t.read(arguments)
	if err != nil {
		return nil, err
	}
	v, wrong := t.Input().Check(v)
	if len(wrong) > 0 {
		return nil, badCall(t.Name, wrong)
	}
	return contract.ToJSON(v)
}

// read reads arguments. A key that stands twice is refused, before anything that takes the last one
// of the two has read them.
func (t *Tool) read(arguments json.RawMessage) (starlark.Value, error) {
	v, err := contract.FromOutside(arguments)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "%s: the arguments are not JSON: %v", t.Name, err)
	}
	return v, nil
}

// Call checks the arguments, a JSON object, and makes the call. The answer is one JSON object, of
// the tool's type or in the caller's own words. An error is for [RefusalOf].
func (t *Tool) Call(ctx context.Context, d *Desk, arguments json.RawMessage) (any, error) {
	if len(arguments) > 0 {
		if _, err := t.read(arguments); err != nil {
			return nil, err
		}
	}
	arguments, foreign := t.translate(arguments)
	arguments, err := t.checked(arguments)
	if err != nil {
		return nil, err
	}
	v, err := t.call(d, ctx, arguments)
	if err == nil && foreign {
		v = addAliases(v)
	}
	return v, err
}
