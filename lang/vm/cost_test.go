package vm_test

import (
	"regexp"
	"runtime"
	"testing"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// costly are scripts that ask for more than their run may use: each with what its error says. What is doubled to its limit stays there, so that one more
// operation goes over.
var costly = []struct{ name, script, want string }{
	{"repeated string", `x = "ab" * 100000000`, "a repeated string would take"},
	{"repeated bytes", `x = 100000000 * b"ab"`, "a repeated string would take"},
	{"repeated list", `x = [1, 2] * 10000000`, "a repeated list would take"},
	{"repeated tuple", `x = (1, 2) * 10000000`, "a repeated tuple would take"},
	{"list of a range", `x = list(range(100000000))`, "a range of"},
	{"tuple of a range", `x = tuple(range(9000000))`, "range"},
	{"set of a range", `x = set(range(9000000))`, "range"},
	{"bytes of a range", `x = bytes(range(100000000))`, "a range of"},
	{"list += range", "x = []\nx += range(9000000)", "range"},
	{"extend by a range", "x = []\nx.extend(range(9000000))", "range"},
	{"sorted range", `x = sorted(range(9000000), key = lambda x: x)`, "range"},
	{"star args of a range", "def f(*a): pass\nf(*range(9000000))", "range"},
	{"zip", "r = range(9000000)\nx = zip(r, r, r)", "range"},
	{"enumerate", "x = enumerate(range(9000000))", "range"},
	{"doubled string", "x = \"ab\"\nfor _ in range(100): x += x", "would take|holds"},
	{"doubled list", "x = [1]\nfor _ in range(100): x += x", "would take|holds"},
	{"doubled list, +", "x = [1]\nfor _ in range(100): x = x + x", "would take|holds"},
	{"doubled tuple", "x = (1,)\nfor _ in range(100): x = x + x", "would take|holds"},
	{"doubled by extend", "x = [1]\nfor _ in range(100): x.extend(x)", "would take|holds"},
	{"star args", "def f(*a): return a\nx = (1,)\nfor _ in range(100): x = f(*(x + x))", "would take|holds"},
	{"join", "x = \"a\" * 1000000\ny = \",\".join([x] * 100)", "a string would take"},
	{"join by a long text", "x = \"a\" * 1000000\ny = x.join([\"\"] * 100)", "a string would take"},
	{"join of a dict", "x = \"a\" * 1000000\ny = x.join({str(i): i for i in range(100)}.keys())", "a string would take"},
	{"join of a set", "x = \"a\" * 1000000\ny = x.join(set([str(i) for i in range(100)]))", "a string would take"},
	{"replace", "x = \"a\" * 1000000\ny = x.replace(\"a\", \"b\" * 100)", "a string would take"},
	{"replace of nothing", "x = \"a\" * 1000000\ny = x.replace(\"\", \"b\" * 100)", "a string would take"},
	{"replace with a count", "x = \"a\" * 1000000\ny = x.replace(\"a\", \"b\" * 100, 900000)", "a string would take"},
	{"split", "x = \",\" * 5000000\ny = x.split(\",\")", "would take"},
	{"split by space", "x = \"a \" * 2500000\ny = x.split()", "would take"},
	{"rsplit", "x = \",\" * 5000000\ny = x.rsplit(\",\")", "would take"},
	{"splitlines", "x = \"\\n\" * 5000000\ny = x.splitlines()", "would take"},
	{"list of elems", "x = list((\"a\" * 5000000).elems())", "would take"},
	{"list of codepoints", "x = list((\"a\" * 5000000).codepoints())", "would take"},
	{"list of elem_ords", "x = list((\"a\" * 5000000).elem_ords())", "would take"},
	{"results of a method kept", "x = \"a,\" * 1000000\nl = []\nfor i in range(1000): l.append((x + str(i)).upper())", "holds"},
	{"percent", "x = \"a\" * 1000000\ny = \"%s\" * 100 % tuple([x] * 100)", "a string would take"},
	{"percent, repr", "x = [\"a\" * 1000000] * 100\ny = \"%r\" % x", "text of this list would take"},
	{"percent of a deep share", "x = [1]\nfor _ in range(60): x = [x, x]\ny = \"%s\" % x", "text of this list would take"},
	{"format", "x = \"a\" * 1000000\ny = (\"{0}\" * 100).format(x)", "a string would take"},
	{"format by name", "x = \"a\" * 1000000\ny = (\"{x}\" * 100).format(x = x)", "a string would take"},
	{"format, repr", "x = \"a\" * 1000000\ny = (\"{0!r}\" * 100).format(x)", "a string would take"},
	{"str of a share", "x = [1]\nfor _ in range(60): x = [x, x]\ny = str(x)", "text of this list would take"},
	{"repr of escapes", "x = [\"\\x00\" * 5000000]\ny = repr(x)", "text of this list would take"},
	{"print of a share", "x = [1]\nfor _ in range(60): x = [x, x]\nprint(x)", ""},
	{"fail with a share", "x = [1]\nfor _ in range(60): x = (x, x)\nfail(x)", ""},
	{"str of a deep list", "x = []\nfor _ in range(50000): x = [x]\nstr(x)", "nested deeper"},
	{"equality of a share", "x = [1]\ny = [1]\nfor _ in range(60):\n  x = [x, x]\n  y = [y, y]\nz = x == y", "comparison exceeded maximum recursion depth"},
	{"equality of a deep list", "x = []\ny = []\nfor _ in range(10000):\n  x = [x]\n  y = [y]\nx == y", "comparison exceeded maximum recursion depth"},
	{"equality of a wide share", "x = [0] * 1000\ny = [0] * 1000\nfor _ in range(8):\n  x = [x] * 1000\n  y = [y] * 1000\nx == y", "is compared that has more"},
	{"order of a wide share", "x = [0] * 1000\ny = [0] * 1000\nfor _ in range(8):\n  x = [x] * 1000\n  y = [y] * 1000\nx < y", "is compared that has more"},
	{"sorting of a wide share", "x = [0] * 1000\nfor _ in range(8): x = [x] * 1000\nsorted([x, x])", "is compared that has more"},
	{"index of a wide share", "x = [0] * 1000\nfor _ in range(8): x = [x] * 1000\n[x].index(x)", "is compared that has more"},
	{"removal of a wide share", "x = [0] * 1000\nfor _ in range(8): x = [x] * 1000\n[x].remove(x)", "is compared that has more"},
	{"greatest of a wide share", "x = [0] * 1000\nfor _ in range(8): x = [x] * 1000\nmax(x, x)", "is compared that has more"},
	{"greatest key of a wide share", "x = [0] * 1000\nfor _ in range(8): x = [x] * 1000\nmax([1, 2], key = lambda _: x)", "is compared that has more"},
	{"wide share in a list", "x = [0] * 1000\nfor _ in range(8): x = [x] * 1000\nx in [x]", "is compared that has more"},
	{"missing key of many texts", "x = (\"a\" * 1000000,) * 1000\n{}[x]", "text of this tuple would take"},
	{"twice the key of many texts", "x = (\"a\" * 1000000,) * 1000\n{x: 1, x: 2}", "text of this tuple would take"},
	{"percent by name", "x = \"%(x)s\" * 1000 % {\"x\": \"a\" * 1000000}", "a string would take"},
	{"search without end", "x = list(range(1000000))\nfor _ in forever(): -1 in x", "the limit is"},
	{"find without end", "x = \"a\" * 5000000\nfor _ in forever(): x.find(\"b\")", "the limit is"},
	{"key that is a share", "x = (1,)\nfor _ in range(60): x = (x, x)\ny = {x: 1}", "unhashable"},
	{"hash of a deep tuple", "x = ()\nfor _ in range(100000): x = (x,)\ny = set([x])", "unhashable"},
	{"shift", "x = 1 << 511\nfor _ in range(13): x = x * x\nfor _ in range(20): x = x << 511", "the limit is"},
	{"shifts kept", "l = []\nx = 1 << 511\nfor _ in range(20000):\n  x = x << 511\n  l.append(x)", "holds"},
	{"squares", "x = 3\nfor _ in range(60): x = x * x", "the limit is"},
	{"sums kept", "x = 1\nfor _ in range(10): x = (x + 1) << 500\nl = []\nfor i in range(1000000): l.append(x + i)", "holds"},
	{"int of a text", `x = int("9" * 5000000)`, "digits: the limit is"},
	{"int of a hex text", `x = int("f" * 5000000, 16)`, "digits: the limit is"},
	{"json of a share", "x = [1]\nfor _ in range(60): x = [x, x]\ny = json.encode(x)", "would take"},
	{"json of a deep list", "x = []\nfor _ in range(50000): x = [x]\ny = json.encode(x)", "nested deeper"},
	{"json, indented, of a share", "x = [1]\nfor _ in range(60): x = [x, x]\ny = json.encode_indent(x)", "would take"},
	{"json of brackets", "y = json.decode(\"[\" * 6000000)", "nested deeper"},
	{"json of braces", "y = json.decode(\"{\\\"\\\":\" * 1500000)", "nested deeper"},
	{"json of small objects", "y = json.decode(\"[\" + \"{},\" * 2000000 + \"1]\")", "would take"},
	{"json of many digits", "y = json.decode(\"9\" * 5000000)", "digits: the limit is"},
	{"json indent", "y = json.indent(\"[\" * 5000 + \"]\" * 5000, indent = \"a\" * 10000)", "would take"},
	{"list kept", "l = []\nfor i in range(100000000): l.append(i)", "holds"},
	{"dict kept", "d = {}\nfor i in range(100000000): d[i] = i", "holds"},
	{"dicts kept", "l = [{} for _ in range(100000000)]", "holds"},
	{"lists kept", "l = [[] for _ in range(100000000)]", "holds"},
	{"sets kept", "l = [set() for _ in range(100000000)]", "holds"},
	{"set kept", "d = set()\nfor i in range(100000000): d.add(i)", "holds"},
	{"closures kept", "l = []\ndef f(x): return lambda: x\nfor i in range(100000000): l.append(f(i))", "holds"},
	{"floats kept", "l = []\nfor i in range(100000000): l.append(i * 0.5)", "holds"},
	{"texts kept", "l = []\nfor i in range(100000000): l.append(str(i))", "holds"},
	{"dict doubled by update", "d = {}\nn = 1\nfor _ in range(60):\n  d.update([(n + i, i) for i in range(n)])\n  n *= 2", "holds"},
	{"dict |", "d = {0: 0}\nfor i in range(25): d = d | {k + (1 << i): 1 for k in d}", "holds"},
	{"slices kept", "x = [0] * 100000\nl = []\nfor _ in range(100000): l.append(x[:])", "holds"},
	{"colliding keys", "d = {}\nfor i in range(20000): d[i << 61] = i", "the limit is 5000000"},
	{"colliding floats", "d = {}\nfor i in range(20000): d[(i + 1) / 1e9] = i", "the limit is 5000000"},
	{"colliding tuples", "d = {}\nfor i in range(20000): d[(i << 61, None)] = i", "the limit is 5000000"},
	{"colliding elements", "s = set()\nfor i in range(20000): s.add(i << 61)", "the limit is 5000000"},
	{"colliding keys looked for", "l = [i << 61 for i in range(2500)]\nd = {k: 1 for k in l}\nfor _ in range(5000):\n  for k in l: d.get(k)", "the limit is 5000000"},
	{"colliding keys not there", "d = {i << 61: i for i in range(2500)}\nfor i in range(5000000): (-1 - i << 61) in d", "the limit is 5000000"},
	{"dict of colliding keys", "d = dict([(i << 61, i) for i in range(20000)])", "of which many lie in one place"},
	{"set of colliding keys", "s = set([i << 61 for i in range(20000)])", "of which many lie in one place"},
	{"colliding keys twice", "d = {i << 61: i for i in range(2500)}\nfor _ in range(5000): e = d | d", "many lie in one place|the limit is 5000000"},
	{"colliding keys compared", "d = {i << 61: i for i in range(2500)}\ne = dict(d)\nfor _ in range(5000): d == e", "is compared that has more|the limit is 5000000"},
	{"sorting long texts", "l = [\"x\" * 10000 + str(i) for i in range(300)]\nfor _ in range(5000): sorted(l)", "the limit is 5000000"},
	{"comparing long texts", "x = \"x\" * 1000000\ny = x + \"y\"\nz = x + \"z\"\nfor _ in range(5000000): y < z", "the limit is 5000000"},
	{"looking for long texts", "d = {}\nx = \"x\" * 1000000\nfor _ in range(5000000): x in d", "the limit is 5000000"},
	{"products", "x = 3\nfor _ in range(17): x = x * x\nfor _ in range(5000000): y = x * x", "the limit is 5000000"},
	{"digits", "x = 3\nfor _ in range(16): x = x * x\nfor _ in range(5000000): y = str(x)", "the limit is 5000000"},
	{"copies", "x = [0] * 50000\nfor _ in range(5000000): y = x + []", "the limit is 5000000"},
	{"keys listed", "d = {i: i for i in range(20000)}\nfor _ in range(5000000): d.keys()", "the limit is 5000000"},
	{"loop", "for _ in forever(): pass", "the limit is"},
	{"recursion", "def f(): return f()\nf()", "stack overflow"},
	{"recursion through keys", "def f(x): return sorted([1], key = f)\nf(1)", "stack overflow"},
}

var costLimits = vm.Limits{Memory: 8 << 20, Steps: 5_000_000}

// TestCostIsBounded: a script that asks for too much fails, and has not been given much more than its limit by then.
func TestCostIsBounded(t *testing.T) {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	for _, c := range costly {
		t.Run(c.name, func(t *testing.T) {
			m := startFile(t, c.script, env)
			m.SetLimits(costLimits)
			stop := m.Run(nobody)
			for stop.Status == vm.Yielded {
				stop = m.Run(nobody)
			}
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			if stop.Status != vm.Failed || !regexp.MustCompile(c.want).MatchString(stop.Err.Message) {
				t.Fatalf("it ended %v, %v; want an error with %q", stop.Status, stop.Err, c.want)
			}
			if stop.Err.Backtrace == "" {
				t.Errorf("%v has no backtrace", stop.Err)
			}
			if held := int64(mem.HeapSys); held > 128*costLimits.Memory {
				t.Fatalf("the process has grown to %d MB; the limit of the script is %d MB", held>>20, costLimits.Memory>>20)
			}
		})
	}
}

// startFile makes a machine of a script as the product does.
func startFile(t *testing.T, text string, env *effect.Environment) *vm.Machine {
	t.Helper()
	bundle, err := lang.Read("main.star", func(string) ([]byte, error) { return []byte(text), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lang.Compile(bundle, env)
	if err != nil {
		t.Fatal(err)
	}
	image, err := vm.Load(program.Modules, env)
	if err != nil {
		t.Fatal(err)
	}
	m, err := image.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
