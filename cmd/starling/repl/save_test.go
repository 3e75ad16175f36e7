package repl

import "testing"

// TestScript: a session is written down as a script that does what it did.
func TestScript(t *testing.T) {
	for _, c := range []struct {
		name       string
		statements []string
		values     map[int]string
		want       string
	}{
		{"constants and functions that need no more stand in front",
			[]string{"N = 2", "def f(x):\n  return x * N", "ys = []", "def g():\n  return ys", "g()"}, map[int]string{5: "[]"},
			"N = 2\ndef f(x):\n  return x * N\n\ndef main():\n    ys = []\n    def g():\n      return ys\n    return g()\n"},
		{"what is given another value is a variable",
			[]string{"n = 1", "if n > 2: n = 0\nelse: n = 1", "n += 1", "m = n"}, nil,
			"def main():\n    n = 1\n    if n > 2: n = 0\n    else: n = 1\n    n += 1\n    m = n\n"},
		{"values have names where later statements use them",
			[]string{"6 * 7", "n = _ + 1", "_1 + n"}, map[int]string{1: "42", 3: "85"},
			"def main():\n    _1 = 6 * 7\n    n = _1 + 1\n    return _1 + n\n"},
		{"a variable called _ is one until there is a value",
			[]string{"_ = 3", "_ + 1", "_ + 2"}, map[int]string{2: "4", 3: "6"},
			"def main():\n    _ = 3\n    _2 = _ + 1\n    return _2 + 2\n"},
		{"what only looked is left out",
			[]string{"load('a.star', 'b')", "x = b()", "len(x)", "x.append(1)"}, map[int]string{3: "1"},
			"load('a.star', 'b')\n\ndef main():\n    x = b()\n    x.append(1)\n"},
		{"nothing", nil, nil, "def main():\n    pass\n"},
	} {
		numbers := make([]int, len(c.statements))
		for i := range numbers {
			numbers[i] = i + 1
		}
		got, err := (&scribe{values: c.values}).script(c.statements, numbers)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}
