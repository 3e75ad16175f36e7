package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
)

// DefaultHold is how long a call waits for a run; await may be asked for up to 28 s. Clients give up after a minute, some after half of one.
const DefaultHold = 25 * time.Second

// MaxRequest bounds one message of a client over HTTP, in bytes: scripts are part of some.
const MaxRequest = 8 << 20

// sessionTimeout is how long a client over HTTP may be silent before its session is forgotten. No run is.
const sessionTimeout = 15 * time.Minute

// Options say whose engine it is and how runs are begun.
type Options struct {
	Engine runtime.Engine
	Build  string              // version of the program, for people
	Env    *effect.Environment // for compiling scripts

	// Prepare adds to a request what a run is pinned to and the values of the variables that this declares.
	Prepare func(*runtime.StartRequest) error
	// Values are those of declared variables, for runs that are carried on. nil: there are none.
	Values func(names []string) map[string]string
	// Read reads a script's file and all that it loads. nil: the files of this machine are not for the callers.
	Read func(path string) (*lang.Bundle, error)
}

// Server serves one engine. It may serve several clients at once.
type Server struct {
	options Options
	mcp     *mcp.Server

	mu      sync.Mutex // protects what is below, and the order in which tools come and go
	scripts map[string]*script
}

// NewServer makes a server. It asks the engine for nothing until a client does.
func NewServer(o Options) *Server {
	if o.Values == nil {
		o.Values = func([]string) map[string]string { return nil }
	}
	s := &Server{options: o, scripts: map[string]*script{}}
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}
	capabilities.AddExtension(tasksExtension, nil)
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "starling", Title: "Starling", Version: o.Build}, &mcp.ServerOptions{Instructions: instructions, Capabilities: capabilities})
	for _, t := range tools() {
		s.mcp.AddTool(t.declaration(), s.handler(t))
	}
	s.addResources()
	s.addTasks()
	s.mcp.AddReceivingMiddleware(s.identified, s.current, s.asTask)
	return s
}

const instructions = `Starling runs scripts that orchestrate agents and wait for decisions, for months if need be, and never loses its place.
Start one with run; it answers at once with the run's id. await holds until the run has ended, half a minute at most: while it says pending, call it again.
inbox lists the gates where somebody has to decide; answer one with signal. What is durable stays when this connection ends.`

// Run serves one client over a pair of streams until it has gone or ctx ends.
func (s *Server) Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return s.mcp.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
}

// callerKey is where the caller stands in what a token is known by.
const callerKey = "caller"

// Authenticated is what a handler of [Server.Handler] needs to know of a request's caller: the transport brings it to the call, and keeps others from the caller's session.
func Authenticated(c runtime.Caller) *auth.TokenInfo {
	return &auth.TokenInfo{UserID: c.Name, Extra: map[string]any{callerKey: c}}
}

// Handler serves clients over streamable HTTP. identify says who makes a request; what it refuses is answered by refuse.
func (s *Server) Handler(identify func(*http.Request) (runtime.Caller, error), refuse func(http.ResponseWriter, error)) http.Handler {
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		MaxRequestBodyBytes: MaxRequest, SessionTimeout: sessionTimeout, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // whoever mounts the handler has checked the host
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := identify(r)
		if err != nil {
			refuse(w, err)
			return
		}
		known := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) { return Authenticated(c), nil }
		auth.RequireBearerToken(known, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(inner).ServeHTTP(w, r)
	})
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
	a := answer(refusalAnswer{refusalOf(err)})
	a.IsError = true
	return a
}
