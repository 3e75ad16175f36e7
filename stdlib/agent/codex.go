package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/project"
)

// codex speaks with Codex CLI: codex exec, the prompt on standard input, a line of JSON for each
// event on standard output. It never asks: its sandbox bounds what it may do.
//
//	{"type":"thread.started","thread_id":…}
//	{"type":"item.started"|"item.updated"|"item.completed","item":{"id":…,"type":"agent_message"|"reasoning"|"command_execution"|…}}
//	{"type":"turn.completed","usage":{"input_tokens":…,"cached_input_tokens":…,"output_tokens":…}}
//	{"type":"turn.failed","error":{"message":…}}    {"type":"error","message":…}, which may be a passing trouble
type codex struct {
	q        Question
	strict   bool
	thread   string
	last     string // agent message
	complete bool
	failed   string
	trouble  string
	declined []string
	tokens   usage
	keyless  int    // tries of the model's API that were refused for their key
	refused  *fault // by it, which codex would ask again
}

type codexLine struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage struct {
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Item struct {
		ID       string          `json:"id"`
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Message  string          `json:"message"`
		Command  string          `json:"command"`
		Status   string          `json:"status"`
		ExitCode *int64          `json:"exit_code"`
		Server   string          `json:"server"`
		Tool     string          `json:"tool"`
		Query    string          `json:"query"`
		Changes  json.RawMessage `json:"changes"`
		Items    json.RawMessage `json:"items"`
	} `json:"item"`
}

func (c *codex) invoke(q Question) (invocation, error) {
	c.q = q
	d := q.Definition
	if len(d.Tools) > 0 {
		return invocation{}, fmt.Errorf("codex cannot be held to a list of its own tools, such as %s; leave it out: its sandbox bounds it, and modifies says whether it may write. Tool servers are held to theirs", d.Tools[0])
	}
	sandbox := "read-only"
	if d.Modifies {
		sandbox = "workspace-write"
	}
	if d.Sandbox == project.WholeSandbox {
		sandbox = "danger-full-access" // its own cannot be made within another, which bounds it the same
	}
	args := []string{"exec", "--json", "--skip-git-repo-check", "--sandbox", sandbox}
	if d.Model != "" {
		args = append(args, "--model", d.Model)
	}
	told := invocation{forget: func() {}}
	if schema := strictSchema(q); schema != nil {
		file, err := keptFile("starling-schema-*.json", schema)
		if err != nil {
			return invocation{}, err
		}
		c.strict = true
		told.forget, told.files = func() { os.Remove(file) }, []string{file}
		args = append(args, "--output-schema", file)
	}
	resumes := resumed(q)
	for _, f := range attached(q, resumes) {
		if f.isImage() && !strings.Contains(f.path, ",") { // which would end the path
			args = append(args, "--image="+f.path)
		}
	}
	if resumes {
		args = append(args, "resume", q.Session)
	}
	text, err := prompt(q, resumes)
	told.args, told.stdin = append(args, "-"), []byte(text)
	if err != nil {
		told.forget()
	}
	return told, err
}

func (c *codex) line(line string, emit emitter) (counts bool) {
	var l codexLine
	if !decode(line, &l) {
		return false
	}
	switch l.Type {
	case "thread.started":
		c.thread = l.ThreadID
		emit.say("session", "id", l.ThreadID)
	case "item.started", "item.updated", "item.completed":
		c.item(&l, emit)
	case "turn.completed":
		c.complete = true
		c.tokens = usage{input: l.Usage.Input, output: l.Usage.Output, cached: l.Usage.Cached}
	case "turn.failed":
		c.failed = firstOf(l.Error.Message, "the turn failed")
	case "error":
		c.trouble = l.Message
		emit.say("trouble", "text", l.Message)
		c.tried()
	}
	return l.Item.Type == "agent_message"
}

// refusedKey is how codex tells of a key that the model's API refuses, each time that it tries.
var refusedKey = pattern(`unexpected status (401|403)[^)]*`)

// tried counts the tries of the model's API that were refused for their key. The second is a fault,
// see [claudeLine.retried].
func (c *codex) tried() {
	said := refusedKey().FindString(c.trouble)
	if said == "" {
		return
	}
	if c.keyless++; c.keyless == 2 {
		c.refused = toldFault(said)
	}
}

// hopeless is a key that the API refuses.
func (c *codex) hopeless() *fault { return c.refused }

func (c *codex) item(l *codexLine, emit emitter) {
	it := &l.Item
	begun, done := l.Type == "item.started", l.Type == "item.completed"
	switch it.Type {
	case "agent_message", "assistant_message":
		if done {
			c.last = it.Text
			emit.say("message", "text", it.Text)
		}
	case "reasoning":
		if done {
			emit.say("thinking", "text", it.Text)
		}
	case "command_execution", "mcp_tool_call", "web_search", "file_change":
		c.tool(it.Type, firstOf(it.Command, strings.Trim(it.Server+"."+it.Tool, "."), it.Query), l, begun, done, emit)
	case "todo_list":
		emit.say("plan", "items", []byte(it.Items))
	case "error":
		emit.say("trouble", "text", it.Message)
	}
}

func (c *codex) tool(kind, what string, l *codexLine, begun, done bool, emit emitter) {
	it := &l.Item
	if it.Server != "" {
		kind = it.Server + "." + it.Tool
	}
	switch {
	case begun:
		emit.say("tool", "name", kind, "id", it.ID, "text", what)
	case done:
		if it.Status == "declined" {
			c.declined = append(c.declined, what)
			emit.say("permission", "tool", kind, "id", it.ID, "allowed", false, "by", "program")
		}
		emit.say("tool_result", "id", it.ID, "name", kind, "ok", it.Status != "failed" && it.Status != "declined", "changes", []byte(it.Changes))
	}
}

func (c *codex) answer() (answer, *fault) {
	switch {
	case c.failed != "":
		return answer{}, toldFault(c.failed)
	case len(c.declined) > 0:
		return answer{}, denied(c.declined[0], "", len(c.declined))
	case !c.complete && c.trouble != "":
		return answer{}, toldFault(c.trouble)
	case !c.complete:
		return answer{}, &fault{message: "it ended in the middle of its turn", kind: effect.KindAgent, class: effect.Retryable}
	}
	a := answer{text: c.last, status: "ok", session: c.thread, usage: c.spent()}
	if c.strict {
		a.output, _ = fromStrict(c.q, []byte(c.last))
	}
	return a, nil
}

func (*codex) exit(code int) (class effect.Failure, meaning string) { return exitFailure(code) }

func (c *codex) spent() starlark.Value { return c.tokens.dict() }

func (c *codex) conversation() string { return c.thread }
