package effect_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// Every field of a payload is found, however many there are and however long those before it, and
// no other is.
func TestViewFindsItsFields(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var o effect.Object
		want := map[string]string{}
		for i := range random.IntN(40) {
			name := strings.Repeat("k", random.IntN(200)) + fmt.Sprint(i)
			size := random.IntN(20)
			if random.IntN(8) == 0 {
				size = random.IntN(100_000)
			}
			want[name] = strings.Repeat("v", size+1)
			o.Text(name, want[name])
		}
		v, err := o.Payload().View()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for name, text := range want {
			if got := v.Text(name); got != text {
				t.Fatalf("seed %d: of %d fields %.20s… has %d bytes, want %d", seed, len(want), name, len(got), len(text))
			}
			if v.Has(name + "k") {
				t.Fatalf("seed %d: there is no %.20s…k", seed, name)
			}
		}
		seen := 0
		v.Each(func(name string, _ effect.View) { seen++ })
		if seen != len(want) || v.Empty() != (len(want) == 0) {
			t.Fatalf("seed %d: %d fields were seen, want %d", seed, seen, len(want))
		}
	}
}

// Without leaves out what it is told to, also where a field stands twice, and changes nothing else.
// A text in a record is that of the record, whatever stands around it; nothing else is one.
func TestTextInARecord(t *testing.T) {
	fields := make([]starlark.Value, len(effect.RoleType.Fields))
	for i := range fields {
		fields[i] = starlark.None
	}
	fields[0], fields[1] = starlark.String("judge"), starlark.String("be fair")
	role := effect.NewRecord(effect.RoleType, fields...)
	d := starlark.NewDict(4)
	for k, x := range map[string]starlark.Value{
		"who": role, "text": starlark.String("ann"), "list": starlark.NewList([]starlark.Value{role}), "none": starlark.None,
	} {
		_ = d.SetKey(starlark.String(k), x)
	}
	encoded, err := effect.MustEncode(d).View()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]effect.View{"payload": encoded, "value": effect.ViewOf(d)} {
		for k, want := range map[[2]string]string{
			{"who", "name"}: "judge", {"who", "instructions"}: "be fair", {"who", "backend"}: "", {"who", "nothing"}: "",
			{"text", "name"}: "", {"list", "name"}: "", {"none", "name"}: "", {"absent", "name"}: "",
		} {
			if got := v.TextIn(k[0], k[1]); got != want {
				t.Errorf("%s: %v: got %q, want %q", name, k, got, want)
			}
		}
	}
}

func TestWithout(t *testing.T) {
	var in, want, rest effect.Object
	p := in.Text("a", "1").Int("b", 2).Text("a", "3").Flag("c", true).Payload()
	v, err := p.View()
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Without("a", "x").Payload(); !bytes.Equal(got, want.Int("b", 2).Flag("c", true).Payload()) {
		t.Errorf("of a payload: %q", got)
	}
	value, err := rest.Int("b", 2).Text("a", "1").Payload().Value()
	if err != nil {
		t.Fatal(err)
	}
	if got := effect.ViewOf(value).Without("a").Payload(); !bytes.Equal(got, new(effect.Object).Int("b", 2).Payload()) {
		t.Errorf("of a value: %q", got)
	}
}
