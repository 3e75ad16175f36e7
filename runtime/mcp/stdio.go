package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/runtime"
)

// The transport over a pair of streams, one message a line. The SDK's own gives up at the first
// line that is no message, and at the end of the input it drops the answers to what it has read.
// This one refuses the line and goes on, and holds the end back until all is answered.

// MaxLine bounds one message of a client over a pair of streams, in bytes. A longer line is refused
// and passed over.
const MaxLine = 16 << 20

// drain is how long a client that has closed its end may wait for its last answers. An await may be
// held for longer: its run goes on, and another process may take up its handle.
const drain = 10 * time.Second

// errLong stands for a line of more than MaxLine bytes.
var errLong = errors.New("one of more than 16 MiB")

// stdio is the transport of one client.
type stdio struct {
	in  io.ReadCloser
	out io.WriteCloser
}

// Connect begins to read. The end of ctx cuts the wait for the last answers short.
func (t stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	c := &connection{stdio: t, stop: ctx.Done(), lines: make(chan line), closed: make(chan struct{}), open: map[jsonrpc.ID]bool{}}
	go c.scan()
	return c, nil
}

// connection is a client that is there.
type connection struct {
	stdio
	stop   <-chan struct{}
	lines  chan line
	batch  []json.RawMessage // of the last line, what Read has not handed on; its alone
	end    sync.Once
	closed chan struct{}

	writing sync.Mutex // whole lines of out; apart from mu, so that a client that is slow to read is still listened to

	mu      sync.Mutex // protects what is below
	open    map[jsonrpc.ID]bool
	settled chan struct{} // made at the end of the input, closed when nothing is open
}

// line is what scan finds: a line, errLong, or why there are no more.
type line struct {
	text []byte
	err  error
}

// scan reads the input apart from Read, which must return on Close: nothing interrupts a read of
// standard input.
func (c *connection) scan() {
	in := bufio.NewReader(c.in)
	for {
		text, err := readLine(in)
		select {
		case c.lines <- line{text, err}:
		case <-c.closed:
			return
		}
		if err != nil && err != errLong {
			return
		}
	}
}

// readLine reads a line without its end, which the last may lack.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(text)+len(part) > MaxLine; long {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && (err != io.EOF || len(text) == 0 && !long):
			return nil, err
		case long:
			return nil, errLong
		}
		return bytes.TrimSpace(text), nil
	}
}

// Read gives the next message, and io.EOF when there is none and the calls before it are answered.
func (c *connection) Read(context.Context) (jsonrpc.Message, error) {
	for {
		text, err := c.next()
		if err == io.EOF {
			c.settle()
		}
		if err != nil && err != errLong {
			return nil, err
		}
		m, bad := decode(text, err)
		switch {
		case bad != nil:
			if err := c.send(bad); err != nil {
				return nil, err
			}
		case m != nil:
			c.opened(m)
			return m, nil
		}
	}
}

// next gives the text of the next message. Those of a batch, which only protocol 2025-03-26 has,
// come one by one and are answered so.
func (c *connection) next() ([]byte, error) {
	if len(c.batch) == 0 {
		select {
		case <-c.closed:
			return nil, io.EOF
		case l := <-c.lines:
			if !bytes.HasPrefix(l.text, []byte("[")) || json.Unmarshal(l.text, &c.batch) != nil || len(c.batch) == 0 {
				return l.text, l.err
			}
		}
	}
	text := c.batch[0]
	c.batch = c.batch[1:]
	return text, nil
}

// rejected is the answer to a line that is no message: the SDK writes none whose id is null.
type rejected struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *jsonrpc.Error  `json:"error"`
}

// decode makes a message of a line, or the answer to one that is none; neither of an empty line,
// nor of an answer to nobody, for answers are not answered. err is why there is no text.
func decode(text []byte, err error) (jsonrpc.Message, *rejected) {
	if err != nil {
		return nil, reject(jsonrpc.CodeInvalidRequest, nil, err)
	}
	if len(text) == 0 {
		return nil, nil
	}
	var parts struct{ ID, Method, Result, Error json.RawMessage }
	if syntax := (*json.SyntaxError)(nil); errors.As(json.Unmarshal(text, &parts), &syntax) {
		return nil, reject(jsonrpc.CodeParseError, nil, syntax)
	}
	m, err := jsonrpc.DecodeMessage(text)
	switch {
	case err == nil:
		return m, nil
	case parts.Method != nil:
		return nil, reject(jsonrpc.CodeInvalidRequest, parts.ID, err)
	case parts.Result != nil || parts.Error != nil:
		return nil, nil
	}
	return nil, reject(jsonrpc.CodeInvalidRequest, nil, err)
}

// reject answers what is no message, under its id if that is one.
func reject(code int64, id json.RawMessage, got error) *rejected {
	if len(id) > 0 && !strings.ContainsRune(`"-0123456789`, rune(id[0])) {
		id = nil
	}
	r := runtime.Refuse(runtime.ErrUsage, "this is a server for the harness of an agent, which starts it by itself: claude mcp add starling -- starling mcp",
		"each line of the input is a message of JSON-RPC: got %v", got)
	data, _ := json.Marshal(r) // plain data
	return &rejected{"2.0", id, &jsonrpc.Error{Code: code, Message: r.Message, Data: data}}
}

// Write writes a message.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err == nil {
		err = c.writeLine(text)
	}
	if r, ok := m.(*jsonrpc.Response); ok {
		c.answered(r.ID)
	}
	return err
}

func (c *connection) send(r *rejected) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.writeLine(text)
}

func (c *connection) writeLine(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

// opened notes a call that is to be answered.
func (c *connection) opened(m jsonrpc.Message) {
	if call, ok := m.(*jsonrpc.Request); ok && call.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[call.ID] = true
	}
}

func (c *connection) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[id] {
		delete(c.open, id)
		c.tell()
	}
}

// tell says that nothing is open, once that is awaited; c.mu is held.
func (c *connection) tell() {
	if c.settled != nil && len(c.open) == 0 {
		close(c.settled)
	}
}

// settle waits until what has been read is answered, for drain at most.
func (c *connection) settle() {
	c.mu.Lock()
	c.settled = make(chan struct{})
	c.tell()
	c.mu.Unlock()
	select {
	case <-c.settled:
	case <-time.After(drain):
	case <-c.stop:
	case <-c.closed:
	}
}

// Close ends the connection. It may be called again.
func (c *connection) Close() error {
	var err error
	c.end.Do(func() {
		close(c.closed)
		err = errors.Join(c.in.Close(), c.out.Close())
	})
	return err
}

// SessionID says that a pair of streams is no session of several.
func (c *connection) SessionID() string { return "" }
