package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"starling/runtime"
)

// plainWire is a client that says initialize, and then what it likes.
type plainWire struct {
	t    *testing.T
	to   *json.Encoder
	from *json.Decoder
	id   int
}

func initialized(t *testing.T, there ends) *plainWire {
	t.Helper()
	w := &plainWire{t: t, to: json.NewEncoder(there.Writer), from: json.NewDecoder(there.Reader)}
	w.ask(`"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"plain","version":"1"}}`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *plainWire) send(text string) {
	w.t.Helper()
	if err := w.to.Encode(json.RawMessage(text)); err != nil {
		w.t.Fatal(err)
	}
}

// ask sends a request with an id of its own and gives the code and the words of its error, 0 where
// there is none.
func (w *plainWire) ask(rest string) (code int, says string) {
	w.t.Helper()
	w.id++
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, w.id, rest))
	for {
		var m struct {
			ID    int
			Error struct {
				Code    int
				Message string
			}
		}
		if err := w.from.Decode(&m); err != nil {
			w.t.Fatalf("%s: %v", rest, err)
		}
		if m.ID == w.id {
			return m.Error.Code, m.Error.Message
		}
	}
}

// A request without params is one about nothing: it is refused, and ends nobody's process.
func TestParamsMayBeMissing(t *testing.T) {
	there, _ := host(t)
	w := initialized(t, there)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, params := range []string{"", `,"params":null`, `,"params":{}`} {
			if code, says := w.ask(`"method":"` + method + `"` + params); code != -32602 || says != `no run ""` {
				t.Errorf("%s%s: %d %s", method, params, code, says)
			}
		}
	}
	if code, says := w.ask(`"method":"ping"`); code != 0 {
		t.Errorf("ping: %d %s", code, says)
	}
}

// broken is an engine with a defect.
type broken struct{ runtime.Engine }

func (broken) Get(context.Context, string) (*runtime.Run, error) { panic("a nil map") }

// A defect costs the call that met it, and not the process.
func TestADefectIsAnAnswer(t *testing.T) {
	there, _ := hostOf(t, func(e runtime.Engine) runtime.Engine { return broken{e} })
	w := initialized(t, there)
	for _, method := range []string{"tasks/get", "tools/call"} {
		code, says := w.ask(`"method":"` + method + `","params":{"taskId":"x","name":"status","arguments":{"run":"x"}}`)
		if code != -32603 || !strings.Contains(says, method+": a defect of the server: a nil map") {
			t.Errorf("%s: %d %s", method, code, says)
		}
	}
	if code, says := w.ask(`"method":"ping"`); code != 0 {
		t.Errorf("ping: %d %s", code, says)
	}
}
