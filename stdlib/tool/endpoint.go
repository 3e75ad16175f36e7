package tool

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TokenVariable is the environment variable that a program finds the endpoint's token in, where it
// cannot be told in a file.
const TokenVariable = "STARLING_TOOLS_TOKEN"

// Endpoint serves a proxy to a program with a tool loop of its own: each server at an address of
// this machine, over streamable HTTP, to whoever has the token.
type Endpoint struct {
	Token  string // a secret of the attempt
	proxy  *Proxy
	listen net.Listener
	server *http.Server
	faces  map[string]http.Handler

	mu    sync.Mutex // protects what is below
	asked map[string]bool
}

// maxRequest bounds one message of the program, in bytes.
const maxRequest = 8 << 20

// Serve opens an endpoint. It must be closed before the proxy is.
func (p *Proxy) Serve() (*Endpoint, error) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the tools cannot be served: %w", err)
	}
	e := &Endpoint{Token: rand.Text(), proxy: p, listen: listen, faces: map[string]http.Handler{}, asked: map[string]bool{}}
	for _, name := range p.Names() {
		face := p.face(name)
		e.faces["/"+name] = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return face },
			&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxRequest, PropagateRequestCancellation: true})
	}
	e.server = &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second}
	go e.server.Serve(listen) // until Close
	return e, nil
}

// ServeHTTP lets in whoever has the token.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	face := e.faces[r.URL.Path]
	switch {
	case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+e.Token)) != 1:
		http.Error(w, "the token of the attempt is missing", http.StatusUnauthorized)
	case face == nil:
		http.NotFound(w, r)
	default:
		e.mu.Lock()
		e.asked[r.URL.Path] = true
		e.mu.Unlock()
		face.ServeHTTP(w, r)
	}
}

// Unasked lists the servers that the program has never turned to, not even to learn of their tools.
func (e *Endpoint) Unasked() (servers []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range e.Names() {
		if !e.asked["/"+name] {
			servers = append(servers, name)
		}
	}
	return servers
}

// Names lists the servers.
func (e *Endpoint) Names() []string { return e.proxy.Names() }

// URL is the address of a server.
func (e *Endpoint) URL(server string) string {
	return "http://" + e.listen.Addr().String() + "/" + server
}

// Close ends the calls in flight.
func (e *Endpoint) Close() { _ = e.server.Close() } // the listener's error says nothing that could be mended

// face is a server as the program sees it: its allowed tools and nothing else.
func (p *Proxy) face(server string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: server, Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch r := req.(type) {
			case *mcp.ListToolsRequest:
				return p.listed(ctx, server)
			case *mcp.CallToolRequest:
				return p.answer(ctx, server, r.Params.Name, r.Params.Arguments), nil
			}
			return next(ctx, method, req)
		}
	})
	return s
}

func (p *Proxy) listed(ctx context.Context, server string) (mcp.Result, error) {
	tools, fault := p.Tools(ctx, server)
	if fault != nil {
		return nil, fault
	}
	if tools == nil {
		tools = []*mcp.Tool{}
	}
	// The SDK would say how long this may be kept, of lists that it makes itself. Clients of the
	// protocol of July 2026, as claude-agent-acp's, take a list without a scope for none.
	return &mcp.ListToolsResult{Tools: tools, Cacheable: mcp.Cacheable{CacheScope: "private"}}, nil
}

// answer tells the program of a fault as a result, so that its model reads it.
func (p *Proxy) answer(ctx context.Context, server, tool string, input json.RawMessage) *mcp.CallToolResult {
	result, fault := p.Call(ctx, server, tool, input)
	if fault != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: fault.Message}}}
	}
	return result
}
