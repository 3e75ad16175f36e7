package crowd_test

import (
	"slices"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/crowd"
)

func many(n int, key func(i int) starlark.Value) []starlark.Value {
	keys := make([]starlark.Value, n)
	for i := range keys {
		keys[i] = key(i)
	}
	return keys
}

// TestCost: what nobody has chosen is free, what collides costs in proportion to the square of it.
func TestCost(t *testing.T) {
	spread := func(i int) starlark.Value { return starlark.String("a text that is long") + starlark.String(rune(i)) }
	for _, c := range []struct {
		name    string
		key     func(i int) starlark.Value
		crowded bool
	}{
		{"small ints", func(i int) starlark.Value { return starlark.MakeInt(i) }, false},
		{"short texts", func(i int) starlark.Value { return starlark.String(starlark.MakeInt(i).String()) }, false},
		{"long texts", spread, false},
		{"pairs", func(i int) starlark.Value { return starlark.Tuple{starlark.MakeInt(i % 90), starlark.MakeInt(i / 90)} }, false},
		{"high ints", func(i int) starlark.Value { return starlark.MakeInt64(int64(i) << 40) }, true},
		{"ints that share their low bits", func(i int) starlark.Value { return starlark.MakeInt64(int64(i) << 17) }, true},
		{"floats below 1", func(i int) starlark.Value { return starlark.Float(float64(i) / 1e6) }, true},
		{"tuples of high ints", func(i int) starlark.Value { return starlark.Tuple{starlark.MakeInt64(int64(i) << 40), starlark.None} }, true},
		{"tuples of a long text and high ints", func(i int) starlark.Value { return starlark.Tuple{spread(1), starlark.MakeInt64(int64(i) << 40)} }, true},
		{"builtins of one name", func(int) starlark.Value { return starlark.NewBuiltin("same", nil) }, true},
	} {
		few, lots := many(1000, c.key), many(8000, c.key)
		less, more := crowd.Cost(len(few), slices.Values(few)), crowd.Cost(len(lots), slices.Values(lots))
		switch {
		case !c.crowded && more > 8000:
			t.Errorf("%s: 8,000 keys cost %d steps", c.name, more)
		case c.crowded && more < 8000*8000/4:
			t.Errorf("%s: 8,000 keys cost %d steps, fewer than they pass", c.name, more)
		case c.crowded && more < 40*less:
			t.Errorf("%s: 1,000 keys cost %d steps, 8,000 cost %d", c.name, less, more)
		}
	}
}

func TestCheckRefusesCollidingKeys(t *testing.T) {
	keys := many(5000, func(i int) starlark.Value { return starlark.MakeInt64(int64(i) << 40) })
	if err := crowd.Check(len(keys), slices.Values(keys)); err == nil {
		t.Error("5,000 keys of one hash are taken")
	}
	if err := crowd.Check(500, slices.Values(keys[:500])); err != nil {
		t.Errorf("500 keys: %v", err)
	}
}
