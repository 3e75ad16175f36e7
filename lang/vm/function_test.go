package vm_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestFunctionThatKnowsItselfIsFrozen(t *testing.T) {
	img := imageOf(t, "load(\"lib.star\", \"f\")\ndef main():\n    rest()\n    return f(3)\n", "lib.star",
		"def outer():\n    def f(n): return n if n == 0 else f(n - 1)\n    return f\nf = outer()\n")
	if got := playOut(t, img, suspended(t, img), true); got != "0" {
		t.Errorf("got %s, want 0", got)
	}
}

func TestManyFunctionsSurvive(t *testing.T) {
	var script strings.Builder
	for i := range 300 {
		fmt.Fprintf(&script, "def f%d(): return %d\n", i, i)
	}
	script.WriteString("def main():\n    def g(n): return lambda: n\n    l = [g(i) for i in range(100)]\n    rest()\n    return [f() for f in l][-1] + f299()\n")
	img := imageOf(t, script.String())
	if got := playOut(t, img, suspended(t, img), true); got != "398" {
		t.Errorf("got %s, want 398", got)
	}
}
