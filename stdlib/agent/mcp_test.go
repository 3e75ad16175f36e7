package agent_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// mcpStage is a project whose agent a is a tool of a server; args are pairs for the server.
func mcpStage(t *testing.T, does string, args ...string) *stage {
	t.Helper()
	t.Setenv("TOOL_SERVER", "1")
	command := []string{fmt.Sprintf("%q, 'log', 'calls'", os.Args[0])}
	for _, a := range args {
		command = append(command, fmt.Sprintf("%q", a))
	}
	s := newStage(t, fmt.Sprintf("[tools.db]\ncommand = [%s]\nenv = ['TOOL_SERVER', 'MODEL_KEY']\n[agents.a]\nbackend = 'mcp'\nserver = 'db'\ntool = %q\n", strings.Join(command, ", "), does), "")
	s.vars["TOOL_SERVER"], s.vars["MODEL_KEY"] = "1", "12345"
	return s
}

// The arguments of a tool are what it has names for, and its result is the reply.
func TestAgentsThatAreTools(t *testing.T) {
	if testing.Short() {
		t.Skip("a table of programs, for long: the gate plays it without the race detector")
	}
	for _, c := range []struct{ tool, call, want, heard string }{
		{"select", `agent("a", input = {"query": "orders", "more": 1})`, `ok output={"n": 3} text="rows of orders"`, "select orders\n"},
		{"select", `agent("a", input = {"query": "q"}, output = contract("{n: int}"))`, `ok output={"n": 3} text="rows of q"`, "select q\n"},
		{"select", `agent("a", output = contract("string"))`, `ok output="rows of" text="rows of"`, "select \n"},
		{"fail", `agent("a")`, "retryable agent: a: no such table", "fail \n"},
		{"image", `agent("a")`, "retryable agent: a: the reply is empty", "image \n"},
		{"nothing", `agent("a")`, "final refused: a: db.nothing: the server has no such tool; there are none", ""},
		{"wants", `agent("a", input = {"url": "u"})`, `final refused: a: the tool wants wants "diff", and the request has nothing of that name; give it in input`, ""},
		{"wants", `agent("a", "Look.", input = {"diff": "-a"})`, `ok text="-a Look."`, ""},
		{"prompt", `agent("a", "Look.", input = {"n": 1})`, "ok text=\"Look.\\n\\nInput:\\n```json\\n{\\\"n\\\":1}\\n```\"", ""},
		{"open", `agent("a", "Look.")`, `ok text="Look. starling/agent/v1"`, ""},
	} {
		s := mcpStage(t, c.tool)
		got := show(s.ask(t.Context(), c.call))
		if got != c.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.tool, c.call, got, c.want)
		}
		if c.heard != "" && s.read("calls") != c.heard {
			t.Errorf("%s: the server heard %q, want %q", c.tool, s.read("calls"), c.heard)
		}
	}
}

// A server that cannot be had is as good as a program that is not there: the next may serve.
func TestMissingToolAgent(t *testing.T) {
	s := newStage(t, "[tools.db]\ncommand = ['/nowhere/server']\n[agents.a]\nbackend = 'mcp'\nserver = 'db'\ntool = 'x'\n", "")
	if got := show(s.ask(t.Context(), `agent("a")`)); !strings.HasPrefix(got, "missing agent: a: db: the tool server cannot be started") {
		t.Errorf("got %s", got)
	}
}
