package vm_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// growing are scripts that go over their limit of memory, or not, by what is counted once or
// several times, grows, shrinks and is cut out of something.
var growing = []struct{ name, script string }{
	{"equal texts", "l = []\nfor i in range(400):\n  l.append(\"x\" * (70 + i % 3))\n  checkpoint()"},
	{"one text", "l = []\nx = \"x\" * 100\nfor i in range(400):\n  l.append(x)\n  checkpoint()"},
	{"a constant", "l = []\nfor i in range(400):\n  l.append(\"a constant of the script that is longer than the texts which are counted as often as they are met\")\n  checkpoint()"},
	{"cut texts", "l = []\nfor i in range(400):\n  l.append((\"y\" * 500 + str(i))[-80:])\n  checkpoint()"},
	{"shrunk lists", "l = []\nfor i in range(120):\n  x = list(range(60))\n  for _ in range(55): x.pop()\n  l.append(x)\n  checkpoint()"},
	{"shrunk tables", "l = []\nfor i in range(60):\n  x = {j << 40: j for j in range(90)}\n  for j in range(85): x.pop(j << 40)\n  l.append(x)\n  checkpoint()"},
	{"crowded tables", "d = {}\nfor i in range(500):\n  d[i << 40] = str(i)\n  d[(i << 40, \"a text that is long enough\")] = i\n  checkpoint()"},
	{"emptied tables", "d = {}\nfor i in range(40):\n  for j in range(90): d[j << 40] = i\n  for j in range(90): d.pop(j << 40)\n  checkpoint()"},
	{"wide ints", "l = []\nfor i in range(400):\n  l.append((1 << 40) + i)\n  checkpoint()"},
	{"cut tuples", "l = []\nfor i in range(200):\n  l.append(tuple(range(50))[:3])\n  checkpoint()"},
}

// TestRestoredLimit: at a random limit of memory, and one of steps, a script ends the same whether
// or not the machine is written down and read back at its stops. A seed that fails plays it again:
//
//	go test ./lang/vm -run TestRestoredLimit -seed 42
func TestRestoredLimit(t *testing.T) {
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", from)
	rng := rand.New(rand.NewPCG(from, 13))
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	for _, g := range growing {
		for range 6 {
			limits := vm.Limits{Memory: 4000 + rng.Int64N(120_000), Steps: 500 + rng.Int64N(400_000)}
			text := "def checkpoint():\n  for i in range(20): pass\n" + g.script
			want, peak := playLimited(t, text, env, limits, nil)
			got, _ := playLimited(t, text, env, limits, rng)
			if got != want {
				t.Errorf("-seed %d: %s, %+v, %d steps: restored on the way it ends with\n%s\nand else with\n%s", from, g.name, limits, peak, got, want)
			}
		}
	}
}

// playLimited runs a script to its end. With rng it is written down before random instructions, and
// goes on from there.
func playLimited(t *testing.T, text string, env *effect.Environment, limits vm.Limits, rng *rand.Rand) (end string, steps uint64) {
	t.Helper()
	code, err := compile.Compile(compile.Source{Name: "test.star", Text: []byte(text), Options: everyOption(true), Predeclared: env.Names.Has, Breaks: true})
	if err != nil {
		t.Fatal(err)
	}
	image, err := vm.Load([]*compile.Module{code}, env)
	if err != nil {
		t.Fatal(err)
	}
	m, err := image.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	m.SetLimits(limits)
	for {
		if rng != nil {
			left := rng.IntN(4000)
			m.StopBefore(func(string) bool { left--; return left < 0 })
		}
		stop := m.Run(nobody)
		if stop.Status != vm.Yielded {
			return fmt.Sprint(stop.Status, stop.Err, m.Steps()), m.Steps()
		}
		if rng == nil {
			continue
		}
		b, err := m.ExactSnapshot(snapshotKey)
		if err == nil {
			m, err = image.Restore(b, snapshotKey)
		}
		if err != nil {
			t.Fatal(err)
		}
		m.SetLimits(limits)
	}
}
