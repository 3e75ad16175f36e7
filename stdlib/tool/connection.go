package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/stdlib/process"
	"starling/stdlib/redact"
)

const (
	startTime      = 30 * time.Second // for a server to be started and to say what it is: npx downloads
	leaveTime      = 2 * time.Second
	maxTools       = 1000
	maxDefinitions = 4 << 20  // bytes of all definitions
	maxFrame       = 16 << 20 // bytes of one message; a server that sends a larger one is ended
	shownStderr    = 2 << 10  // bytes of the end of standard error that a fault shows
)

// connection is one server at work. It is used concurrently.
type connection struct {
	def     Definition
	shown   *redact.Redactor // what nobody may see of what it says
	session *mcp.ClientSession
	child   *process.Child // nil over HTTP
	home    string         // HOME and TMPDIR of a child in a sandbox, "" for another
	dead    chan struct{}  // closed when the other side has gone
	closed  sync.Once
	ended   atomic.Bool // it was ended here: nobody waits until the other side has noticed
}

// connect starts the server, or reaches it, and greets it.
func connect(ctx context.Context, d Definition, e equipment) (*connection, *Fault) {
	c := &connection{def: d, shown: e.shown, home: e.home, dead: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	transport, fault := c.transport(d, e)
	if fault != nil {
		return nil, fault
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "starling", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}})
	client.AddSendingMiddleware(uncached)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		said := c.end()
		return nil, faultf(NotStarted, d.Name, "", "the tool server does not answer: %s%s", c.shown.Redact(reason(ctx, err)), c.stderr(said))
	}
	c.session = session
	go func() {
		_ = session.Wait() // how it ended is for those to say who were calling
		close(c.dead)
	}()
	return c, nil
}

// uncached has every list asked for anew: a server may say that a list keeps, and then change it.
func uncached(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && list != nil {
			list.TTLMs = 0
		}
		return res, err
	}
}

func (c *connection) transport(d Definition, e equipment) (mcp.Transport, *Fault) {
	if e.own != nil {
		here, there := mcp.NewInMemoryTransports()
		_, err := e.own.Connect(context.Background(), there, nil) // it ends with the other side
		if err != nil {
			return nil, faultf(NotStarted, d.Name, "", "%v", err)
		}
		return here, nil
	}
	if d.URL != "" {
		client := &http.Client{Transport: headers{e.headers, bounded{http.DefaultTransport}}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		return &mcp.StreamableClientTransport{Endpoint: d.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxFrame}, nil
	}
	if fault := e.makeHome(d); fault != nil {
		return nil, fault
	}
	in, toChild := io.Pipe()
	fromChild, out := io.Pipe()
	spec := e.spec
	spec.Stdin, spec.MaxStdout = in, maxFrame
	spec.OnLine = func(line []byte, _ bool) {
		if len(line) > 0 && line[0] == '{' { // programs greet on standard output
			_, _ = out.Write(append(line, '\n')) // fails when nobody listens any more
		}
	}
	child, err := process.Start(context.Background(), spec)
	if err != nil {
		fault := faultf(NotStarted, d.Name, "", "the tool server cannot be started: %v", err)
		fault.Missing = errors.Is(err, process.ErrNotFound) || errors.Is(err, process.ErrNotExecutable) || errors.Is(err, process.ErrSpec)
		return nil, fault
	}
	c.child = child
	go func() {
		child.Wait()
		_ = out.Close() // never fails
		_ = in.Close()
	}()
	return &mcp.IOTransport{Reader: fromChild, Writer: toChild, MaxLineLength: -1}, nil
}

// end closes the connection and returns when nothing is left of the server; it gives the end of its
// standard error.
func (c *connection) end() string {
	var said string
	c.ended.Store(true)
	c.closed.Do(func() {
		if c.child != nil {
			c.child.Stop()
		}
		if c.session != nil {
			c.leave()
		}
		if c.child != nil {
			said = string(c.child.Wait().Stderr)
		}
		if c.home != "" {
			_ = os.RemoveAll(c.home) // the next start does it again
		}
	})
	return said
}

// leave says goodbye, which a server over HTTP may leave without an answer.
func (c *connection) leave() {
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = c.session.Close() // the server may have gone before
	}()
	select {
	case <-left:
	case <-time.After(leaveTime):
	}
}

// stderr is what a fault shows of the end of standard error.
func (c *connection) stderr(said string) string {
	said = strings.TrimSpace(strings.ToValidUTF8(said[max(0, len(said)-shownStderr):], "\uFFFD"))
	if said == "" {
		return ""
	}
	return "; stderr ends with: " + said
}

func (c *connection) gone() bool {
	select {
	case <-c.dead:
		return true
	default:
		return c.ended.Load()
	}
}

// tools lists all definitions, and gives their hash.
func (c *connection) tools(ctx context.Context) (tools []*mcp.Tool, hash string, fault *Fault) {
	params, size := &mcp.ListToolsParams{}, 0
	sum := sha256.New()
	for {
		page, err := c.session.ListTools(ctx, params)
		if err != nil {
			return nil, "", c.broken(ctx, "", err)
		}
		for _, t := range page.Tools {
			text, err := json.Marshal(t)
			if err != nil {
				return nil, "", faultf(Failed, c.def.Name, c.shown.Redact(t.Name), "its definition cannot be read: %v", err)
			}
			size += len(text)
			sum.Write(append(text, '\n'))
			if t, err = c.clean(t, text); err != nil {
				return nil, "", faultf(Failed, c.def.Name, "", "the definition of a tool cannot be read: %v", err)
			}
			tools = append(tools, t)
		}
		if len(tools) > maxTools || size > maxDefinitions {
			return nil, "", faultf(TooLarge, c.def.Name, "", "it defines more than %d tools, or %d bytes of them", maxTools, maxDefinitions)
		}
		if page.NextCursor == "" || page.NextCursor == params.Cursor {
			return tools, "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
}

// clean is the definition of a tool, which is text, without secrets.
func (c *connection) clean(t *mcp.Tool, text []byte) (*mcp.Tool, error) {
	shown := c.shown.Redact(string(text))
	if shown == string(text) {
		return t, nil
	}
	clean := new(mcp.Tool)
	return clean, json.Unmarshal([]byte(shown), clean)
}

// call calls a tool. The result holds no secret, and is as JSON at most MaxBytes.
func (c *connection) call(ctx context.Context, tool string, input json.RawMessage) (*mcp.CallToolResult, int, *Fault) {
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: input})
	if err != nil {
		return nil, 0, c.broken(ctx, tool, err)
	}
	if result.NeedsInput() {
		return nil, 0, faultf(Failed, c.def.Name, tool, "the tool asks for input of a person, and there is nobody to ask")
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, 0, faultf(Failed, c.def.Name, tool, "its result cannot be read: %v", err)
	}
	if int64(len(text)) > c.def.MaxBytes {
		return nil, len(text), faultf(TooLarge, c.def.Name, tool, "the result has %d bytes, more than the %d that it may have; ask for less, or raise max_bytes of [tools.%s]", len(text),
			c.def.MaxBytes, c.def.Name)
	}
	clean := new(mcp.CallToolResult)
	if err := json.Unmarshal([]byte(c.shown.Redact(string(text))), clean); err != nil {
		return nil, len(text), faultf(Failed, c.def.Name, tool, "its result cannot be read: %v", err)
	}
	return clean, len(text), nil
}

// broken says why a request came to nothing.
func (c *connection) broken(ctx context.Context, tool string, err error) *Fault {
	var said *jsonrpc.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return faultf(Timeout, c.def.Name, tool, "no result within %v", c.def.Timeout)
	case ctx.Err() != nil:
		return faultf(Cancelled, c.def.Name, tool, "cancelled")
	case errors.As(err, &said):
		code := Failed
		if said.Code == jsonrpc.CodeInvalidParams {
			code = BadInput
		}
		return faultf(code, c.def.Name, tool, "the server refuses: %s", c.shown.Redact(said.Message))
	}
	stderr := ""
	if c.child != nil {
		stderr = c.stderr(c.end())
	}
	return faultf(Died, c.def.Name, tool, "the tool server has gone; the call may have taken effect: %s%s", c.shown.Redact(reason(ctx, err)), stderr)
}

// reason is an error without the words of the wrapping.
func reason(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "it has not said what it is within " + startTime.String()
	}
	return err.Error()
}

// headers adds headers to every request.
type headers struct {
	set  http.Header
	next http.RoundTripper
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range h.set {
		r.Header[name] = values
	}
	return h.next.RoundTrip(r)
}

// bounded cuts bodies that have no end.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxFrame), resp.Body}
	}
	return resp, err
}
