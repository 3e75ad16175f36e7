package run

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
)

// full is a step of which nothing is empty.
func full() *Step {
	one := effect.MustEncode(starlark.MakeInt(1))
	return &Step{asked: asked{Class: 1, Kind: "agent", Args: one, Policy: effect.Policy{Retries: 1}, Returns: "int", Step: "s", Where: "w", Tree: "t",
		Ceilings: []effect.Ceiling{{Address: "b", Calls: 1}}, Overlaps: []effect.Overlap{{Branch: "b", Mode: "queue"}}, Resolved: one, Backends: []string{"b"},
		Steers: []effect.Steering{effect.SteerLive}, Pulls: []string{"b"}, Breaker: true, Limit: 1, Total: 1, Changes: []string{"*"}},
		Seq: 1, At: time.UnixMicro(1).UTC(), Serving: 1, Session: "s", Attempt: 1, Ready: true, Offered: true, Claim: 1, Worker: "w", Lease: 1, InFlight: true,
		Failures: 1, Reasks: 1, Feedback: one, Refused: one, Stopped: true, Rejected: "r", Said: "s", Aside: true, Used: runtime.Usage{Calls: 1}, Told: []steer{{Seq: 1, Message: "m"}},
		Permissions: []permission{{Asked: "a"}}, Note: "n", Cut: "c", Shut: one, Mail: "m", Reused: &reusedOutcome{}, Behind: true, Foreign: true, Held: "h", Talk: "t",
		Interrupted: true, Tools: []toolUse{{}}, Heard: 1}
}

func keysOf(t *testing.T, p effect.Payload) string {
	t.Helper()
	v, err := p.View()
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	v.Each(func(key string, _ effect.View) { keys = append(keys, key) })
	return strings.Join(keys, " ")
}

// What is written of a step, and in which order, is as it was when each of the fields was added.
func TestFieldsKeepTheirOrder(t *testing.T) {
	st := full()
	for name, c := range map[string]struct {
		fields []field
		want   string
	}{
		"a checkpoint": {fields, "kind seq at class where args resolved returns policy attempt ready in_flight failures reasks feedback session refused stopped rejected said aside " +
			"used tools note cut mail backends pulls steers told permissions offered claim worker lease breaker serving shut recalls ceilings held heard changes overlaps behind " +
			"foreign tree talk interrupted limit total"},
		"step.requested": {requestFields, "kind class where args refused overlaps tree heard foreign resolved returns policy backends pulls steers breaker ceilings changes limit total"},
		"step.resolved":  {servedFields, "resolved returns policy backends pulls steers breaker ceilings changes limit total"},
	} {
		if got := keysOf(t, putAll(&effect.Object{}, st, c.fields).Payload()); got != c.want {
			t.Errorf("%s has\n%s, want\n%s", name, got, c.want)
		}
	}
}

// Every exported field of a step comes back as it was written, so that none is forgotten in the
// table.
func TestFieldsComeBack(t *testing.T) {
	st := full()
	got := stepOf("s", must2(st.payload().View()))
	got.Reused, got.Named = st.Reused, st.Named // it is found by the step's name
	left := []string{"Named"}                   // is made of the others
	compare := func(a, b reflect.Value) {
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if !f.IsExported() || f.Anonymous || slices.Contains(left, f.Name) {
				continue
			}
			if a.Field(i).IsZero() {
				t.Errorf("%s is empty in the step that has all: set it there", f.Name)
			}
			if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
				t.Errorf("%s: got %v, want %v", f.Name, b.Field(i), a.Field(i))
			}
		}
	}
	compare(reflect.ValueOf(*st), reflect.ValueOf(*got))
	compare(reflect.ValueOf(st.asked), reflect.ValueOf(got.asked))
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
