package inbox

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"starling/runtime"
)

// harmless holds the screen to its size, and to text and styles.
func harmless(t *testing.T, v *view) {
	t.Helper()
	rows, cursor := v.draw()
	if len(rows) > max(v.height, 2) {
		t.Errorf("%dx%d: there are %d rows", v.width, v.height, len(rows))
	}
	for _, row := range rows {
		text := unstyled(regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(row, ""))
		if n := columns(text); n > v.width {
			t.Errorf("%dx%d: a row has %d columns: %q", v.width, v.height, n, row)
		}
		if len(text) > 40*v.width {
			t.Errorf("%dx%d: a row has %d bytes", v.width, v.height, len(text))
		}
		for _, r := range text {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%dx%d: %q is in %q", v.width, v.height, r, text)
			}
		}
	}
	if cursor != nil && (cursor.X < 0 || cursor.X >= max(v.width, 3) || cursor.Y < 0 || cursor.Y >= len(rows)) {
		t.Errorf("%dx%d: the cursor is at %d, %d", v.width, v.height, cursor.X, cursor.Y)
	}
}

// Whatever somebody says, and however small the screen is, what is drawn fits it and does nothing
// to it: in the list, in the form, while it is searched, and in the help.
func FuzzDraw(f *testing.F) {
	f.Add("Ship 日本語?", `{"text": "# Title\n- a **b** `+"`c`"+`", "password": "x", "n": [1, {"token": 2}]}`, "日本", 20, 8)
	f.Add("\x1b[2J\x1b]0;x\x07\u202e", `"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+\u001b[31my\u0085\u2066"`, "\x1b", 1, 1)
	f.Add(strings.Repeat("e\u0301\u0301\u0301\u0301\u0301\u0301\u0301", 100), `"`+strings.Repeat("\u0301", 5000)+`"`, "\t\t", 120, 40)
	f.Add("0", `{"a": "\b0\u202e", "b\u001b": "x"}`, "0", 27, 42)
	f.Add("👩‍👩‍👧🇯🇵", `not json`, "x", 3, 30)
	f.Fuzz(func(t *testing.T, prompt, data, typed string, width, height int) {
		g := runtime.Gate{Address: "RUN/" + prompt, Gate: prompt, Prompt: prompt, Target: typed, Data: json.RawMessage(data), OpenedAt: begins(), Editable: true,
			Options: []runtime.Option{{Name: "approve"}, {Name: typed, Description: prompt}}}
		p := playing(t, g)
		p.v.width, p.v.height = 1+abs(width)%250, 1+abs(height)%80
		harmless(t, p.v)
		for _, do := range []func(){
			func() { p.press("pgdown") },
			func() { p.press("enter", "tab") },
			func() { p.send(tea.PasteMsg{Content: typed}) },
			func() { p.press("tab", "tab", "ctrl+s", "tab") },
			func() { p.send(tea.PasteMsg{Content: typed + "\n" + prompt}) },
			func() { p.press("esc", "/") },
			func() { p.send(tea.PasteMsg{Content: typed}) },
			func() { p.press("esc", "?") },
			func() { p.press("esc", "a") },
		} {
			do()
			harmless(t, p.v)
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

// What a gate is about is laid out as what it is.
func TestRender(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"nothing", `null`, ""},
		{"text", `"one\ntwo"`, "one\ntwo"},
		{"Markdown", `"## Head\n\n- a **b** and ` + "`c`" + `\n> said\n[x](https://example.org)"`,
			"[1mHead[m\n\n• a [1mb[m and [36mc[m\n[2m│ said[m\n[x](https://example.org)"},
		{"code", `"` + "```" + `\n# not a head\n` + "```" + `"`, "[36m```[m\n[36m# not a head[m\n[36m```[m"},
		{"a diff", `"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z"`, "[1m--- a[m\n[1m+++ b[m\n[36m@@ -1 +1 @@[m\n[31m-x[m\n[32m+y[m\n z"},
		{"a record", `{"n": 3, "why": "it is\nso", "list": [1], "none": null, "ok": true}`,
			"[34mn:[m 3\n[34mwhy:[m\n  it is\n  so\n[34mlist:[m\n  [\n    1\n  ]\n[34mnone:[m null\n[34mok:[m true"},
		{"secrets", `{"token": "x", "in": {"api_key": "y", "max_tokens": 3}}`,
			"[34mtoken:[m[2m •••[m\n[34min:[m\n  {\n    [34m\"api_key\"[m: •••\n    [34m\"max_tokens\"[m: 3\n  }"},
		{"what is known", `{"entry_id": "e1", "knowledge_file": "tls.md", "text": "TLS is on.", "proposal": "TLS is off.", "question": "?"}`,
			"  tls.md says\n    TLS is on.\n  proposed\n    TLS is off."},
		{"folded", `"a list of words that is too long for a row of the pane\n  - and so is this one, which is indented"`,
			"a list of words that is too long for a\nrow of the pane\n  • and so is this one, which is\n  indented"},
		{"without blanks", `"` + strings.Repeat("日本", 15) + `"`, strings.Repeat("日本", 10) + "\n" + strings.Repeat("日本", 5)},
	} {
		got := strings.ReplaceAll(strings.Join(render(json.RawMessage(test.data), 40), "\n"), "\x1b", "")
		if got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// A value of a megabyte is cut, with a word of how much there is.
func TestRenderIsBounded(t *testing.T) {
	for name, data := range map[string]string{
		"a line": `"` + strings.Repeat("x", 1<<20) + `"`,
		"lines":  `"` + strings.Repeat(`x\n`, 1<<19) + `"`,
		"a list": "[" + strings.Repeat("1,", 1<<19) + "1]",
	} {
		rows := render(json.RawMessage(data), 80)
		if last := unstyled(rows[len(rows)-1]); len(rows) > mostLines+2 || !strings.Contains(last, "there is more: ") {
			t.Errorf("%s: %d rows, the last is %q", name, len(rows), last)
		}
	}
}

// BenchmarkDraw is two keys and the screen that follows it while ten thousand gates are listed, in
// units of the same with ten.
func BenchmarkDraw(b *testing.B) {
	times := map[int]time.Duration{}
	views := map[int]*play{}
	for _, n := range []int{10, 10_000} {
		gates := make([]runtime.Gate, n)
		for i := range gates {
			gates[i] = gateNamed("g", "approve", "reject")
			gates[i].Data = json.RawMessage(`{"text": "` + strings.Repeat("a line\\n", 50) + `"}`)
		}
		views[n] = playing(b, gates...)
	}
	for b.Loop() {
		for n, p := range views {
			start := time.Now()
			for _, key := range "jk" {
				_, _ = p.v.Update(tea.KeyPressMsg{Code: key, Text: string(key)})
				_ = p.v.View()
			}
			times[n] += time.Since(start)
		}
	}
	b.ReportMetric(float64(times[10_000])/float64(times[10]), "x-ten")
}
