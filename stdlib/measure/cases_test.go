package measure_test

import (
	"fmt"
	"strings"
	"testing"

	"starling/stdlib/measure"
)

// What cannot fail a test is no assertion of it, and what can is one, however it is laid out.
func TestCasesThatCannotFail(t *testing.T) {
	body := map[string]string{
		"a_test.go":  "func TestA(t *testing.T) {\n\tgot := f()\n%s}\n\nfunc TestB(t *testing.T) {\n\tt.Error()\n}\n",
		"test_a.py":  "class T(Case):\n    @mark.slow\n    def TestA(self):\n        got = f()\n%s\n    def test_b(self):\n        assert f()\n",
		"a.test.ts":  "describe('g', () => {\n  it('TestA', async () => {\n    const got = f();\n%s  });\n  it('b', () => {\n    expect(f()).toBe(1);\n  });\n});\n",
		"src/lib.rs": "fn f() -> i32 {\n    panic!(\"no\")\n}\n\n#[cfg(test)]\nmod tests {\n    #[tokio::test(flavor = \"x\")]\n    async fn TestA() {\n        let got = f();\n%s    }\n\n    #[test]\n    fn b() {\n        assert!(f() > 0);\n    }\n}\n",
	}
	for _, c := range []struct {
		file, lines string
		want        int
	}{
		{"a_test.go", "\tif false {\n\t\tt.Error(got)\n\t}\n", 0},
		{"a_test.go", "\tif 1 > 2 && got != 1 {\n\t\tt.Error(got)\n\t} else {\n\t\tt.Log()\n\t}\n", 0},
		{"a_test.go", "\tif false {\n\t\tt.Error(got)\n\t} else if got != 1 {\n\t\tt.Error(got)\n\t}\n", 1},
		{"a_test.go", "\tif got != 1 || false {\n\t\tt.Error(got)\n\t}\n", 1},
		{"a_test.go", "\tif g(got, x && false && y) {\n\t\tt.Error(got)\n\t}\n", 1},
		{"a_test.go", "\tt.Skip(\"later\")\n\tt.Error(got)\n", 0},
		{"a_test.go", "\tif testing.Short() {\n\t\tt.Skip(\"later\")\n\t}\n\tt.Error(got)\n", 1},
		{"a_test.go", "\treturn\n\tt.Error(got)\n", 0},
		{"a_test.go", "\t/* if got != 1 {\n\t\tt.Error(got)\n\t} */\n", 0},
		{"a_test.go", "\ttext := `\nfunc x() {\n}\n`\n\tif got != text {\n\t\tt.Error(got)\n\t}\n", 1},
		{"a_test.go", "\tfor false {\n\t\tt.Error(got)\n\t}\n", 0},
		{"test_a.py", "        if False:\n            assert got == 1\n", 0},
		{"test_a.py", "        if (0): self.assertEqual(got, 1)\n", 0},
		{"test_a.py", "        if not True:\n            assert got == 1\n        else:\n            assert got == 2\n", 1},
		{"test_a.py", "        if False or got:\n            assert got == 1\n", 1},
		{"test_a.py", "        if (False) or got:\n            assert got == 1\n", 1},
		{"test_a.py", "        while 1 == 2:\n            assert got == 1\n", 0},
		{"test_a.py", "        pytest.skip('later')\n        assert got == 1\n", 0},
		{"test_a.py", "        raise unittest.SkipTest\n        assert got == 1\n", 0},
		{"test_a.py", "        if not db:\n            return\n        assert got == 1\n", 1},
		{"test_a.py", "        return\n        assert got == 1\n", 0},
		{"test_a.py", "        \"\"\"\n        assert got == 1\n\"\"\"\n", 0},
		{"test_a.py", "        text = \"\"\"\nat the margin\n\"\"\".strip()\n        assert got == text\n", 1},
		{"test_a.py", "        assert True or got\n        assert got or 1\n        assert (True)\n", 0},
		{"test_a.py", "        assert got, \"# not a comment\"\n", 1},
		{"a.test.ts", "    if (false) {\n      expect(got).toBe(1);\n    }\n", 0},
		{"a.test.ts", "    if (false)\n    {\n    expect(got).toBe(1);\n    }\n", 0},
		{"a.test.ts", "    if (0) expect(got).toBe(1);\n", 0},
		{"a.test.ts", "    if (got && false) { expect(got).toBe(1); }\n", 0},
		{"a.test.ts", "    if (!got) { return; }\n    expect(got).toBe(1);\n", 1},
		{"a.test.ts", "    return;\n    expect(got).toBe(1);\n", 0},
		{"a.test.ts", "    return expect(got).resolves.toBe(1);\n", 1},
		{"a.test.ts", "    expect(true);\n    expect(true).toBe(true);\n    expect(1).toEqual(1);\n", 0},
		{"a.test.ts", "    expect(1).toBe(got);\n    expect('a b').not.toBe(`${got}`.trim());\n", 2},
		{"a.test.ts", "    got.replace(/[`'\"]/g, '');\n    expect(got).toMatch(/`/);\n", 1},
		{"a.test.ts", "    return /x(`/.test(got) ? expect(got).toBe(1) : null;\n", 1},
		{"a.test.ts", "    const url = 'http://x';\n    expect(got).toBe(`\n${url}\n`);\n", 1},
		{"src/lib.rs", "        if false {\n            assert_eq!(got, 1);\n        }\n", 0},
		{"src/lib.rs", "        return;\n        assert_eq!(got, 1);\n", 0},
		{"src/lib.rs", "        assert_eq!(got, 1);\n        return Ok(());\n", 1},
		{"src/lib.rs", "        let c: &'static str = r#\"\n\"}\n\"#;\n        assert_eq!('\"', c);\n        // assert!(c)\n", 1},
	} {
		cases := measure.Cases(c.file, strings.Replace(fmt.Sprintf(body[c.file], c.lines), "def TestA", "def test_a", 1))
		if len(cases) != 2 || cases[0].Assertions != c.want || cases[1].Assertions != 1 {
			t.Errorf("%s\n%s\ngot %+v, want %d and 1", c.file, c.lines, cases, c.want)
		}
	}
}

// A test among the code that it tests is what its function holds, not how that is laid out.
func TestCasesInSources(t *testing.T) {
	digest := func(attribute, assertion string) string {
		cases := measure.Cases("src/lib.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    "+attribute+"\n    fn works() {\n        "+assertion+"\n    }\n}\n")
		if len(cases) != 1 || cases[0].Name != "works" || cases[0].Assertions == 0 {
			t.Fatalf("got %+v", cases)
		}
		return cases[0].Digest
	}
	was := digest("#[test]", `assert_eq!(f("a b"), 3, "it was {}", 1);`)
	for attribute, assertion := range map[string]string{
		"#[test]":                  "assert_eq!(\n            f(\"a b\"),\n            3,\n        );",
		"#[test] // why\n":         `assert_eq!(f("a b"), 3, "another, (message)");`,
		"/* f */\n\n    #[test]\n": `assert_eq!(f("a b"), 3);`,
	} {
		if digest(attribute, assertion) != was {
			t.Errorf("%s %s: it is another test", attribute, assertion)
		}
	}
	for _, assertion := range []string{`assert_eq!(f("ab"), 3);`, `assert_eq!(f("a b"), 4);`, `assert_ne!(f("a b"), 3);`, `assert_eq!(f::<A, B>("a b"), "3");`} {
		if digest("#[test]", assertion) == was {
			t.Errorf("%s: it is the same test", assertion)
		}
	}
	if digest("#[test]\n    #[should_panic]", "f();") == digest("#[test]\n    #[should_panic(expected = \"x\")]", "f();") {
		t.Error("what a test must panic with is part of it")
	}
}
