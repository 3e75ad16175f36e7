package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/runtime/tool"
	"starling/runtime/web"
	"starling/stdlib"
)

// site is a server with an engine, and what its document says.
type site struct {
	t      *testing.T
	engine *engine.Local
	url    string
	doc    *jsonschema.Compiler
	paths  map[string]map[string]operation
	admin  context.Context
}

type operation struct {
	Responses map[string]struct {
		Content map[string]struct{ Schema any }
	}
}

func open(t *testing.T, around func(*engine.Local) runtime.Engine) *site {
	t.Helper()
	return openWith(t, around, func(*web.Options) {})
}

// openWith opens a site with other options.
func openWith(t *testing.T, around func(*engine.Local) runtime.Engine, set func(*web.Options)) *site {
	t.Helper()
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	e, err := engine.Open(memory.New(), env, engine.Options{Project: func() (*effect.Settings, error) {
		return &effect.Settings{ProjectFile: "/starling.toml", Project: []byte("[agents.helper]\nbackend = \"inbox\"\n[grants.\"*\"]\nagents = [\"helper\"]\n")}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	desk := &tool.Desk{Engine: around(e), Env: env, Library: stdlib.Library, Prepare: func(*runtime.StartRequest) error { return nil },
		Values: func([]string) map[string]string { return nil }}
	options := web.Options{Desk: desk, Build: "test", Hosts: []string{"starling.example"}, MCP: true}
	set(&options)
	h, err := web.Handler(options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Listener = narrow{server.Listener}
	server.Start()
	t.Cleanup(func() {
		e.Close()
		server.CloseClientConnections()
		server.Close()
	})
	s := &site{t: t, engine: e, url: server.URL, admin: runtime.WithCaller(t.Context(), runtime.Caller{Name: "local:ann", Local: true})}
	s.read()
	return s
}

// narrow is a listener whose connections hold little in the kernel that nobody has read.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10) // else the test takes longer
	}
	return c, err
}

// pull lets an agent come for its work.
func (s *site) pull(good func(name, token, arguments string) map[string]any, worker string) {
	s.t.Helper()
	helper := s.token("helper", "read", "signal")
	run := good("run", worker, `{"source": "def main():\n    return agent(\"helper\", \"help\", output = contract(\"int\")).output\n"}`)["run"].(string)
	for good("status", worker, `{"run": "`+run+`"}`)["status"] != "suspended" {
	}
	if status, fields := s.call("claim", worker, `{"run": "`+run+`"}`); status != 403 || kindOf(fields) != "denied" {
		s.t.Errorf("claim: %d %v", status, fields)
	}
	claim := good("claim", helper, `{"lease": "1m"}`)["claim"].(string)
	good("heartbeat", helper, `{"claim": "`+claim+`", "events": [{"kind": "plan", "text": "help"}]}`)
	if status, fields := s.call("submit", helper, `{"claim": "`+claim+`", "output": "x"}`); status != 422 || kindOf(fields) != "bad_payload" {
		s.t.Errorf("submit: %d %v", status, fields)
	}
	if status, fields := s.call("submit", helper, `{"claim": "nonsense"}`); status != 400 {
		s.t.Errorf("submit: %d %v", status, fields)
	}
	good("steer", helper, `{"run": "`+run+`", "step": "helper", "message": "hurry"}`)
	if beat := good("heartbeat", helper, `{"claim": "`+claim+`"}`); fmt.Sprint(beat["messages"]) != "[hurry]" {
		s.t.Errorf("heartbeat: %v", beat)
	}
	good("submit", helper, `{"claim": "`+claim+`", "output": 5}`)
	if done := good("await", worker, `{"run": "`+run+`"}`); fmt.Sprint(done["output"]) != "5" {
		s.t.Errorf("await: %v", done)
	}
	again := good("run", worker, `{"source": "def main():\n    return agent(\"helper\").status\n"}`)["run"].(string)
	for good("status", worker, `{"run": "`+again+`"}`)["status"] != "suspended" {
	}
	good("stop", worker, `{"run": "`+again+`", "step": "helper", "reason": "enough"}`)
	if status, fields := s.call("submit", helper, `{"claim": "`+claim+`", "output": 6}`); status != 409 || kindOf(fields) != "closed" {
		s.t.Errorf("a late submit: %d %v", status, fields)
	}
}

func itself(e *engine.Local) runtime.Engine { return e }

// Who reads the document is told what every operation and every parameter means; a summary fits on
// a line.
func TestTheDocumentExplains(t *testing.T) {
	s := open(t, itself)
	_, _, body := s.ask("GET", "/openapi.json", s.token("worker", "all"), "")
	var doc struct {
		Paths map[string]map[string]struct {
			Summary, Description string
			Parameters           []struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal(body, &doc); err != nil || len(doc.Paths) == 0 {
		t.Fatalf("%v: %s", err, body)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.Summary == "" || len(op.Summary) > 160 || !strings.HasPrefix(op.Description, op.Summary) {
				t.Errorf("%s %s: the summary is %q, the description %q", method, path, op.Summary, op.Description)
			}
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s %s: nothing says what %s is", method, path, p.Name)
				}
			}
		}
	}
}

// read fetches the document of who may do all.
func (s *site) read() {
	s.t.Helper()
	status, _, body := s.ask("GET", "/openapi.json", s.token("all", "all"), "")
	var doc struct {
		Paths map[string]map[string]operation
	}
	if err := json.Unmarshal(body, &doc); err != nil || status != http.StatusOK {
		s.t.Fatalf("the document: %d %v", status, err)
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	s.paths, s.doc = doc.Paths, jsonschema.NewCompiler()
	if err := s.doc.AddResource("openapi.json", whole); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) token(name string, can ...string) string {
	s.t.Helper()
	made, err := s.engine.AddToken(s.admin, runtime.TokenRequest{Name: name, Can: can})
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Secret
}

// ask makes a request and gives the whole answer.
func (s *site) ask(method, path, token, body string, headers ...string) (int, http.Header, []byte) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, content
}

// stream begins to read what is streamed at a path.
func (s *site) stream(path, authorization string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", authorization)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// call calls a tool and holds the answer against the document.
func (s *site) call(name, token, arguments string) (int, map[string]any) {
	s.t.Helper()
	status, _, body := s.ask("POST", "/v1/"+name, token, arguments)
	s.fits("/v1/"+name, "post", status, body)
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		s.t.Fatalf("%s: %q: %v", name, body, err)
	}
	return status, fields
}

// fits holds an answer against what the document says of it.
func (s *site) fits(path, method string, status int, body []byte) {
	s.t.Helper()
	if _, ok := s.paths[path][method].Responses[fmt.Sprint(status)].Content["application/json"]; !ok {
		s.t.Errorf("the document has no status %d of %s", status, path)
		return
	}
	pointer := strings.NewReplacer("~", "~0", "/", "~1").Replace(path)
	schema, err := s.doc.Compile(fmt.Sprintf("openapi.json#/paths/%s/%s/responses/%d/content/application~1json/schema", pointer, method, status))
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		s.t.Errorf("%s answered %d %s: %v", path, status, body, err)
	}
}

func kindOf(fields map[string]any) any {
	e, _ := fields["error"].(map[string]any)
	return e["kind"]
}

const gated = `{"name": "gated", "source": "def main(n):\n    d = gate(\"g\", options = [\"yes\", \"no\"], target = \"judge\")\n    return [n, d.by]\n"}`

// A life of a run over every route, each answer as the document has it. S1-03
func TestEveryRoute(t *testing.T) {
	s := open(t, itself)
	worker, judge := s.token("worker", "define", "run", "read", "cancel"), s.token("judge", "read", "signal")
	asked := map[string]bool{}
	good := func(name, token, arguments string) map[string]any {
		t.Helper()
		asked["/v1/"+name] = true
		status, fields := s.call(name, token, arguments)
		if status != http.StatusOK {
			t.Fatalf("%s %s: %d %v", name, arguments, status, fields)
		}
		return fields
	}
	bundle := good("define", worker, gated)["bundle"].(string)
	run := good("run", worker, `{"script": "gated", "inputs": {"n": 1}, "key": "k"}`)["run"].(string)
	if pending := good("await", worker, `{"run": "`+run+`", "hold": 0}`); pending["pending"] != true {
		t.Errorf("await: %v", pending)
	}
	if found := good("inbox", judge, ``)["gates"].([]any); len(found) != 1 {
		t.Errorf("inbox: %v", found)
	}
	for _, c := range []struct {
		name, token, arguments string
		status                 int
		kind                   runtime.ErrorKind
	}{
		{"signal", worker, `{"run": "` + run + `", "gate": "g", "choice": "yes"}`, 403, runtime.ErrDenied},
		{"run", judge, `{"script": "gated", "inputs": {"n": 1}}`, 403, runtime.ErrDenied},
		{"signal", judge, `{"run": "` + run + `", "gate": "g", "choice": "maybe"}`, 422, runtime.ErrBadChoice},
		{"signal", judge, `{"run": "` + run + `"`, 400, runtime.ErrUsage},
		{"status", judge, `{"run": "zzz"}`, 404, runtime.ErrUnknownRun},
		{"run", worker, `{"script": "gated"}`, 422, runtime.ErrBadInput},
		{"run", worker, `{"source": "agnet()"}`, 422, runtime.ErrCheckFailed},
		{"run", worker, `{"script": "gated", "inputs": {"n": 2}, "key": "k"}`, 409, runtime.ErrKeyConflict},
		{"query", worker, `{"filter": "stauts = x"}`, 400, runtime.ErrUsage},
		{"query", worker, `{"resource": "decisions", "filter": "status = failed"}`, 400, runtime.ErrUsage},
		{"query", worker, `{"resource": "decisions", "run": "zzz"}`, 404, runtime.ErrUnknownRun},
		{"query", worker, `{"resource": "gates"}`, 400, runtime.ErrUsage},
		{"query", worker, `{"run": "` + run + `"}`, 400, runtime.ErrUsage},
		{"schedule", judge, `{"name": "s", "script": "gated", "cron": "@daily", "inputs": {"n": 1}}`, 403, runtime.ErrDenied},
		{"schedule", worker, `{"name": "s", "script": "gated", "cron": "@daily"}`, 422, runtime.ErrBadInput},
		{"schedule", worker, `{"name": "s", "script": "gated", "every": "soon", "inputs": {"n": 1}}`, 400, runtime.ErrUsage},
		{"schedule", worker, `{"name": "s", "cron": "@daily"}`, 400, runtime.ErrUsage},
		{"schedule", worker, `{"name": "s", "action": "pause"}`, 404, runtime.ErrUnknownSchedule},
		{"schedule", worker, `{"name": "s", "action": "backfill", "from": "May"}`, 400, runtime.ErrUsage},
		{"query", worker, `{"resource": "schedules", "filter": "by = x"}`, 400, runtime.ErrUsage},
		{"query", s.token("mute", "signal"), `{"resource": "decisions"}`, 403, runtime.ErrDenied},
	} {
		if status, fields := s.call(c.name, c.token, c.arguments); status != c.status || kindOf(fields) != string(c.kind) {
			t.Errorf("%s %s: got %d %v, want %d %s", c.name, c.arguments, status, fields, c.status, c.kind)
		}
	}
	good("signal", judge, `{"run": "`+run+`", "gate": "g", "choice": "yes"}`)
	if done := good("await", worker, `{"run": "`+run+`"}`); fmt.Sprint(done["output"]) != "[1 judge]" {
		t.Errorf("await: %v", done)
	}
	if at := good("status", worker, `{"run": "`+run+`", "steps": true}`); len(at["steps"].([]any)) != 1 {
		t.Errorf("status: %v", at)
	}
	if drawn := good("diagram", worker, `{"run": "`+run+`"}`); !strings.Contains(drawn["mermaid"].(string), `{{"g<br/>ok`) {
		t.Errorf("diagram: %v", drawn)
	}
	if cost := good("cost", worker, `{"run": "`+run+`"}`); cost["by"] != "agent" || cost["run"] != run {
		t.Errorf("cost: %v", cost)
	}
	good("query", worker, `{"filter": "status = completed"}`)
	made := good("query", worker, `{"resource": "decisions", "filter": "by = judge and age < 1h"}`) // S0-27
	if list := made["decisions"].([]any); len(list) != 1 || list[0].(map[string]any)["address"] != run+"/g" || made["runs"] != nil {
		t.Errorf("decisions: %v", made)
	}
	if none := good("query", worker, `{"resource": "decisions", "run": "`+run+`", "filter": "by = worker"}`)["decisions"].([]any); len(none) != 0 {
		t.Errorf("decisions of others: %v", none)
	}
	good("schedule", worker, `{"name": "s", "script": "gated", "every": "6h", "jitter": "1m", "inputs": {"n": 1}}`)
	good("schedule", worker, `{"name": "s", "action": "pause", "reason": "holidays"}`)
	if list := good("query", judge, `{"resource": "schedules"}`)["schedules"].([]any); len(list) != 1 || list[0].(map[string]any)["reason"] != "holidays" {
		t.Errorf("schedules: %v", list)
	}
	again := good("rerun", worker, `{"run": "`+run+`", "from": "g"}`)["run"].(string)
	good("cancel", worker, `{"run": "`+again+`"}`)
	if failed := good("run", worker, `{"source": "def main():\n    fail(\"no\")\n"}`)["run"]; good("await", worker, fmt.Sprintf(`{"run": %q}`, failed))["error"] == nil {
		t.Error("a run that failed says nothing of it")
	}
	if got := good("push", judge, `{"queue": "jobs", "value": {"n": 1}}`); fmt.Sprint(got["item"]) != "1" {
		t.Errorf("push: %v", got)
	}
	// Who may start nothing leaves what is to be remembered to those who may.
	kept := `{"category": "patterns", "topic": "Names", "details": "They are nouns.", "key": "n"}`
	if got := good("remember", judge, kept); got["status"] != "queued" || fmt.Sprint(got["item"]) != "1" || got["worker"] != nil {
		t.Errorf("remember: %v", got)
	}
	if again := good("remember", judge, kept); again["known"] != true || fmt.Sprint(again["item"]) != "1" {
		t.Errorf("remember again: %v", again)
	}
	s.pull(good, worker)
	asked["/v1/blob"] = true
	if status, _, body := s.ask("GET", "/v1/blob?hash="+bundle, worker, ""); status != 200 || !bytes.Contains(body, []byte("def main")) {
		t.Errorf("blob: %d %q", status, body)
	}
	if status, _, body := s.ask("GET", "/v1/blob", worker, ""); status != 400 || !bytes.Contains(body, []byte("hash: got nothing")) {
		t.Errorf("blob of no hash: %d %q", status, body)
	}
	asked["/v1/events"], asked["/metrics"] = true, true // the latter by TestMetrics
	if status, _, body := s.ask("GET", "/v1/events", worker, ""); status != http.StatusBadRequest || !strings.Contains(string(body), "want the id of a run") {
		t.Errorf("events of no run: %d %q", status, body)
	}
	if status, _, body := s.ask("GET", "/v1/events?run="+run+"&follow=false", worker, ""); status != 200 || !strings.HasPrefix(string(body), "id: 1\n") {
		t.Errorf("events: %d %q", status, body)
	}
	for path := range s.paths {
		if !asked[path] {
			t.Errorf("nobody asked %s", path)
		}
	}
}

// refusing is an engine that refuses everything with one kind.
type refusing struct {
	*engine.Local
	kind *runtime.ErrorKind
}

func (r refusing) Get(context.Context, string) (*runtime.Run, error) {
	return nil, runtime.Refuse(*r.kind, "help", "refused")
}

// Whatever an engine may say, the document knows it with its status.
func TestEveryErrorKind(t *testing.T) {
	var kind runtime.ErrorKind
	s := open(t, func(e *engine.Local) runtime.Engine { return refusing{e, &kind} })
	token := s.token("any", "all")
	for _, kind = range runtime.ErrorKinds() {
		status, fields := s.call("status", token, `{"run": "x"}`)
		if status < 400 || kindOf(fields) != string(kind) {
			t.Errorf("%s: %d %v", kind, status, fields)
		}
	}
}

// Who is nobody gets nothing, whatever is asked and from wherever.
func TestWhoIsNobody(t *testing.T) {
	s := open(t, itself)
	token := s.token("worker", "all")
	other := open(t, itself).token("worker", "all")
	for _, path := range []string{"/v1/status", "/v1/run", "/mcp"} {
		for name, secret := range map[string]string{"nobody": "", "a wrong secret": token + "x", "another store's": other, "an attempt's": "st_!run_abc"} {
			status, headers, body := s.ask("POST", path, secret, `{"run": "x"}`)
			if status != http.StatusUnauthorized || headers.Get("WWW-Authenticate") != "Bearer" || !bytes.Contains(body, []byte(`"denied"`)) {
				t.Errorf("%s as %s: %d %s", path, name, status, body)
			}
			if secret != "" && bytes.Contains(body, []byte(secret)) {
				t.Errorf("%s as %s: the secret comes back: %s", path, name, body)
			}
		}
	}
	if status, _, _ := s.ask("GET", "/v1/events?run=x", "", ""); status != http.StatusUnauthorized {
		t.Errorf("events: %d", status)
	}
	if status, _ := s.call("status", token, `{"run": "x"}`); status != http.StatusNotFound {
		t.Errorf("with the token: %d", status)
	}
	if _, err := s.engine.RemoveToken(s.admin, "worker"); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := s.ask("POST", "/v1/status", token, `{"run": "x"}`); status != http.StatusUnauthorized {
		t.Errorf("with a token that was revoked: %d", status)
	}
}

// Hints speak of the tools that a caller has, and not of a command line. The command line has hints
// of its own for the same refusals.
func TestHintsAreForTools(t *testing.T) {
	s := open(t, itself)
	worker, helper := s.token("worker", "define", "run", "read", "signal"), s.token("helper", "read", "signal", "act-as")
	started := func(source string) string {
		t.Helper()
		_, fields := s.call("run", worker, fmt.Sprintf(`{"source": %q}`, source))
		run, _ := fields["run"].(string)
		for {
			_, at := s.call("status", worker, fmt.Sprintf(`{"run": %q}`, run))
			switch at["status"] {
			case "suspended":
				return run
			case "running", "pending":
			default:
				t.Fatalf("%s: %v", source, at)
			}
		}
	}
	gated := started("def main():\n    gate(\"g\", options = [\"yes\", \"no\"])\n    gate(\"later\")\n")
	asking := started("def main():\n    agent(\"helper\")\n")
	for _, c := range []struct {
		tool, token, arguments string
		kind                   runtime.ErrorKind
		help                   string
	}{
		{"status", worker, `{"run": "zzz"}`, runtime.ErrUnknownRun, "query lists them"},
		{"run", worker, `{"script": "nothing"}`, runtime.ErrUnknownDefinition, "define keeps a script under a name; a file's name ends with .star or has a slash"},
		{"rerun", worker, `{"run": "` + gated + `", "from": "elsewhere"}`, runtime.ErrUnknownStep, "status with steps lists them"},
		{"rerun", worker, `{"run": "` + asking + `", "from": "helpr"}`, runtime.ErrUnknownStep, `did you mean "helper"?`},
		{"signal", worker, `{"run": "` + gated + `", "gate": "g"}`, runtime.ErrBadChoice, `add a choice, such as "yes"`},
		{"signal", worker, `{"run": "` + gated + `", "gate": "g", "choice": "yess"}`, runtime.ErrBadChoice, `did you mean "yes"?`},
		{"signal", worker, `{"run": "` + gated + `", "gate": "later"}`, runtime.ErrNotOpen, "status lists the gates that are open"},
		{"steer", worker, `{"run": "` + gated + `", "step": "coder", "message": "hurry"}`, runtime.ErrNotOpen, "status with steps lists them"},
		{"claim", worker, `{}`, runtime.ErrNotOpen, "there is some when a run asks for it: claim again later"},
		{"claim", worker, `{"run": "` + asking + `"}`, runtime.ErrWrongTarget, `authenticate with the token of that name, or give it as as: "helper"; both names are recorded`},
		{"submit", helper, `{"claim": "mine", "text": "done"}`, runtime.ErrUsage, "claim gives it"},
		{"run", worker, `{"source": "def main(topic):\n    pass\n"}`, runtime.ErrBadInput, ""},
		{"rerun", worker, `{"run": "` + asking + `", "from": "helper", "set": {"timeout": "1h"}}`, runtime.ErrDenied, "the token needs the capability admin"},
		{"run", worker, `{"script": "x", "deadline": "0s"}`, runtime.ErrUsage, ""},
		{"claim", helper, `{"lease": "0s"}`, runtime.ErrUsage, ""},
		{"run", worker, `{"scirpt": "x"}`, runtime.ErrUsage, "the schema of run is in tools/list; over HTTP in /openapi.json"},
		{"signal", s.token("reader", "read"), `{"run": "` + gated + `", "gate": "g", "choice": "yes"}`, runtime.ErrDenied, "the token needs the capability signal"},
	} {
		_, fields := s.call(c.tool, c.token, c.arguments)
		e, _ := fields["error"].(map[string]any)
		help, _ := e["help"].(string)
		if e["kind"] != string(c.kind) || help != c.help || e["call"] != nil || strings.Contains(fmt.Sprint(e), " -i ") {
			t.Errorf("%s %s: got %v, want %s with the hint %q", c.tool, c.arguments, e, c.kind, c.help)
		}
	}
	if status, _, body := s.ask("GET", "/v1/events?run=zzz", worker, ""); status != http.StatusNotFound || !strings.Contains(string(body), `"help":"query lists them"`) {
		t.Errorf("events: %d %s", status, body)
	}
}

// What is not there is refused with what is.
func TestNoSuchRoute(t *testing.T) {
	s := open(t, itself)
	token := s.token("reader", "read")
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
		says, help   string
	}{
		{"GET", "/v1/run", 405, "POST", "/v1/run: got the method GET, want POST", "GET /openapi.json says what each takes"},
		{"PUT", "/v1/inbox", 405, "POST", "/v1/inbox: got the method PUT, want POST", "GET /openapi.json says what each takes"},
		{"POST", "/v1/events", 405, "GET, HEAD", "/v1/events: got the method POST, want GET", "GET /openapi.json says what each takes"},
		{"DELETE", "/openapi.json", 405, "GET, HEAD", "/openapi.json: got the method DELETE, want GET", "GET /openapi.json says what each takes"},
		{"POST", "/v1/rum", 404, "", "there is no /v1/rum, want one of POST /v1/define, POST /v1/run, ", `did you mean "/v1/run"?`},
		{"POST", "/v1/run/", 404, "", "there is no /v1/run/, want one of ", `did you mean "/v1/run"?`},
		{"GET", "/", 404, "", "GET /v1/events, GET /v1/blob, GET /metrics, GET /openapi.json, /mcp", "GET /openapi.json says what each takes"},
	} {
		status, headers, body := s.ask(c.method, c.path, token, "")
		var refused struct{ Error runtime.Refusal }
		if err := json.Unmarshal(body, &refused); err != nil {
			t.Fatalf("%s %s: %q: %v", c.method, c.path, body, err)
		}
		e := refused.Error
		if status != c.status || headers.Get("Allow") != c.allow || e.Kind != runtime.ErrUsage || !strings.Contains(e.Message, c.says) || e.Help != c.help {
			t.Errorf("%s %s: got %d, Allow %q, %+v; want %d, %q, %q, help %q", c.method, c.path, status, headers.Get("Allow"), e, c.status, c.allow, c.says, c.help)
		}
	}
	// HEAD goes with GET, as Allow says.
	if status, _, _ := s.ask("HEAD", "/openapi.json", token, ""); status != http.StatusOK {
		t.Errorf("HEAD: %d", status)
	}
}

// Without a token nothing is answered, not even what there is.
func TestEveryRequestNeedsAToken(t *testing.T) {
	s := open(t, itself)
	for _, path := range []string{"/openapi.json", "/v1/run", "/v1/status", "/v1/events?run=x", "/v1/blob?hash=x", "/mcp", "/", "/v1/rum", "/health", "//v1/run", "/v1/../openapi.json"} {
		for _, method := range []string{"GET", "POST", "HEAD", "OPTIONS", "PUT"} {
			for _, token := range []string{"", "st_all_nonsense", "st_!run_nonsense"} {
				status, headers, body := s.ask(method, path, token, "{}")
				if status != http.StatusUnauthorized || headers.Get("WWW-Authenticate") != "Bearer" || strings.Contains(string(body), "/v1/") {
					t.Errorf("%s %s with the token %q: %d %s", method, path, token, status, body)
				}
			}
		}
	}
}

// A token is shown the tools that it may use, with the arguments that it may give, and every other
// is refused to it for want of a capability: over HTTP and over MCP.
func TestToolsAreThoseOfTheToken(t *testing.T) {
	s := open(t, itself)
	words := (runtime.Capability(1<<9 - 1)).Names()
	sets := [][]string{{"all"}, {"define", "run", "read", "signal"}}
	for i := range words {
		sets = append(sets, words[i:i+1], slices.Delete(slices.Clone(words), i, i+1))
	}
	_, made := s.call("run", s.token("maker", "run"), `{"source": "def main():\n    pass\n"}`)
	arguments := map[string]string{"define": `{"name": "x", "source": "def main():\n    pass\n"}`, "run": `{"source": "def main():\n    pass\n"}`, "signal": `{"run": "x", "gate": "g", "choice": "yes"}`,
		"claim": `{}`, "heartbeat": `{"claim": "x@y:1"}`, "submit": `{"claim": "x@y:1"}`, "steer": `{"run": "x", "step": "s", "message": "m"}`, "stop": `{"run": "x", "step": "s"}`,
		"push": `{"queue": "q", "value": 1}`, "schedule": `{"name": "s", "action": "pause"}`, "remember": `{"category": "gotchas", "topic": "t", "details": "d"}`, "inbox": `{}`, "query": `{}`, "rerun": fmt.Sprintf(`{"run": %q, "from": "s"}`, made["run"])}
	for i, can := range sets {
		token := s.token(fmt.Sprintf("t%d", i), can...)
		status, headers, body := s.ask("GET", "/openapi.json", token, "")
		var doc struct{ Paths map[string]any }
		if err := json.Unmarshal(body, &doc); err != nil || status != http.StatusOK {
			t.Fatalf("%v: %d %v", can, status, err)
		}
		if status, _, again := s.ask("GET", "/openapi.json", token, "", "If-None-Match", headers.Get("ETag")); status != http.StatusNotModified || len(again) > 0 {
			t.Errorf("%v: the document that is known: %d %s", can, status, again)
		}
		for _, c := range tool.Tools() {
			_, shown := doc.Paths["/v1/"+c.Name]
			args, ok := arguments[c.Name]
			if !ok {
				args = `{"run": "x"}`
			}
			_, fields := s.call(c.Name, token, args)
			refused := strings.Contains(fmt.Sprint(fields), "the token needs the capability")
			if shown == refused {
				t.Errorf("%v: %s is shown: %v; calling it: %v", can, c.Name, shown, fields)
			}
		}
		_, read := doc.Paths["/v1/blob"]
		if may := slices.Contains(can, "read") || can[0] == "all"; read != may {
			t.Errorf("%v: the routes of readers are shown: %v", can, read)
		}
		for word, name := range map[string]string{"act-as": `"as":`, "override": `"override":`, "admin": `"set":`} {
			may := slices.Contains(can, word) || can[0] == "all"
			if strings.Contains(string(body), name) && !may {
				t.Errorf("%v: the argument %s is shown", can, name)
			}
		}
	}
}

// A page that somebody visits cannot reach the engine, under whatever name.
func TestPagesOfOthers(t *testing.T) {
	s := open(t, itself)
	token := s.token("worker", "all")
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{[]string{"Host", "evil.example"}, 403},
		{[]string{"Host", "127.0.0.1.evil.example:80"}, 403},
		{[]string{"Host", "localhost:1"}, 404},
		{[]string{"Host", "[::1]:1"}, 404},
		{[]string{"Host", "starling.example"}, 404},
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Origin", s.url}, 404},
		{[]string{"Host", "starling.example", "Origin", "https://starling.example"}, 404},
	} {
		for _, path := range []string{"/v1/status", "/openapi.json"} {
			method, want := "POST", c.want
			if path == "/openapi.json" {
				if method = "GET"; want == 404 {
					want = 200
				}
			}
			status, headers, _ := s.ask(method, path, token, `{"run": "x"}`, c.headers...)
			if status != want || headers.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %v: %d, want %d", path, c.headers, status, want)
			}
		}
	}
	status, headers, _ := s.ask("OPTIONS", "/v1/status", "", "", "Access-Control-Request-Method", "POST")
	if status < 400 || headers.Get("Access-Control-Allow-Origin")+headers.Get("Access-Control-Allow-Methods") != "" {
		t.Errorf("a preflight: %d %v", status, headers)
	}
}

func TestABodyThatIsTooLarge(t *testing.T) {
	s := open(t, itself)
	token := s.token("worker", "all")
	status, fields := s.call("run", token, `{"source": "`+strings.Repeat("x", web.MaxBody)+`"}`)
	if status != http.StatusRequestEntityTooLarge || kindOf(fields) != "bad_payload" {
		t.Errorf("got %d %v", status, fields)
	}
	if status, _, _ := s.ask("POST", "/mcp", token, strings.Repeat("x", web.MaxBody+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("over MCP: %d", status)
	}
}

// What is no request of MCP is refused as JSON-RPC 2.0 does (section 5.1): an error object, an id
// that is null.
func TestMCPRefusesInItsOwnWords(t *testing.T) {
	s := open(t, itself)
	token := s.token("worker", "all")
	const both = "application/json, text/event-stream"
	for _, c := range []struct {
		method, body, accept, session string
		status, code                  int
	}{
		{"POST", `{"jsonrpc": "2.0", "id": 1,`, both, "", 400, -32700},
		{"POST", "", both, "", 400, -32700},
		{"POST", "\xff", both, "", 400, -32700},
		{"POST", `{"jsonrpc": "2.0"} {}`, both, "", 400, -32700},
		{"POST", "3", both, "", 400, -32600},
		{"POST", `{"hello": "world"}`, both, "", 400, -32600},
		{"POST", `{"jsonrpc": "2.0", "id": 1, "method": "ping"}`, "text/html", "", 400, -32600},
		{"POST", `{"jsonrpc": "2.0", "id": 1, "method": "ping"}`, both, "nobody's", 404, -32001},
		{"GET", "", both, "", 400, -32600},
		{"PUT", "{}", both, "", 405, -32600},
	} {
		headers := []string{"Content-Type", "application/json", "Accept", c.accept}
		if c.session != "" {
			headers = append(headers, "Mcp-Session-Id", c.session)
		}
		status, header, content := s.ask(c.method, "/mcp", token, c.body, headers...)
		var got struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		err := json.Unmarshal(content, &got)
		if err != nil || status != c.status || header.Get("Content-Type") != "application/json" || got.Version != "2.0" ||
			string(got.ID) != "null" || got.Error.Code != c.code || got.Error.Message == "" {
			t.Errorf("%s %.40q: %d %s %s: %v", c.method, c.body, status, header.Get("Content-Type"), content, err)
		}
	}
}

// A stream that was cut goes on after the last event, and ends with the run. S1-40: it is the same
// for any client.
func TestEventsGoOn(t *testing.T) {
	s := open(t, itself)
	token := s.token("judge", "all")
	s.call("define", token, gated)
	_, started := s.call("run", token, `{"script": "gated", "inputs": {"n": 1}}`)
	path := fmt.Sprintf("/v1/events?run=%s", started["run"])
	resp := s.stream(path, "Bearer "+token)
	lines := bufio.NewScanner(resp.Body)
	var last string
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = id
		}
		if strings.Contains(lines.Text(), `"gate.opened"`) {
			break
		}
	}
	resp.Body.Close()
	s.call("signal", token, fmt.Sprintf(`{"run": %q, "gate": "g", "choice": "yes"}`, started["run"]))
	status, headers, rest := s.ask("GET", path+"&after=1", token, "", "Last-Event-ID", last)
	if status != 200 || headers.Get("Content-Type") != "text/event-stream" || strings.Contains(string(rest), "gate.opened") ||
		!strings.Contains(string(rest), "gate.decided") || !strings.HasSuffix(string(rest), "event: end\ndata: {}\n\n") {
		t.Errorf("after %s: %d %s", last, status, rest)
	}
	for _, c := range []struct{ more, last, says string }{
		{"", "x", `events: Last-Event-ID: got \"x\", want the number of an event`},
		{"&after=-1", "", `events: after: got \"-1\", want the number of an event`},
		{"&follow=no", "", `events: follow: got \"no\", want true or false`},
		{"", "900", `events: after: got 900, want at most `},
	} {
		if status, _, body := s.ask("GET", path+c.more, token, "", "Last-Event-ID", c.last); status != 400 || !bytes.Contains(body, []byte(c.says)) {
			t.Errorf("%s %s: got %d %s", c.more, c.last, status, body)
		}
	}
}

// A stream that has nothing to send has begun all the same, and HEAD waits for nothing.
func TestEventsBeginAtOnce(t *testing.T) {
	s := open(t, itself)
	token := s.token("judge", "all")
	_, started := s.call("run", token, `{"source": "def main():\n    gate(\"g\")\n"}`)
	at, err := s.engine.Get(s.admin, fmt.Sprint(started["run"]))
	for err == nil && at.Status != runtime.Suspended {
		at, err = s.engine.Get(s.admin, at.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/v1/events?run=%s&after=%d", at.ID, at.Details.Seq)
	if status, headers, _ := s.ask("HEAD", path, token, ""); status != 200 || headers.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v", status, headers)
	}
	resp := s.stream(path, "bearer  "+token) // schemes have no case
	defer resp.Body.Close()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != ": begun\n" || resp.StatusCode != 200 {
		t.Errorf("%d: %q, %v", resp.StatusCode, line, err)
	}
}

// When the engine leaves, whoever waits is told so and comes back: it is no defect.
func TestTheEngineLeaves(t *testing.T) {
	s := open(t, itself)
	token := s.token("judge", "all")
	_, started := s.call("run", token, `{"source": "def main():\n    gate(\"g\")\n"}`)
	resp := s.stream(fmt.Sprintf("/v1/events?run=%s", started["run"]), "Bearer "+token)
	defer resp.Body.Close()
	s.engine.Close()
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(rest), "event: error\ndata: {\"error\":{\"kind\":\"owner_unreachable\"") {
		t.Errorf("the stream ended with %q, %v", rest, err)
	}
	if status, got := s.call("status", token, `{"run": "@last"}`); status != http.StatusServiceUnavailable || kindOf(got) != "owner_unreachable" {
		t.Errorf("afterwards: %d %v", status, got)
	}
}

// Null is a value where one must be given, and an argument that was left out elsewhere.
func TestNullArguments(t *testing.T) {
	s := open(t, itself)
	token := s.token("judge", "all")
	if status, pushed := s.call("push", token, `{"queue": "jobs", "value": null, "key": null}`); status != 200 || pushed["queue"] != "jobs" {
		t.Errorf("push: %d %v", status, pushed)
	}
	if status, got := s.call("status", token, `{"run": null, "workflow_id": "zzz"}`); status != 404 {
		t.Errorf("status: %d %v", status, got)
	}
	if status, got := s.call("status", token, `{"run": null}`); status != 400 || !strings.Contains(fmt.Sprint(got), "run: got null, want string") {
		t.Errorf("status: %d %v", status, got)
	}
}

// bearing adds a token to each request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(s *site, token string) *sdk.ClientSession {
	s.t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(s.t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearing(token)}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { session.Close() })
	return session
}

// Over MCP each client acts in the name of its token, and of nobody else from the moment that it is
// revoked.
func TestMCPOverHTTP(t *testing.T) {
	s := open(t, itself)
	worker, judge := connect(s, s.token("worker", "define", "run", "read")), connect(s, s.token("judge", "read", "signal"))
	call := func(c *sdk.ClientSession, name string, arguments string) (map[string]any, bool) {
		t.Helper()
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fields, _ := r.StructuredContent.(map[string]any)
		return fields, !r.IsError
	}
	if d, ok := call(worker, "define", gated); !ok || d["by"] != "worker" {
		t.Fatalf("define: %v", d)
	}
	started, _ := call(worker, "run_gated", `{"n": 4}`)
	answer := fmt.Sprintf(`{"run": %q, "gate": "g", "choice": "yes"}`, started["run"])
	if refused, ok := call(worker, "signal", answer); ok || kindOf(refused) != "denied" {
		t.Errorf("the worker answered: %v", refused)
	}
	if refused, ok := call(judge, "run", `{"script": "gated", "inputs": {"n": 1}}`); ok || kindOf(refused) != "denied" {
		t.Errorf("the judge ran: %v", refused)
	}
	if accepted, ok := call(judge, "signal", answer); !ok {
		t.Errorf("signal: %v", accepted)
	}
	if done, _ := call(worker, "await", fmt.Sprintf(`{"run": %q}`, started["run"])); fmt.Sprint(done["output"]) != "[4 judge]" {
		t.Errorf("await: %v", done)
	}
	// Who may not see definitions has no tools of them, whoever else has looked, and starts none in
	// the dark.
	starter := connect(s, s.token("starter", "run"))
	list, err := starter.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Name == "run_gated" {
			t.Errorf("the starter sees %v", tool)
		}
	}
	before, _ := call(worker, "query", `{}`)
	if refused, ok := call(starter, "run_gated", `{"n": 4}`); ok || kindOf(refused) != "denied" {
		t.Errorf("the starter ran: %v", refused)
	}
	if after, _ := call(worker, "query", `{}`); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("a run began: %v", after)
	}
	if _, err := s.engine.RemoveToken(s.admin, "judge"); err != nil {
		t.Fatal(err)
	}
	if r, err := judge.CallTool(t.Context(), &sdk.CallToolParams{Name: "inbox"}); err == nil {
		t.Errorf("a client whose token was revoked got %v", r)
	}
}

// TestDocumentStandsAlone: generators want to know where the server is and under which licence it
// is described, and that every component is used.
func TestDocumentStandsAlone(t *testing.T) {
	s := open(t, itself)
	for _, can := range []string{"all", "run"} {
		_, _, body := s.ask("GET", "/openapi.json", s.token("of-"+can, can), "")
		var doc struct {
			Info struct {
				License struct{ Name, Identifier string }
			}
			Servers    []struct{ URL string }
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal([]byte(body), &doc); err != nil {
			t.Fatal(err)
		}
		if l := doc.Info.License; l.Name == "" || l.Identifier != "Apache-2.0" || len(doc.Servers) != 1 || doc.Servers[0].URL != "/" {
			t.Errorf("%s: license %v, servers %v", can, l, doc.Servers)
		}
		for name := range doc.Components.Schemas {
			if !strings.Contains(string(body), `"#/components/schemas/`+name+`"`) {
				t.Errorf("%s: nothing refers to the component %s", can, name)
			}
		}
	}
}
