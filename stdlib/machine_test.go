package stdlib_test

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

const tour = `
def main():
    started = now()
    print("at", started)
    log.info("begin", n = 1)
    handle = gate("ship", options = ["yes", "no"], wait = False)
    r = agent("reviewer", "look", input = [1])
    sleep("1s")
    o = attempt(lambda: fail("no", "luck"))
    emit("done", ok = o.ok)
    d = handle.decision()
    return {"r": r.output, "d": d.choice, "e": o.error.message, "kind": o.error.kind, "t": time.parse(started), "j": json.encode(role("x").name)}
`

// start makes a machine of a script, which may load the library.
func start(t *testing.T, name, text string) *vm.Machine {
	t.Helper()
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	bundle, err := lang.Read(name, func(string) ([]byte, error) { return []byte(text), nil }, stdlib.Library)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lang.Compile(bundle, env)
	if err != nil {
		t.Fatal(err)
	}
	image, err := vm.Load(program.Modules, env)
	if err != nil {
		t.Fatal(err)
	}
	m, err := image.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestOnTheMachine runs a script with the machine as the runtime would, answering every request by
// hand.
func TestOnTheMachine(t *testing.T) {
	m := start(t, "tour.star", tour)
	outcomes := map[string]starlark.Value{
		"reviewer": effect.NewRecord(effect.ResultType, make([]starlark.Value, len(effect.ResultType.Fields))...).With("output", starlark.MakeInt(7)),
		"ship":     decisionFor("yes"),
		"sleep":    starlark.None,
	}
	var seen []string
	stop := m.Run(answerNow)
	for ; stop.Status == vm.Waiting; stop = m.Run(answerNow) {
		for _, e := range stop.Emissions {
			seen = append(seen, strings.TrimSpace(e.Request.Kind+" "+e.Step))
			if v := outcomes[e.Step]; e.Kind == vm.Requested && v != nil {
				m.Settle(e.Step, effect.Outcome{Value: effect.MustEncode(v)})
			}
		}
	}
	if stop.Err != nil {
		t.Fatal(stop.Err, stop.Err.Backtrace)
	}
	for _, e := range stop.Emissions {
		seen = append(seen, strings.TrimSpace(e.Request.Kind+" "+e.Step))
	}
	if got, want := strings.Join(seen, ", "), "now now, print, log, gate ship, agent reviewer, sleep sleep, emit"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	const want = `{"r": 7, "d": "yes", "e": "no luck", "kind": "script", "t": 0.5, "j": "\"x\""}`
	if got := stop.Value.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func answerNow(*effect.Request) effect.Outcome {
	return effect.Outcome{Value: effect.MustEncode(starlark.String("1970-01-01T00:00:00.500Z"))}
}

func decisionFor(choice string) starlark.Value {
	return effect.NewRecord(effect.DecisionType, make([]starlark.Value, len(effect.DecisionType.Fields))...).With("choice", starlark.String(choice))
}
