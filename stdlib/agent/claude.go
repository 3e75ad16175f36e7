package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// claude speaks with Claude Code: claude -p, the prompt on standard input (as an argument it would
// overflow where arguments are short), a stream of JSON on standard output. Its exit code is 0 also
// where it was denied a tool or ran into a limit; what counts is its last event, of type result:
//
//	{"type":"system","subtype":"init","session_id":…,"model":…}
//	{"type":"system","subtype":"api_retry","attempt":…,"max_retries":…,"error_status":…,"error":…}
//	{"type":"assistant","message":{"content":[{"type":"text"|"thinking"|"tool_use",…}]}}
//	{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":…,"is_error":…}]}}
//	{"type":"result","subtype":"success"|"error_…","is_error":…,"result":…,"structured_output":…,"permission_denials":[…],"total_cost_usd":…,"usage":{…}}
type claude struct {
	q       Question
	strict  bool
	session string
	tokens  map[string]usage // of the messages so far, by their ids: each is told of with each of its blocks
	tools   toolNames
	result  *claudeLine
	refused *fault // by the model's API, which claude would ask again
}

type claudeLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"`
	Message   struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"` // a text or a list
		Usage   claudeUsage     `json:"usage"`   // of the assistant: what is known when the message begins
	} `json:"message"`
	IsError    bool            `json:"is_error"`
	Result     string          `json:"result"`
	Structured json.RawMessage `json:"structured_output"`
	Errors     []string        `json:"errors"`
	Turns      int64           `json:"num_turns"`
	Cost       *float64        `json:"total_cost_usd"`
	Usage      claudeUsage     `json:"usage"`

	// Of a try of the model's API that failed, and is tried again.
	Attempt     int             `json:"attempt"`
	MaxRetries  int             `json:"max_retries"`
	ErrorStatus int             `json:"error_status"`
	Error       json.RawMessage `json:"error"` // a word

	Denials []struct {
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
}

type claudeUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Read   int64 `json:"cache_read_input_tokens"`
	Write  int64 `json:"cache_creation_input_tokens"`
}

func (u claudeUsage) usage() usage {
	return usage{input: u.Input + u.Read + u.Write, output: u.Output, cached: u.Read}
}

type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
}

// invoke allows the tools that are listed, and edits where the agent may modify: in this mode
// everything else that would ask somebody is denied.
func (c *claude) invoke(q Question) (invocation, error) {
	c.q = q
	d := q.Definition
	args := []string{"-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "default"}
	if d.Modifies {
		args[len(args)-1] = "acceptEdits"
	}
	if d.Model != "" {
		args = append(args, "--model", d.Model)
	}
	if tools := allowedTools(q); tools != "" {
		args = append(args, "--allowedTools", tools)
	}
	if schema := strictSchema(q); schema != nil {
		c.strict = true
		args = append(args, "--json-schema", string(schema))
	}
	resumes := resumed(q)
	if resumes {
		args = append(args, "--resume", q.Session)
	}
	text, err := prompt(q, resumes)
	stdin := []byte(text)
	if shown := slices.DeleteFunc(slices.Clone(attached(q, resumes)), claudeCannotSee); err == nil && len(shown) > 0 {
		args = append(args, "--input-format", "stream-json")
		stdin, err = claudeMessage(text, shown)
	}
	return invocation{args: args, stdin: stdin, forget: func() {}}, err
}

// claudeCannotSee tells of a file that is not put into a message: claude reads texts where they
// are.
func claudeCannotSee(f file) bool { return !f.isImage() && f.kind != pdfKind }

// claudeMessage is a prompt with what is to be seen, as the Messages API has it.
func claudeMessage(text string, shown []file) ([]byte, error) {
	var m struct {
		Type    string           `json:"type"`
		Message anthropicMessage `json:"message"`
	}
	m.Type, m.Message.Role = "user", "user"
	m.Message.Content = append(anthropicFiles(shown), textBlock(text))
	line, err := json.Marshal(m)
	return append(line, '\n'), err
}

// resumed tells whether an attempt goes on with the conversation of the one before: where that came
// to a reply, which is to be mended, was ended to tell the agent something, or was cut, or with
// that of a call before. After a failure the conversation may not be there.
func resumed(q Question) bool {
	return q.Session != "" && (q.GoesOn || q.Cut || len(q.Feedback) > 0 || len(q.Messages) > 0)
}

func (c *claude) line(line string, emit emitter) (counts bool) {
	var l claudeLine
	if !decode(line, &l) {
		return false
	}
	switch l.Type {
	case "system":
		c.system(&l, emit)
	case "assistant", "user":
		c.count(&l, emit)
		c.content(l.Message.Content, emit)
	case "result":
		c.result = &l
		if l.SessionID != "" {
			c.session = l.SessionID
		}
		for _, d := range l.Denials {
			emit.say("permission", "tool", d.Tool, "allowed", false, "by", "program")
		}
	}
	return l.Type == "result"
}

// system takes what is neither said by the model nor to it.
func (c *claude) system(l *claudeLine, emit emitter) {
	switch l.Subtype {
	case "init":
		c.session = l.SessionID
		emit.say("session", "id", l.SessionID, "model", l.Model)
	case "api_retry":
		c.refused = l.retried(emit)
	}
}

// retried tells of a try of the model's API that failed. The second with a key that the API refuses
// is a fault: none of those that are to follow could mend it. After the first a program that is
// logged in with an account renews its token.
func (l *claudeLine) retried(emit emitter) *fault {
	said := strings.Trim(string(l.Error), `"`)
	text := fmt.Sprintf("try %d of %d failed: %d %s", l.Attempt, l.MaxRetries, l.ErrorStatus, said)
	emit.say("trouble", "text", strings.TrimSpace(text), "severity", "warning")
	if l.Attempt < 2 || l.ErrorStatus != http.StatusUnauthorized && l.ErrorStatus != http.StatusForbidden {
		return nil
	}
	return toldFault(fmt.Sprintf("the model's API answers %d: %s", l.ErrorStatus, said))
}

// hopeless is a key that the API refuses.
func (c *claude) hopeless() *fault { return c.refused }

// count tells what the messages so far have taken: they count also where no result follows.
func (c *claude) count(l *claudeLine, emit emitter) {
	u := l.Message.Usage.usage()
	if u == (usage{}) || c.tokens[l.Message.ID] == u {
		return
	}
	if c.tokens == nil {
		c.tokens = map[string]usage{}
	}
	c.tokens[l.Message.ID] = u
	emit.used(c.spent())
}

// spent is what the result says, and before it the messages.
func (c *claude) spent() starlark.Value {
	if c.result != nil {
		return c.result.Usage.usage().withCost(c.result.Cost)
	}
	var sum usage
	for _, u := range c.tokens {
		sum = sum.plus(u)
	}
	return sum.dict()
}

func (c *claude) content(raw json.RawMessage, emit emitter) {
	var blocks []claudeBlock
	if json.Unmarshal(raw, &blocks) != nil {
		return
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			emit.say("message", "text", b.Text)
		case "thinking":
			emit.say("thinking", "text", b.Thinking)
		case "tool_use":
			c.tools.begin(b.ID, b.Name)
			emit.say("tool", "name", b.Name, "id", b.ID, "input", []byte(b.Input))
		case "tool_result":
			emit.say("tool_result", "id", b.ToolUseID, "name", c.tools.end(b.ToolUseID), "ok", !b.IsError)
		}
	}
}

func (c *claude) answer() (answer, *fault) {
	r := c.result
	switch {
	case r == nil:
		return answer{}, &fault{message: "it ended without a result", kind: effect.KindAgent, class: effect.Retryable}
	case len(r.Denials) > 0:
		return answer{}, denied(r.Denials[0].Tool, c.q.shown(string(r.Denials[0].Input), 200), len(r.Denials))
	case r.IsError, strings.HasPrefix(r.Subtype, "error"):
		return answer{}, toldFault(firstOf(r.Result, strings.Join(r.Errors, "; "), r.Subtype))
	}
	a := answer{text: r.Result, status: "ok", session: c.session, usage: c.spent()}
	if c.strict && len(r.Structured) > 0 && string(r.Structured) != "null" {
		a.output, _ = fromStrict(c.q, r.Structured)
	}
	return a, nil
}

func (*claude) exit(code int) (class effect.Failure, meaning string) { return exitFailure(code) }

// denied is the fault of an agent that was kept from a tool: what it says after that is not what it
// was asked for.
func denied(tool, input string, times int) *fault {
	message := fmt.Sprintf("it was denied the tool %s", tool)
	if input != "" {
		message += " with " + input
	}
	if times > 1 {
		message += fmt.Sprintf(", and %d more", times-1)
	}
	return &fault{message: message + "; allow it with tools or modifies, or ask for what needs no tool", kind: effect.KindDenied, class: effect.Final, said: true}
}

func (c *claude) conversation() string { return c.session }
