package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/runtime"
	"starling/runtime/tool"
)

// MaxRequest bounds one message of a client over HTTP, in bytes: scripts are part of some.
const MaxRequest = 8 << 20

// sessionTimeout is how long a client over HTTP may be silent before its session is forgotten. No
// run is.
const sessionTimeout = 15 * time.Minute

// Server serves one engine. It may serve several clients at once.
type Server struct {
	desk    *tool.Desk
	mcp     *mcp.Server
	outputs func() map[string]*jsonschema.Schema // see outputSchemas

	mu      sync.Mutex // protects what is below, and the order in which tools come and go
	scripts map[string]*script
}

// NewServer makes a server; build is the version of the program, for people. It asks the engine for
// nothing until a client does.
func NewServer(d *tool.Desk, build string) *Server {
	s := &Server{desk: d, scripts: map[string]*script{}, outputs: sync.OnceValue(outputSchemas)}
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}
	capabilities.AddExtension(tasksExtension, nil)
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "starling", Title: "Starling", Version: build}, &mcp.ServerOptions{Instructions: instructions, Capabilities: capabilities})
	for _, t := range tool.Tools() {
		s.mcp.AddTool(declaration(t, runtime.Caller{}), s.handler(t))
	}
	s.addResources()
	s.addTasks()
	s.mcp.AddReceivingMiddleware(guarded, s.identified, s.offered, s.current, s.asTask)
	return s
}

const instructions = `Starling runs scripts that orchestrate agents and wait for decisions, for months if need be, and never loses its place.
Start one with run; it answers at once with the run's id. await holds until the run has ended, half a minute at most: while it says pending, call it again.
inbox lists the gates where somebody has to decide; answer one with signal. What is durable stays when this connection ends.`

// Run serves one client over a pair of streams, a message a line, until it has gone or ctx ends. A
// line that is no message is refused and passed over. At the end of the input the calls before it
// are answered, but no more than a few seconds are waited for that.
func (s *Server) Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return s.mcp.Run(ctx, stdio{in, out})
}

// declaration is a tool as a caller sees it.
func declaration(t tool.Tool, c runtime.Caller) *mcp.Tool {
	open := false
	return &mcp.Tool{Name: t.Name, Description: t.Doc, InputSchema: t.Schema(c),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.Looks, DestructiveHint: &t.Ends, IdempotentHint: t.Looks, OpenWorldHint: &open}}
}

// handler serves a tool.
func (s *Server) handler(t tool.Tool) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		v, err := t.Call(ctx, s.desk, r.Params.Arguments)
		if err == nil && t.Name == "define" {
			if err = s.refresh(ctx); denied(err) { // clients hear of the new tool, from the next who may see it
				err = nil
			}
		}
		if err != nil {
			return refusal(err), nil
		}
		return answer(v), nil
	}
}

// guarded makes an answer of a panic. The SDK serves each message in a goroutine of its own, where
// a panic would end the process: over HTTP that is the owner of the store.
func guarded(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (r mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("%s: a defect of the server: %v", method, p)}
			}
		}()
		return next(ctx, method, req)
	}
}

// callerKey is where the caller stands in what the transport brings to a call.
const callerKey = "caller"

// Handler serves clients over streamable HTTP. Who makes a request stands in its context (see
// [runtime.WithCaller]): it is whoever mounts the handler that finds that out, for each request
// anew. A session is its caller's; nobody else enters it.
func (s *Server) Handler() http.Handler {
	known := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		c := runtime.CallerOf(ctx)
		return &auth.TokenInfo{UserID: c.Name, Extra: map[string]any{callerKey: c}}, nil
	}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		MaxRequestBodyBytes: MaxRequest, SessionTimeout: sessionTimeout, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // whoever mounts the handler has checked the host
	})
	return auth.RequireBearerToken(known, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(worded(inner))
}

// identified puts who calls into the context, where a token says it.
func (s *Server) identified(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
			c, _ := extra.TokenInfo.Extra[callerKey].(runtime.Caller)
			ctx = runtime.WithCaller(ctx, c)
		}
		return next(ctx, method, req)
	}
}

// offered lists to a caller what that one may use, and nothing else.
func (s *Server) offered(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, err := next(ctx, method, req)
		if err != nil {
			return r, err
		}
		switch list := r.(type) {
		case *mcp.ListToolsResult:
			c, err := s.caller(ctx)
			if err != nil {
				return nil, err
			}
			return s.toolsFor(c, list), nil
		case *mcp.ListResourcesResult:
			c, err := s.caller(ctx)
			if err != nil || !c.May(runtime.CanRead) {
				list.Resources = []*mcp.Resource{}
				return list, err
			}
		case *mcp.ListResourceTemplatesResult:
			c, err := s.caller(ctx)
			if err != nil || !c.May(runtime.CanRead) {
				list.ResourceTemplates = []*mcp.ResourceTemplate{}
				return list, err
			}
		}
		return r, nil
	}
}

// caller is who calls: whoever mounts the handler knows that, else the engine does.
func (s *Server) caller(ctx context.Context) (runtime.Caller, error) {
	if c := runtime.CallerOf(ctx); c.Name != "" {
		return c, nil
	}
	who, err := runtime.Extension[runtime.Whoami](s.desk.Engine)
	if err != nil {
		return runtime.Caller{}, err
	}
	c, err := who.Whoami(ctx)
	if err != nil {
		return runtime.Caller{}, err
	}
	return *c, nil
}

// toolsFor is a list of tools as a caller may use them. Those of scripts start runs.
func (s *Server) toolsFor(c runtime.Caller, list *mcp.ListToolsResult) *mcp.ListToolsResult {
	own := *list
	own.Tools = []*mcp.Tool{}
	for _, t := range tool.Offered(c) {
		if slices.ContainsFunc(list.Tools, func(listed *mcp.Tool) bool { return listed.Name == t.Name }) { // it may be on another page
			d := declaration(t, c)
			d.OutputSchema = s.outputs()[t.Name]
			own.Tools = append(own.Tools, d)
		}
	}
	for _, t := range list.Tools {
		if strings.HasPrefix(t.Name, toolPrefix) && c.May(runtime.CanRun) {
			own.Tools = append(own.Tools, t)
		}
	}
	return &own
}

// answer makes a tool's answer of a value: as data, and as text for clients that only read that.
func answer(v any) *mcp.CallToolResult {
	text, err := json.Marshal(v)
	if err != nil {
		return refusal(err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: json.RawMessage(text)}
}

// refusalAnswer is the form of an answer that is no.
type refusalAnswer struct {
	Error *runtime.Refusal `json:"error"`
}

// refusal makes a tool's answer of an error: the model that called shall see it and mend its call.
func refusal(err error) *mcp.CallToolResult {
	a := answer(refusalAnswer{tool.RefusalOf(err)})
	a.IsError = true
	return a
}
