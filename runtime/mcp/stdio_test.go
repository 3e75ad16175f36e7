package mcp

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// output is standard output.
type output struct{ bytes.Buffer }

func (*output) Close() error { return nil }

// begin connects a client that sends a text and closes its end.
func begin(t *testing.T, in string) (mcp.Connection, *output) {
	t.Helper()
	out := &output{}
	c, err := stdio{io.NopCloser(strings.NewReader(in)), out}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, out
}

// wants reads a message and compares it.
func wants(t *testing.T, c mcp.Connection, want string) {
	t.Helper()
	m, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := jsonrpc.EncodeMessage(m); err != nil || string(got) != want {
		t.Errorf("read %s (%v), want %s", got, err, want)
	}
}

func TestLinesThatAreNoMessages(t *testing.T) {
	const good = `{"jsonrpc":"2.0","method":"good"}`
	for _, test := range []struct{ name, line, code, id string }{
		{"words", `help`, "-32700", "null"},
		{"cut short", `{"jsonrpc":"2.0","id":7,`, "-32700", "null"},
		{"two on a line", good + good, "-32700", "null"},
		{"a number", `7`, "-32600", "null"},
		{"null", `null`, "-32600", "null"},
		{"no version", `{"id":7,"method":"a"}`, "-32600", "7"},
		{"no id", `{"id":{},"jsonrpc":"2.0","method":"a"}`, "-32600", "null"},
		{"no method", `{"jsonrpc":"2.0","id":7,"method":{}}`, "-32600", "7"},
		{"an empty batch", `[]`, "-32600", "null"},
		{"in a batch", `[` + good + `,7]`, "-32600", "null"},
		{"too long", `"` + strings.Repeat("x", MaxLine) + `"`, "-32600", "null"},
		{"nothing", "  \r", "", ""},
		{"an error for nobody", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, out := begin(t, test.line+"\n"+good)
			if strings.HasPrefix(test.line, "["+good) {
				wants(t, c, good)
			}
			wants(t, c, good)
			if m, err := c.Read(t.Context()); err != io.EOF {
				t.Errorf("after the last: %v, %v", m, err)
			}
			want := `{"jsonrpc":"2.0","id":` + test.id + `,"error":{"code":` + test.code + `,`
			if got := out.String(); test.code == "" && got != "" || test.code != "" && (!strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1) {
				t.Errorf("answered %q, want %s...", got, want)
			}
		})
	}
}

func TestTheLongestLine(t *testing.T) {
	want := `{"jsonrpc":"2.0","method":"m","params":"`
	want += strings.Repeat("x", MaxLine-len(want)-len("\"}\n")) + `"}`
	c, _ := begin(t, want+"\n")
	wants(t, c, want)
}

const call = `{"jsonrpc":"2.0","id":1,"method":"held"}`

// The end of the input is told when the call before it is answered, or when the client has waited
// long enough.
func TestTheEndWaitsForAnswers(t *testing.T) {
	for _, test := range []struct{ takes, waits time.Duration }{{0, 0}, {time.Second, time.Second}, {time.Minute, drain}} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := begin(t, call)
			wants(t, c, call)
			id, _ := jsonrpc.MakeID(1.0)
			time.AfterFunc(test.takes, func() { c.Write(context.Background(), &jsonrpc.Response{ID: id, Result: []byte(`{}`)}) })
			start := time.Now()
			if _, err := c.Read(t.Context()); err != io.EOF || time.Since(start) != test.waits {
				t.Errorf("an answer after %v: %v after %v, want the end after %v", test.takes, err, time.Since(start), test.waits)
			}
			time.Sleep(test.takes) // a late answer hurts nobody
			synctest.Wait()
		})
	}
}

func TestCloseEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := begin(t, call)
		wants(t, c, call)
		start := time.Now()
		time.AfterFunc(time.Second, func() { c.Close() })
		if _, err := c.Read(t.Context()); err != io.EOF || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// slow is an output whose writes come in two, as a full pipe's do.
type slow struct{ w io.Writer }

func (s slow) Write(p []byte) (int, error) {
	n, err := s.w.Write(p[:len(p)/2])
	if err != nil {
		return n, err
	}
	m, err := s.w.Write(p[len(p)/2:])
	return n + m, err
}

func (slow) Close() error { return nil }

// Refusals stand between the SDK's lines, never in them.
func TestRefusalsAreWholeLines(t *testing.T) {
	r, w := io.Pipe()
	c, err := stdio{io.NopCloser(strings.NewReader(strings.Repeat("help\n", 100))), slow{w}}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var both sync.WaitGroup
	both.Go(func() { c.Read(t.Context()) })
	both.Go(func() {
		for range 100 {
			c.Write(context.Background(), &jsonrpc.Request{Method: "note"})
		}
	})
	go func() { both.Wait(); w.Close() }()
	said, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(said)) {
		count[line]++
	}
	if len(count) != 2 || count[`{"jsonrpc":"2.0","method":"note"}`+"\n"] != 100 {
		t.Errorf("%d kinds of lines: %v", len(count), count)
	}
}
