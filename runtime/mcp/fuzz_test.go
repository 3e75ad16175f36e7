package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/mcp"
	"starling/runtime/tool"
)

// said is standard output: it tells when the request behind all that was fuzzed is answered.
type said struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ended context.CancelFunc
}

func (s *said) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Contains(line, []byte(lastID)) {
		s.ended()
	}
	return s.text.Write(line)
}

func (*said) Close() error { return nil }

const lastID = `"the request after all others"`

// FuzzLines: whatever a client writes, lines that are no messages included, each line that it is
// answered is a message, none tells of a defect of ours, and the next request is answered.
func FuzzLines(f *testing.F) {
	settings := &effect.Settings{MaxSteps: 20_000, MaxMemory: 16 << 20}
	s, _ := serverOf(f, func(e runtime.Engine) runtime.Engine { return e }, engine.Options{
		Project: func() (*effect.Settings, error) { return settings, nil }})
	for i, t := range tool.Tools() {
		f.Add(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, i, t.Name))
	}
	for _, line := range []string{
		`help`, `[]`, `null`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"starling://runs/@last"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"r1"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":` +
			`{"source":"def main():\n    return gate(\"g\").choice\n"},"task":{"ttl":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","name":"define"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"x"}}}`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, lines string) { fuzzLines(t, s, lines) })
}

func fuzzLines(t *testing.T, s *mcp.Server, lines string) {
	if strings.Contains(lines, lastID) || strings.Contains(lines, `"await"`) {
		t.Skip("it is the last request, or one that is held")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out := &said{}
	asked, ended := context.WithCancel(ctx)
	out.ended = ended
	in, to := io.Pipe()
	context.AfterFunc(ctx, func() { in.Close() }) // one that reads no more is found out below
	served := make(chan struct{})
	go func() {
		defer close(served)
		defer cancel()
		_ = s.Run(ctx, in, out)
	}()
	_, _ = io.WriteString(to, `{"jsonrpc":"2.0","id":"first","method":"initialize","params":`+
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+lines+"\n"+
		`{"jsonrpc":"2.0","id":`+lastID+`,"method":"ping"}`+"\n")
	select {
	case <-asked.Done():
	case <-served:
	}
	cancel()
	to.Close()
	<-served
	for line := range strings.Lines(out.text.String()) {
		var m struct {
			Version string `json:"jsonrpc"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" {
			t.Errorf("answered %q (%v)", line, err)
		}
		if strings.Contains(line, "a defect of the server") || strings.Contains(line, `"kind":"internal"`) {
			t.Errorf("a defect is told: %s", line)
		}
	}
	if !strings.Contains(out.text.String(), lastID) {
		t.Errorf("the last request was not answered: %q", out.text.String())
	}
}
