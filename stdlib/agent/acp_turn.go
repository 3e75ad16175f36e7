package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
	"go.starlark.net/starlark"
)

// acpTurn is what an agent says and asks for while it works, and who is asked about it.
type acpTurn struct {
	q Question

	mu        sync.Mutex // protects what is below, and the attempt's Emit
	emit      emitter
	ctx       context.Context // ends with the turn; nil before the first
	last      strings.Builder // what it has said since it last used a tool
	text      *deltas
	thought   *deltas
	calls     map[string]acpTool // the newest calls of tools, and what was told of them
	order     []string           // of calls, the oldest first
	denial    string             // the first tool that it was denied
	denials   int
	rejected  string                        // the newest tool that people have refused it
	unasked   string                        // the first that changed files without leave, of an agent that may not
	questions map[string]context.CancelFunc // that wait for people, by their requests
	tokens    usage
	models    []string // that have taken them, where it says so
	before    float64  // what the session had cost before the first turn, in US dollars
	usd       *float64 // what it has cost since
	ended     bool     // the agent has ended the newest turn
}

func newTurn(q Question) acpTurn {
	emit := newEmitter(q.Attempt)
	return acpTurn{q: q, emit: emit, text: newDeltas(q, emit, "delta"), thought: newDeltas(q, emit, "thinking"),
		calls: map[string]acpTool{}, questions: map[string]context.CancelFunc{}}
}

// begin forgets what was said in the turn before.
func (t *acpTurn) begin(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.ended = ctx, false
	t.last.Reset()
}

// flush journals what was said to the end of the turn, and notes whether the agent itself has ended
// it.
func (t *acpTurn) flush(ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.thought.flush()
	t.text.flush()
	t.ended = ended
}

func (t *acpTurn) saidLast() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.q.keys.Redact(t.last.String()))
}

// spent is what the turns have taken so far.
func (t *acpTurn) spent() starlark.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used()
}

// used is spent; t.mu is held.
func (t *acpTurn) used() starlark.Value {
	return withModel(t.tokens.withCost(t.usd), onlyOne(t.models))
}

// count takes what a turn has taken. The protocol is of two minds whether that is of the turn or of
// the session: it is "for this turn", and so do agents have it.
func (t *acpTurn) count(r acp.PromptResponse) {
	told, models := quotaOf(r.Meta)
	if r.Usage != nil {
		told = tokensOf(r.Usage)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens, t.models = t.tokens.plus(told), append(t.models, models...)
}

// quotaOf is what Gemini CLI tells of a turn beside the protocol.
// https://github.com/google-gemini/gemini-cli, 0.61.0, packages/cli/src/acp
func quotaOf(meta map[string]any) (u usage, models []string) {
	var m struct {
		Quota struct {
			Tokens struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
			Models []struct {
				Name string `json:"model"`
			} `json:"model_usage"`
		} `json:"quota"`
	}
	text, err := json.Marshal(meta)
	if err != nil || json.Unmarshal(text, &m) != nil {
		return usage{}, nil
	}
	for _, model := range m.Quota.Models {
		models = append(models, model.Name)
	}
	return usage{input: m.Quota.Tokens.Input, output: m.Quota.Tokens.Output}, models
}

// cost takes what the session has cost in all; of one that was loaded, what it cost before is not
// of this attempt. t.mu is held.
func (t *acpTurn) cost(usd float64) {
	if t.ctx == nil {
		t.before = usd
		return
	}
	usd = max(0, usd-t.before)
	if t.usd == nil || *t.usd != usd {
		t.usd = &usd
		t.thought.flush()
		t.text.flush()
		t.emit.used(t.used())
	}
}

// acpUpdate is the part of session/update that is read; other kinds are passed over, for there are
// more every year.
type acpUpdate struct {
	Update struct {
		Kind    string          `json:"sessionUpdate"`
		Content json.RawMessage `json:"content"` // a block, or of tools a list
		acpTool
		Entries []acp.PlanEntry `json:"entries"`
		Used    int64           `json:"used"`
		Size    int64           `json:"size"`
		Cost    *struct {
			Amount   float64 `json:"amount"`
			Currency string  `json:"currency"`
		} `json:"cost"`
	} `json:"update"`
}

// acpTool is a call of a tool, of which an update may tell only what has changed.
type acpTool struct {
	ID        string                 `json:"toolCallId"`
	Title     string                 `json:"title"`
	Kind      string                 `json:"kind"`
	Status    string                 `json:"status"`
	Input     json.RawMessage        `json:"rawInput"`
	Content   json.RawMessage        `json:"content"` // what it is about, such as the change of a file
	Locations []acp.ToolCallLocation `json:"locations"`
	Long      bool                   `json:"-"` // what it is about is too long to be kept
	Told      bool                   `json:"-"` // it is in the journal
	Granted   bool                   `json:"-"` // leave was given for it
}

// group is what calls of one tool have in common: the kind, and the name of a tool of a server.
func (c *acpTool) group() string {
	if c.Kind == "" || c.Kind == string(acp.ToolKindOther) {
		return firstOf(c.Title, c.ID)
	}
	return c.Kind
}

// changes tells whether a call has changed files, and is of none of the kinds that need no leave.
func (c *acpTool) changes(free []string) bool {
	return slices.Contains(changingKinds, c.Kind) && !slices.Contains(free, c.Kind)
}

// maxCalls is how many calls are remembered: those that somebody may still be asked about.
const maxCalls = 256

// bound lets go of what nobody could be shown.
func (c *acpTool) bound() {
	if len(c.Input) > maxShown {
		c.Input, c.Long = []byte(clip(string(c.Input))), true
	}
	if len(c.Content) > maxShown {
		c.Content, c.Long = nil, true
	}
}

// over is what is told of a call with what was told of it before.
func (c acpTool) over(before acpTool) acpTool {
	c.Title, c.Kind, c.Status = firstOf(c.Title, before.Title), firstOf(c.Kind, before.Kind), firstOf(c.Status, before.Status)
	if len(c.Input) == 0 {
		c.Input = before.Input
	}
	if len(c.Content) == 0 {
		c.Content = before.Content
	}
	if len(c.Locations) == 0 {
		c.Locations = before.Locations
	}
	c.Long, c.Told, c.Granted = c.Long || before.Long, before.Told, c.Granted || before.Granted
	return c
}

// note keeps what is told of a call.
func (t *acpTurn) note(c acpTool) acpTool {
	before, known := t.calls[c.ID]
	if !known {
		if t.order = append(t.order, c.ID); len(t.order) > maxCalls {
			delete(t.calls, t.order[0])
			t.order = t.order[1:]
		}
	}
	c.bound()
	c = c.over(before)
	t.calls[c.ID] = c
	return c
}

// update journals what the agent tells. What comes before the first turn is the past of a session
// that was loaded.
func (t *acpTurn) update(raw json.RawMessage) {
	var n acpUpdate
	if json.Unmarshal(raw, &n) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	u := &n.Update
	if c := u.Cost; u.Kind == "usage_update" && c != nil && c.Currency == "USD" {
		t.cost(c.Amount)
	}
	if t.ctx == nil {
		return
	}
	switch u.Kind {
	case "agent_message_chunk":
		t.message(u.Content)
	case "agent_thought_chunk":
		t.text.flush()
		t.thought.add(blockOf(u.Content).Text)
	case "tool_call", "tool_call_update":
		u.acpTool.Content = u.Content
		t.tool(u.acpTool)
	case "plan":
		t.plan(u.Entries)
	case "usage_update":
		t.say("context", "used", u.Used, "size", u.Size)
	}
}

// say journals an event behind what was said before it; t.mu is held.
func (t *acpTurn) say(kind string, pairs ...any) {
	t.thought.flush()
	t.text.flush()
	t.emit.say(kind, pairs...)
}

// plan journals a plan in the words of the other agents; t.mu is held.
func (t *acpTurn) plan(entries []acp.PlanEntry) {
	type item struct {
		Text      string `json:"text"`
		Completed bool   `json:"completed"`
	}
	items := make([]item, len(entries))
	for i, e := range entries {
		items[i] = item{e.Content, e.Status == acp.PlanEntryStatusCompleted}
	}
	text, err := json.Marshal(items)
	if err == nil {
		t.say("plan", "items", text)
	}
}

// acpBlock is a piece of content.
type acpBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Name string `json:"name"`
	URI  string `json:"uri"`
}

func blockOf(raw json.RawMessage) (b acpBlock) {
	_ = json.Unmarshal(raw, &b) // what is no block has no text
	return b
}

// message takes a piece of what is said; t.mu is held.
func (t *acpTurn) message(raw json.RawMessage) {
	t.thought.flush()
	b := blockOf(raw)
	if b.Type == "resource_link" {
		t.say("link", "url", b.URI, "text", b.Name)
		return
	}
	if t.last.Len()+len(b.Text) <= maxReply {
		t.last.WriteString(b.Text)
	}
	t.text.add(b.Text)
}

// tool takes what is told of a call; t.mu is held.
func (t *acpTurn) tool(told acpTool) {
	c := t.note(told)
	if !c.Told {
		t.last.Reset() // what it said before was about what it was going to do
		t.say("tool", "name", firstOf(c.Title, c.Kind, c.ID), "id", c.ID, "kind", c.Kind, "input", []byte(c.Input))
		c.Told = true
		t.calls[c.ID] = c
	}
	if told.Status == string(acp.ToolCallStatusCompleted) || told.Status == string(acp.ToolCallStatusFailed) {
		done := told.Status == string(acp.ToolCallStatusCompleted)
		t.say("tool_result", "id", c.ID, "name", c.group(), "ok", done)
		if done && !t.q.Definition.Modifies && !c.Granted && t.unasked == "" && c.changes(t.q.Definition.Tools) {
			t.unasked = firstOf(c.Title, c.Kind)
		}
	}
}
