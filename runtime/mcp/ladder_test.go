package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ends are one side of a connection.
type ends struct {
	Reader io.ReadCloser
	Writer io.WriteCloser
}

func pipes() (a, b ends) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return ends{r1, w2}, ends{r2, w1}
}

// user fills in forms, and counts them.
func user(asked *atomic.Int32, fill map[string]any) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		asked.Add(1)
		if fill == nil {
			return &sdk.ElicitResult{Action: "decline"}, nil
		}
		return &sdk.ElicitResult{Action: "accept", Content: fill}, nil
	}}
}

const twice = `
def main():
    a = gate("first", options = ["yes", "no"], prompt = "One?")
    b = gate("second", options = ["yes", "no"], prompt = "Two?")
    return [a.choice, a.reason, b.choice]
`

// A client whose user can be asked is asked for every gate, and the call ends with the run.
func TestAClientWithElicitationIsAsked(t *testing.T) {
	var asked atomic.Int32
	p := serve(t, user(&asked, map[string]any{"choice": "yes", "reason": "fine"}))
	p.call("define", map[string]any{"name": "twice", "source": twice})
	out, _ := json.Marshal(p.call("run_twice", nil)["output"])
	if string(out) != `["yes","fine","yes"]` || asked.Load() != 2 {
		t.Errorf("got %s, asked %d times", out, asked.Load())
	}
}

// What was declined is left to others: the call says where the run stands.
func TestADeclinedGateStaysOpen(t *testing.T) {
	var asked atomic.Int32
	p := serve(t, user(&asked, nil))
	p.call("define", map[string]any{"name": "twice", "source": twice})
	at := p.call("run_twice", nil)
	if at["pending"] != true || len(at["gates"].([]any)) != 1 || asked.Load() != 1 {
		t.Errorf("got %v, asked %d times", at, asked.Load())
	}
}

// A gate that is for somebody else is not this user's to see.
func TestAGateForAnotherIsNotAsked(t *testing.T) {
	var asked atomic.Int32
	p := serve(t, user(&asked, map[string]any{"choice": "yes"}))
	p.call("define", map[string]any{"name": "targeted", "source": targeted})
	at := p.call("run_targeted", nil)
	if at["pending"] != true || at["status"] != "suspended" || asked.Load() != 0 {
		t.Errorf("got %v, asked %d times", at, asked.Load())
	}
}

// A client that can do nothing gets the gates with the calls that answer them.
func TestAPlainClientIsTold(t *testing.T) {
	p := serve(t, nil)
	p.call("define", map[string]any{"name": "twice", "source": twice})
	at := p.call("run_twice", nil)
	how := at["gates"].([]any)[0].(map[string]any)["answer_with"]
	p.call("signal", how)
	if next := p.call("status", map[string]any{"run": at["run"]}); next["gates"].([]any)[0].(map[string]any)["gate"] != "second" {
		t.Errorf("got %v", next)
	}
}

const typed = `
def main():
    d = gate("numbers", prompt = "How many?", schema = contract("{count: int, note: string?}"))
    e = gate("nested", schema = contract("{list: [int]}"))
    return [d.payload, e.payload]
`

// A payload of plain fields is a form, any other one text of JSON.
func TestPayloadsAreForms(t *testing.T) {
	var forms []string
	p := serve(t, &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		schema, _ := json.Marshal(r.Params.RequestedSchema)
		forms = append(forms, string(schema))
		if strings.Contains(string(schema), "payload_json") {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"payload_json": `{"list": [1, 2]}`}}, nil
		}
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"count": 3}}, nil
	}})
	p.call("define", map[string]any{"name": "typed", "source": typed})
	out, _ := json.Marshal(p.call("run_typed", nil)["output"])
	if string(out) != `[{"count":3,"note":null},{"list":[1,2]}]` {
		t.Errorf("got %s with the forms %v", out, forms)
	}
}

// wire is a client that writes the protocol by hand: the SDK's knows nothing of tasks.
type wire struct {
	t    *testing.T
	to   io.Writer
	from *json.Decoder
	id   int
}

// ask makes one request with the capabilities of a client that has tasks, or none, and gives the
// result or the error.
func (w *wire) ask(method string, params map[string]any, capabilities string) (result, failed map[string]any) {
	w.t.Helper()
	w.id++
	params["_meta"] = map[string]any{
		sdk.MetaKeyProtocolVersion:    "2026-07-28",
		sdk.MetaKeyClientInfo:         map[string]any{"name": "wire", "version": "1"},
		sdk.MetaKeyClientCapabilities: json.RawMessage(capabilities),
	}
	if err := json.NewEncoder(w.to).Encode(map[string]any{"jsonrpc": "2.0", "id": w.id, "method": method, "params": params}); err != nil {
		w.t.Fatal(err)
	}
	for {
		var answer struct {
			ID            int
			Result, Error map[string]any
		}
		if err := w.from.Decode(&answer); err != nil {
			w.t.Fatal(err)
		}
		if answer.ID == w.id {
			return answer.Result, answer.Error
		}
	}
}

const hasTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// A client that has tasks gets the run as one: its gates are the input that it requires, an update
// answers them.
func TestARunIsATask(t *testing.T) {
	there, _ := host(t)
	w := &wire{t: t, to: there.Writer, from: json.NewDecoder(there.Reader)}
	discovered, _ := w.ask("server/discover", map[string]any{}, hasTasks)
	if text, _ := json.Marshal(discovered["capabilities"]); !strings.Contains(string(text), "io.modelcontextprotocol/tasks") {
		t.Errorf("discovered %s", text)
	}
	w.ask("tools/call", map[string]any{"name": "define", "arguments": map[string]any{"name": "twice", "source": twice}}, hasTasks)
	made, _ := w.ask("tools/call", map[string]any{"name": "run_twice"}, hasTasks)
	id := made["taskId"]
	if made["resultType"] != "task" || id == nil || made["ttlMs"] != nil || made["pollIntervalMs"] == nil {
		t.Fatalf("the call gave %v", made)
	}
	for _, gate := range []string{"first", "second"} {
		at := w.until(id, "input_required")
		form, _ := at["inputRequests"].(map[string]any)[gate].(map[string]any)
		if form["method"] != "elicitation/create" || form["params"] == nil {
			t.Fatalf("%s: %v", gate, at)
		}
		if _, failed := w.ask("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{
			gate: map[string]any{"action": "accept", "content": map[string]any{"choice": "yes"}}}}, hasTasks); failed != nil {
			t.Fatalf("%s: %v", gate, failed)
		}
	}
	done := w.until(id, "completed")
	if text, _ := json.Marshal(done["result"]); done["resultType"] != "complete" || !strings.Contains(string(text), `"output":["yes","","yes"]`) {
		t.Errorf("the task ended as %v", done)
	}

	other, _ := w.ask("tools/call", map[string]any{"name": "run_twice"}, hasTasks)
	if _, failed := w.ask("tasks/cancel", map[string]any{"taskId": other["taskId"]}, hasTasks); failed != nil {
		t.Errorf("cancel: %v", failed)
	}
	w.until(other["taskId"], "cancelled")
	if _, failed := w.ask("tasks/get", map[string]any{"taskId": "zzz"}, hasTasks); failed["code"] != -32602.0 {
		t.Errorf("a task that is none: %v", failed)
	}

	plain, _ := w.ask("tools/call", map[string]any{"name": "run_twice"}, `{}`)
	if plain["resultType"] == "task" || plain["structuredContent"] == nil {
		t.Errorf("a client without tasks got %v", plain)
	}
	asked, _ := w.ask("tools/call", map[string]any{"name": "run_twice"}, `{"elicitation":{"form":{}}}`)
	if asked["resultType"] != "input_required" || asked["requestState"] == nil {
		t.Errorf("a client with elicitation got %v", asked)
	}
}

// until polls a task until it has a status.
func (w *wire) until(id any, status string) map[string]any {
	w.t.Helper()
	for {
		at, failed := w.ask("tasks/get", map[string]any{"taskId": id}, hasTasks)
		switch at["status"] {
		case status:
			return at
		case "working":
			continue
		}
		w.t.Fatalf("the task is %v (%v), want %s", at, failed, status)
	}
}

// olderClient is a client of an older protocol, which is asked while its call is held.
type olderClient struct {
	t    *testing.T
	to   *json.Encoder
	from *json.Decoder
}

type olderMessage struct {
	ID                    any
	Method                string
	Params, Result, Error map[string]any
}

func newOlderClient(t *testing.T) *olderClient {
	t.Helper()
	there, _ := host(t)
	c := &olderClient{t, json.NewEncoder(there.Writer), json.NewDecoder(there.Reader)}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"old","version":"1"}}}`)
	c.answerTo(1)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *olderClient) send(text string) {
	c.t.Helper()
	if err := c.to.Encode(json.RawMessage(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *olderClient) receive(is func(olderMessage) bool) olderMessage {
	c.t.Helper()
	for {
		var m olderMessage
		if err := c.from.Decode(&m); err != nil {
			c.t.Fatal(err)
		}
		if is(m) {
			return m
		}
	}
}

func (c *olderClient) answerTo(id float64) olderMessage {
	c.t.Helper()
	return c.receive(func(m olderMessage) bool { return m.ID == id && m.Method == "" })
}

// runs starts a script, has its first gate answered with a message, and gives what the call came
// to.
func (c *olderClient) runs(source, answer string) olderMessage {
	c.t.Helper()
	define, _ := json.Marshal(map[string]any{"name": "asks", "source": source})
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"define","arguments":` + string(define) + `}}`)
	c.answerTo(2)
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"run_asks","arguments":{}}}`)
	asked := c.receive(func(m olderMessage) bool { return m.Method == "elicitation/create" })
	id, _ := json.Marshal(asked.ID)
	c.send(`{"jsonrpc":"2.0","id":` + string(id) + `,` + answer + `}`)
	return c.answerTo(3)
}

// A client of an older protocol is asked once; then it is told.
func TestAnOlderClientIsAskedOnce(t *testing.T) {
	told := newOlderClient(t).runs(twice, `"result":{"action":"accept","content":{"choice":"yes"}}`)
	at, _ := told.Result["structuredContent"].(map[string]any)
	if at["pending"] != true || at["gates"].([]any)[0].(map[string]any)["gate"] != "second" {
		t.Errorf("got %v", told.Result)
	}
}

// A form that is filled in wrongly, or that the client cannot show, leaves a run behind: the call
// says which.
func TestAnOlderClientWhoseFormFailsHearsOfTheRun(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`"result":{"action":"accept","content":{"choice":"maybe"}}`, "maybe"},
		{`"error":{"code":-32603,"message":"no window"}`, "no window"},
	} {
		client := newOlderClient(t)
		told := client.runs(twice, c.answer)
		at, _ := told.Result["structuredContent"].(map[string]any)
		refused, _ := at["error"].(map[string]any)
		said, _ := json.Marshal(refused)
		if refused["kind"] != "bad_payload" || !strings.Contains(string(said), c.want) || !strings.Contains(string(said), `gate \"first\"`) {
			t.Fatalf("%s: got %v %v", c.want, told.Result, told.Error)
		}
		run := regexp.MustCompile(`run (\w{12}) waits on`).FindStringSubmatch(string(said))
		if run == nil {
			t.Fatalf("%s: it does not say which run waits: %s", c.want, said)
		}
		client.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"signal","arguments":{"run":"` + run[1] + `","gate":"first","choice":"yes"}}}`)
		if answered := client.answerTo(4); answered.Result["isError"] == true || answered.Error != nil {
			t.Errorf("%s: the gate cannot be answered: %v %v", c.want, answered.Result, answered.Error)
		}
	}
}

// A payload that no form holds is checked by the engine: its refusal names the run, too.
func TestAPayloadThatDoesNotFitNamesItsRun(t *testing.T) {
	p := serve(t, &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"payload_json": `{"list": "none"}`}}, nil
	}})
	p.call("define", map[string]any{"name": "nested", "source": "def main():\n    return gate(\"nested\", schema = contract(\"{list: [int]}\")).payload\n"})
	said := text(p.try("run_nested", nil))
	if !strings.Contains(said, "bad_payload") || !strings.Contains(said, "list: got") || !strings.Contains(said, "waits on: status has its gates") {
		t.Errorf("got %s", said)
	}
}
