package agent

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

func TestLastObject(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"a": 1}`, `{"a": 1}`},
		{`{"a": 1}{"b": 2}`, `{"b": 2}`},
		{`{"a": {"b": 2}}`, `{"a": {"b": 2}}`},
		{`{"a": "}{"} tail }`, `{"a": "}{"}`},
		{`{"a": 1} {"b": `, `{"a": 1}`},
		{`{"a": {"b": 2}`, `{"b": 2}`},
		{`say "{" then {"a": 1}`, `{"a": 1}`},
		{`{x} {y} {z} {a} {b} {c} {d} {"a": 1}`, `{"a": 1}`},
		{"{\n  \"a\": [1,\n  2]\n}\n", `{"a": [1, 2]}`},
		{`{"a": 1, "a": 2} {}`, `{}`},
		{`{'a': 1}`, ``},
		{`[1, {"a": 1}]`, `{"a": 1}`},
		{``, ``},
	} {
		got := ""
		if d, ok := lastObject(c.text); ok {
			got = d.String()
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestYAMLThatIsSetApart(t *testing.T) {
	const want = `{"id": "J-001", "code": "const email = user?.email;\n"}`
	body := "id: J-001\ncode: |\n  const email = user?.email;\n"
	for name, c := range map[string]struct{ text, want string }{
		"a fence":                  {"Here it is:\n```yaml\n" + body + "```\nDone.", want},
		"the last fence that fits": {"```yml\n" + body + "```\n```yaml\nid: 3\n```", want},
		"a heading":                {"I looked at it.\n\n## HONE_AGENT_RESPONSE\n" + body, want},
		"a heading in a fence":     {"```yaml\n## HONE_AGENT_RESPONSE\n" + body + "```", want},
		"between headings":         {"# FIRST\n" + body + "# SECOND\nnothing: here\n", want},
		"JSON goes before":         {"```yaml\n" + body + "```\n" + `{"id": "J-002", "code": ""}`, `{"id": "J-002", "code": ""}`},
		"not set apart":            {body, fmt.Sprintf("%q", body)},
		"no YAML":                  {"## SUMMARY\n- [x: }\n", `"## SUMMARY\n- [x: }\n"`},
		"keys that are no text":    {"```yaml\n1: 2\n```", "\"```yaml\\n1: 2\\n```\""},
		"what breaks the contract": {"```yaml\nid: 3\n```", `{"id": 3}`},
	} {
		if got := valueIn(c.text, "{id: string, code: string}"); got.String() != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// Trying at every bracket would read these texts thousands of times over, which the time limit of
// the tests would not survive.
func TestHostileTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	for name, text := range map[string]string{
		"open objects":  strings.Repeat("{", 1<<17),
		"open arrays":   strings.Repeat("[", 1<<17),
		"deep objects":  strings.Repeat(`{"a":`, 1<<15),
		"open strings":  strings.Repeat(`{"a`, 1<<16),
		"mixed":         strings.Repeat(`[{"a":[`, 1<<14),
		"fences":        strings.Repeat("```yaml\n[[[[\n```\n", 1<<14),
		"headings":      strings.Repeat("# A1\n", 1<<15),
		"nested lists":  "# A1\n" + strings.Repeat("- ", 1<<16),
		"many that end": strings.Repeat(`{"a":[]}`, 1<<14),
	} {
		_, ok := lastObject(text)
		if want := name == "many that end"; ok != want {
			t.Errorf("%s: got %v", name, ok)
		}
		if v := valueIn(text, "{b: int}"); v == nil {
			t.Errorf("%s: no value at all", name)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{`{"output": 1}`, `x {"text": "y", "events": [{"kind": "k"}]} z`, "```json\n[1]\n```", `{"status": 3, "output": {}}`, "\xff{"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, wrong := parseAnswer(text)
		if len(wrong) == 0 && !utf8.ValidString(a.text) {
			t.Errorf("%q: the text is not UTF-8", text)
		}
		if v := valueIn(a.text, "{n: int} | [string]"); v == nil {
			t.Errorf("%q: no value", text)
		} else if s, ok := v.(starlark.String); ok && string(s) != a.text && !strings.Contains(a.text, `"`) {
			t.Errorf("%q: got another text, %s", text, s)
		}
	})
}
