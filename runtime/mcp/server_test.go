package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/mcp"
	"starling/runtime/memory"
	"starling/runtime/tool"
	"starling/stdlib"
)

// asking is an engine whose calls are all made by one caller, as a session's are.
type asking struct {
	*engine.Local
	caller runtime.Caller
}

func (a asking) as(ctx context.Context) context.Context { return runtime.WithCaller(ctx, a.caller) }

func (a asking) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	return a.Local.Start(a.as(ctx), r)
}
func (a asking) Signal(ctx context.Context, r runtime.Signal) (*runtime.Receipt, error) {
	return a.Local.Signal(a.as(ctx), r)
}
func (a asking) Cancel(ctx context.Context, r runtime.CancelRequest) (*runtime.Receipt, error) {
	return a.Local.Cancel(a.as(ctx), r)
}
func (a asking) Get(ctx context.Context, run string) (*runtime.Run, error) {
	return a.Local.Get(a.as(ctx), run)
}
func (a asking) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	return a.Local.List(a.as(ctx), q)
}
func (a asking) Blob(ctx context.Context, hash string) ([]byte, error) {
	return a.Local.Blob(a.as(ctx), hash)
}
func (a asking) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	return a.Local.Watch(a.as(ctx), w, fn)
}
func (a asking) StepPage(ctx context.Context, q runtime.StepQuery) (*runtime.StepPage, error) {
	return a.Local.StepPage(a.as(ctx), q)
}
func (a asking) Decisions(ctx context.Context, q runtime.DecisionQuery) (*runtime.DecisionPage, error) {
	return a.Local.Decisions(a.as(ctx), q)
}
func (a asking) Declared(ctx context.Context, run string) (*runtime.Declared, error) {
	return a.Local.Declared(a.as(ctx), run)
}
func (a asking) Define(ctx context.Context, r runtime.DefineRequest) (*runtime.Definition, error) {
	return a.Local.Define(a.as(ctx), r)
}
func (a asking) Defined(ctx context.Context, address string) ([]runtime.Definition, error) {
	return a.Local.Defined(a.as(ctx), address)
}
func (a asking) Whoami(context.Context) (*runtime.Caller, error) { return &a.caller, nil }
func (a asking) Fork(ctx context.Context, r runtime.ForkRequest) (*runtime.Run, error) {
	return a.Local.Fork(a.as(ctx), r)
}

// host begins a server whose caller is local, and gives the client's ends of the connection.
func host(t *testing.T) (ends, *engine.Local) {
	t.Helper()
	return hostOf(t, func(e runtime.Engine) runtime.Engine { return e })
}

// hostOf begins such a server of an engine around that of others.
func hostOf(t *testing.T, around func(runtime.Engine) runtime.Engine) (ends, *engine.Local) {
	t.Helper()
	s, e := serverOf(t, around, engine.Options{})
	here, there := pipes()
	go s.Run(t.Context(), there.Reader, there.Writer) // ends with the test
	t.Cleanup(func() { here.Writer.Close() })
	return here, e
}

// serverOf makes a server whose caller is local.
func serverOf(t testing.TB, around func(runtime.Engine) runtime.Engine, o engine.Options) (
	*mcp.Server, *engine.Local,
) {
	t.Helper()
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	e, err := engine.Open(memory.New(), env, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	local := asking{e, runtime.Caller{Name: "local:ann", Local: true}}
	return mcp.NewServer(&tool.Desk{Engine: around(local), Env: env, Library: stdlib.Library,
		Prepare: func(*runtime.StartRequest) error { return nil },
		Values:  func([]string) map[string]string { return nil }}, "test"), e
}

// serve connects a client to such a server.
func serve(t *testing.T, o *sdk.ClientOptions) *peer {
	t.Helper()
	here, _ := host(t)
	return connect(t, here, o)
}

func connect(t *testing.T, here ends, o *sdk.ClientOptions) *peer {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	session, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: here.Reader, Writer: here.Writer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return &peer{t, session}
}

// peer is a client with its server.
type peer struct {
	t       *testing.T
	session *sdk.ClientSession
}

// call calls a tool and gives its answer, which must be good.
func (p *peer) call(name string, arguments any) map[string]any {
	p.t.Helper()
	r := p.try(name, arguments)
	if r.IsError {
		p.t.Fatalf("%s %v: %v", name, arguments, text(r))
	}
	return fields(p.t, r)
}

func (p *peer) try(name string, arguments any) *sdk.CallToolResult {
	p.t.Helper()
	r, err := p.session.CallTool(p.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		p.t.Fatalf("%s %v: %v", name, arguments, err)
	}
	p.typed(name, r)
	return r
}

// typed holds an answer against the schema that its tool is listed with, as clients do.
func (p *peer) typed(name string, r *sdk.CallToolResult) {
	p.t.Helper()
	for listed, err := range p.session.Tools(p.t.Context(), nil) {
		if err != nil {
			p.t.Fatal(err)
		}
		if listed.Name != name {
			continue
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("output", listed.OutputSchema); err != nil {
			p.t.Fatalf("%s: outputSchema %v: %v", name, listed.OutputSchema, err)
		}
		schema, err := c.Compile("output")
		if err == nil {
			err = schema.Validate(r.StructuredContent)
		}
		if err != nil {
			p.t.Errorf("%s: the answer is not what its outputSchema says: %v\n%s", name, err, text(r))
		}
	}
}

// refused calls a tool and gives the kind of the refusal.
func (p *peer) refused(name string, arguments any) string {
	p.t.Helper()
	r := p.try(name, arguments)
	if !r.IsError {
		p.t.Fatalf("%s %v: got %s, want a refusal", name, arguments, text(r))
	}
	e, _ := fields(p.t, r)["error"].(map[string]any)
	kind, _ := e["kind"].(string)
	return kind
}

func text(r *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// fields is an answer as data; as text it must say the same.
func fields(t *testing.T, r *sdk.CallToolResult) map[string]any {
	t.Helper()
	var asText map[string]any
	if err := json.Unmarshal([]byte(text(r)), &asText); err != nil {
		t.Fatalf("%q: %v", text(r), err)
	}
	data, _ := json.Marshal(r.StructuredContent)
	again, _ := json.Marshal(asText)
	if string(data) != string(again) {
		t.Errorf("the text says %s, the data %s", again, data)
	}
	return asText
}

const review = `
inputs = contract("{n: int(0..9), label: string = \"x\"}")
def main(n, label):
    d = gate("review", options = {"approve": "publish", "reject": ""}, prompt = "Publish %d?" % n)
    return {"n": n, "choice": d.choice, "reason": d.reason}
`

const targeted = `
def main():
    return gate("review", options = ["yes", "no"], target = "reviewer").by
`

func TestToolsOfAScriptsLife(t *testing.T) {
	p := serve(t, nil)
	if d := p.call("define", map[string]any{"name": "review", "source": review}); d["version"] != 1.0 {
		t.Errorf("defined %v", d)
	}
	run := p.call("run", map[string]any{"script": "review", "inputs": map[string]any{"n": 3}, "key": "k"})["run"]
	if again := p.call("run", map[string]any{"script": "review", "inputs": map[string]any{"n": 3}, "key": "k"})["run"]; again != run {
		t.Errorf("the same key gave %v and %v", run, again)
	}
	pending := p.call("await", map[string]any{"run": run, "hold": 0})
	if pending["pending"] != true || pending["handle"] != run {
		t.Errorf("await: %v", pending)
	}
	found := p.call("inbox", map[string]any{"filter": "option = approve"})["gates"].([]any)
	if len(found) != 1 {
		t.Fatalf("inbox: %v", found)
	}
	how := found[0].(map[string]any)["answer_with"]
	if kind := p.refused("signal", map[string]any{"run": run, "gate": "review", "choice": "maybe"}); kind != "bad_choice" {
		t.Errorf("a choice that is none: %s", kind)
	}
	if kind := p.refused("signal", map[string]any{"run": run, "gate": "later", "choice": "approve"}); kind != "unknown_gate" && kind != "not_open" {
		t.Errorf("a gate that is none: %s", kind)
	}
	if a := p.call("signal", how); a["status"] != "accepted" {
		t.Errorf("signal: %v", a)
	}
	if kind := p.refused("signal", how); kind != "decided" && kind != "closed" {
		t.Errorf("a second signal: %s", kind)
	}
	done := p.call("await", map[string]any{"handle": pending["handle"]})
	if out, _ := json.Marshal(done["output"]); done["pending"] != false || string(out) != `{"choice":"approve","n":3,"reason":""}` {
		t.Errorf("await: %v", done)
	}
	decided := p.call("await", map[string]any{"run": run, "gate": "review"})
	if d, _ := decided["decision"].(map[string]any); decided["status"] != "completed" || d == nil && decided["pending"] != false {
		t.Errorf("await the gate: %v", decided)
	}
	if q := p.call("query", map[string]any{"filter": "status = completed and script = review@1"})["runs"].([]any); len(q) != 1 {
		t.Errorf("query: %v", q)
	}
	if s := p.call("status", map[string]any{"run": run, "steps": true}); len(s["steps"].([]any)) != 1 {
		t.Errorf("status: %v", s)
	}
	again := p.call("rerun", map[string]any{"run": run, "from": "review"})["run"]
	if a := p.call("cancel", map[string]any{"run": again, "reason": "enough"}); a["run_status"] != "cancelled" {
		t.Errorf("cancel: %v", a)
	}
}

func TestRefusalsOfTools(t *testing.T) {
	p := serve(t, nil)
	p.call("define", map[string]any{"name": "review", "source": review})
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		kind      string
	}{
		{"run", map[string]any{"scrpt": "review"}, "usage"},
		{"run", map[string]any{"script": "review", "inputs": map[string]any{"n": "many"}}, "bad_input"},
		{"run", map[string]any{"script": "review"}, "bad_input"},
		{"run", map[string]any{"script": "none"}, "unknown_definition"},
		{"run", map[string]any{"script": "./review.star"}, "usage"}, // files are out of reach here
		{"run", map[string]any{}, "usage"},
		{"run", map[string]any{"source": "def main(:"}, "check_failed"},
		{"run", map[string]any{"source": `load("lib.star", "x")`}, "check_failed"},
		{"define", map[string]any{"name": "a.star", "source": "x = 1"}, "usage"},
		{"define", map[string]any{"name": "a", "source": "agnet()"}, "check_failed"},
		{"status", map[string]any{"run": "zzz"}, "unknown_run"},
		{"status", map[string]any{"run": 1}, "usage"},
		{"await", map[string]any{}, "usage"},
		{"await", map[string]any{"run": "zzz"}, "unknown_run"},
		{"await", map[string]any{"run": "zzz", "hold": 60}, "usage"},
		{"signal", map[string]any{"run": "zzz"}, "usage"},
		{"inbox", map[string]any{"filter": "stauts = x"}, "usage"},
		{"query", map[string]any{"limit": 0}, "usage"},
		{"rerun", map[string]any{"run": "zzz"}, "usage"},
		{"cancel", map[string]any{"run": "zzz"}, "unknown_run"},
	} {
		if kind := p.refused(c.tool, c.arguments); kind != c.kind {
			t.Errorf("%s %v: got %s, want %s", c.tool, c.arguments, kind, c.kind)
		}
	}
}

// The words of those who learned to speak of workflows, as they are written down.
func TestOtherWords(t *testing.T) {
	p := serve(t, nil)
	p.call("define", map[string]any{"name": "multi-agent-review", "source": review})
	var started map[string]any
	if err := json.Unmarshal([]byte(`{"template": "multi-agent-review", "inputs": {"n": 8}}`), &started); err != nil {
		t.Fatal(err)
	}
	run := p.call("run", started)
	if run["workflow_id"] == nil || run["workflow_id"] != run["run"] {
		t.Errorf("run: %v", run)
	}
	at := p.call("status", map[string]any{"workflow_id": run["workflow_id"]})
	if decisions, _ := at["pending_decisions"].([]any); at["status"] != "suspended" || len(decisions) != 1 {
		t.Errorf("status: %v", at)
	}
	signal := map[string]any{"workflow_id": run["workflow_id"], "step_id": "review", "payload": map[string]any{"choice": "approve", "reason": "Results meet quality threshold"}}
	if a := p.call("signal", signal); a["status"] != "accepted" {
		t.Errorf("signal: %v", a)
	}
	if out, _ := json.Marshal(p.call("await", map[string]any{"workflow_id": run["workflow_id"]})["output"]); !strings.Contains(string(out), "Results meet quality threshold") {
		t.Errorf("output: %s", out)
	}
}

// Each tool's arguments have a description, and none is described that no tool takes.
func TestArgumentsAreDescribed(t *testing.T) {
	p := serve(t, nil)
	list, err := p.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 19 {
		t.Errorf("got %d tools", len(list.Tools))
	}
	for _, tool := range list.Tools {
		schema := tool.InputSchema.(map[string]any)
		if schema["type"] != "object" || schema["additionalProperties"] != false || tool.Description == "" {
			t.Errorf("%s: %v", tool.Name, schema)
		}
		for name, p := range schema["properties"].(map[string]any) {
			if d, _ := p.(map[string]any)["description"].(string); d == "" {
				t.Errorf("%s: %s is not described", tool.Name, name)
			}
		}
	}
}

// A definition is a tool with the schema of its inputs, also one that is made while the client is
// there.
func TestDefinitionsAreTools(t *testing.T) {
	p := serve(t, nil)
	names := func() map[string]*sdk.Tool {
		found := map[string]*sdk.Tool{}
		for tool, err := range p.session.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(tool.Name, "run_") {
				found[tool.Name] = tool
			}
		}
		return found
	}
	if len(names()) != 0 {
		t.Errorf("tools of nothing: %v", names())
	}
	p.call("define", map[string]any{"name": "my.review", "source": review})
	p.call("define", map[string]any{"name": "plain", "source": "def main(a, b = 1):\n    return [a, b]\n"})
	made := names()
	schema, _ := json.Marshal(made["run_my_review"].InputSchema)
	for _, want := range []string{`"n":{`, `"maximum":9`, `"default":"x"`, `"required":["n"]`} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("the schema %s has no %s", schema, want)
		}
	}
	if out := p.call("run_plain", map[string]any{"a": 5}); out["status"] != "completed" || out["output"].([]any)[0] != 5.0 {
		t.Errorf("run_plain: %v", out)
	}
	if kind := p.refused("run_plain", map[string]any{"c": 5}); kind != "bad_input" {
		t.Errorf("an input that is none: %s", kind)
	}
	p.call("define", map[string]any{"name": "plain", "source": "def main(z):\n    fail(z)\n"})
	if again, _ := json.Marshal(names()["run_plain"].InputSchema); !strings.Contains(string(again), `"z"`) {
		t.Errorf("the new version's schema is %s", again)
	}
	failed := p.try("run_plain", map[string]any{"z": "no"})
	if !failed.IsError || fields(t, failed)["status"] != "failed" {
		t.Errorf("run_plain: %s", text(failed))
	}
}

func TestResources(t *testing.T) {
	p := serve(t, nil)
	run := p.call("run", map[string]any{"source": targeted})["run"].(string)
	read := func(uri string) string {
		r, err := p.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		return r.Contents[0].Text
	}
	if !strings.Contains(read("starling://runs"), run) {
		t.Error("the run is not listed")
	}
	p.call("cancel", map[string]any{"run": run})
	if !strings.Contains(read("starling://runs/"+run), `"cancelled"`) {
		t.Error("the run does not say how it stands")
	}
	journal := read("starling://runs/" + run + "/journal")
	if lines := strings.Split(strings.TrimSpace(journal), "\n"); !strings.Contains(lines[0], "run.started") || !strings.Contains(lines[len(lines)-1], "run.cancelled") {
		t.Errorf("journal: %s", journal)
	}
	if rest := read("starling://runs/" + run + "/journal?after=2"); strings.Contains(rest, "run.started") || !strings.Contains(rest, "run.cancelled") {
		t.Errorf("the rest: %s", rest)
	}
	if _, err := p.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "starling://runs/zzz"}); err == nil {
		t.Error("a run that is none was read")
	}
	_, err := p.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "starling://runs/" + run + "/journal?after=x"})
	if wrong := (*jsonrpc.Error)(nil); !errors.As(err, &wrong) || wrong.Code != jsonrpc.CodeInvalidParams || !strings.Contains(wrong.Message, `after: got "x", want the number of an event`) {
		t.Errorf("after=x: %v", err)
	}
}

// What answers a gate has a payload where the gate takes one: it is never refused for the lack of
// it.
func TestAnAnswerHasWhatItsGateTakes(t *testing.T) {
	p := serve(t, nil)
	for _, c := range []struct {
		gate string
		data any
	}{
		{`gate("g", options = ["yes", "no"])`, nil},
		{`gate("g")`, "…"},
		{`gate("g", options = ["yes", "no"], schema = contract("{why: string}"))`, "…"},
		{`gate("g", options = ["yes", "no"], data = {"why": "x"}, editable = True)`, nil},
	} {
		at := p.call("run", map[string]any{"source": "def main():\n    " + c.gate + "\n"})
		for at["gates"] == nil {
			at = p.call("await", map[string]any{"run": at["run"], "hold": 0.1})
		}
		how := at["gates"].([]any)[0].(map[string]any)["answer_with"].(map[string]any)
		if how["data"] != c.data {
			t.Errorf("%s: got %v, want the data %v", c.gate, how, c.data)
		}
	}
}

// Who may not read is offered nothing to read, in lists that say who may keep them, as the protocol
// demands.
func TestNothingToRead(t *testing.T) {
	here, _ := hostOf(t, func(e runtime.Engine) runtime.Engine {
		return asking{e.(asking).Local, runtime.Caller{Name: "bob"}}
	})
	p := connect(t, here, nil)
	list, err := p.session.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) > 0 || list.CacheScope == "" {
		t.Errorf("resources: %+v, %v", list, err)
	}
	templates, err := p.session.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) > 0 || templates.CacheScope == "" {
		t.Errorf("templates: %+v, %v", templates, err)
	}
}

// Clients that take the schema of a property for an object find no tools at all where one of them
// has true in its place: the SDK for JavaScript, and with it Claude Code.
func TestPropertiesAreObjects(t *testing.T) {
	p := serve(t, nil)
	p.call("define", map[string]any{"name": "any", "source": "def main(x, y = None):\n    return x\n"})
	p.call("define", map[string]any{"name": "said", "source": "inputs = contract(\"{x: any, y: [any]}\")\n\ndef main(x, y):\n    return x\n"})
	listed := 0
	for tool, err := range p.session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		listed++
		for side, schema := range map[string]any{"inputSchema": tool.InputSchema, "outputSchema": tool.OutputSchema} {
			s, _ := schema.(map[string]any)
			properties, _ := s["properties"].(map[string]any)
			for name, property := range properties {
				if _, ok := property.(map[string]any); !ok {
					t.Errorf("%s: %s has %v as the schema of %s, want an object", tool.Name, side, property, name)
				}
			}
		}
	}
	if listed < 10 {
		t.Errorf("got %d tools", listed)
	}
}
