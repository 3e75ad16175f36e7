package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
)

// shares asks for a function of memory.vars, and says what came of it.
func shares(ctx context.Context, a *effect.Attempt, do, key string, value starlark.Value) string {
	var o effect.Object
	o.Text("do", do).Text("key", key)
	if value != nil {
		o.Raw("value", effect.MustEncode(value))
	}
	v, err := a.Share(ctx, o.Payload())
	if err != nil {
		return string(err.Kind) + ": " + err.Message
	}
	return v.String()
}

// What an attempt sets is there for the script, for other attempts, after a restart in the middle
// of the attempt, and in a run that takes its outcome; an attempt that is over changes nothing.
func TestAttemptsShareVariables(t *testing.T) {
	w := newWorld(t)
	var late *effect.Attempt
	said := make(chan string, 16)
	w.does(func(ctx context.Context, a *effect.Attempt) effect.Reply {
		switch {
		case a.Step == "find" && late == nil:
			late = a
			said <- shares(ctx, a, "set", "links", starlark.String("a"))
			big := starlark.String(strings.Repeat("x", effect.MaxPayload*2/3))
			said <- shares(ctx, a, "set", "big", big)
			said <- shares(ctx, a, "set", "more", big)
			said <- shares(ctx, a, "delete", "big", nil)
			<-ctx.Done()
			return effect.Reply{Err: effect.Errorf(effect.KindCancelled, "cut")}
		case a.Step == "find":
			said <- shares(context.Background(), late, "set", "links", starlark.String("stale"))
			said <- shares(ctx, a, "get", "links", nil)
			said <- shares(ctx, a, "set", "links", starlark.String("b"))
			said <- shares(ctx, a, "delete", "none", nil)
		default:
			said <- shares(ctx, a, "all", "", nil)
		}
		return effect.Reply{Value: starlark.String(a.Step)}
	})
	hears := func(want ...string) {
		t.Helper()
		for _, want := range want {
			got := ""
			select {
			case got = <-said:
			case <-time.After(50 * time.Second):
				t.Fatal("nothing was said")
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("got %.120s, want %s", got, want)
			}
		}
	}
	run := w.start(`
def main():
    before = memory.vars.get("links")
    work("find")
    memory.vars.set("count", 1)
    work("use")
    d = gate("go", options = ["yes"])
    work("again")
    return [before, memory.vars.all()]
`, "")
	hears("None", "None", "refused: memory.vars.set: the run's memory would have more than", "True")
	w.restart()
	w.resume()
	hears("cancelled: find: ", `"a"`, "None", "False", `{"count": 1, "links": "b"}`)
	w.until(run.ID, runtime.Suspended)
	w.restart()
	w.signal(answer(run.ID, "go", "yes"))
	hears(`{"count": 1, "links": "b"}`)
	end := w.until(run.ID, runtime.Completed)
	if want := `[null,{"count":1,"links":"b"}]`; string(end.Output) != want {
		t.Errorf("output %s, want %s", end.Output, want)
	}
	w.verified(run.ID)

	only := w.fork(runtime.ForkRequest{Kind: runtime.LineageOnly, Run: run.ID, Step: "use"})
	hears(`{"count": 1, "links": "b"}`)
	w.until(only.ID, runtime.Completed, runtime.Suspended)
	w.verified(only.ID)
}
