package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/runtime"
	"starling/runtime/tool"
)

// The Tasks extension: a run is a task under its own id, its gates are the input that it requires,
// an update is a signal. A task is what the run says at the moment it is asked.

const tasksExtension = "io.modelcontextprotocol/tasks"

// pollEvery is how often a client is to look at a task, in milliseconds.
const pollEvery = 2000

// task is a run as the extension has it.
type task struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"` // working, input_required, completed, cancelled
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     time.Time           `json:"createdAt"`
	LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
	TTL           *int                `json:"ttlMs"` // null: a run stays
	PollInterval  int                 `json:"pollIntervalMs"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result        *mcp.CallToolResult `json:"result,omitempty"`
}

type taskParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

type updateParams struct {
	mcp.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses mcp.InputResponseMap `json:"inputResponses"`
}

// acknowledged is an answer that only says yes.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

func (s *Server) addTasks() {
	add(s, "tasks/get", func(ctx context.Context, p *taskParams) (*task, error) {
		r, err := s.desk.Engine.Get(ctx, p.TaskID)
		if err != nil {
			return nil, err
		}
		return s.task(ctx, r, "complete"), nil
	})
	add(s, "tasks/update", func(ctx context.Context, p *updateParams) (*acknowledged, error) {
		_, err := s.respond(ctx, p.TaskID, p.InputResponses)
		return &acknowledged{ResultType: "complete"}, err
	})
	add(s, "tasks/cancel", func(ctx context.Context, p *taskParams) (*acknowledged, error) {
		_, err := s.desk.Engine.Cancel(ctx, runtime.CancelRequest{Run: p.TaskID})
		return &acknowledged{ResultType: "complete"}, err
	})
}

// add serves a method of the extension. A refusal is an error of the protocol there: there is no
// tool whose answer it could be.
func add[P interface {
	*T
	mcp.Params
}, R mcp.Result, T any](s *Server, method string, serve func(context.Context, P) (R, error)) {
	err := mcp.AddReceivingCustomMethod(s.mcp, method, func(ctx context.Context, _ *mcp.ServerSession, p P) (R, error) {
		if p == nil { // the SDK lets params be left out
			p = new(T)
		}
		r, err := serve(ctx, p)
		if err == nil {
			return r, nil
		}
		refused := tool.RefusalOf(err)
		data, _ := json.Marshal(refused) // plain data
		return r, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: refused.Message, Data: data}
	})
	if err != nil {
		panic(err) // the method is none of the standard's
	}
}

// asTask answers a call of a script's tool with a task, for clients that have them: the run is
// durable when they hear of it.
func (s *Server) asTask(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || !clientOf(call.Session, call.Params).tasks {
			return next(ctx, method, req)
		}
		s.mu.Lock()
		made := s.scripts[call.Params.Name]
		s.mu.Unlock()
		if made == nil {
			return next(ctx, method, req)
		}
		r, err := s.begin(ctx, made, call.Params)
		if err != nil {
			return refusal(err), nil
		}
		return s.task(ctx, r, "task"), nil
	}
}

// task tells how a run stands as a task.
func (s *Server) task(ctx context.Context, r *runtime.Run, resultType string) *task {
	t := &task{ResultType: resultType, TaskID: r.ID, Status: "working", PollInterval: pollEvery}
	if d := r.Details; d != nil {
		t.CreatedAt, t.LastUpdatedAt = d.StartedAt, d.UpdatedAt
	}
	switch r.Status {
	case runtime.Completed, runtime.Failed:
		t.Status, t.Result = "completed", ended(r)
	case runtime.Cancelled:
		t.Status, t.StatusMessage = "cancelled", r.Error.Message
	case runtime.Suspended:
		if forms := s.forms(ctx, r); len(forms) > 0 {
			t.Status, t.InputRequests = "input_required", forms
		}
		t.StatusMessage = waiting(r)
	}
	return t
}

// waiting says whom and what a run waits for.
func waiting(r *runtime.Run) string {
	var whom []string
	for _, g := range r.Gates {
		if g.Target != "" {
			whom = append(whom, "at "+g.Gate+" for "+g.Target)
		} else {
			whom = append(whom, "at "+g.Gate)
		}
	}
	for _, a := range r.Awaits {
		whom = append(whom, "for "+a.String())
	}
	if len(whom) == 0 {
		return "waits for what comes next"
	}
	return "waits " + strings.Join(whom, ", ")
}
