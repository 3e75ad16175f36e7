package vm_test

import (
	"fmt"
	"testing"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// workload is a program whose function run is measured on both engines, from the same text and
// under the same options.
type workload struct{ name, text string }

var workloads = []workload{
	{"fib", `
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

def run():
    return fib(20)
`},
	{"nested loops", `
def run():
    t = 0
    for i in range(200):
        for j in range(200):
            t += i * j - j
    return t
`},
	{"integer arithmetic", `
def run():
    a, b, n = 1, 0, 0
    for i in range(30000):
        if i % 3 == 0:
            a += i
        elif i % 5 != 1:
            b -= 2
        n = (n * 7 + i) % 1000
    return a, b, n
`},
	{"float arithmetic", `
def run():
    x = 0.5
    for i in range(30000):
        x = x * 1.5 - x / 3.0 + 0.25
        if x > 1000.0:
            x = x / 999.0
    return x
`},
	{"list append", `
def run():
    l = []
    for i in range(30000):
        l.append(i)
    return len(l)
`},
	{"dict int keys", `
def run():
    d = {}
    for i in range(20000):
        d[i % 500] = i
        if d.get(i % 700):
            d[i % 500] += 1
    return len(d)
`},
	{"dict string keys", `
def run():
    keys = ["key%d" % i for i in range(100)]
    d = {}
    for n in range(100):
        for k in keys:
            d[k] = d.get(k, 0) + n
    return len(d)
`},
	{"formatting", `
def run():
    n = 0
    for i in range(4000):
        s = "%s-%d" % ("item", i) + "{}:{}".format(i, "x")
        n += len(s)
    return n
`},
	{"string building", `
def run():
    parts = []
    for i in range(3000):
        parts.append(str(i) + ",")
    text = "".join(parts)
    n = 0
    for p in text.split(","):
        if p.startswith("1") or p.endswith("2"):
            n += len(p.strip())
    s = ""
    for i in range(300):
        s += "abc"
    return n + len(s)
`},
	{"sort with key", `
def run():
    l = [(i * 7919) % 10007 for i in range(3000)]
    return sorted(l, key = lambda x: -x)[0]
`},
	{"comprehensions", `
def run():
    n = 0
    for _ in range(20):
        a = [x * 2 for x in range(500) if x % 3]
        b = {x: str(x) for x in a if x < 200}
        n += len(b) + len([(x, y) for x in range(10) for y in range(10)])
    return n
`},
	{"keyword calls", `
def f(a, b, c):
    return a + b + c

def run():
    t = 0
    for i in range(20000):
        t += f(a = i, c = 1, b = 2)
    return t
`},
	{"default calls", `
def f(a, b = 1, c = 2):
    return a + b + c

def run():
    t = 0
    for i in range(20000):
        t += f(i)
        t += f(i, 2)
    return t
`},
	{"closures", `
def adder(n):
    def add(x):
        return x + n
    return add

def run():
    t = 0
    fs = [adder(i) for i in range(10)]
    for i in range(3000):
        for f in fs:
            t += f(i)
    return t
`},
	{"method calls", `
def run():
    n = 0
    words = ["alpha", "beta", "gamma", "delta"]
    seen = {}
    for i in range(5000):
        w = words[i % 4]
        if w.startswith("a") or w.endswith("ta"):
            n += w.find("a")
        seen.setdefault(w, []).append(i)
        w.upper()
    return n, len(seen.keys())
`},
	{"attributes", `
def run():
    s = struct(a = 1, b = 2, c = 3)
    t = 0
    for i in range(20000):
        t += s.a + s.b * s.c
    return t
`},
	{"sieve", `
def run():
    n = 20000
    sieve = [True] * n
    for i in range(2, 142):
        if sieve[i]:
            for j in range(i * i, n, i):
                sieve[j] = False
    return len([i for i in range(2, n) if sieve[i]])
`},
	{"queens", `
def place(n, row, cols, d1, d2):
    if row == n:
        return 1
    count = 0
    for c in range(n):
        if c in cols or row + c in d1 or row - c in d2:
            continue
        count += place(n, row + 1, cols + [c], d1 + [row + c], d2 + [row - c])
    return count

def run():
    return place(6, 0, [], [], [])
`},
	{"matrix", `
def matmul(a, b):
    n, m, p = len(a), len(b), len(b[0])
    return [[sum([a[i][k] * b[k][j] for k in range(m)]) for j in range(p)] for i in range(n)]

def sum(l):
    t = 0
    for x in l:
        t += x
    return t

def run():
    a = [[i + j for j in range(20)] for i in range(20)]
    return matmul(a, a)[3][4]
`},
	{"json encode", `
records = [{"id": i, "name": "record %d" % i, "tags": ["a", "b"], "score": 0.5} for i in range(100)]

def run():
    return json.encode(records)
`},
	{"json decode", `
text = json.encode([{"id": i, "name": "record %d" % i, "tags": ["a", "b"], "score": 0.5} for i in range(100)])

def run():
    return json.decode(text)
`},
	{"orchestration", `
def review(item, threshold):
    notes = []
    for check in ["style", "safety", "tests"]:
        score = (item["id"] * len(check)) % 10
        if score >= threshold:
            notes.append({"check": check, "score": score, "text": "%s: %d" % (check, score)})
    return notes

def run():
    report = {}
    for i in range(300):
        item = {"id": i, "title": "item %d" % i, "labels": ["l%d" % (i % 3)]}
        notes = review(item, threshold = 5)
        for n in notes:
            report.setdefault(n["check"], []).append(item["title"])
        if not notes:
            report["clean"] = report.get("clean", 0) + 1
    lines = []
    for k, v in report.items():
        lines.append("{}: {}".format(k, v if type(v) == "int" else len(v)))
    return "\n".join(sorted(lines))
`},
}

// The names that workloads use: json is on each side the one that scripts there have.
var (
	benchmarkNames = starlark.StringDict{"struct": starlark.NewBuiltin("struct", starlarkstruct.Make), "json": json.Module}
	ownNames       = starlark.StringDict{"struct": benchmarkNames["struct"], "json": stdlib.Environment(stdlib.Options{}).Names["json"]}
)

func referenceRun(tb testing.TB, w workload) func() (starlark.Value, error) {
	opts := product
	globals, err := starlark.ExecFileOptions(&opts, new(starlark.Thread), w.name, w.text, benchmarkNames)
	if err != nil {
		tb.Fatal(err)
	}
	thread := new(starlark.Thread)
	return func() (starlark.Value, error) { return starlark.Call(thread, globals["run"], nil, nil) }
}

func machineRun(tb testing.TB, w workload) func() (starlark.Value, error) {
	code, err := compile.Compile(compile.Source{Name: w.name, Text: []byte(w.text), Options: product, Predeclared: benchmarkNames.Has})
	if err != nil {
		tb.Fatal(err)
	}
	image, err := vm.Load([]*compile.Module{code}, &effect.Environment{Names: ownNames})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := image.Start(nil)
	if err == nil {
		err = finish(m)
	}
	if err != nil {
		tb.Fatal(err)
	}
	run := m.Globals()["run"].(*vm.Function)
	thread := new(starlark.Thread)
	return func() (starlark.Value, error) { return starlark.Call(thread, run, nil, nil) }
}

// TestWorkloadsAgree: both engines compute the same, so that their times may be compared.
func TestWorkloadsAgree(t *testing.T) {
	for _, w := range workloads {
		want, err := referenceRun(t, w)()
		if err != nil {
			t.Fatal(err)
		}
		got, err := machineRun(t, w)()
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s: got %v, want %v", w.name, got, want)
		}
	}
}

// TestCallsDoNotAllocate: a call of a Starlark function, with whatever form of arguments, costs no
// memory.
func TestCallsDoNotAllocate(t *testing.T) {
	for name, body := range map[string]string{
		"positional": "f(i, 1, 2)",
		"defaults":   "f(i)",
		"named":      "f(c = 1, b = 2, a = i)",
		"nested":     "f(f(i), f(1), f(f(2)))",
		"method":     "d.get(i)",
	} {
		w := workload{name, "def f(a, b = 1, c = 2):\n    return a\nd = {1: 2}\ndef run():\n    for i in range(%d): " + body + "\n"}
		perCall := (allocs(t, w, 1100) - allocs(t, w, 100)) / 1000
		if perCall > 0.001 {
			t.Errorf("%s: %v allocations a call", name, perCall)
		}
	}
}

func allocs(t *testing.T, w workload, n int) float64 {
	w.text = fmt.Sprintf(w.text, n)
	run := machineRun(t, w)
	return testing.AllocsPerRun(20, func() {
		if _, err := run(); err != nil {
			t.Fatal(err)
		}
	})
}
