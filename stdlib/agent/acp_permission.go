package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/jail"
	"starling/stdlib/tool"
)

// An agent asks its client for leave, for files and for terminals. Leave is given by kinds of tools: what reads always, what changes files where it may modify, other kinds where its
// tools name them, and what touches paths within the workspace only. Else it is denied, or people decide. What it asks nobody about, nobody sees.

// readingKinds and changingKinds are the kinds of tools that need no further word.
var (
	readingKinds  = []string{string(acp.ToolKindRead), string(acp.ToolKindSearch), string(acp.ToolKindThink)}
	changingKinds = []string{string(acp.ToolKindEdit), string(acp.ToolKindDelete), string(acp.ToolKindMove)}
	otherKinds    = []string{string(acp.ToolKindExecute), string(acp.ToolKindFetch), string(acp.ToolKindSwitchMode), string(acp.ToolKindOther)}
)

// ToolKinds are the kinds of tools that an agent which speaks the Agent Client Protocol can be allowed.
func ToolKinds() []string { return slices.Concat(otherKinds, changingKinds, readingKinds) }

// serve answers what the agent asks of its client. There are no terminals: commands are its own to run, where it has leave.
func (s *session) serve(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	switch method {
	case acp.ClientMethodSessionUpdate:
		defer func() {
			select {
			case <-s.waits:
			default:
			}
		}()
		return nil, s.update(params)
	case acp.ClientMethodSessionRequestPermission:
		return s.permit(ctx, params)
	case acp.ClientMethodFsReadTextFile:
		return s.readFile(params)
	case acp.ClientMethodFsWriteTextFile:
		return s.writeFile(params)
	}
	return nil, acp.NewMethodNotFound(method)
}

// permission is a request for leave.
type permission struct {
	Tool    acpTool                `json:"toolCall"`
	Options []acp.PermissionOption `json:"options"`
}

// permit answers a request for leave.
func (s *session) permit(ctx context.Context, params json.RawMessage) (any, *acp.RequestError) {
	var p permission
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, acp.NewInvalidParams(err.Error())
	}
	s.complete(&p.Tool)
	allowed, by := s.allows(&p.Tool), "policy"
	if !allowed && s.q.Definition.Asks && s.q.Ask != nil {
		by = "gate"
		var err error
		if allowed, err = s.askPeople(ctx, &p.Tool); err != nil {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
		}
	}
	s.decided(&p.Tool, allowed, by)
	return acp.RequestPermissionResponse{Outcome: chosenOption(p.Options, allowed)}, nil
}

// complete adds what was told of the call before.
func (s *session) complete(c *acpTool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*c = c.over(s.calls[c.ID])
	c.Title = firstOf(c.Title, c.Kind, c.ID)
}

// decided journals a decision. What policy has denied, the agent has not done: its reply is not what was asked for. Whoever decides at a gate knows what the reply will lack.
func (s *session) decided(c *acpTool, allowed bool, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit.say("permission", "tool", c.Title, "kind", c.Kind, "id", c.ID, "allowed", allowed, "by", by)
	if !allowed && by == "policy" {
		s.denials = append(s.denials, c.Title)
	}
}

// allows tells whether the definition gives leave.
func (s *session) allows(c *acpTool) bool {
	d := s.q.Definition
	kind := firstOf(c.Kind, string(acp.ToolKindOther))
	for _, at := range c.Locations {
		if _, err := s.within(at.Path); err != nil {
			return false
		}
	}
	switch {
	case slices.Contains(readingKinds, kind), slices.Contains(d.Tools, kind):
		return true
	case slices.Contains(changingKinds, kind):
		return d.Modifies
	}
	return kind == string(acp.ToolKindOther) && s.ofServer(c.Title)
}

// ofServer tells whether a tool is of a server that the agent may use; which of its tools it may, the proxy says.
func (s *session) ofServer(title string) bool {
	return slices.ContainsFunc(s.q.Definition.Servers, func(g tool.Grant) bool { return strings.Contains(title, wireName(g.Name)) })
}

// askPeople waits for a decision, or the end of the turn.
func (s *session) askPeople(ctx context.Context, c *acpTool) (bool, error) {
	s.mu.Lock()
	turn := s.ctx
	s.mu.Unlock()
	if turn == nil {
		return false, errors.New("no turn")
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(turn, func() { stop(context.Cause(turn)) })()
	paths := make([]starlark.Value, len(c.Locations))
	for i, at := range c.Locations {
		paths[i] = starlark.String(at.Path)
	}
	data := dict("tool", c.Title, "kind", c.Kind, "input", []byte(c.Input))
	_ = data.SetKey(starlark.String("paths"), starlark.NewList(paths)) // a fresh dict and a string key
	return s.q.Ask(ctx, effect.Leave{Prompt: fmt.Sprintf("%s asks for leave: %s", s.q.Definition.Agent, clipTo(c.Title, 500)), Data: data})
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

// within is a path as one of the workspace.
func (s *session) within(path string) (string, error) {
	workspace := s.q.Settings.Workspace
	if !filepath.IsAbs(path) {
		path = filepath.Join(workspace, path)
	}
	roots := []string{workspace}
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		roots = append(roots, real) // agents resolve their folder
	}
	for _, root := range roots {
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), nil
		}
	}
	return "", fmt.Errorf("%s is not in the workspace", path)
}

// tree opens the workspace at a path.
func (s *session) tree(path string) (*jail.Tree, string, *acp.RequestError) {
	rel, err := s.within(path)
	if err != nil {
		return nil, "", refusedFile(err)
	}
	tree, err := jail.Open(s.q.Settings.Workspace, s.q.Store)
	if err != nil {
		return nil, "", refusedFile(err)
	}
	return tree, rel, nil
}

func refusedFile(err error) *acp.RequestError {
	if errors.Is(err, os.ErrNotExist) {
		return &acp.RequestError{Code: -32002, Message: "Resource not found: " + err.Error()}
	}
	return acp.NewInvalidParams(err.Error())
}

func (s *session) readFile(params json.RawMessage) (any, *acp.RequestError) {
	var p acp.ReadTextFileRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, acp.NewInvalidParams(err.Error())
	}
	tree, rel, refused := s.tree(p.Path)
	if refused != nil {
		return nil, refused
	}
	defer tree.Close()
	text, err := tree.Read(rel, maxReply)
	if err == nil && !utf8.Valid(text) {
		err = fmt.Errorf("%s is no text", p.Path)
	}
	if err != nil {
		return nil, refusedFile(err)
	}
	return acp.ReadTextFileResponse{Content: linesOf(string(text), p.Line, p.Limit)}, nil
}

// linesOf is a part of a text: from a line on, counted from 1, and so many lines.
func linesOf(text string, line, limit *int) string {
	lines := strings.SplitAfter(text, "\n")
	if line != nil && *line > 1 {
		lines = lines[min(*line-1, len(lines)):]
	}
	if limit != nil && *limit >= 0 {
		lines = lines[:min(*limit, len(lines))]
	}
	return strings.Join(lines, "")
}

func (s *session) writeFile(params json.RawMessage) (any, *acp.RequestError) {
	var p acp.WriteTextFileRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, acp.NewInvalidParams(err.Error())
	}
	write := acpTool{Title: "write " + p.Path, Kind: string(acp.ToolKindEdit)}
	if !s.q.Definition.Modifies {
		s.decided(&write, false, "policy")
		return nil, acp.NewInvalidParams("denied: this agent may not change files")
	}
	tree, rel, refused := s.tree(p.Path)
	if refused != nil {
		s.decided(&write, false, "policy")
		return nil, refused
	}
	defer tree.Close()
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.left {
		return nil, acp.NewInvalidParams("denied: the turn is over")
	}
	if err := tree.Write(rel, []byte(p.Content), s.q.Key); err != nil {
		return nil, refusedFile(err)
	}
	return acp.WriteTextFileResponse{}, nil
}
