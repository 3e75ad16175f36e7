package agent

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
	"go.starlark.net/starlark"
)

// acpTurn is what an agent says and asks for while it works. Updates come one after the other, requests beside them.
type acpTurn struct {
	q    Question
	hide *strings.Replacer // of keys, which may come in pieces

	mu      sync.Mutex // protects what is below, and the attempt's Emit
	emit    emitter
	ctx     context.Context // ends with the turn; nil before the first
	last    strings.Builder // what it has said since it last used a tool
	text    *deltas
	thought *deltas
	names   map[string]string  // of tools, by their calls
	calls   map[string]acpTool // what was told of them
	denials []string
	tokens  usage
	usd     *float64 // what the session has cost so far
	ended   bool     // the agent has ended the newest turn
}

func newTurn(q Question) acpTurn {
	emit := newEmitter(q.Attempt)
	hide, keys := keyRedactor(q), keysOf(q)
	return acpTurn{q: q, emit: emit, hide: hide, text: &deltas{emit: emit, kind: "delta", hide: hide, keys: keys}, thought: &deltas{emit: emit, kind: "thinking", hide: hide, keys: keys},
		names: map[string]string{}, calls: map[string]acpTool{}}
}

// begin forgets what was said in the turn before.
func (t *acpTurn) begin(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.ended = ctx, false
	t.last.Reset()
}

// flush journals what was said to the end of the turn, and notes whether the agent itself has ended it.
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
	return strings.TrimSpace(t.hide.Replace(t.last.String()))
}

func (t *acpTurn) used() starlark.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tokens.withCost(t.usd)
}

// acpUpdate is the part of session/update that is read; other kinds are passed over, for there are more every year.
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
	Locations []acp.ToolCallLocation `json:"locations"`
}

// over is what is told of a call with what was told of it before.
func (c acpTool) over(before acpTool) acpTool {
	c.Title, c.Kind, c.Status = firstOf(c.Title, before.Title), firstOf(c.Kind, before.Kind), firstOf(c.Status, before.Status)
	if len(c.Input) == 0 {
		c.Input = before.Input
	}
	if len(c.Locations) == 0 {
		c.Locations = before.Locations
	}
	return c
}

// note keeps what is told of calls, as it comes in: updates are handled one after the other, so that a request for leave may be handled before what was told of its call.
func (t *acpTurn) note(raw json.RawMessage) {
	var n acpUpdate
	if json.Unmarshal(raw, &n) != nil || n.Update.ID == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := n.Update.acpTool.over(t.calls[n.Update.ID])
	if len(c.Input) > maxEventText {
		c.Input = []byte(clip(string(c.Input)))
	}
	t.calls[c.ID] = c
}

// update journals what the agent tells. What comes before the first turn is the past of a session that was loaded.
func (t *acpTurn) update(raw json.RawMessage) *acp.RequestError {
	var n acpUpdate
	if err := json.Unmarshal(raw, &n); err != nil {
		return acp.NewInvalidParams(err.Error())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil {
		return nil
	}
	u := &n.Update
	switch u.Kind {
	case "agent_message_chunk":
		t.message(u.Content)
	case "agent_thought_chunk":
		t.thought.add(blockOf(u.Content).Text)
	case "tool_call", "tool_call_update":
		t.tool(&u.acpTool)
	case "plan":
		t.plan(u.Entries)
	case "usage_update":
		if u.Cost != nil && u.Cost.Currency == "USD" {
			t.usd = &u.Cost.Amount
		}
		t.emit.say("context", "used", u.Used, "size", u.Size)
	}
	return nil
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
		t.emit.say("plan", "items", text)
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
		t.text.flush()
		t.emit.say("link", "url", b.URI, "text", b.Name)
		return
	}
	if t.last.Len()+len(b.Text) <= maxReply {
		t.last.WriteString(b.Text)
	}
	t.text.add(b.Text)
}

// tool takes what is told of a call; t.mu is held.
func (t *acpTurn) tool(c *acpTool) {
	t.thought.flush()
	t.text.flush()
	if _, known := t.names[c.ID]; !known {
		t.last.Reset() // what it said before was about what it was going to do
		t.names[c.ID] = firstOf(c.Title, c.Kind, c.ID)
		t.emit.say("tool", "name", t.names[c.ID], "id", c.ID, "kind", c.Kind, "input", []byte(c.Input))
	}
	if c.Status == string(acp.ToolCallStatusCompleted) || c.Status == string(acp.ToolCallStatusFailed) {
		t.emit.say("tool_result", "id", c.ID, "ok", c.Status == string(acp.ToolCallStatusCompleted))
	}
}
