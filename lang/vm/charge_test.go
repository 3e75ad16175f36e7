package vm_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"starling/lang/vm"
	"starling/stdlib"
)

// charged has calls whose work is in Go, with the least number of steps that each is to be charged.
// What a step of each takes, beside a step of a loop, is what BenchmarkCharges prints.
var charged = []struct {
	call  string
	least uint64
}{
	{"zip(L, L)", 1000}, {"enumerate(L)", 1000}, {"sorted(L)", 500}, {"sorted(LT)", 1000}, {"list(L)", 250},
	{"dict(LT)", 1000}, {"set(LS)", 1000}, {"max(L)", 500}, {"hash(T)", 250}, {"L + L", 250}, {"L * 3", 500},
	{"L[::2]", 100}, {"T[::-1]", 1000}, {"L == list(L)", 250}, {"D == dict(D)", 1000}, {"S - S", 1000}, {"S & S", 1000},
	{"D | D", 1000}, {"D.items()", 1000}, {"D.keys()", 250}, {"str(L)", 1000}, {"str(LF)", 2000}, {"str(LB)", 15000},
	{"repr(LS)", 2000}, {"str(N)", 1000}, {"'{} {}'.format(L, L)", 2000}, {"T.split(' ')", 300}, {"T.title()", 250},
	{"T.splitlines()", 30}, {"B // 7", 1000}, {"B * B", 15000}, {"str(B)", 15000}, {"'%f' % 1e300", 16},
	{"json.encode(L)", 1000}, {"json.encode(D)", 2000}, {"json.encode(LF)", 2000}, {"json.encode(LB)", 15000},
	{"json.decode(J)", 1000}, {"yaml.encode(X)", 1000}, {"yaml.decode(Y)", 1000}, {"C.parse(X)", 1000}, {"C.check(X)", 500},
	{"contract('{a: int, b: string, c: [int]}')", 400}, {"re.findall('[a-z]+', T)", 3000}, {"re.sub('o', 'x', T)", 3000},
	{"text.slug(T)", 2000}, {"digest.sha256(T)", 200},
}

const chargedScript = `
L = list(range(1000))
LS = [str(i) * 3 for i in range(1000)]
LF = [i * 1.37 for i in range(1000)]
LB = [1 << 200 for i in range(1000)]
LT = [(i, str(i)) for i in range(1000)]
D = {str(i): i for i in range(1000)}
S = set(L)
T = "lorem ipsum dolor " * 500
B = int("1" + "0" * 20000)
J = json.encode([{"a": i, "b": "x"} for i in range(300)])
Y = yaml.encode([{"a": i, "b": "x"} for i in range(100)])
C = contract("[{a: int}]")
X = [{"a": i} for i in range(100)]
N = [[i, [i]] for i in range(300)]
def main():
    for i in range(%d):
        %s
`

// calls makes a call so often, and tells how many steps that was charged and how long it took.
func calls(t testing.TB, call string, times int) (steps uint64, took time.Duration) {
	t.Helper()
	m := startFile(t, fmt.Sprintf(chargedScript, times, call), stdlib.Environment(stdlib.Options{Natives: vm.Natives()}))
	began, before := time.Now(), m.Steps()
	stop := m.Run(nobody)
	for stop.Status == vm.Yielded {
		stop = m.Run(nobody)
	}
	if stop.Status != vm.Done {
		t.Fatalf("%s: %v %v", call, stop.Status, stop.Err)
	}
	return m.Steps() - before, time.Since(began)
}

// What a builtin does in one call is charged in proportion to it: else a script within its limit of
// steps could keep a processor busy for hours, and each slice of it for minutes.
func TestBuiltinsAreCharged(t *testing.T) {
	for _, c := range charged {
		if steps, _ := calls(t, c.call, 1); steps < c.least {
			t.Errorf("%s is charged %d steps, want %d at least", c.call, steps, c.least)
		}
	}
}

// BenchmarkCharges prints what a step of each call takes, in those of an empty loop in the same
// run.
func BenchmarkCharges(b *testing.B) {
	steps, took := calls(b, "pass", 3_000_000)
	loop := float64(took) / float64(steps)
	type cost struct {
		call string
		each float64
	}
	for b.Loop() {
		var costs []cost
		for _, c := range charged {
			steps, took = calls(b, c.call, 50)
			costs = append(costs, cost{c.call, float64(took) / float64(steps) / loop})
		}
		slices.SortFunc(costs, func(x, y cost) int { return cmp.Compare(y.each, x.each) })
		for _, c := range costs {
			b.Logf("%6.1f  %s", c.each, c.call)
		}
		b.ReportMetric(costs[0].each, "loops/step-at-most")
	}
}
