package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// toolStage adds the tool server db to the project of a stage that stage makes of its further
// sections; keys belong to the agent a.
func toolStage(t *testing.T, agent string) *stage {
	t.Setenv("TOOL_SERVER", "1")
	s := newStage(t, fmt.Sprintf("%s\n[tools.db]\ncommand = [%q, 'log', 'calls']\nenv = ['TOOL_SERVER']\n", agent, os.Args[0]), "")
	s.vars["TOOL_SERVER"], s.vars["MODEL_KEY"] = "1", modelKey
	return s
}

// asking is a reply that asks for tools: pairs of a name and arguments.
func (d dialectOfAPI) asking(pairs ...string) func(http.ResponseWriter) {
	events := []string{"message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}`}
	end := []string{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}`, "message_stop", `{"type":"message_stop"}`}
	if d.backend == "openai" {
		events = nil
		end = []string{"", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			"", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`, "", "[DONE]"}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, half := pairs[i], len(pairs[i+1])/2
		if d.backend == "openai" {
			events = append(events, "", fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"call%d","type":"function","function":{"name":%q,"arguments":%q}}]},"finish_reason":null}]}`,
				i/2, i/2, name, pairs[i+1][:half]), "", fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]},"finish_reason":null}]}`, i/2, pairs[i+1][half:]))
			continue
		}
		events = append(events, "content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"call%d","name":%q,"input":{}}}`, i/2, i/2, name),
			"content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, i/2, pairs[i+1][:half]),
			"content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, i/2, pairs[i+1][half:]),
			"content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i/2))
	}
	return stream(append(events, end...)...)
}

// A model's tool loop runs through the proxy: it sees the tools of its list, is told what they say
// and what is denied, and tokens add up.
func TestModelsUseTools(t *testing.T) {
	for _, d := range []dialectOfAPI{anthropicSpeech(), openaiSpeech()} {
		api := newAPI(t, d.asking("db__select", `{"query": "orders"}`, "db__drop", `{"table": "orders"}`), d.asking("db__fail", "{}"), d.reply(d.stops[0], "Three."))
		s := toolStage(t, fmt.Sprintf("[agents.a]\nbackend = %q\nmodel = 'x'\nurl = %q\nenv = ['MODEL_KEY']\ntools = ['db.select', 'db.fail']\n", d.backend, api.URL))
		want := `ok text="Three." usage={"input_tokens": 30, "output_tokens": 15, "cached_tokens": 7, "model": "x"}`
		if got := show(s.ask(t.Context(), `agent("a", "How many orders?")`)); got != want {
			t.Errorf("%s: got  %s\nwant %s", d.backend, got, want)
		}
		first, err := json.Marshal(api.requests[0].body["tools"])
		if err != nil {
			t.Fatal(err)
		}
		has(t, string(first), "db__select", "db__fail", "Ask the database.", `"query"`)
		last, err := json.Marshal(api.requests[2].body["messages"])
		if err != nil {
			t.Fatal(err)
		}
		has(t, string(last), "rows of orders", "there is no tool db__drop", "no such table", `call1`)
		events := strings.Join(s.events, "\n")
		has(t, events, `tool_call {"server": "db", "tool": "select", "input": {"query": "orders"}, "ok": True`, `tool_denied {"tool": "db__drop", "code": "not_allowed"`, `"tool": "fail", "input": {}, "ok": False`)
		if strings.Contains(string(first), "db__drop") {
			t.Errorf("%s: a tool that is not allowed is offered: %s", d.backend, first)
		}
		calls, err := os.ReadFile(s.settings.Workspace + "/calls")
		if err != nil || string(calls) != "select orders\nfail \n" {
			t.Errorf("%s: the server heard %q, %v", d.backend, calls, err)
		}
	}
}

// A model that only ever asks for tools is stopped.
func TestToolLoopIsBounded(t *testing.T) {
	d := anthropicSpeech()
	api := newAPI(t, d.asking("db__select", "{}"))
	s := toolStage(t, fmt.Sprintf("[agents.a]\nbackend = 'anthropic'\nmodel = 'x'\nurl = %q\nenv = ['MODEL_KEY']\n", api.URL))
	if got, want := show(s.ask(t.Context(), `agent("a", tools = ["db"])`)), "final agent: a: it asked for tools 51 times and has not replied"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What names no tool server is refused where nobody else could know it.
func TestUnknownTools(t *testing.T) {
	s := toolStage(t, "[agents.a]\nbackend = 'anthropic'\nmodel = 'x'\n")
	for call, want := range map[string]string{
		`agent("a", tools = ["dv.select"])`:                                    `agent a: no tool server "dv" in starling.toml; there are db, vars`,
		`agent("a", tools = [mcp.server("own", cmd = ["python3", "own.py"])])`: `mcp.server: the program "python3" is not allowed; add it to allow under [sh] in starling.toml, or declare the server there under [tools.own]`,
		`agent("a", tools = [mcp.server("db", cmd = ["python3"])])`:            `mcp.server: the project has a tool server db; leave cmd and url out, or take another name`,
	} {
		if _, fault := s.request(call); fault == nil || fault.Message != want {
			t.Errorf("%s\ngot  %v\nwant %s", call, fault, want)
		}
	}
}

// asked posts a call of a tool to the endpoint as a program's own loop does; URL and TOKEN are
// shell.
const asked = `post() { curl -s -X POST "$1" -H "Authorization: Bearer $2" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
 -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$3\",\"arguments\":{\"query\":\"q\",\"table\":\"t\"}}}"; }
`

// Programs with a loop of their own reach the servers through the proxy, as each of them is told of
// servers, and nobody else does.
func TestProgramsUseTools(t *testing.T) {
	const fromFile = `URL=$(sed 's/.*"\(url\|httpUrl\)":"\([^"]*\)".*/\2/' $FILE); TOKEN=$(sed 's/.*Bearer \([^"]*\)".*/\1/' $FILE); stat -c %a $FILE >mode; `
	call := `{ post $URL $TOKEN select; post $URL $TOKEN drop; post $URL wrong select; post ${URL}x $TOKEN select; } >heard; `
	for name, c := range map[string]struct{ setup, says string }{
		"claude": {`FILE=$(grep -A1 -x -- --mcp-config args | tail -1); ` + fromFile, lines(claudeInit, claudeResult(`"result":"done"`))},
		"gemini": {`FILE=$GEMINI_CLI_SYSTEM_DEFAULTS_PATH; ` + fromFile, lines(geminiInit, geminiSays("done"), geminiEnd)},
		"codex":  {`URL=$(sed -n 's/^mcp_servers.starling_db.url="\(.*\)"$/\1/p' args); TOKEN=$STARLING_TOOLS_TOKEN; echo 600 >mode; `, lines(codexBegin, codexSays("done"), codexEnd)},
		"":       {`FILE=$STARLING_TOOLS; ` + fromFile, "echo done"},
	} {
		script := "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\"; done >args\ncat >stdin\n" + asked + c.setup + call + c.says
		keys := "preset = '" + name + "'\n"
		if name == "" {
			keys = ""
		}
		s := toolStage(t, "[agents.a]\n"+keys+"command = ['./program']\ntools = ['db.select']\n")
		if err := os.WriteFile(s.settings.Workspace+"/program", []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := show(s.ask(t.Context(), `agent("a", "Look.")`)); !strings.HasPrefix(got, `ok text="done"`) {
			t.Errorf("%s: got %s", name, got)
		}
		heard, err := os.ReadFile(s.settings.Workspace + "/heard")
		if err != nil {
			t.Fatal(err)
		}
		has(t, string(heard), "rows of q", "denied: only these of its tools are allowed: select", "the token of the attempt is missing", "404 page not found")
		if strings.Contains(string(heard), "dropped") {
			t.Errorf("%s: a denied tool was called: %s", name, heard)
		}
		events := strings.Join(s.events, "\n")
		has(t, events, `tool_call {"server": "db", "tool": "select"`, `tool_denied {"server": "db", "tool": "drop", "code": "not_allowed"`)
		if mode, _ := os.ReadFile(s.settings.Workspace + "/mode"); string(mode) != "600\n" {
			t.Errorf("%s: the file with the token has the mode %q", name, mode)
		}
	}
}
