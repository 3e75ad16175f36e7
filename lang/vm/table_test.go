package vm

import (
	"math/rand/v2"
	"testing"
	"time"

	"go.starlark.net/starlark"
)

// TestEntryIsTheReferences: what is quickly found in a table, or quickly known not to be there, is
// what go.starlark.net finds; for keys of all kinds, in tables that grow, shrink and are crowded.
func TestEntryIsTheReferences(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	key := func() starlark.Value {
		n := rng.IntN(400) - 20
		switch rng.IntN(8) {
		case 0:
			return starlark.Float(n)
		case 1:
			return starlark.MakeInt64(int64(n) << 40)
		case 2:
			return starlark.String(starlark.MakeInt(n).String())
		case 3:
			return starlark.String("a text that is long enough " + starlark.MakeInt(n).String())
		case 4:
			return starlark.Bool(n > 0)
		case 5:
			return starlark.Tuple{starlark.MakeInt(n)}
		}
		return starlark.MakeInt(n)
	}
	m, known := newMachine(nil), 0
	for range 50 {
		d := new(starlark.Dict)
		for range rng.IntN(2000) {
			k := key()
			e, quick := m.entry(layoutOfDict(d), k)
			v, found, err := d.Get(k)
			if err != nil || quick && found != (e != nil) || e != nil && e.value != v {
				t.Fatalf("seed %d: %v is found quickly: %v, %v; by the reference: %v, %v, %v", seed, k, e, quick, v, found, err)
			}
			if quick {
				known++
			}
			switch {
			case rng.IntN(4) == 0:
				_, _, _ = d.Delete(k)
			case m.set(d, k, starlark.MakeInt(rng.IntN(1000))) != nil:
				t.Fatalf("seed %d: %v cannot be set", seed, k)
			}
		}
		if d.Len() != len(d.Keys()) {
			t.Fatal("the table is damaged")
		}
	}
	if layoutsKnown && known == 0 {
		t.Error("nothing was quickly known")
	}
}
