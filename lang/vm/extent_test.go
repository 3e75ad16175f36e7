package vm_test

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/lang/vm"
)

// TestSharedValuesAreBounded: what a few statements make of values that are reached by
// exponentially many ways, nothing goes all of these ways. Whatever uses them ends, mostly with the
// error of a limit.
func TestSharedValuesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	makers := map[string]string{
		"doubled tuples": "t, u = (), ()\n    for _ in range(50): t, u = (t, t), (u, u)\n",
		"doubled lists":  "t, u = [1], [1]\n    for _ in range(50): t, u = [t, t], [u, u]\n",
		"wide lists":     "t, u = [0] * 300, [0] * 300\n    for _ in range(5): t, u = [t] * 300, [u] * 300\n",
		"doubled dicts":  "t, u = {}, {}\n    for _ in range(50): t, u = {1: t, 2: t}, {1: u, 2: u}\n",
		"outcomes":       "t, u = attempt(int, 1), attempt(int, 1)\n    for _ in range(50): t, u = attempt(twice, t), attempt(twice, u)\n",
		"rings":          "t, u = [], []\n    for i in range(12): t.append([])\n    for i in range(12): u.append([])\n    for l in t: l.extend(t)\n    for l in u: l.extend(u)\n",
	}
	uses := []string{
		`str(t)`, `repr([t])`, `print(t)`, `fail(t)`, `"%s" % (t,)`, `"{}".format(t)`, `t == u`, `t != u`, `t < u`, `t in [u]`, `t in (u,)`, `[u].index(t)`, `[u].index(t, 0)`, `[u].remove(t)`,
		`{1: t} == {1: u}`, `sorted([t, u])`, `sorted([t, u], key = lambda x: x)`, `max(t, u)`, `min([t, u])`, `max([t, u], key = lambda x: x)`, `{t: 1}`, `set([t])`, `{}.get(t)`, `t in {}`,
		`parallel([len], limit = t)`, `parallel([len], wait = t)`, `1 % t`, `hash(t)`, `attempt(lambda: fail(t))`,
	}
	for name, maker := range makers {
		t.Run(name, func(t *testing.T) {
			img := imageOf(t, fmt.Sprintf("def twice(x): return (x, x)\ndef main(n):\n    %s    return [%s][n]()\n", maker, "lambda: "+strings.Join(uses, ", lambda: ")))
			for n, use := range uses {
				limited(t, img, n, use)
			}
		})
	}
}

func limited(t *testing.T, img *vm.Image, n int, use string) {
	t.Helper()
	m, err := img.Start(choice(n))
	if err != nil {
		t.Fatal(err)
	}
	m.SetLimits(vm.Limits{Steps: 1 << 18, Memory: 4 << 20})
	stop := m.Run(nobody)
	for stop.Status == vm.Yielded {
		stop = m.Run(nobody)
	}
	switch {
	case stop.Status == vm.Done:
	case stop.Status != vm.Failed:
		t.Errorf("%s: %+v", use, stop)
	case stop.Err.Kind != effect.KindLimit && stop.Err.Kind != effect.KindScript:
		t.Errorf("%s: %v", use, stop.Err)
	}
	if steps := m.Steps(); steps > 3<<18 {
		t.Errorf("%s took %d steps", use, steps)
	}
}

func choice(n int) *starlark.Dict {
	d := starlark.NewDict(1)
	_ = d.SetKey(starlark.String("n"), starlark.MakeInt(n))
	return d
}
