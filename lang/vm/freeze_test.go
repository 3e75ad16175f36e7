package vm_test

import "testing"

// TestLibrariesFreezeAtOnce: what a library makes may be shared, deep or cyclic in any way; each
// object is frozen once, and all are.
func TestLibrariesFreezeAtOnce(t *testing.T) {
	for name, library := range map[string]string{
		"a doubled tuple":           "x = ()\nfor _ in range(60): x = (x, x)\nlast = []\n",
		"a list of doubled tuples":  "last = []\nt = (last,)\nfor _ in range(60): t = (t, t)\nx = [t, {1: t}, set([1])]\n",
		"doubled lists":             "last = []\nx = [last]\nfor _ in range(60): x = [x, x]\n",
		"doubled outcomes":          "last = []\nx = last\nfor _ in range(60): x = attempt(lambda: (x, x))\nx = [x]\n",
		"doubled defaults":          "last = []\ndef make(a, b):\n    def f(p = a, q = b): return p\n    return f\nx = last\nfor _ in range(60): x = make(x, x)\n",
		"a list nested very deeply": "last = []\nx = last\nfor _ in range(100000): x = [x]\n",
		"a tuple nested so":         "last = []\nx = last\nfor _ in range(100000): x = (x,)\nx = {1: x}\n",
		"a ring of dicts":           "last = {}\nx = last\nfor _ in range(50000): x = {1: x}\nlast[1] = x\nlast = [last]\n",
		"a function's variable":     "def make():\n    l = []\n    return lambda: l\nx = make()\nlast = x()\n",
		"a bound method":            "l = []\nx = l.append\nlast = l\n",
	} {
		t.Run(name, func(t *testing.T) {
			img := imageOf(t, `
load("lib.star", "x", "last")
def main():
    mine = [x]
    rest()
    return attempt(lambda: last.append(1)).error.message, len(mine)
`, "lib.star", library)
			if got, want := playOut(t, img, suspended(t, img), true), `("append: cannot append to frozen list", 1)`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
