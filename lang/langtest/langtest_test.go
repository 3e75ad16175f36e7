package langtest

import (
	"strings"
	"testing"
)

// A program is the same whenever it is made, and nearly all are well-formed: of those that are not,
// a mistake has put a number before a dot.
func TestGenerate(t *testing.T) {
	const n = 2000
	malformed, lines := 0, 0
	for seed := range uint64(n) {
		p := Generate(Seed(seed))
		if again := Generate(Seed(seed)); again != p {
			t.Fatalf("seed %d gives two programs:\n%s\n%s", seed, p, again)
		}
		for _, text := range []string{p.Library, p.Script} {
			lines += strings.Count(text, "\n")
			if _, err := p.Options.Parse(ScriptName, text, 0); err != nil {
				malformed++
			}
		}
	}
	if malformed > n/100 {
		t.Errorf("%d of %d programs are malformed", malformed, n)
	}
	if lines < 5*n {
		t.Errorf("%d programs have %d lines: they are too small", n, lines)
	}
}

// Whatever the bytes, a program comes to its end.
func TestGenerateFromBytes(t *testing.T) {
	for n := range 300 {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i*i*7 + n)
		}
		if p := Generate(Bytes(data)); p.Script == "" {
			t.Errorf("%d bytes give no script", n)
		}
	}
}

// Every type that can be wanted has a form that ends.
func TestGrammarHasLeaves(t *testing.T) {
	for kind := range arity {
		if len(grammar.leaves[kind]) == 0 {
			t.Errorf("no row for %s", kind)
		}
	}
}

func TestParts(t *testing.T) {
	got := typ("dict pair int str list fn int bool").parts()
	if len(got) != 2 || got[0] != "pair int str" || got[1] != "list fn int bool" {
		t.Errorf("got %q", got)
	}
}

func TestReduce(t *testing.T) {
	p := Program{
		Library: "a = 1\nb = 2\n",
		Script: `load("lib.star", "a", c = "b")
def f(x, y = [1, 2, 3]):
    for i in range(10):
        if i > 2 and x:
            print("Ω", i)
        else:
            print(fail("here", x), y)
    return x
f(1)
f(2, y = {1: 2})
`,
	}
	p.Options.Set = true
	got := Reduce(p, func(q Program) bool { return strings.Contains(q.Script, "fail(") && strings.Contains(q.Script, "here") })
	if want := "fail(\"here\")\n"; got.Script != want || got.Library != "" {
		t.Errorf("got %q and library %q, want %q", got.Script, got.Library, want)
	}
}
