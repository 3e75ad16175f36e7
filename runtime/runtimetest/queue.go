package runtimetest

import (
	"encoding/json"
	"testing"

	"starling/runtime"
)

// TestQueues checks that an engine keeps the promises of runtime.Queues.
func TestQueues(t *testing.T, s Subject) {
	for name, test := range map[string]func(*engine, runtime.Queues){
		"push":    testPush,
		"refused": testPushRefused,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, s)
			test(e, facet[runtime.Queues](e, e.Engine))
		})
	}
}

func (e *engine) push(q runtime.Queues, key, value string) *runtime.Pushed {
	e.Helper()
	p, err := q.Push(e.ctx, runtime.PushRequest{Key: key, Queue: "jobs", Value: json.RawMessage(value)})
	e.ok(err)
	return p
}

func testPush(e *engine, q runtime.Queues) {
	first := e.push(q, "", `{"n": 1}`)
	if first.Item != 1 || first.Known {
		e.Errorf("got %+v, want the first item of a queue", first)
	}
	e.same("an item of a key", e.push(q, "k", "2").Item, uint64(2))
	again := e.push(q, "k", "3")
	e.same("the key again", []any{again.Item, again.Known, again.Oldest}, []any{2, true, 1})

	e.same("nobody is there", e.attended(q), false)
	run := e.start(`
def main():
    found = []
    for _ in range(3):
        item = queue.take("jobs")
        found.append([item.value, item.by])
        queue.ack(item)
    return found
`).ID
	e.until(run, func(r *runtime.Run) bool { return r.Status == runtime.Suspended })
	e.same("a run waits", e.attended(q), true)
	e.push(q, "k", `"last"`)
	done := e.ended(run)
	by, err := json.Marshal(e.user)
	e.ok(err)
	e.same("what the run took", string(done.Output), `[[{"n":1},`+string(by)+`],[2,`+string(by)+`],["last",`+string(by)+`]]`)
	e.same("it has ended", e.attended(q), false)

	e.push(q, "", "4")
	e.opened(`
def main():
    queue.take("jobs")
    gate("g", options = ["on"])
`, "g")
	e.same("a run holds an item", e.attended(q), true)
}

func (e *engine) attended(q runtime.Queues) bool {
	e.Helper()
	at, err := q.Attended(e.ctx, "jobs")
	e.ok(err)
	return at
}

func testPushRefused(e *engine, q runtime.Queues) {
	for _, r := range []runtime.PushRequest{{Queue: "a/b", Value: json.RawMessage("1")}, {Value: json.RawMessage("1")}} {
		_, err := q.Push(e.ctx, r)
		e.refused(runtime.ErrUsage, err)
	}
	for _, text := range []string{"", "{", "1 2"} {
		_, err := q.Push(e.ctx, runtime.PushRequest{Queue: "q", Value: json.RawMessage(text)})
		e.refused(runtime.ErrBadPayload, err)
	}
	run := e.start(hello).ID
	p, err := facet[runtime.Queues](e, e.agent("judge", run)).Push(e.ctx, runtime.PushRequest{Queue: "q", Value: json.RawMessage("1")})
	e.ok(err)
	e.same("an agent's item", p.Item, 1)
	_, err = facet[runtime.Queues](e, e.as(runtime.Caller{})).Push(e.ctx, runtime.PushRequest{Queue: "q", Value: json.RawMessage("1")})
	e.refused(runtime.ErrDenied, err)
}
