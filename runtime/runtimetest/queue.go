package runtimetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"starling/runtime"
)

// testQueues checks that an engine keeps the promises of runtime.Queues.
func testQueues(t *testing.T, s Subject) {
	for name, test := range map[string]func(*subject, runtime.Queues){
		"push":    testPush,
		"listed":  testQueuesListed,
		"refused": testPushRefused,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, s)
			test(e, extension[runtime.Queues](e, e.Engine))
		})
	}
}

func (e *subject) push(q runtime.Queues, key, value string) *runtime.Pushed {
	e.Helper()
	p, err := q.Push(e.ctx, runtime.PushRequest{Key: key, Queue: "jobs", Value: json.RawMessage(value)})
	e.ok(err)
	return p
}

func testPush(e *subject, q runtime.Queues) {
	first := e.push(q, "", `{"n": 1}`)
	if first.Item != 1 || first.Known {
		e.Errorf("got %+v, want the first item of a queue", first)
	}
	e.same("an item of a key", e.push(q, "k", "2").Item, uint64(2))
	again := e.push(q, "k", "3")
	e.same("the key again", []any{again.Item, again.Known, again.Oldest}, []any{2, true, 1})
	e.same("its value, and another", []any{e.push(q, "k", "2").Other, again.Other, first.Other}, []any{false, true, false})

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

func testQueuesListed(e *subject, q runtime.Queues) {
	e.same("of no queue", e.queued(runtime.Query{Queues: true}), "")
	for _, value := range []string{`{"n": 1}`, "2", `"three"`, "null"} {
		e.push(q, "", value)
	}
	e.push(q, "k", "5")
	run := e.opened(`
def main():
    first, second, third = queue.take("jobs"), queue.take("jobs"), queue.take("jobs", lease = "1000h")
    queue.park(second, "no use")
    queue.push("done", "x")
    gate("g", options = ["on"])
`, "g").ID
	const items = `1 held "" {"n":1} 1 RUN false "";3 held "" "three" 1 RUN true "";4 waiting "" null 0  false "";5 waiting "k" 5 0  false "";2 parked "" 2 1 RUN false "no use";`
	jobs := "jobs 2 2 1 [RUN] true;"
	e.same("of both", e.queued(runtime.Query{Queues: true}, run), "done 1 0 0 [] true;"+jobs)
	e.same("of one", e.queued(runtime.Query{Queue: "jobs"}, run), jobs+items)
	e.same("no more than two", e.queued(runtime.Query{Queue: "jobs", Limit: 2}, run), jobs+items[:strings.Index(items, "4 waiting")])
	e.same("of none", e.queued(runtime.Query{Queue: "nothing"}), "")
	_, err := e.List(e.ctx, runtime.Query{Queue: "a/b"})
	e.refused(runtime.ErrUsage, err)
	_, err = e.as(runtime.Caller{}).List(e.ctx, runtime.Query{Queues: true})
	e.refused(runtime.ErrDenied, err)
	_, err = e.Cancel(e.ctx, runtime.CancelRequest{Run: run})
	e.ok(err)
	e.ended(run)
	e.same("whose holder has ended", e.queued(runtime.Query{Queues: true}, run), "done 1 0 0 [] true;jobs 4 0 1 [] true;")
}

// queued is a listing of queues on one line, in which a run is called RUN.
func (e *subject) queued(q runtime.Query, run ...string) (shown string) {
	e.Helper()
	l, err := e.List(e.ctx, q)
	e.ok(err)
	for _, q := range l.Queues {
		shown += fmt.Sprint(q.Queue, " ", q.Waiting, " ", q.Held, " ", q.Parked, " ", q.Holders, " ", q.Oldest != nil, ";")
	}
	for _, it := range l.Items {
		shown += fmt.Sprintf("%d %s %q %s %d %s %t %q;", it.Item, it.Status, it.Key, it.Value, it.Tries, it.Holder, it.Until != nil, it.Reason)
		e.same("by whom", strings.HasPrefix(it.By, e.user) && !it.At.IsZero(), true)
	}
	for _, id := range run {
		shown = strings.ReplaceAll(shown, id, "RUN")
	}
	return shown
}

func (e *subject) attended(q runtime.Queues) bool {
	e.Helper()
	at, err := q.Attended(e.ctx, "jobs")
	e.ok(err)
	return at
}

func testPushRefused(e *subject, q runtime.Queues) {
	for _, r := range []runtime.PushRequest{{Queue: "a/b", Value: json.RawMessage("1")}, {Value: json.RawMessage("1")}} {
		_, err := q.Push(e.ctx, r)
		e.refused(runtime.ErrUsage, err)
	}
	for _, text := range []string{"", "{", "1 2"} {
		_, err := q.Push(e.ctx, runtime.PushRequest{Queue: "q", Value: json.RawMessage(text)})
		e.refused(runtime.ErrBadPayload, err)
	}
	run := e.start(hello).ID
	p, err := extension[runtime.Queues](e, e.agent("judge", run)).Push(e.ctx, runtime.PushRequest{Queue: "q", Value: json.RawMessage("1")})
	e.ok(err)
	e.same("an agent's item", p.Item, 1)
	_, err = extension[runtime.Queues](e, e.as(runtime.Caller{})).Push(e.ctx, runtime.PushRequest{Queue: "q", Value: json.RawMessage("1")})
	e.refused(runtime.ErrDenied, err)
}
