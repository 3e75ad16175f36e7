package lsp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const review = `"""Reviews what is there."""

load("more/words.star", "shout", loud = "LOUD")
load("@std/retry.star", "with_backoff")

Verdict = contract('{verdict: "pass" | "fail", notes: [string]}')

def ask(target, depth = 1):
    """Ask the reviewer.

    Twice, where depth says so.
    """
    r = agent("reviewer", "look at " + target, output = Verdict, on_uncertain = "retry")
    return r

def main(target):
    r = ask(target, depth = 2)
    d = gate("ship", prompt = shout("ship?"), options = ["yes", "no"], timeout = "2d", fallback = "no")
    if d.choice == "yes":
        return r.output["notes"]
    return [loud, with_backoff]
`

const words = `LOUD = "!"

def shout(text):
    """Say it louder."""
    return text.upper() + LOUD

_hidden = 1
`

func project(t testing.TB) *client {
	return start(t, map[string]string{"starling.toml": "", "review.star": review, "more/words.star": words, "other.star": "load(\"more/words.star\", \"shout\")\nprint(shout(\"a\"))\n"})
}

func TestDiagnostics(t *testing.T) {
	c := project(t)
	if list := c.open("review.star"); len(list) != 0 {
		t.Fatalf("the script has no mistakes, and these are told: %v", list)
	}
	list := c.edit("review.star", "r.output[", "r.ouput[")
	if len(list) != 1 || list[0].Code != "unknown_attribute" || list[0].Severity != 1 || list[0].Range != (area{place{19, 17}, place{19, 22}}) {
		t.Fatalf("got %+v", list)
	}
	if list = c.edit("review.star", "def main(target):", "def main(target:"); len(list) != 1 || list[0].Code != "syntax" {
		t.Fatalf("got %+v", list)
	}
	if list = c.edit("review.star", "def main(target:", "def main(target):"); len(list) != 1 {
		t.Fatalf("got %+v", list)
	}
	if list = c.edit("review.star", "r.ouput[", "r.output["); len(list) != 0 {
		t.Fatalf("got %+v", list)
	}
}

// What a loaded file says as the editor has it counts, and who loads it is looked at again.
func TestDiagnosticsThroughLoad(t *testing.T) {
	c := project(t)
	c.open("review.star")
	c.open("more/words.star")
	c.edit("more/words.star", "def shout(", "def shot(")
	var list []diagnostic
	c.until(func(m message) bool {
		var p struct {
			URI         string
			Diagnostics []diagnostic
		}
		json.Unmarshal(m.Params, &p)
		list = p.Diagnostics
		return p.URI == c.uri("review.star")
	})
	if len(list) == 0 || list[0].Code != "unknown_export" || !strings.Contains(list[0].Message, "shot") {
		t.Fatalf("got %+v", list)
	}
}

// The file of a project is looked at as well.
func TestProjectFile(t *testing.T) {
	c := start(t, map[string]string{})
	list := c.open("starling.toml", "[agents.x]\nbackendd = \"anthropic\"\n")
	if len(list) != 2 || list[1].Code != "project" || !strings.Contains(list[1].Message, `did you mean "backend"?`) {
		t.Fatalf("got %+v", list)
	}
	p := c.cursor("starling.toml", "back")
	p["range"] = list[1].Range.asked()
	if text := string(c.ask("textDocument/codeAction", p)); !strings.Contains(text, `"title":"Write backend"`) {
		t.Errorf("got %s", text)
	}
	if text := string(c.ask("textDocument/foldingRange", p)); text != "null" {
		t.Errorf("got %s", text)
	}
	if list = c.edit("starling.toml", "backendd", "backend"); len(list) != 0 && strings.Contains(list[0].Message, "unknown") {
		t.Errorf("got %+v", list)
	}
}

func (a area) asked() map[string]any { return map[string]any{"start": a.Start, "end": a.End} }

// Positions are those of UTF-16, whatever the language counts.
func TestPositionsAreUTF16(t *testing.T) {
	c := start(t, map[string]string{})
	list := c.open("a.star", "x = \"😀é\" + nme\n")
	if len(list) != 1 || list[0].Range != (area{place{0, 12}, place{0, 15}}) {
		t.Fatalf("got %+v", list)
	}
	if list = c.edit("a.star", "😀é", "é😀😀"); len(list) != 1 || list[0].Range.Start != (place{0, 14}) {
		t.Fatalf("got %+v", list)
	}
	if list = c.edit("a.star", "nme", `"𝒳"`); len(list) != 0 {
		t.Fatalf("got %+v", list)
	}
}

func TestCompletion(t *testing.T) {
	c := project(t)
	c.open("review.star")
	for _, test := range []struct {
		old, new, behind string
		want             []string
	}{
		{"    if d.choice", "    r.\n    if d.choice", "    r.", []string{"output", "text", "ok"}},
		{"    if d.choice", "    if d.:\n        pass\n    if d.choice", "if d.", []string{"choice", "reason", "by"}},
		{"    return [loud", "    x = [len(target.\n    return [loud", "len(target.", nil},
		{"    return [loud", "    \"a\".up\n    return [loud", "\"a\".up", []string{"upper", "split"}},
		{"    return [loud", "    js\n    return [loud", "    js", []string{"json", "agent", "shout", "loud", "target", "ask", "return"}},
		{"    return [loud", "    ht = http.\n    return [loud", "http.", []string{"get", "post"}},
		{"d.choice == \"yes\"", "d.choice == \"", "d.choice == \"", []string{"yes", "no"}},
		{"output[\"notes\"]", "output[\"\"]", "output[\"", []string{"notes", "verdict"}},
		{"agent(\"reviewer\"", "agent(\"\"", "agent(\"", []string{"reviewer", "builder"}},
		{"on_uncertain = \"retry\"", "on_uncertain = \"\"", "on_uncertain = \"", []string{"retry", "ask", "fail"}},
		{"depth = 2)", "", "ask(target, ", []string{"depth ="}},
		{"fallback = \"no\")", ")", "timeout = \"2d\", ", []string{"fallback =", "quorum ="}},
		{"load(\"more/words.star\"", "load(\"\"", "load(\"", []string{"more/words.star", "other.star", "@std/retry.star"}},
		{"notes: [string]", "type Note = string notes: []", "notes: [", []string{"string", "number", "Note"}},
		{"\"shout\", loud", "\"\", loud", "words.star\", \"", []string{"shout", "LOUD"}},
	} {
		c.edit("review.star", test.old, test.new)
		got := c.completions("review.star", test.behind)
		wantAll(t, test.new, got, test.want...)
		if slices.Contains(got, "_hidden") {
			t.Errorf("%s: what is private to another file is offered", test.new)
		}
		c.edit("review.star", test.new, test.old)
	}
}

func TestHover(t *testing.T) {
	c := project(t)
	c.open("review.star")
	for behind, want := range map[string]string{
		"    return r.out": "Result.output",
		"    r = ag":       "agent(",
		"r = as":           "def ask(target, depth: int = 1)",
		"prompt = sho":     "Say it louder.",
		"    d":            "d: Decision",
		"if d.cho":         "Decision.choice",
	} {
		c.edit("review.star", "\n    r = ask", "\n    r = ask")
		text := string(c.ask("textDocument/hover", c.cursor("review.star", behind)))
		if !strings.Contains(text, want) {
			t.Errorf("behind %q: %s, want %s", behind, text, want)
		}
	}
}

// While a file is broken, what was known of it is still told.
func TestBrokenFileKeepsItsMeaning(t *testing.T) {
	c := project(t)
	c.open("review.star")
	c.edit("review.star", "    return [loud, with_backoff]", "    return [loud, with_backoff] + (")
	if text := string(c.ask("textDocument/hover", c.cursor("review.star", "prompt = sho"))); !strings.Contains(text, "Say it louder.") {
		t.Errorf("hover: %s", text)
	}
	wantAll(t, "completion", c.completions("review.star", "if d."), "choice")
	var symbols []any
	json.Unmarshal(c.ask("textDocument/documentSymbol", c.cursor("review.star", "if d.")), &symbols)
	if len(symbols) != 3 {
		t.Errorf("symbols: %v", symbols)
	}
}

func TestSignatureHelp(t *testing.T) {
	c := project(t)
	c.open("review.star")
	for behind, want := range map[string]string{
		"agent(\"reviewer\", ": `agent(`,
		"ask(target, ":         `"activeParameter":1`,
		"shout(":               `shout(text)`,
		"\"look at \" + target, output = Verdict, on_uncertain = ": `agent(`,
	} {
		if text := string(c.ask("textDocument/signatureHelp", c.cursor("review.star", behind))); !strings.Contains(text, want) {
			t.Errorf("behind %q: %s, want %s", behind, text, want)
		}
	}
}

func TestDefinitionAndReferences(t *testing.T) {
	c := project(t)
	c.open("review.star")
	var at struct {
		URI   string
		Range area
	}
	json.Unmarshal(c.ask("textDocument/definition", c.cursor("review.star", "prompt = sho")), &at)
	if at.URI != c.uri("more/words.star") || at.Range.Start != (place{2, 4}) {
		t.Errorf("shout is defined at %+v", at)
	}
	json.Unmarshal(c.ask("textDocument/definition", c.cursor("review.star", "load(\"more")), &at)
	if at.URI != c.uri("more/words.star") || at.Range.Start != (place{0, 0}) {
		t.Errorf("the file is at %+v", at)
	}
	json.Unmarshal(c.ask("textDocument/definition", c.cursor("review.star", "ask(target, dep")), &at)
	if at.URI != c.uri("review.star") || at.Range.Start != (place{7, 16}) {
		t.Errorf("depth is defined at %+v", at)
	}
	var uses []struct{ URI string }
	json.Unmarshal(c.ask("textDocument/references", c.cursor("review.star", "prompt = sho")), &uses)
	if len(uses) != 5 {
		t.Errorf("shout is used at %+v, want one place that defines it and two in each of two files", uses)
	}
}

// A rename is played on the files, which then mean the same as before.
func TestRenameThroughLoad(t *testing.T) {
	c := project(t)
	c.open("review.star")
	p := c.cursor("review.star", "prompt = sho")
	p["newName"] = "cry"
	got := c.rename(p)
	if want := strings.NewReplacer(`"shout"`, `"cry"`, "shout(", "cry(").Replace(review); got["review.star"] != want {
		t.Errorf("got %s", got["review.star"])
	}
	if !strings.Contains(got["more/words.star"], "def cry(text)") || !strings.Contains(got["other.star"], `"cry")`) || !strings.Contains(got["other.star"], "cry(\"a\")") {
		t.Errorf("got %q", got)
	}
	p = c.cursor("review.star", "def ask(target, dep")
	p["newName"] = "level"
	if got = c.rename(p); !strings.Contains(got["review.star"], "ask(target, level = 2)") || !strings.Contains(got["review.star"], "def ask(target, level = 1)") {
		t.Errorf("got %s", got["review.star"])
	}
	for behind, name := range map[string]string{"def mai": "begin", "def main(targ": "what", "r = ag": "x", "def as": "not a name", "    r": "target"} {
		p = c.cursor("review.star", behind)
		p["newName"] = name
		if m := c.request("textDocument/rename", p); m.Error == nil {
			t.Errorf("renaming behind %q to %q: %s, want a refusal", behind, name, m.Result)
		}
	}
}

// rename gives the texts of the files after a rename.
func (c *client) rename(p any) map[string]string {
	c.t.Helper()
	var edit struct {
		Changes map[string][]struct {
			Range   area
			NewText string
		}
	}
	json.Unmarshal(c.ask("textDocument/rename", p), &edit)
	out := map[string]string{}
	for uri, edits := range edit.Changes {
		name := strings.TrimPrefix(uri, c.uri("")+"/")
		text := map[string]string{"review.star": review, "more/words.star": words, "other.star": "load(\"more/words.star\", \"shout\")\nprint(shout(\"a\"))\n"}[name]
		lines := strings.Split(text, "\n")
		slices.SortFunc(edits, func(a, b struct {
			Range   area
			NewText string
		}) int {
			return (b.Range.Start.Line-a.Range.Start.Line)*1000 + b.Range.Start.Character - a.Range.Start.Character
		})
		for _, e := range edits {
			line := lines[e.Range.Start.Line]
			lines[e.Range.Start.Line] = line[:e.Range.Start.Character] + e.NewText + line[e.Range.End.Character:]
		}
		out[name] = strings.Join(lines, "\n")
	}
	return out
}

func TestFormattingAndActions(t *testing.T) {
	c := start(t, map[string]string{})
	c.open("a.star", "def main( n ):\n    return agnet(\"reviewer\", n, on_uncertain = \"retry\").text\n")
	if text := string(c.ask("textDocument/formatting", c.cursor("a.star", "def"))); text != `[{"range":{"start":{"line":0,"character":0},"end":{"line":1,"character":0}},"newText":"def main(n):\n"}]` {
		t.Errorf("got %s", text)
	}
	p := c.cursor("a.star", "return ")
	p["range"] = map[string]any{"start": place{1, 0}, "end": place{1, 20}}
	if text := string(c.ask("textDocument/codeAction", p)); !strings.Contains(text, `"title":"Write agent"`) {
		t.Errorf("got %s", text)
	}
	c.edit("a.star", "agnet(", "agent(")
	c.edit("a.star", "    return", "    x = 1\n    return")
	p["range"] = map[string]any{"start": place{1, 0}, "end": place{1, 0}}
	if text := string(c.ask("textDocument/codeAction", p)); !strings.Contains(text, `# check: ignore unused_local because `) {
		t.Errorf("got %s", text)
	}
}

func TestHintsLensesTokensAndFolds(t *testing.T) {
	c := project(t)
	c.open("review.star")
	p := c.cursor("review.star", "main")
	p["range"] = map[string]any{"start": place{0, 0}, "end": place{100, 0}}
	if text := string(c.ask("textDocument/inlayHint", p)); !strings.Contains(text, `": Decision"`) {
		t.Errorf("hints: %s", text)
	}
	if text := string(c.ask("textDocument/codeLens", p)); !strings.Contains(text, `"command":"starling.run"`) {
		t.Errorf("lenses: %s", text)
	}
	var tokens struct{ Data []int }
	json.Unmarshal(c.ask("textDocument/semanticTokens/full", p), &tokens)
	if len(tokens.Data)%5 != 0 || len(tokens.Data) < 100 || slices.Min(tokens.Data) < 0 {
		t.Errorf("tokens: %v", tokens.Data)
	}
	if text := string(c.ask("textDocument/foldingRange", p)); !strings.Contains(text, `{"startLine":7,"endLine":13}`) {
		t.Errorf("folds: %s", text)
	}
}

// What cannot be understood is an error of that request alone.
func TestRequestsThatFail(t *testing.T) {
	c := project(t)
	c.open("review.star")
	for method, params := range map[string]any{
		"textDocument/nothing": map[string]any{},
		"textDocument/hover":   map[string]any{"textDocument": map[string]any{"uri": "file:///nowhere.star"}},
		"textDocument/rename":  []int{1},
	} {
		if m := c.request(method, params); m.Error == nil {
			t.Errorf("%s: %s, want an error", method, m.Result)
		}
	}
	far := c.cursor("review.star", "main")
	far["position"] = place{1 << 30, -5}
	for _, method := range []string{"hover", "completion", "definition", "references", "signatureHelp"} {
		c.ask("textDocument/"+method, far)
	}
}

// A link does not lead out of the project: what is there is as if it were not, as for the command
// line.
func TestLinksStayInTheProject(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.star")
	if err := os.WriteFile(outside, []byte("WORD = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, map[string]string{"within.star": "WORD = 1\n"})
	if err := os.Symlink(outside, filepath.Join(c.dir, "out.star")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("within.star", filepath.Join(c.dir, "in.star")); err != nil {
		t.Fatal(err)
	}
	if list := c.open("a.star", "load(\"in.star\", \"WORD\")\n\nprint(WORD)\n"); len(list) != 0 {
		t.Errorf("a link within the project: got %v", list)
	}
	if list := c.open("b.star", "load(\"out.star\", \"WORD\")\n\nprint(WORD)\n"); len(list) != 1 || list[0].Code != "missing_module" {
		t.Errorf("a link out of the project: got %v", list)
	}
	if text := string(c.ask("textDocument/definition", c.cursor("b.star", "print(WO"))); strings.Contains(text, "secret") {
		t.Errorf("the definition is %s", text)
	}
}
