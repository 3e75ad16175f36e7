package mend_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"starling/cmd/starling/mend"
	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/lang/vm"
	"starling/stdlib"
)

// checker checks the script main.star of a folder as the verb does.
func checker(folder string) mend.Check {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	return func(texts mend.Texts) ([]mend.Said, error) {
		bundle, err := lang.Read("main.star", func(name string) ([]byte, error) {
			path := filepath.Join(folder, filepath.FromSlash(name))
			if text, ok := texts[path]; ok {
				return text, nil
			}
			return os.ReadFile(path)
		}, stdlib.Library)
		var list diagnostic.List
		if err != nil && !errors.As(err, &list) {
			return nil, err
		}
		if err == nil {
			list = lang.Check(bundle, env, check.Project{})
		}
		return []mend.Said{{Folder: folder, List: list}}, nil
	}
}

// place puts the files of an example into a folder: the first is main.star, and "### file NAME"
// begins another.
func place(t testing.TB, example string) string {
	t.Helper()
	folder, name := t.TempDir(), "main.star"
	files := map[string]string{}
	for line := range strings.Lines(example) {
		if other, ok := strings.CutPrefix(line, "### file "); ok {
			name = strings.TrimSpace(other)
			continue
		}
		files[name] += line
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// mended is what becomes of an example.
func mended(t testing.TB, example string) (text string, before, after diagnostic.List) {
	t.Helper()
	folder := place(t, example)
	check := checker(folder)
	was, err := check(nil)
	if err != nil {
		t.Fatal(err)
	}
	texts, is, err := mend.Scripts(check)
	if err != nil {
		t.Fatal(err)
	}
	if err := texts.Write(folder, t.Logf); err != nil {
		t.Fatal(err)
	}
	again, left, err := mend.Scripts(check)
	if err != nil || len(again) > 0 || len(left[0].List) != len(is[0].List) {
		t.Errorf("mended again, %d files change and %d findings are left of %d (%v)", len(again), len(left[0].List), len(is[0].List), err)
	}
	content, err := os.ReadFile(filepath.Join(folder, "main.star"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content), was[0].List, is[0].List
}

// What is certain, one by one: what is wrong, and what is written.
func TestWhatIsMended(t *testing.T) {
	for name, c := range map[string][2]string{
		"a name":               {"def main(n):\n    return agnet(\"a\", n).text\n", "def main(n):\n    return agent(\"a\", n).text\n"},
		"a keyword":            {"def main(n):\n    return agent(\"a\", n, tiemout = \"5m\").text\n", "def main(n):\n    return agent(\"a\", n, timeout = \"5m\").text\n"},
		"two signs":            {"def main(n):\n    return n and n&&n || n\n", "def main(n):\n    return n and n and n or n\n"},
		"another language's":   {"def main(n):\n    if n:\n        return null\n    else if !n:\n        return true\n    return n\n", "def main(n):\n    if n:\n        return None\n    elif not n:\n        return True\n    return n\n"},
		"a lambda":             {"def main():\n    return len(parallel([agent(\"a\"), agent(\"b\")]))\n", "def main():\n    return len(parallel([lambda: agent(\"a\"), lambda: agent(\"b\")]))\n"},
		"types of a contract":  {"C = contract('{a: list[int], b: Optional[string], c: Dict[str, int], d: bool = False}')\n\ndef main(n):\n    return C.parse(n)\n", "C = contract('{a: [int], b: string?, c: {string: int}, d: bool = false}')\n\ndef main(n):\n    return C.parse(n)\n"},
		"loads":                {"load(\"lib.star\", \"unused\", \"prase\", \"also\")  # kept\n\ndef main(n):\n    return prase(n)\n### file lib.star\ndef parse(n):\n    return n\n\ndef unused():\n    return 1\n\nalso = unused\n", "load(\"lib.star\", prase = \"parse\")  # kept\n\ndef main(n):\n    return prase(n)\n"},
		"a load":               {"load(\"@std/retry.star\", \"with_backoff\")\n\ndef main(n):\n    return n\n", "def main(n):\n    return n\n"},
		"a method":             {"def main():\n    xs = []\n    xs.push(1)\n    xs = xs.append(2)\n    return xs\n", "def main():\n    xs = []\n    xs.append(1)\n    xs.append(2)\n    return xs\n"},
		"a call, and none":     {"def main(n):\n    r = agent(\"a\", n)\n    return r.text() if r.text.strip == \"x\" else \"n: \" + len(r.text)\n", "def main(n):\n    r = agent(\"a\", n)\n    return r.text if r.text.strip() == \"x\" else \"n: \" + str(len(r.text))\n"},
		"an option":            {"def main():\n    d = gate(\"g\", options = [\"approve\", \"reject\"])\n    return d.choice == 'aprove'\n", "def main():\n    d = gate(\"g\", options = [\"approve\", \"reject\"])\n    return d.choice == 'approve'\n"},
		"a key":                {"def main():\n    d = {\"notes\": 1}\n    return d.notes + d[\"ntoes\"]\n", "def main():\n    d = {\"notes\": 1}\n    return d[\"notes\"] + d[\"notes\"]\n"},
		"a reply that is kept": {"def main(n):\n    r = agent(\"a\", n)\n    return n\n", "def main(n):\n    agent(\"a\", n)\n    return n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _, after := mended(t, c[0]); got != c[1] || len(after) > 0 {
				t.Errorf("got\n%s%swant\n%s", got, after.Render(), c[1])
			}
		})
	}
}

// What an edit would make worse stays: a lambda in a loop, and a comment.
func TestWhatIsLeft(t *testing.T) {
	for name, text := range map[string]string{
		"a lambda that would see the last value": "def main(names):\n    return len(parallel([agent(\"a\", input = {\"n\": n}) for n in names]))\n",
		"a typed reply":                          "def main(n):\n    r = agent(\"a\", n, output = contract(\"{a: int}\"))\n    return n\n",
		"a comment":                              "load(\n    \"@std/retry.star\",\n    # why\n    \"with_backoff\",\n)\n\ndef main(n):\n    return n\n",
		"a call without effect":                  "def main(n):\n    x = len(n)\n    return n\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got, before, _ := mended(t, text); got != text || len(before) == 0 {
				t.Errorf("%d findings; got\n%s", len(before), got)
			}
		})
	}
}

// Whatever check has to say of a script: mended it has fewer errors or shows what they hid, it
// compiles if it did, it keeps its comments, and is left alone from then on.
func TestEverythingThatIsWrong(t *testing.T) {
	var examples []string
	for _, r := range check.Rules() {
		examples = append(examples, r.Wrong)
	}
	paths, err := filepath.Glob("../../../testdata/check/*.star")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no cases (%v)", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for chunk := range strings.SplitSeq(string(text), "---\n") {
			var lines []string
			for line := range strings.Lines(chunk) {
				if !strings.HasPrefix(line, "#=") {
					lines = append(lines, line)
				}
			}
			examples = append(examples, strings.Join(lines, ""))
		}
	}
	better := 0
	for _, example := range examples {
		if strings.TrimSpace(example) == "" || strings.Contains(example, "\n### file main.star") {
			continue
		}
		got, before, after := mended(t, example)
		if got == example[:min(len(got), len(example))] {
			continue
		}
		better++
		first, _, _ := strings.Cut(example, "### file ")
		if strings.Count(got, "#") < strings.Count(first, "#") {
			t.Errorf("a comment is gone:\n%s\n%s", example, got)
		}
		if !broken(before) && broken(after) {
			t.Errorf("it does not compile any more:\n%s\n%s", example, got)
		}
	}
	const least = 40
	if better < least {
		t.Errorf("%d examples are mended, want at least %d", better, least)
	}
	t.Logf("%d of %d examples are mended", better, len(examples))
}

// broken tells whether a script does not compile.
func broken(list diagnostic.List) bool {
	return slices.ContainsFunc(list, func(d diagnostic.Diagnostic) bool {
		return slices.Contains([]string{"syntax", "name", "undefined", "limit"}, d.Kind)
	})
}
