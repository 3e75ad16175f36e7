package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/redact"
)

const (
	// MaxCalls bounds the calls of one attempt.
	MaxCalls = 10_000
	maxEvent = 16 << 10 // bytes of the input, or of the text, that an event holds
)

// Proxy is what one attempt may use of tool servers. It is used concurrently.
type Proxy struct {
	servers *Servers
	attempt *effect.Attempt
	grants  []Grant
	hide    *redact.Redactor // what whoever calls was given, and may repeat

	mu    sync.Mutex // protects what is below, and the attempt's Emit
	held  map[string]*holding
	calls int
}

// holding is a server that the attempt keeps at work.
type holding struct {
	equipment equipment
	instance  *instance
}

// Open starts the servers of the grants, or joins those that are at work. What it journals hides
// values, nil for nothing. The proxy must be closed. A fault is of the first server that cannot be
// had; then nothing is held.
func (s *Servers) Open(ctx context.Context, a *effect.Attempt, grants []Grant, hide *redact.Redactor) (*Proxy, *Fault) {
	p := &Proxy{servers: s, attempt: a, grants: grants, hide: hide, held: map[string]*holding{}}
	for _, g := range grants {
		e, fault := equip(ctx, a, g.Definition, hide)
		if fault == nil {
			h := &holding{equipment: e}
			if h.instance, fault = s.acquire(ctx, a, g.Definition, e); fault == nil {
				p.held[g.Name] = h
			}
		}
		if fault != nil {
			p.Close()
			return nil, fault
		}
	}
	return p, nil
}

// Close gives the servers back, and returns when those that nobody else uses are gone.
func (p *Proxy) Close() {
	p.mu.Lock()
	held := p.held
	p.held = map[string]*holding{}
	p.mu.Unlock()
	for _, h := range held {
		p.servers.release(h.instance)
	}
}

// Names lists the servers, in the order of the grants.
func (p *Proxy) Names() []string {
	names := make([]string, len(p.grants))
	for i, g := range p.grants {
		names[i] = g.Name
	}
	return names
}

// Tools lists the tools of a server that the attempt may use.
func (p *Proxy) Tools(ctx context.Context, server string) ([]*mcp.Tool, *Fault) {
	tools, _, fault := p.Definitions(ctx, server)
	return tools, fault
}

// Definitions is Tools, with the hash of all that the server defines.
func (p *Proxy) Definitions(ctx context.Context, server string) ([]*mcp.Tool, string, *Fault) {
	g, c, fault := p.reach(ctx, server, "")
	if fault != nil {
		return nil, "", fault
	}
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	all, hash, fault := c.tools(ctx)
	if fault == nil {
		fault = p.servers.same(p.attempt.Run, g.Definition, hash)
	}
	if fault != nil {
		p.told(fault)
		return nil, hash, fault
	}
	var tools []*mcp.Tool
	for _, t := range all {
		if g.Allows(t.Name) {
			tools = append(tools, t)
		}
	}
	return tools, hash, nil
}

// Call calls a tool with an object of arguments as JSON, nil for none. A failure that the tool
// itself reports is a result, with IsError.
func (p *Proxy) Call(ctx context.Context, server, tool string, input json.RawMessage) (*mcp.CallToolResult, *Fault) {
	if input = bytes.TrimSpace(input); len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	start := time.Now()
	result, size, fault := p.call(ctx, server, tool, input)
	switch {
	case fault != nil && fault.Denied():
		p.told(fault)
	default:
		p.record(server, tool, input, result, size, fault, time.Since(start))
	}
	return result, fault
}

func (p *Proxy) call(ctx context.Context, server, tool string, input json.RawMessage) (*mcp.CallToolResult, int, *Fault) {
	if !json.Valid(input) || bytes.TrimSpace(input)[0] != '{' {
		return nil, 0, faultf(BadInput, server, tool, "got arguments that are no JSON object")
	}
	g, c, fault := p.reach(ctx, server, tool)
	if fault != nil {
		return nil, 0, fault
	}
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	all, hash, fault := c.tools(ctx)
	if fault == nil {
		fault = p.servers.same(p.attempt.Run, g.Definition, hash)
	}
	if fault != nil {
		fault.Tool = tool
		return nil, 0, fault
	}
	if !defines(all, tool) {
		return nil, 0, unknownTool(g, tool, all)
	}
	return c.call(ctx, tool, input)
}

// reach gives the grant and the connection of a server, started again if it has died. tool is ""
// for what every grant may do.
func (p *Proxy) reach(ctx context.Context, server, tool string) (Grant, *connection, *Fault) {
	g, ok := p.grant(server)
	if !ok || tool != "" && !g.Allows(tool) {
		return g, nil, faultf(NotAllowed, server, tool, "denied: %s", mayUse(g, ok))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls++; p.calls > MaxCalls {
		return g, nil, faultf(TooMany, server, tool, "denied: the attempt has made %d calls", MaxCalls)
	}
	h := p.held[server]
	if h == nil {
		return g, nil, faultf(Cancelled, server, tool, "the attempt has ended")
	}
	if h.instance.lost() {
		next, fault := p.servers.acquire(ctx, p.attempt, g.Definition, h.equipment)
		if fault != nil {
			return g, nil, fault
		}
		p.servers.release(h.instance)
		h.instance = next
	}
	return g, h.instance.conn, nil
}

func (p *Proxy) grant(server string) (Grant, bool) {
	for _, g := range p.grants {
		if g.Name == server {
			return g, true
		}
	}
	return Grant{}, false
}

// mayUse says what is allowed, to whoever was denied.
func mayUse(g Grant, known bool) string {
	switch {
	case !known:
		return "the server is not among the tools that were allowed"
	case g.Granted != nil:
		return "the script is not the project's own and is granted only " + strings.Join(g.Granted, ", ")
	case g.Tools != nil:
		return "only these of its tools are allowed: " + orNone(strings.Join(g.Tools, ", "))
	}
	return "the project allows only these of its tools: " + orNone(strings.Join(g.Allow, ", "))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// Deny journals that a tool was asked for which nobody was offered.
func (p *Proxy) Deny(name string) {
	if p != nil {
		p.told(&Fault{Code: NotAllowed, Tool: name, Message: name + ": denied: it was not offered"})
	}
}

// told journals a call that was kept from the server.
func (p *Proxy) told(f *Fault) {
	if f.Denied() {
		p.emit("tool_denied", "server", f.Server, "tool", f.Tool, "code", string(f.Code), "text", f.Message)
	}
}

// record journals a call that was made.
func (p *Proxy) record(server, tool string, input json.RawMessage, result *mcp.CallToolResult, size int, fault *Fault, took time.Duration) {
	pairs := []any{"server", server, "tool", tool, "input", string(input), "ok", fault == nil && !result.IsError, "ms", took.Milliseconds(), "bytes", int64(size)}
	switch {
	case fault != nil:
		pairs = append(pairs, "code", string(fault.Code), "text", fault.Message)
	case result.IsError:
		pairs = append(pairs, "text", Text(result))
	}
	p.emit("tool_call", pairs...)
}

// emit journals an event of pairs of names and values.
func (p *Proxy) emit(kind string, pairs ...any) {
	d := starlark.NewDict(len(pairs) / 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		var v starlark.Value = starlark.None
		switch value := pairs[i+1].(type) {
		case string:
			if value == "" {
				continue
			}
			v = starlark.String(clip(p.hide.Redact(value)))
		case bool:
			v = starlark.Bool(value)
		case int64:
			v = starlark.MakeInt64(value)
		}
		if pairs[i] == "input" {
			v = inputValue(p.hide.Redact(pairs[i+1].(string)))
		}
		_ = d.SetKey(starlark.String(pairs[i].(string)), v) // a fresh dict and a string key
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempt.Emit(kind, d)
}

// inputValue is the arguments of a call as an event holds them: as text where they are long.
func inputValue(text string) starlark.Value {
	if v, err := contract.FromJSON([]byte(text)); err == nil && len(text) <= maxEvent {
		return v
	}
	return starlark.String(clip(text))
}

// clip cuts a text that is too long for an event, between characters.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxEvent {
		return s
	}
	end := maxEvent
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
