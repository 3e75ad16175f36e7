package vm_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
)

var snapshotKey = []byte("a key of the store's")

// rest is an effect that waits: rest() gives what it is settled with.
var rest = &effect.Builtin{
	FullName: "rest", Class: effect.Waiting,
	Request: func(*effect.Call) (*effect.Request, error) {
		return &effect.Request{Kind: "rest", Name: "rest", Args: effect.MustEncode(starlark.None)}, nil
	},
}

// imageOf loads a script, and the modules it loads, given in pairs of name and text.
func imageOf(t testing.TB, script string, modules ...string) *vm.Image {
	t.Helper()
	env := &effect.Environment{Names: vm.Natives()}
	env.Names["rest"] = rest
	opts := syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
	var code []*compile.Module
	for i := 0; i <= len(modules); i += 2 {
		name, text := "main.star", script
		if i < len(modules) {
			name, text = modules[i], modules[i+1]
		}
		m, err := compile.Compile(compile.Source{Name: name, Text: []byte(text), Options: opts, Predeclared: env.Names.Has})
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, m)
	}
	img, err := vm.Load(code, env)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// suspended runs a script to its first rest.
func suspended(t testing.TB, img *vm.Image) *vm.Machine {
	t.Helper()
	m, err := img.Start(new(starlark.Dict))
	if err != nil {
		t.Fatal(err)
	}
	if stop := m.Run(nobody); stop.Status != vm.Waiting {
		t.Fatalf("the script did not rest: %+v", stop)
	}
	return m
}

func nobody(*effect.Request) effect.Outcome { return effect.Outcome{} }

func snapshotOf(t testing.TB, m *vm.Machine) []byte {
	t.Helper()
	b, err := m.Snapshot(snapshotKey)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// again writes a machine down, reads it back and wants the same bytes of the second.
func again(t testing.TB, img *vm.Image, m *vm.Machine) *vm.Machine {
	t.Helper()
	b := snapshotOf(t, m)
	n, err := img.Restore(b, snapshotKey)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshotOf(t, n), b) {
		t.Fatal("the restored machine is written down with other bytes")
	}
	return n
}

// playOut settles every rest with the number of the rest, restoring before each if asked, and
// returns what main returned or how it failed.
func playOut(t testing.TB, img *vm.Image, m *vm.Machine, restore bool) string {
	t.Helper()
	for n := 1; ; n++ {
		if restore {
			m = again(t, img, m)
		}
		step := "rest"
		if n > 1 {
			step = fmt.Sprintf("rest#%d", n)
		}
		m.Settle(step, effect.Outcome{Value: effect.MustEncode(starlark.MakeInt(n))})
		switch stop := m.Run(nobody); stop.Status {
		case vm.Done:
			return stop.Value.String()
		case vm.Failed:
			return stop.Err.Error()
		}
	}
}

// Each script builds a heap, rests, and tells from within whether it is still the same. It must
// tell the same when it was written down and read back at each rest.
var heaps = map[string]struct{ script, want string }{
	"identity and cycles": {`
def main():
    a = [1]
    d = {"a": a, "b": a}
    a.append(d)
    t = (a, d)
    u = (t, t)
    rest()
    d["a"].append(9)
    return [len(d["b"]), len(u[0][1]["a"]), len(a[1]["a"]), len(u[1][0])]
`, `[3, 3, 3, 3]`},
	"doubled tuples": {`
def main():
    t = ()
    for _ in range(60):
        t = (t, t)
    rest()
    n = 0
    for _ in range(100):
        if t == ():
            break
        t, n = t[1], n + 1
    return n
`, `60`},
	"closures share cells": {`
def main():
    def counter():
        box = [0]
        def up(by = 1):
            box[0] += by
            return box[0]
        return up, lambda: box[0]
    up, look = counter()
    up()
    rest()
    up(by = 4)
    k = {up: "f", main: "m"}
    return [look(), k[up], k[main]]
`, `[5, "f", "m"]`},
	"frozen in part": {`
load("lib.star", "table", "names")
def main():
    mine = {"table": table, "own": []}
    rest()
    mine["own"].append(1)
    bad = [attempt(lambda: table["x"].append(1)).error.message, attempt(lambda: names.clear()).error.message]
    return [mine["own"], bad, mine["table"] == table]
`, `[[1], ["append: cannot append to frozen list", "clear: cannot clear frozen list"], True]`},
	"live iterators": {`
def over(x, n):
    out = []
    for e in x:
        out.append(e)
        if len(out) == n:
            rest()
    return out
def main():
    l = [1, 2, 3]
    held = []
    for e in l:
        held.append(e)
        if e == 2:
            rest()
            held.append(attempt(lambda: l.append(4)).error.message)
    l.append(4)
    return [held, over({"a": 1, "b": 2, "c": 3}, 2), over(set([3, 1, 2]), 1), over(range(10, 0, -3), 2), over("héy".codepoints(), 2), over("abc".elems(), 1),
            over(b"xyz".elems(), 2), over((7, 8), 1), len(l)]
`, `[[1, 2, "append: cannot append to list during iteration", 3], ["a", "b", "c"], [3, 1, 2], [10, 7, 4, 1], ["h", "é", "y"], ["a", "b", "c"], [120, 121, 122], [7, 8], 4]`},
	"methods and scalars": {`
def main():
    l = []
    f, g = l.append, l.append
    s = "x,y".split
    vals = [1 << 100, -5, 63, 64, 0.5, b"\x00\xff", "", "ab", "abc" * 3, None, True, -(1 << 70)]
    rest()
    f(1)
    g(2)
    return [l, f == f, s(","), vals]
`, `[[1, 2], True, ["x", "y"], [1267650600228229401496703205376, -5, 63, 64, 0.5, b"\x00\xff", "", "ab", "abcabcabc", None, True, -1180591620717411303424]]`},
	"inside natives": {`
def key(x):
    return -x * rest()
def main():
    a = sorted([3, 1, 2], key = key)
    b = attempt(lambda: [rest() for _ in range(2)])
    c = attempt(lambda: fail("no", rest()))
    return [a, b.value, c.error.message, max([1, 2], key = lambda x: rest())]
`, `[[2, 3, 1], [4, 5], "fail: no 6", 2]`},
	"comprehensions": {`
def main():
    return [{k: rest() for k in [i, i + 10]} for i in range(2)]
`, `[{0: 1, 10: 2}, {1: 3, 11: 4}]`},
}

const library = `
table = {"x": [1, 2], "long": ["a text that no run should carry about, %d" % i for i in range(100)]}
names = ["a", "b"]
`

func TestHeapsSurvive(t *testing.T) {
	for name, h := range heaps {
		t.Run(name, func(t *testing.T) {
			img := imageOf(t, h.script, "lib.star", library)
			for _, restore := range []bool{false, true} {
				if got := playOut(t, img, suspended(t, img), restore); got != h.want {
					t.Errorf("restored %v: got  %s\nwant %s", restore, got, h.want)
				}
			}
		})
	}
}

func TestDeepListTakesNoStack(t *testing.T) {
	img := imageOf(t, `
def main():
    l = []
    for _ in range(300000):
        l = [l]
    rest()
    n = 0
    for _ in range(400000):
        if not l:
            break
        l, n = l[0], n + 1
    return n
`)
	if got := playOut(t, img, suspended(t, img), true); got != "300000" {
		t.Errorf("got %s", got)
	}
}

func TestLibrariesAreNotWrittenIntoRuns(t *testing.T) {
	img := imageOf(t, `
load("lib.star", "table")
def main():
    mine = [table, table["long"]]
    rest()
    return mine
`, "lib.star", library)
	if n := len(snapshotOf(t, suspended(t, img))); n > 160 {
		t.Errorf("a run that holds a table of its library takes %d bytes", n)
	}
}

func TestForeignSnapshotsAreRefused(t *testing.T) {
	script := heaps["identity and cycles"].script
	img := imageOf(t, script)
	b := snapshotOf(t, suspended(t, img))
	if _, err := img.Restore(b, []byte("another")); !errors.Is(err, vm.ErrForeignSnapshot) {
		t.Errorf("another key: %v", err)
	}
	if _, err := imageOf(t, script+"\n# changed").Restore(b, snapshotKey); !errors.Is(err, vm.ErrOtherProgram) {
		t.Errorf("another program: %v", err)
	}
	for n := range b {
		if _, err := img.Restore(b[:n], snapshotKey); err == nil {
			t.Errorf("cut off after %d bytes it is taken", n)
		}
		spoiled := bytes.Clone(b)
		spoiled[n] ^= 1 << (n % 8)
		if _, err := img.Restore(spoiled, snapshotKey); err == nil {
			t.Errorf("with byte %d changed it is taken", n)
		}
	}
}
