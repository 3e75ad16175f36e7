package agent

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// FuzzACPMessage: whatever an agent sends its client, the client does not fall over, and journals
// what can be journaled.
func FuzzACPMessage(f *testing.F) {
	for _, text := range []string{
		`{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}`,
		`{"update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","kind":"edit","rawInput":{"a":[1]},"locations":[{"path":"/x"}]}}`,
		`{"update":{"sessionUpdate":"plan","entries":[{"content":"a","status":"completed"}]}}`,
		`{"update":{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":1e308,"currency":"USD"}}}`,
		`{"toolCall":{"toolCallId":"t","locations":[{"path":"../../x"}]},"options":[{"kind":"allow_once","optionId":"o"}]}`,
		`{"path":"/etc/passwd","line":-1,"limit":-5,"content":"x"}`, `[]`, `{"update":{"content":[]}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		emit := func(_ string, data starlark.Value) {
			if _, err := effect.Encode(data); err != nil {
				t.Errorf("%q: an event that cannot be recorded: %v", text, err)
			}
		}
		s, in := newSession(Question{Attempt: &effect.Attempt{Emit: emit, Settings: &effect.Settings{Workspace: t.TempDir()}}})
		answers := make(chan []byte)
		go func() {
			all, _ := io.ReadAll(in) // the other end is closed, and no more
			answers <- all
		}()
		s.begin(context.Background())
		for i, method := range []string{"session/update", "session/request_permission", "fs/read_text_file", "fs/write_text_file", "terminal/create", "$/cancel_request"} {
			id := fmt.Sprintf(`"id":%d,`, i)
			if method == "session/update" || method == "$/cancel_request" {
				id = ""
			}
			s.raw = fmt.Appendf(nil, `{%s"method":%q,"params":%s}`, id, method, text)
			s.line(string(s.raw), s.emit)
		}
		s.answering.Wait()
		_ = s.hears.Close()
		if got := string(<-answers); strings.Contains(got, `"id":3,"result"`) {
			t.Errorf("%q was written: %s", text, got)
		}
		s.flush(true)
	})
}
