package lsp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const described = `# What the project has.
fake = "agents.star"

[agents.reviewer]
backend = "ac"
command = ["./reviewer.py",
  "--strict"]
tools = ["sql", ""]
output = "{verdict: st}"
instructions = """
[no header] = "x
"""

[tools.sql]
command = ["sqld"]

[agents."other-one"]
backends = [""]
files = 

[
`

func TestProjectFileCompletes(t *testing.T) {
	c := start(t, map[string]string{})
	c.open("starling.toml", described)
	for _, test := range []struct {
		behind   string
		want     []string
		unwanted string
	}{
		{`backend = "ac`, []string{"command", "acp", "anthropic"}, "true"},
		{`tools = ["sql", "`, []string{"sql"}, "reviewer"},
		{`output = "{verdict: st`, []string{"string", "timestamp"}, "sql"},
		{"backends = [\"", []string{"reviewer", "other-one"}, "sql"},
		{"files = ", []string{"true", "false"}, "sql"},
		{"files = \n\n[", []string{"agents.NAME", "machine", "tools.NAME"}, "backend"},
		{"\nfak", []string{"fake", "protected", "machine.steps"}, "backend"},
		{"sqld\"]\n", []string{"allow", "timeout", "url"}, "backend"},
		{"# What", nil, "fake"},
	} {
		got := c.completions("starling.toml", test.behind)
		wantAll(t, test.behind, got, test.want...)
		if slices.Contains(got, test.unwanted) {
			t.Errorf("%q: %s is among %q", test.behind, test.unwanted, got)
		}
	}
}

func TestProjectFileTells(t *testing.T) {
	c := start(t, map[string]string{})
	c.open("starling.toml", described)
	for behind, want := range map[string]string{"backen": "who answers", "\ntool": "the tools that it may use", "\nfak": "script of scripted agents", "verdict: st": "",
		"# Wh": "", "[agents.rev": "", "instruc": "what the agent is told with every task"} {
		if got := c.told("starling.toml", behind); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("hover behind %q says %q, want %q", behind, got, want)
		}
	}
	c.edit("starling.toml", "verdict: st}", "verdict: string}")
	if got := c.told("starling.toml", "verdict: str"); !strings.Contains(got, "UTF-8") {
		t.Errorf("hover over a type says %q", got)
	}
}

// told is what hovering behind a text says.
func (c *client) told(name, behind string) string {
	c.t.Helper()
	var hover struct{ Contents struct{ Value string } }
	json.Unmarshal(c.ask("textDocument/hover", c.cursor(name, behind)), &hover)
	return hover.Contents.Value
}

// A type within a contract is explained, and the servers of tools are known.
func TestContractsAndTools(t *testing.T) {
	c := start(t, map[string]string{"starling.toml": ""})
	c.open("a.star", `Report = contract("""
type Finding = {
    id: string,
    at: timestamp,
}
{findings: [Finding], mood: dura}
""")

def main():
    r = agent("reviewer", "look", output = Report, tools = ["sql", "w"])
    return mcp.call("s", "query"), r.output
`)
	wantAll(t, "types", c.completions("a.star", "mood: dura"), "duration", "Finding")
	wantAll(t, "servers in a list", c.completions("a.star", `["sql", "w`), "sql", "web")
	wantAll(t, "servers", c.completions("a.star", `mcp.call("s`), "sql", "web")
	for behind, want := range map[string]string{"at: timest": "RFC 3339", "[Find": "`{ id: string, at: timestamp, }`", "findi": ""} {
		if got := c.told("a.star", behind); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("hover behind %q says %q, want %q", behind, got, want)
		}
	}
}
