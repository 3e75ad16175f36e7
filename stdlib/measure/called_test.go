package measure_test

import (
	"fmt"
	"strings"
	"testing"

	"starling/stdlib/measure"
)

// A test that asserts through a function of its file, or of one beside it, is no empty one; a
// function that asserts nothing does not make it one that can fail.
func TestCasesThatCallHelpers(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		beside     []string
		want       string // name assertions/helped
	}{
		"go": {"a_test.go", "func check(t *testing.T, got, want int) {\n\tt.Helper()\n\tif got != want {\n\t\tt.Errorf(\"x\")\n\t}\n}\n\n" +
			"func TestA(t *testing.T) {\n\tcheck(t, f(), 1)\n\tcheck(t, f(), 2)\n}\n\nfunc TestB(t *testing.T) {\n\tother(t, f())\n}\n\nfunc other(t *testing.T, n int) {\n\tt.Log(n)\n}\n", nil,
			"TestA 0/2, TestB 0/0"},
		"go, a method, handed on": {"a_test.go", "func (s *suite) adds(t *testing.T) {\n\trequire.Equal(t, s.f(), 1)\n}\nfunc TestA(t *testing.T) {\n\tt.Run(\"adds\", s.adds)\n}\n", nil, "TestA 0/1"},
		"go, of types":            {"a_test.go", "func same[T comparable](t *testing.T, a, b T) { if a != b { t.Fatal() } }\nfunc TestA(t *testing.T) {\n\tsame(t, f(), 1)\n}\n", nil, "TestA 0/1"},
		"go, through another":     {"a_test.go", "func one(t *testing.T) {\n\ttwo(t)\n}\nfunc two(t *testing.T) {\n\tthree(t)\n}\nfunc three(t *testing.T) {\n\tt.Fatal()\n}\nfunc TestA(t *testing.T) {\n\tone(t)\n}\n", nil, "TestA 0/1"},
		"go, in a circle":         {"a_test.go", "func one(t *testing.T) {\n\ttwo(t)\n}\nfunc two(t *testing.T) {\n\tone(t)\n}\nfunc TestA(t *testing.T) {\n\tone(t)\n}\n", nil, "TestA 0/0"},
		"go, another file":        {"a_test.go", "func TestA(t *testing.T) {\n\tcheck(t, f(), 1)\n}\n", []string{"package a\n\nfunc check(t testing.TB, got, want int) {\n\tif got != want {\n\t\tt.Fatal()\n\t}\n}\n"}, "TestA 0/1"},
		"go, a method Error":      {"a_test.go", "func (e odd) Error() string {\n\treturn \"odd\"\n}\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Error(odd{})\n\t}\n}\n", nil, "TestA 1/0"},
		"go, behind false":        {"a_test.go", "func check(t *testing.T) {\n\tif false {\n\t\tt.Error()\n\t}\n}\nfunc TestA(t *testing.T) {\n\tcheck(t)\n}\nfunc fine(t *testing.T) {\n\tt.Error()\n}\nfunc TestB(t *testing.T) {\n\tif false {\n\t\tfine(t)\n\t}\n\t// fine(t)\n\t_ = \"fine(t)\"\n}\n", nil, "TestA 0/0, TestB 0/0"},
		"python": {"test_a.py", "def check(n):\n    assert n == 1, \"why\"\n\nclass T(Case):\n    def both(self, a, b):\n        self.assertEqual(a, b)\n\n    def test_a(self):\n        check(f())\n\n" +
			"    def test_b(self):\n        self.both(f(), 1)\n\n    def test_c(self):\n        self.neither(f())\n\n    def neither(self, x):\n        print(x)\n", nil, "test_a 0/1, test_b 0/1, test_c 0/0"},
		"python, named like one": {"test_a.py", "def assert_sum(n):\n    assert n == 1\n\ndef verify_sum(n):\n    return n\n\ndef test_a():\n    assert_sum(f())\n\ndef test_b():\n    verify_sum(f())\n", nil, "test_a 1/0, test_b 0/0"},
		"python, within":         {"test_a.py", "def test_a():\n    def check(n):\n        assert n\n    check(f())\n\ndef test_b():\n    def check_b(n):\n        return n\n    check_b(f())\n", nil, "test_a 1/1, test_b 0/0"},
		"python, another file":   {"test_a.py", "from helpers import check\n\ndef test_a():\n    check(f())\n", []string{"async def check(n):\n    assert n\n"}, "test_a 0/1"},
		"js": {"a.test.js", "function check(n) {\n  expect(n).toBe(1);\n}\nconst both = (a, b) => {\n  assert.equal(a, b);\n};\nconst short = n => expect(n).toBe(1);\nconst none = (n) => n;\n" +
			"it('a', () => {\n  check(f());\n});\nit('b', async () => { both(f(), 1); });\ntest('c', () => short(f()));\nit('d', check);\nit('e', () => {\n  none(f());\n});\n", nil, "a 0/1, b 0/1, c 0/1, d 0/1, e 0/0"},
		"js, exported":            {"a.spec.ts", "it('a', () => { check(f()); });\nit('b', () => { alike(f()); });\nit('c', () => { m.holds(f()); });\n", []string{"exports.check = (n) => {\n  if (n !== 1) throw new Error('no');\n};\nmodule.exports = {\n  alike(n) {\n    expect(n).toBe(1);\n  },\n  holds: function (n) {\n    expect(n).toBe(1);\n  },\n};\n"}, "a 0/1, b 0/1, c 0/1"},
		"js, a function of types": {"a.spec.ts", "export async function check<T>(n: T): Promise<void> {\n}\nexport const same = (a: number, b: number): void => {\n  expect(a).toBe(b);\n};\nit('a', () => { same(f(), 1); });\n", nil, "a 0/1"},
		"rust":                    {"lib.rs", "fn check(n: i32) {\n    assert_eq!(n, 1);\n}\n\n#[test]\nfn works() {\n    check(f());\n}\n", nil, "works 0/1"},
		"java":                    {"ATest.java", "class ATest {\n  private void check(int n) {\n    assertEquals(1, n);\n  }\n  @Test\n  public void adds() {\n    check(f());\n  }\n}\n", nil, "check 1/0, adds 0/1"},
		"ruby":                    {"a_spec.rb", "def check(n)\n  expect(n).to eq(1)\nend\nit \"adds\" do\n  check(f)\nend\n", nil, "adds 0/1"},
		"php":                     {"ATest.php", "private function check($n) {\n    $this->assertSame(1, $n);\n}\npublic function testA() {\n    $this->check(f());\n}\n", nil, "testA 0/1"},
		"shell":                   {"tests.sh", "try a 1 f\nexit 1\n", nil, " 1/0"},
	} {
		var got []string
		for _, found := range measure.CasesWith(c.file, c.text, c.beside) {
			got = append(got, fmt.Sprintf("%s %d/%d", found.Name, found.Assertions, found.Helped))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", name, strings.Join(got, ", "), c.want)
		}
	}
}
