package vm

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// budget(fn, usd, tokens, calls, on_reached) calls a function under a ceiling over what it spends. The machine only says under which ceilings a request is made; whoever
// performs requests knows what was spent, and refuses. Its state is the function, the ceiling's address, the most micro-dollars, tokens and calls (0 for no bound), and what
// happens when it is reached; phase 1 means that the call is in progress.
var budgetNative = &Native{
	name:    "budget",
	start:   startBudget,
	resume:  resumeBudget,
	restore: restoreBudget,
}

func startBudget(c nativeCall, args starlark.Tuple, kwargs []starlark.Tuple) error {
	var fn starlark.Callable
	var usd, tokens, calls starlark.Value
	onReached := "fail"
	if err := starlark.UnpackArgs("budget", args, kwargs, "fn", &fn, "usd?", &usd, "tokens?", &tokens, "calls?", &calls, "on_reached?", &onReached); err != nil {
		return err
	}
	if len(args) > 1 {
		return fmt.Errorf("budget: got %d positional arguments, want one: the function; the bounds are written with their names", len(args))
	}
	if onReached != "fail" && onReached != "gate" {
		return fmt.Errorf(`budget: for parameter on_reached: got %q, want "fail" or "gate"`, onReached)
	}
	most := make([]starlark.Value, 3)
	for i, p := range []struct {
		name string
		v    starlark.Value
		unit float64
	}{{"usd", usd, 1e6}, {"tokens", tokens, 1}, {"calls", calls, 1}} {
		n, err := bound(p.v, p.unit)
		if err != nil {
			return fmt.Errorf("budget: for parameter %s: %w", p.name, err)
		}
		most[i] = starlark.MakeInt64(n)
	}
	if usd == nil && tokens == nil && calls == nil {
		return fmt.Errorf("budget: got no bound, want usd, tokens or calls")
	}
	c.act.state = []starlark.Value{fn, starlark.String(c.f.step("budget")), most[0], most[1], most[2], starlark.String(onReached)}
	return nil
}

// bound reads a bound in units, 0 for none.
func bound(v starlark.Value, unit float64) (int64, error) {
	if v == nil || v == starlark.None {
		return 0, nil
	}
	x, ok := starlark.AsFloat(v)
	if _, whole := v.(starlark.Int); unit == 1 && !whole {
		return 0, fmt.Errorf("got %s, want an int above 0", shown(v))
	}
	if n := math.Round(x * unit); ok && n >= 1 && n <= 1<<53 {
		return int64(n), nil
	}
	return 0, fmt.Errorf("got %s, want a number above 0", shown(v))
}

func resumeBudget(c nativeCall, result starlark.Value) step {
	if c.act.phase == 1 {
		return step{value: result}
	}
	c.act.phase = 1
	return step{fn: c.act.state[0]}
}

func restoreBudget(act *activation) error {
	if err := restored(1, "callable", "string", "int", "int", "int", "string")(act); err != nil {
		return err
	}
	for _, v := range act.state[2:5] {
		if n, ok := v.(starlark.Int).Int64(); !ok || n < 0 {
			return fmt.Errorf("budget: a bound of %s", v)
		}
	}
	if mode := act.state[5].(starlark.String); mode != "fail" && mode != "gate" {
		return fmt.Errorf("budget: when it is reached, %s", mode)
	}
	return nil
}

// ceilings lists those above the fiber, the innermost first.
func (f *fiber) ceilings() []effect.Ceiling {
	var list []effect.Ceiling
	for ; f != nil; f = f.parent {
		for i := len(f.frames) - 1; i >= 0; i-- {
			if act := f.frames[i].act; act != nil && act.native == budgetNative {
				list = append(list, act.ceiling())
			}
		}
	}
	return list
}

func (act *activation) ceiling() effect.Ceiling {
	number := func(i int) int64 {
		n, _ := act.state[i].(starlark.Int).Int64()
		return n
	}
	address, _ := starlark.AsString(act.state[1])
	return effect.Ceiling{Address: address, MicroUSD: number(2), Tokens: number(3), Calls: number(4), Ask: act.state[5] == starlark.String("gate")}
}

// Ceilings lists the addresses of those that requests to come can still be under.
func (m *Machine) Ceilings() []string {
	var list []string
	for _, f := range m.fibers {
		for i := range f.frames {
			if act := f.frames[i].act; act != nil && act.native == budgetNative {
				list = append(list, act.ceiling().Address)
			}
		}
	}
	return list
}
