package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/coder/acp-go-sdk"
	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/jail"
	"starling/stdlib/project"
	"starling/stdlib/tool"
)

// An agent asks its client for leave, for files and for terminals. Leave is given by kinds of
// tools: what reads always, what changes files where it may modify, other kinds where its tools
// name them, and what touches paths where these lead to the workspace only. Else it is denied, or
// people decide, who see all of it. What it asks nobody about, nobody sees.

// maxShown is how many bytes of a call people can be shown; nobody approves what they have not
// seen.
const maxShown = 256 << 10

// readingKinds and changingKinds are the kinds of tools that need no further word.
var (
	readingKinds  = []string{string(acp.ToolKindRead), string(acp.ToolKindSearch), string(acp.ToolKindThink)}
	changingKinds = []string{string(acp.ToolKindEdit), string(acp.ToolKindDelete), string(acp.ToolKindMove)}
	otherKinds    = []string{string(acp.ToolKindExecute), string(acp.ToolKindFetch), string(acp.ToolKindSwitchMode), string(acp.ToolKindOther)}
)

// ToolKinds are the kinds of tools that an agent which speaks the Agent Client Protocol can be
// allowed.
func ToolKinds() []string { return slices.Concat(otherKinds, changingKinds, readingKinds) }

// permission is a request for leave.
type permission struct {
	Tool    acpTool                `json:"toolCall"`
	Options []acp.PermissionOption `json:"options"`
}

// answer is the outcome that says a decision.
func (p *permission) answer(allowed bool) acp.RequestPermissionResponse {
	return acp.RequestPermissionResponse{Outcome: chosenOption(p.Options, allowed)}
}

func (*permission) cancelled() acp.RequestPermissionResponse {
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}
}

// permit answers a request for leave, at once unless people are asked.
func (s *session) permit(m *message) {
	var p permission
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.answerTo(m.ID, nil, acp.NewInvalidParams(err.Error()))
		return
	}
	s.complete(&p.Tool)
	allowed := s.allows(&p.Tool)
	if !allowed && s.askPeople(m.ID, &p) {
		return
	}
	s.decided(&p.Tool, allowed, "policy")
	s.answerTo(m.ID, p.answer(allowed), nil)
}

// complete adds what was told of the call before.
func (s *session) complete(c *acpTool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.bound()
	*c = c.over(s.calls[c.ID])
	c.Title = firstOf(c.Title, c.Kind, c.ID)
}

// decided journals a decision. What policy has denied, the agent has not done: its reply is not
// what was asked for. Whoever decides at a gate knows what the reply will lack.
func (s *session) decided(c *acpTool, allowed bool, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say("permission", "tool", c.Title, "name", c.group(), "kind", c.Kind, "id", c.ID, "allowed", allowed, "by", by)
	if allowed {
		c.Granted = true
		s.note(*c)
	}
	if !allowed && by == "gate" {
		s.rejected = c.Title
	}
	if !allowed && by == "policy" {
		s.denial = firstOf(s.denial, c.Title)
		s.denials++
	}
}

// allows tells whether the definition gives leave.
func (s *session) allows(c *acpTool) bool {
	d := s.q.Definition
	kind := firstOf(c.Kind, string(acp.ToolKindOther))
	changes := slices.Contains(changingKinds, kind)
	switch {
	case !s.reaches(c.Locations, changes):
		return false
	case slices.Contains(readingKinds, kind), slices.Contains(d.Tools, kind):
		return true
	case changes:
		return d.Modifies
	}
	return kind == string(acp.ToolKindOther) && (s.ofServer(c.Title) || s.approves(c.Input))
}

// reaches tells whether all paths lead to the workspace, links followed.
func (s *session) reaches(paths []acp.ToolCallLocation, change bool) bool {
	if len(paths) == 0 {
		return true
	}
	tree, err := jail.Open(s.q.Settings.Workspace, s.q.Store, project.Rights(s.q.Settings))
	if err != nil {
		return false
	}
	defer tree.Close()
	return !slices.ContainsFunc(paths, func(at acp.ToolCallLocation) bool {
		path, err := s.within(at.Path)
		return err != nil || tree.Reach(path, change) != nil
	})
}

// ofServer tells whether a title is the name of a tool that the agent may use of a server, and no
// more than that: other titles have in them what the model has written. The title is the agent's
// word; what is called in the end, the proxy sees, and holds to the same list.
func (s *session) ofServer(title string) bool {
	return slices.ContainsFunc(s.q.Definition.Servers, func(g tool.Grant) bool {
		return slices.ContainsFunc(namesIn(title, wireName(g.Name)), g.Allows)
	})
}

// approves tells whether a call is one of a tool of a server as codex-acp asks for it: the title
// names neither, rawInput the server, and the question in it the tool. As with a title, the proxy
// sees what is called. https://github.com/zed-industries/codex-acp, 0.16.0
func (s *session) approves(input json.RawMessage) bool {
	var asked struct {
		Server  string `json:"server_name"`
		Request struct {
			Message string `json:"message"`
			Meta    struct {
				Kind string `json:"codex_approval_kind"`
			} `json:"_meta"`
		} `json:"request"`
	}
	if json.Unmarshal(input, &asked) != nil || asked.Request.Meta.Kind != "mcp_tool_call" {
		return false
	}
	m := regexp.MustCompile(`^Allow the (\S+) MCP server to run tool "([\w./-]+)"\?$`).FindStringSubmatch(asked.Request.Message)
	return m != nil && m[1] == asked.Server && slices.ContainsFunc(s.q.Definition.Servers, func(g tool.Grant) bool {
		return wireName(g.Name) == asked.Server && g.Allows(m[2])
	})
}

// namesIn are the tools of a server that a title may be the name of.
func namesIn(title, server string) (tools []string) {
	const word = `[\w./-]+`
	for _, form := range []string{`^(?:Tool: |mcp__|mcp_)?` + regexp.QuoteMeta(server) + `(?:__|_|/|\.|: ?)(` + word + `)$`, `^(` + word + `) \(` + regexp.QuoteMeta(server) + `(?: MCP Server)?\)$`} {
		if m := regexp.MustCompile(form).FindStringSubmatch(title); m != nil {
			tools = append(tools, m[1])
		}
	}
	return tools
}

// askPeople has people decide, one question after the other as they came, and tells whether they
// are asked.
func (s *session) askPeople(id *json.RawMessage, p *permission) bool {
	d := s.q.Definition
	if !d.Asks || s.q.Ask == nil || !p.Tool.shown() {
		return false
	}
	ctx := s.question(string(*id))
	if ctx == nil {
		return false
	}
	before, done := s.asked, make(chan struct{})
	s.asked = done
	s.answering.Go(func() {
		defer close(done)
		defer s.settle(string(*id))
		select {
		case <-before:
			s.write(id, s.ask(ctx, p), nil)
		case <-ctx.Done():
			s.write(id, p.cancelled(), nil)
			<-before
		}
	})
	return true
}

// ask waits for a decision, or the end of the question.
func (s *session) ask(ctx context.Context, p *permission) acp.RequestPermissionResponse {
	allowed, err := s.q.Ask(ctx, effect.Leave{Prompt: fmt.Sprintf("%s asks for leave: %s", s.q.Definition.Agent, clipTo(p.Tool.Title, 500)), Data: p.Tool.data(), Same: p.Tool.identity()})
	if err != nil {
		return p.cancelled()
	}
	s.decided(&p.Tool, allowed, "gate")
	return p.answer(allowed)
}

// shown tells whether people can be shown all of a call.
func (c *acpTool) shown() bool {
	size := len(c.Title) + len(c.Input) + len(c.Content)
	for _, at := range c.Locations {
		size += len(at.Path)
	}
	return !c.Long && size <= maxShown
}

// passing are keys of an input whose values are new each time that the same is asked: codex-acp has
// call_id, turn_id, process_id and started_at_ms.
var passing = pattern(`^(call_id|turn_id|process_id|\w+_at_ms)$`)

// identity tells a call from others that are asked about: all that people are shown, without what
// is new each time.
func (c *acpTool) identity() string {
	same := *c
	var input map[string]json.RawMessage
	if json.Unmarshal(c.Input, &input) == nil && input != nil {
		maps.DeleteFunc(input, func(key string, v json.RawMessage) bool {
			return passing().MatchString(key) || c.ID != "" && string(v) == fmt.Sprintf("%q", c.ID)
		})
		same.Input, _ = json.Marshal(input) // it has been read
	}
	return same.data().String()
}

// data is all of a call, for people.
func (c *acpTool) data() *starlark.Dict {
	paths := make([]starlark.Value, len(c.Locations))
	for i, at := range c.Locations {
		paths[i] = starlark.String(at.Path)
	}
	d := new(starlark.Dict)
	set := func(key string, v starlark.Value) { _ = d.SetKey(starlark.String(key), v) } // a fresh dict and a string key
	set("tool", starlark.String(c.Title))
	if c.Kind != "" {
		set("kind", starlark.String(c.Kind))
	}
	if len(c.Input) > 0 {
		set("input", wholeValue(c.Input))
	}
	if len(c.Content) > 0 {
		set("content", wholeValue(c.Content))
	}
	set("paths", starlark.NewList(paths))
	return d
}

// wholeValue is JSON as a value; what the machine has no value for is its text.
func wholeValue(raw json.RawMessage) starlark.Value {
	if v, err := contract.FromJSON(raw); err == nil {
		return v
	}
	return starlark.String(raw)
}

// chosenOption is the option that says a decision, for this once where there is such a one.
func chosenOption(options []acp.PermissionOption, allowed bool) acp.RequestPermissionOutcome {
	kinds := []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways}
	if allowed {
		kinds = []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways}
	}
	for _, kind := range kinds {
		for _, o := range options {
			if o.Kind == kind {
				return acp.NewRequestPermissionOutcomeSelected(o.OptionId)
			}
		}
	}
	return acp.NewRequestPermissionOutcomeCancelled()
}
