package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/creack/pty"
)

// hostileScript says what it is given wherever a script can say anything that is shown.
const hostileScript = `
def main(text):
    """What TEXT does."""
    print(text)
    emit("note", said = {text: text})
    queue.push("q", {text: text}, key = text)
    memory.vars.set("m", text)
    said = agent("evil", text, input = {"t": text}, on_uncertain = "fail")
    d = gate("g", prompt = text, options = {"yes": text, "no": text}, data = {text: said.text})
    if d.choice == "no":
        fail(text + d.reason)
    return {"text" + text: text}
`

const hostileTest = `
def test_it():
    print("TEXT")
    assert.eq("TEXT", "other TEXT")
`

// hostile is a random text with what acts on terminals.
func hostile(random *rand.Rand) string {
	acts := []string{"\x1b]0;title\a", "\x1b[2J", "\x1b[5;41m", "\x1b[8m", "\x1b[9A", "\u009b31m", "\u009d0;x\u009c", "\r", "\x7f",
		"\b\b", "\u0085", "\u202e", "\u2066", "\u200f", "\u061c", "\u2028", "\U000e0041", "\x00"}
	var b strings.Builder
	for range 4 + random.IntN(8) {
		b.WriteString("é" + acts[random.IntN(len(acts))])
	}
	return b.String()
}

// onTerminal runs a command with a pseudo-terminal at all its ends and gives what was shown until
// it has ended, or has shown a word: then the terminal is taken away. The pager is another program,
// and only passes on what it is given.
func onTerminal(t *testing.T, dir, colours, until string, args ...string) string {
	t.Helper()
	cmd := exec.Command("starling", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm", "XDG_RUNTIME_DIR="+dir, "PAGER=cat", "CI=", colours)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 400})
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() // what it says is looked at, not how it ends
	defer tty.Close()
	var shown bytes.Buffer
	for until == "" || !strings.Contains(shown.String(), until) {
		_, err := io.CopyN(&shown, tty, 1)
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) { // which is how Linux ends one
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return shown.String()
}

// TestTerminalIsPlain shows what scripts, agents, people, files and names say, in every way there
// is, and wants nothing of it to act on a terminal: with the colours and the view of runs that are
// ours, and without them.
func TestTerminalIsPlain(t *testing.T) {
	for _, colours := range []string{"NO_COLOR=", "NO_COLOR=1"} {
		t.Run(colours, func(t *testing.T) { wantPlainTerminal(t, colours) })
	}
}

func wantPlainTerminal(t *testing.T, colours string) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	text := hostile(rand.New(rand.NewPCG(seed, 0)))
	dir := t.TempDir()
	const name = "says.star"
	writable := strings.NewReplacer("\r", "", "\x00", "", "\\", "").Replace(text) // in a script
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		name:              strings.ReplaceAll(hostileScript, "TEXT", writable),
		"agents.star":     fmt.Sprintf("def evil(req):\n    return %s\n", starlarkText(text)),
		"bad.star":        "def main():\n    return " + text + "\n",
		"x_test.star":     strings.ReplaceAll(hostileTest, "TEXT", writable),
		"t/starling.toml": "[agents.\"" + text + "\"]\ncommand = 3\n",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	input := []string{"-i", "text:=" + string(quoted), "--fake", "agents.star"}
	said := onTerminal(t, dir, colours, "", append([]string{"run", name}, input...)...)
	if !strings.Contains(said, "waits for a decision") {
		t.Fatalf("the run does not come to its gate: %q", said)
	}
	shown := 0
	for _, args := range [][]string{
		append([]string{"run", name, "--json"}, input...),
		{"show", "@last"}, {"show", "@last", "--json"}, {"ps"}, {"ps", "--json"}, {"inbox", "--no-tui"},
		{"inbox", "--json"},
		{"logs", "@last"}, {"logs", "@last", "--jsonl"}, {"steps", "@last", "--tree"}, {"graph", "@last"},
		{"queue", "show", "q"}, {"queue", "show", "q", "--json"}, {"replay", "@last", "--verify"},
		{"review"}, {"signal", "@last/g", "--choice", text}, {"query", text}, {"doc", name}, {"doc", text},
		{"reject", "@last/g", "-m", text}, {"show", "@last"}, {"logs", "@last"}, {"cost", "@last"},
		{"run", text + ".star"}, {text}, {"run", "--" + text}, {"check", "bad.star"},
		{"check", "bad.star", "--json"},
		{"run", "bad.star"}, {"test"}, {"test", "--json"}, {"-C", "t", "check"},
		{"-C", "t", "doctor"}, {"-C", text, "ps"},
		{"approve", "@last/" + text}, {"export", "@last", "-o", "-"},
		{"push", "q", "--key", text, string(quoted)},
		{"run", name, "-i", text + "=x"}, {"run", name, "-i", "text:=" + text}, {"diff", "@last", "@last"},
		{"artifacts", "@last", text}, {"remember", text, text}, {"--store", text, "ps"}, {"logs", text},
	} {
		for i, a := range args {
			args[i] = strings.ReplaceAll(a, "\x00", "")
		}
		until := ""
		if args[0] == "review" {
			until = "> "
		}
		said := onTerminal(t, dir, colours, until, args...)
		shown += strings.Count(said, "é")
		wantPlain(t, args, colours == "NO_COLOR=", said)
	}
	if shown < 100 {
		t.Errorf("the text was shown %d times only: it was not tried", shown)
	}
	onTerminal(t, dir, colours, "", "stop")
}

// ours are the escapes of the palette and of the view of runs, which hostile texts do not have.
func ours() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[(|0|1|2|3[1-6]|9[0-7])m")
}

// wantPlain looks for what acts on a terminal, but for the line breaks that the terminal itself
// makes, what the editor of lines does and, where there are colours, what is ours.
func wantPlain(t *testing.T, args []string, coloured bool, said string) {
	t.Helper()
	rest := strings.ReplaceAll(said, "\r\n", "\n")
	if args[0] == "review" {
		rest = escapes().ReplaceAllString(rest, "")
	}
	if coloured {
		rest = ours().ReplaceAllString(rest, "")
	}
	for at, r := range rest {
		if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
			t.Errorf("%q shows %q: %q", args, r, rest[max(0, at-40):min(len(rest), at+20)])
			return
		}
	}
}

// starlarkText is a text as a literal of the language.
func starlarkText(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\U%08x`, r)
	}
	return `"` + b.String() + `"`
}
