package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/runtime"
	"starling/runtime/tool"
)

// A tool run_NAME starts a run that may wait for people for longer than any client holds a call.
// What the caller gets depends on what its client can:
//
//  1. a client with the Tasks extension gets a task at once (task.go): the run, under its id
//  2. one with elicitation is asked, when a gate opens that the caller may answer, and calls again with the answers; the state that it brings back is the run's id,
//     which needs no signature: it opens nothing that the caller could not open by its own name
//  3. one with elicitation that speaks an older protocol is asked while its call is held, once; then it is as below
//  4. any other gets the run as it stands, its gates with the calls that answer them

// firstOfRounds is the first protocol in which a client comes back with answers by itself.
const firstOfRounds = "2026-07-28"

// client is what a request says of its client.
type client struct {
	protocol string
	can      *mcp.ClientCapabilities
	tasks    bool // declared on this very request
}

func clientOf(session *mcp.ServerSession, p mcp.Params) client {
	c := client{can: &mcp.ClientCapabilities{}}
	if started := session.InitializeParams(); started != nil {
		c.protocol = started.ProtocolVersion
		if started.Capabilities != nil {
			c.can = started.Capabilities
		}
	}
	meta := p.GetMeta()
	if version, ok := meta[mcp.MetaKeyProtocolVersion].(string); ok {
		c.protocol = version
	}
	if declared, ok := meta[mcp.MetaKeyClientCapabilities]; ok {
		c.can = &mcp.ClientCapabilities{}
		if text, err := json.Marshal(declared); err == nil {
			_ = json.Unmarshal(text, c.can) // what is not understood is not there
		}
		_, c.tasks = c.can.Extensions[tasksExtension]
	}
	return c
}

// elicits tells whether the client can ask its user to fill in a form.
func (c client) elicits() bool {
	e := c.can.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// runner serves the tool of a script to a client without tasks.
func (s *Server) runner(made *script) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		asks := clientOf(r.Session, r.Params)
		ask := asks.elicits()
		run, again := r.Params.RequestState, r.Params.RequestState != ""
		if again {
			answered, err := s.respond(ctx, run, r.Params.InputResponses)
			if err != nil {
				return refusal(unanswered(run, err)), nil
			}
			ask = ask && answered && asks.protocol >= firstOfRounds
		} else {
			started, err := s.begin(ctx, made, r.Params)
			if err != nil {
				return refusal(err), nil
			}
			run = started.ID
		}
		at, err := s.desk.Hold(ctx, run, tool.DefaultHold, s.rests(ctx))
		if err != nil {
			return refusal(err), nil
		}
		forms := s.forms(ctx, at)
		switch {
		case !ask || len(forms) == 0:
			return ended(at), nil
		case asks.protocol >= firstOfRounds:
			return &mcp.CallToolResult{InputRequests: forms, RequestState: at.ID}, nil
		}
		return s.askNow(ctx, r.Session, at.ID, forms), nil
	}
}

// askNow asks a client of an older protocol, and tells how the run stands then. The SDK would do
// it, and end the call with an error of the protocol where a form is filled in wrongly or cannot be
// shown: then nobody would know of the run.
func (s *Server) askNow(ctx context.Context, client *mcp.ServerSession, run string, forms mcp.InputRequestMap) *mcp.CallToolResult {
	for _, gate := range slices.Sorted(maps.Keys(forms)) {
		answer, err := client.Elicit(ctx, forms[gate].(*mcp.ElicitParams))
		if err != nil {
			err = runtime.Refusef(runtime.ErrBadPayload, "gate %q: its form brought no answer: %v", gate, err)
		} else {
			_, err = s.respond(ctx, run, mcp.InputResponseMap{gate: answer})
		}
		if err != nil {
			return refusal(unanswered(run, err))
		}
	}
	at, err := s.desk.Hold(ctx, run, tool.DefaultHold, s.rests(ctx))
	if err != nil {
		return refusal(err)
	}
	return ended(at)
}

// unanswered adds to a refusal of what a user has filled in which run it was, and how it is
// answered after all: who called knows of no run yet.
func unanswered(run string, err error) error {
	r := *tool.RefusalOf(err)
	r.Help = strings.TrimPrefix(r.Help+"; ", "; ") + fmt.Sprintf("run %s waits on: status has its gates, signal answers them, cancel ends it", run)
	return &r
}

// ended is the answer of a script's tool: an error where the run is one.
func ended(r *runtime.Run) *mcp.CallToolResult {
	if r.Status.Ended() {
		a := answer(tool.Stand(r))
		a.IsError = r.Status != runtime.Completed
		return a
	}
	a := tool.Awaited{Pending: true, Handle: r.ID, Standing: tool.Stand(r)}
	return answer(a)
}

// rests tells whether a run has ended, or waits where only somebody's answer moves it.
func (s *Server) rests(context.Context) func(*runtime.Run) (bool, error) {
	return func(r *runtime.Run) (bool, error) {
		return r.Status.Ended() || r.Status == runtime.Suspended && len(r.Gates) > 0, nil
	}
}

// respond signals what a client's user has answered. It tells whether all was answered: what was
// declined is not asked again.
func (s *Server) respond(ctx context.Context, run string, responses mcp.InputResponseMap) (all bool, err error) {
	r, err := s.desk.Engine.Get(ctx, run)
	if err != nil {
		return false, err
	}
	all = true
	for _, g := range r.Gates {
		given, ok := responses[g.Gate].(*mcp.ElicitResult)
		if !ok {
			continue
		}
		if given.Action != "accept" {
			all = false
			continue
		}
		sig, err := filled(g, given.Content)
		if err != nil {
			return false, err
		}
		sig.Run = r.ID
		if _, err := s.desk.Send(ctx, sig); err != nil && !overtaken(err) {
			return false, err
		}
	}
	return all, nil
}

// overtaken tells whether somebody else was first: then the run has gone on, which is what the
// caller wanted.
func overtaken(err error) bool {
	r := (*runtime.Refusal)(nil)
	return errors.As(err, &r) && (r.Kind == runtime.ErrDecided || r.Kind == runtime.ErrExpired || r.Kind == runtime.ErrClosed)
}
