package vm

import (
	"fmt"
	"math"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// budget(fn, usd, tokens, calls, on_reached, agents, models) calls a function under a ceiling over
// what it spends. The machine only says under which ceilings a request is made; whoever performs
// requests knows what was spent, and refuses. Its state is the function, the ceiling's address, the
// most micro-dollars, tokens and calls (0 for no bound), and what happens when it is reached, and
// where it is given agents or models, the lists of both; phase 1 means that the call is in
// progress.
var budgetNative = &Native{
	name:    "budget",
	start:   startBudget,
	resume:  resumeBudget,
	restore: restoreBudget,
}

func startBudget(c nativeCall, args starlark.Tuple, kwargs []starlark.Tuple) error {
	var fn starlark.Callable
	var usd, tokens, calls, agents, models starlark.Value
	onReached := "fail"
	if err := starlark.UnpackArgs("budget", args, kwargs, "fn", &fn, "usd?", &usd, "tokens?", &tokens, "calls?", &calls, "on_reached?", &onReached,
		"agents?", &agents, "models?", &models); err != nil {
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
	if agents == nil && models == nil {
		return nil
	}
	for _, p := range []struct {
		name, of string
		v        starlark.Value
	}{{"agents", "agents", agents}, {"models", `models, or of beginnings such as "claude-opus-*"`, models}} {
		list, err := named(p.v, p.of)
		if err != nil {
			return fmt.Errorf("budget: for parameter %s: %w", p.name, err)
		}
		c.act.state = append(c.act.state, list)
	}
	return nil
}

// named reads a list of names, which are of these; empty for all.
func named(v starlark.Value, of string) (starlark.Tuple, error) {
	list := starlark.Tuple{}
	if v == nil || v == starlark.None {
		return list, nil
	}
	names, ok := v.(starlark.Sequence)
	if !ok {
		return nil, fmt.Errorf("got %s, want a list of names of %s", shown(v), of)
	}
	if names.Len() == 0 {
		return nil, fmt.Errorf("got an empty list, want names of %s, or None for all", of)
	}
	for e := range starlark.Elements(names) {
		name, ok := e.(starlark.String)
		if !ok || name == "" || strings.Contains(strings.TrimSuffix(string(name), "*"), "*") {
			return nil, fmt.Errorf("got %s in the list, want the names of %s", shown(e), of)
		}
		list = append(list, name)
	}
	return list, nil
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
	shape := []string{"callable", "string", "int", "int", "int", "string"}
	if len(act.state) > len(shape) {
		shape = append(shape, "tuple", "tuple")
	}
	if err := restored(1, shape...)(act); err != nil {
		return err
	}
	for _, v := range act.state[6:] {
		for _, name := range v.(starlark.Tuple) {
			if _, ok := name.(starlark.String); !ok {
				return fmt.Errorf("budget: bounds a %s", name.Type())
			}
		}
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
	c := effect.Ceiling{Address: act.text(1), MicroUSD: int64(act.int(2)), Tokens: int64(act.int(3)), Calls: int64(act.int(4)), Ask: act.state[5] == starlark.String("gate")}
	if len(act.state) > 6 {
		c.Agents, c.Models = namesIn(act.state[6]), namesIn(act.state[7])
	}
	return c
}

// namesIn are the strings of a tuple, nil for none.
func namesIn(v starlark.Value) (list []string) {
	tuple, _ := v.(starlark.Tuple)
	for _, e := range tuple {
		s, _ := starlark.AsString(e)
		list = append(list, s)
	}
	return list
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
