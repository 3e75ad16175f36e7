package vm_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
)

// TestReached: each statement and each way of a decision counts how often it is begun, whatever
// stands around it, and what never can be is there with none.
func TestReached(t *testing.T) {
	const text = `def sign(n):
    "A docstring is no statement."
    if n > 9: return "large"
    elif n < 0:
        return "negative"
    elif n == 0 and not n:
        pass
    return "small" if n else "zero"
    return "never"
def main():
    all = [sign(n) for n in range(-2, 12) if n % 2 or n > 3]
    for x in [1, 2]:
        if x == 2:
            break
    last = sorted(all, key = lambda s: -len(s))
    return {k: None
            for k in []}
`
	const want = `1:1-9:19 statement 1
3:5-7:13 statement 11
3:15-3:29 true 2
4:5-7:13 false 9
3:15-3:29 statement 2
4:5-7:13 statement 9
5:9-5:26 true 1
6:5-7:13 false 8
5:9-5:26 statement 1
6:5-7:13 statement 8
7:9-7:13 true 0
6:5-6:5 false 8
6:21-6:26 right 0
7:9-7:13 statement 0
8:5-8:36 statement 8
8:12-8:19 true 8
8:30-8:36 false 0
9:5-9:19 statement 0
10:1-17:25 statement 1
11:5-11:61 statement 1
11:43-11:43 true 11
11:43-11:43 false 3
11:12-11:19 each 11
11:55-11:60 right 7
12:5-14:18 statement 1
13:9-14:18 statement 2
14:13-14:18 true 1
13:9-13:9 false 1
14:13-14:18 statement 1
15:5-15:48 statement 1
15:40-15:47 body 11
16:5-17:25 statement 1
16:13-16:20 each 0
`
	var counts []atomic.Uint32
	env := &effect.Environment{Reached: func(module string, n int) []atomic.Uint32 {
		if counts == nil {
			counts = make([]atomic.Uint32, n)
		}
		return counts
	}}
	src := compile.Source{Name: "test.star", Text: []byte(text), Options: product, Marks: true}
	code, err := compile.Compile(src)
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
	if stop := m.Run(nil); stop.Status != vm.Done {
		t.Fatal(stop.Status, stop.Err)
	}
	var got strings.Builder
	for i, mark := range code.Marks {
		what := mark.Way.String()
		if mark.Way == compile.WayNone {
			what = "statement"
		}
		fmt.Fprintf(&got, "%d:%d-%d:%d %s %d\n",
			mark.Line, mark.Col, mark.EndLine, mark.EndCol, what, counts[i].Load())
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// Without marks nothing is emitted: code that counts nothing is what it always was.
func TestNothingIsCountedUnasked(t *testing.T) {
	const text = "def f(x):\n    return x if x else [y for y in x if y]\n"
	code, err := compile.Compile(compile.Source{Name: "test.star", Text: []byte(text), Options: product})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range code.Functions {
		for _, in := range f.Code {
			if in.Op == compile.Reach {
				t.Errorf("%s counts", f.Name)
			}
		}
	}
}
