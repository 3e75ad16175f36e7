package tool_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/stdlib/tool"
	"starling/stdlib/tool/tooltest"
)

// What a call can come to, and what is journaled of it.
func TestCalls(t *testing.T) {
	for _, c := range []struct{ name, more, tools, call, input, want, event string }{
		{"a result", "", "t", "t.select", `{"query": "orders"}`, "ok: rows of orders", `tool_call {"server": "t", "tool": "select", "input": {"query": "orders"}, "ok": True`},
		{"a failure that the tool reports", "", "t", "t.fail", "", "failed: no such table", `"ok": False`},
		{"a tool of the list", "", "t.sel*", "t.select", "", "ok: rows of ", "tool_call"},
		{"a tool that is not on the list", "", "t.sel*", "t.drop", "", "not_allowed: t.drop: denied: only these of its tools are allowed: sel*", `tool_denied {"server": "t", "tool": "drop", "code": "not_allowed"`},
		{"a tool that the project keeps back", "allow = ['select']", "t", "t.drop", "", "not_allowed: t.drop: denied: the project allows only these of its tools: select", "tool_denied"},
		{"another server", "", "t", "u.drop", "", "not_allowed: u.drop: denied: the server is not among the tools that were allowed", "tool_denied"},
		{"a tool that is not there", "", "t", "t.selct", "", `unknown_tool: t.selct: the server has no such tool; did you mean "select"?`, `"code": "unknown_tool"`},
		{"no object", "", "t", "t.select", "[1]", "bad_input: t.select: got arguments that are no JSON object", `"code": "bad_input"`},
		{"no JSON", "", "t", "t.select", "{", "bad_input: t.select: got arguments that are no JSON object", `"input": "{"`},
		{"arguments that the server refuses", "", "t", "t.select", `{"qery": 1}`, "failed: ", `"ok": False`},
		{"a server that dies", "", "t", "t.die", "", "server_died: t.die: the tool server has gone; the call may have taken effect", `"code": "server_died"`},
		{"a server that hangs", "timeout = '100ms'", "t", "t.hang", "", "timeout: t.hang: no result within 100ms", `"code": "timeout"`},
		{"a large result", "max_bytes = 1000", "t", "t.huge", `{"bytes": 1000}`, "too_large: t.huge: the result has 11", `"code": "too_large"`},
		{"a result without end", "", "t", "t.huge", `{"bytes": 17000000}`, "server_died: ", `"code": "server_died"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, c.more)
			p := s.open("r", c.tools)
			if got := s.call(p, c.call, c.input); !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if len(s.events) != 1 || !strings.Contains(s.events[0], c.event) {
				t.Errorf("events: got %q, want one with %s", s.events, c.event)
			}
		})
	}
}

// A server is started once for all attempts of a run, and is gone when the last has ended.
func TestShared(t *testing.T) {
	s := newStage(t, "")
	var wait sync.WaitGroup
	proxies := make([]*tool.Proxy, 8)
	for i := range proxies {
		wait.Go(func() { proxies[i] = s.open("r", "t") })
	}
	wait.Wait()
	for _, p := range proxies {
		if got := s.call(p, "t.select", ""); got != "ok: rows of " {
			t.Error(got)
		}
	}
	if got := s.pids(); len(got) != 1 || !alive(got[0]) {
		t.Fatalf("%d processes were started, want one", len(got))
	}
	for _, p := range proxies[1:] {
		p.Close()
	}
	if !alive(s.pids()[0]) {
		t.Error("it is gone, and somebody uses it")
	}
	proxies[0].Close()
	if alive(s.pids()[0]) {
		t.Error("it is there, and nobody uses it")
	}
	if got := s.call(proxies[0], "t.select", ""); got != "cancelled: t.select: the attempt has ended" {
		t.Error(got)
	}
	other, again := s.open("other run", "t"), s.open("r", "t")
	if got := s.pids(); len(got) != 3 {
		t.Errorf("%d processes, want one for each run, and a new one", len(got))
	}
	other.Close()
	again.Close()
}

// A server that has died is started again for the next call, and not for the one that it died of.
func TestDeath(t *testing.T) {
	s := newStage(t, "")
	p := s.open("r", "t")
	has(t, s.call(p, "t.die", ""), "server_died", "stderr ends with: out of luck")
	if got := s.call(p, "t.select", ""); got != "ok: rows of " {
		t.Error(got)
	}
	if got := s.pids(); len(got) != 2 || alive(got[0]) || !alive(got[1]) {
		t.Errorf("processes: %v", got)
	}
}

// A server that changes its tools is not called any more, also when it is started anew, and also
// when it says nothing of the change.
func TestChange(t *testing.T) {
	s := newStage(t, "")
	p := s.open("r", "t")
	if got := s.call(p, "t.change", ""); got != "ok: changed" {
		t.Fatal(got)
	}
	has(t, s.call(p, "t.select", ""), "definitions_changed: t: the server has changed the definitions of its tools since the run saw them first (sha256:")
	if _, fault := p.Tools(t.Context(), "t"); fault == nil || fault.Code != tool.Changed {
		t.Errorf("the changed tools are shown: %v", fault)
	}
	if got := s.call(s.open("another", "t"), "t.select", ""); got != "ok: rows of " {
		t.Error(got)
	}
}

// The project may say what the definitions must be.
func TestExpectedDefinitions(t *testing.T) {
	s := newStage(t, "")
	_, hash, fault := s.open("r", "t").Definitions(t.Context(), "t")
	if fault != nil {
		t.Fatal(fault)
	}
	same := newStage(t, "definitions = '"+hash+"'")
	if got := same.call(same.open("r", "t"), "t.select", ""); got != "ok: rows of " {
		t.Error(got)
	}
	other := newStage(t, "definitions = 'sha256:"+strings.Repeat("0", 64)+"'")
	has(t, other.call(other.open("r", "t"), "t.select", ""), "definitions_changed: t: the definitions of its tools have the hash "+hash+", and the project expects sha256:000")
}

// Secrets reach the server and nobody else.
func TestSecrets(t *testing.T) {
	s := newStage(t, "secrets = {DB = 'pass {db}!'}\n[secrets.db]\nenv = 'DB_PASSWORD'\n")
	s.vars["DB_PASSWORD"] = "hunter2\"hunter2"
	p := s.open("r", "t")
	if got := s.call(p, "t.env", `{"name": "DB"}`); got != "ok: DB=pass [db]!" {
		t.Error(got)
	}
	if got := s.call(p, "t.env", `{"name": "PATH"}`); !strings.HasPrefix(got, "ok: PATH=/") {
		t.Error(got)
	}
	if strings.Contains(strings.Join(s.events, ""), "hunter2") {
		t.Errorf("events: %q", s.events)
	}
}

// What is missing is said before anything is started.
func TestNotStarted(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{"secrets = {DB = '{db}'}\n[secrets.db]\nenv = 'DB_PASSWORD'\n", "t: the secret db: the environment variable DB_PASSWORD has no value"},
		{"[tools.u]\ncommand = ['no-such-program']", "program not found"},
		{"[tools.u]\ncommand = ['/bin/sh', '-c', 'echo gone wrong >&2; exit 1']", "u: the tool server does not answer: "},
		{"[tools.u]\nurl = 'http://127.0.0.1:1/'", "u: the tool server does not answer: "},
	} {
		s := newStage(t, c.more)
		list := []string{"t", "u"}
		if !strings.Contains(c.more, "tools.u") {
			list = list[:1]
		}
		grants, _, fault := tool.FindAll(s.settings, s.file, values(list))
		if fault != nil {
			t.Fatal(fault)
		}
		_, f := s.servers.Open(t.Context(), s.attempt("r"), grants, nil)
		if f == nil || f.Code != tool.NotStarted {
			t.Fatalf("%s: got %v", c.more, f)
		}
		has(t, f.Message, c.want)
		for _, pid := range s.pids() {
			if alive(pid) {
				t.Errorf("%s: a server of an attempt that never was is there", c.more)
			}
		}
	}
}

// Over HTTP the same holds; the header with the key is sent, and hidden.
func TestHTTP(t *testing.T) {
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tooltest.New() }, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hunter2hunter2" {
			http.Error(w, "who are you, "+r.Header.Get("Authorization")+"?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer web.Close()
	s := newStage(t, "[tools.u]\nurl = '"+web.URL+"'\ntimeout = '2s'\nsecrets = {Authorization = 'Bearer {key}'}\n[secrets.key]\nenv = 'KEY'\n")
	s.vars["KEY"] = "hunter2hunter2"
	p := s.open("r", "u.select", "u.hang", "u.huge")
	if got := s.call(p, "u.select", `{"query": "q"}`); got != "ok: rows of q" {
		t.Error(got)
	}
	has(t, s.call(p, "u.hang", ""), "timeout: u.hang")
	has(t, s.call(p, "u.huge", `{"bytes": 300000}`), "too_large: u.huge")
	has(t, s.call(p, "u.drop", ""), "not_allowed: u.drop")
	tools, fault := p.Tools(t.Context(), "u")
	if fault != nil || len(tools) != 3 {
		t.Errorf("got %d tools, %v; want the three that are allowed", len(tools), fault)
	}
	s.vars["KEY"] = "wrong-wrong-wrong"
	grants, _, _ := tool.FindAll(s.settings, s.file, values([]string{"u"}))
	if _, f := s.servers.Open(t.Context(), s.attempt("r2"), grants, nil); f == nil || strings.Contains(f.Message, "wrong-wrong") {
		t.Errorf("got %v, want a refusal without the key", f)
	}
}

// A list of tools says who may keep it: clients that hold a server to its protocol read no other.
func TestListsSayWhoMayKeepThem(t *testing.T) {
	e, err := newStage(t, "").open("r", "t").Serve()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const list = `{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}`
	r, err := http.NewRequest(http.MethodPost, e.URL("t"), strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + e.Token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream"} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(text), `"name":"select"`, `"cacheScope":"private"`)
}

// The definitions of the run's variables have no null in them: clients that read schemas strictly
// pass over all tools of a server for one.
func TestVariablesAreDefinedForStrictClients(t *testing.T) {
	s := newStage(t, "")
	tools, fault := s.open("r", tool.Variables).Tools(t.Context(), tool.Variables)
	if fault != nil || len(tools) != 4 {
		t.Fatalf("got %d tools, %v", len(tools), fault)
	}
	text, err := json.Marshal(tools)
	if err != nil || strings.Contains(string(text), "null,") || strings.Contains(string(text), "null}") {
		t.Errorf("got %s, %v", text, err)
	}
}
