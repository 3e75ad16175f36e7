package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// screen is the program in a terminal of its own: what is typed goes in, what is shown comes out.
type screen struct {
	t   testing.TB
	cmd *exec.Cmd
	tty *os.File

	mu    sync.Mutex
	shown bytes.Buffer // since the last expectation that was met
	all   bytes.Buffer
	term  vt10x.Terminal // what a terminal would show
	news  chan struct{}
	ended bool
	quiet chan struct{} // closed when all that was written has been read
}

// openScreen starts the program in a pseudo-terminal, in a folder, and kills it when the test ends.
func openScreen(t testing.TB, dir string, args ...string) *screen {
	t.Helper()
	return openScreenOf(t, dir, pty.Winsize{Rows: 40, Cols: 120}, nil, args...)
}

// openScreenOf does so with a terminal of a size, and with variables.
func openScreenOf(t testing.TB, dir string, size pty.Winsize, env []string, args ...string) *screen {
	t.Helper()
	cmd := exec.Command("starling", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "TERM=xterm"), env...)
	tty, err := pty.StartWithSize(cmd, &size)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, cmd: cmd, tty: tty, news: make(chan struct{}, 1), quiet: make(chan struct{}), term: emulate(size)}
	go s.read()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		tty.Close()
	})
	return s
}

// resize gives the terminal another size.
func (s *screen) resize(rows, cols uint16) {
	s.t.Helper()
	s.mu.Lock()
	s.term.Resize(int(cols), int(rows))
	s.mu.Unlock()
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) read() {
	defer close(s.quiet)
	buf := make([]byte, 4096)
	for {
		n, err := s.tty.Read(buf)
		s.mu.Lock()
		s.shown.Write(buf[:n])
		s.all.Write(buf[:n])
		s.term.Write(buf[:n])
		s.ended = err != nil
		s.mu.Unlock()
		select {
		case s.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// escapes are what a line editor writes to move about.
func escapes() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\r") }

// expect waits until the pattern was shown and returns what its group matched. What was shown up to
// there is not looked at again.
func (s *screen) expect(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	late := time.After(patience)
	for {
		s.mu.Lock()
		text := escapes().ReplaceAllString(s.shown.String(), "")
		found := re.FindStringSubmatchIndex(text)
		ended := s.ended
		if found != nil {
			s.shown.Reset()
			s.shown.WriteString(text[found[1]:])
		}
		s.mu.Unlock()
		if found != nil {
			return text[found[len(found)-2]:found[len(found)-1]]
		}
		if ended {
			s.t.Fatalf("the program has ended without showing %q:\n%s", pattern, text)
		}
		select {
		case <-s.news:
		case <-late:
			s.t.Fatalf("waited for %q in vain:\n%s", pattern, text)
		}
	}
}

// enter waits for the prompt and types lines, those after the first at the prompt of a block.
func (s *screen) enter(prompt string, lines ...string) {
	s.t.Helper()
	for _, line := range lines {
		s.expect(regexp.QuoteMeta(prompt) + "$")
		if _, err := s.tty.WriteString(line + "\r"); err != nil {
			s.t.Fatal(err)
		}
		prompt = "... "
	}
}

// end waits for the program and for what it has shown, which may be read later than it ends, and
// gives its exit code.
func (s *screen) end() int {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		s.cmd.Wait()
		<-s.quiet
		close(done)
	}()
	select {
	case <-done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.t.Fatal("the program does not end")
		return -1
	}
}

// sitDown makes a folder for a session, with an agent.
func sitDown(t *testing.T) string {
	sockets, err := os.MkdirTemp("", "starling")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	t.Setenv("XDG_RUNTIME_DIR", sockets)
	dir := t.TempDir()
	agents := "def judge(req):\n    return {\"looked\": req.task}\n"
	if err := os.WriteFile(filepath.Join(dir, "agents.star"), []byte(agents), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReplSurvives is the session that issue and manual promise: it lives on after SIGKILL, with
// its variables, functions and agents' answers.
func TestReplSurvives(t *testing.T) {
	dir := sitDown(t)
	s := openScreen(t, dir, "repl", "--fake", "agents.star")
	id := s.expect(`session ([a-z0-9]+);`)
	s.enter(">>> ", "x = 6 * 7")
	s.enter(">>> ", "def f(n):", "  return n + x", "")
	s.enter(">>> ", "f(1)")
	s.expect(`\n43\n`)
	s.enter(">>> ", `r = agent("judge", "the code")`)
	s.enter(">>> ", `r.output["looked"]`)
	s.expect(`\n"the code"\n`)
	s.enter(">>> ", `d = gate("ship", prompt = "Ship it?", options = ["yes", "no"], target = "lead")`)
	s.expect(`ship for lead: Ship it\?`)
	s.enter("yes/no> ", "maybe")
	s.expect(`maybe`)
	s.enter("yes/no> ", "yes it is good")
	s.enter(">>> ", "[d.choice, d.reason, d.by]")
	s.expect(`\n\["yes", "it is good", "lead"\]\n`)
	s.expect(">>> $")
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.end()

	s = openScreen(t, dir, "repl", "--resume", id)
	s.enter(">>> ", `[f(2), r.output["looked"], d.choice, x]`)
	s.expect(`\n\[44, "the code", "yes", 42\]\n`)
	s.enter(">>> ", "1 // 0")
	s.expect(`division by zero`)
	s.enter(">>> ", "x = = 2")
	s.expect(`<2?[0-9]*.*:1:5: .*\n  \| x = = 2\n  \|     \^`)
	s.enter(">>> ", "x")
	s.expect(`\n42\n`)
	s.enter(">>> ", ":history")
	s.expect(`x = 6 \* 7\n(?s:.*)x\n`)
	s.expect(">>> $")
	s.tty.WriteString("x = (")
	s.expect(`x = \($`)       // the editor has the keyboard: before, Ctrl-C would be a signal
	s.tty.WriteString("\x03") // drops the line
	s.expect(">>> $")
	s.tty.WriteString(":id\r")
	s.expect(`\n` + id + `\n`)
	s.expect(">>> $")
	s.tty.WriteString("\x04") // Ctrl-D leaves
	s.expect(`to go on: starling repl --resume ` + id)
	if code := s.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	assertAskedOnce(t, dir, id)
}

// assertAskedOnce: coming back asks no agent again.
func assertAskedOnce(t *testing.T, dir, id string) {
	t.Helper()
	cmd := exec.Command("starling", "show", id, "--json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := lookUp(string(out), "steps.0.attempts"); err != nil || compact(n) != "1" {
		t.Errorf("attempts: %v, %v in %s", n, err, out)
	}
}

// TestReplPaste: what is pasted waits for Enter as one cell, whatever blank lines, comments and
// tabs it has.
func TestReplPaste(t *testing.T) {
	dir := sitDown(t)
	s := openScreen(t, dir, "repl")
	id := s.expect(`session ([a-z0-9]+);`)
	s.expect(">>> $")
	s.tty.WriteString("\x1b[200~def f(n):\r\t# twice\r\r\tm = 2 * n\r\r\treturn m\r\r\ra = f(1)\rf(21)\r\x1b[201~")
	s.expect(`f\(21\)$`)
	s.tty.WriteString("\r")
	s.expect(`\n42\n`)
	s.enter(">>> ", "def g(n):", "  # a comment ends no block", "  return n + a", "")
	s.enter(">>> ", "g(1)")
	s.expect(`\n3\n`)
	s.expect(">>> $")
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.end()
	s = openScreen(t, dir, "repl", "--resume", id)
	s.enter(">>> ", "f(a) + g(a)")
	s.expect(`\n8\n`)
}

// TestReplLeftAtGate: a gate that nobody answers here stays open while the prompt is back. What
// looks works there, statements have to wait, also after SIGKILL; the statement ends as soon as the
// gate is answered, here or from elsewhere.
func TestReplLeftAtGate(t *testing.T) {
	dir := sitDown(t)
	s := openScreen(t, dir, "repl")
	id := s.expect(`session ([a-z0-9]+);`)
	s.enter("1 >>> ", `d = [gate(name, options = ["yes", "no"]).choice for name in ["ship", "tell"]]`)
	s.enter("yes/no> ", "")
	s.expect(`statement 1 waits; :answer puts ship to you, and it is in the inbox as ` + id + `/ship\n`)
	s.enter("1 waits >>> ", "1 + 1")
	s.expect(`statement 1 waits for ship\n  = help: :answer`)
	s.enter("1 waits >>> ", ":type len")
	s.expect(`builtin_function_or_method`)
	s.expect("1 waits >>> $")
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.end()

	s = openScreen(t, dir, "repl", "--resume", id)
	s.enter("yes/no> ", "")
	s.expect("1 waits >>> $")
	signalTo(t, dir, id+"/ship", "no")
	s.tty.WriteString("\r") // what was answered elsewhere is seen, and the next gate with it
	s.expect(`ship: no by`)
	s.enter("yes/no> ", "")
	s.enter("1 waits >>> ", ":answer")
	s.enter("yes/no> ", "yes")
	s.enter("2 >>> ", "d")
	s.expect(`\n\["no", "yes"\]\n`)
	s.enter("3 >>> ", `gate("never")`)
	s.enter("answer> ", "")
	s.enter("3 waits >>> ", ":interrupt")
	s.expect(`interrupted`)
	s.enter("4 >>> ", `gate("last", options = ["yes", "no"])`)
	s.enter("yes/no> ", "")
	s.expect("4 waits >>> $")
	s.tty.WriteString("\x04")
	s.expect(`starling signal ` + id + `/last --choice yes`)
	if code := s.end(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	signalTo(t, dir, id+"/last", "no")
	s = openScreen(t, dir, "repl", "--resume", id)
	s.enter("5 >>> ", "_.choice")
	s.expect(`\n"no"\n`)
}

// signalTo answers a gate from another process.
func signalTo(t *testing.T, dir, gate, choice string) {
	t.Helper()
	cmd := exec.Command("starling", "signal", gate, "--choice", choice)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestReplKilledInStatement: a statement that SIGKILL cuts at its gate goes on at that gate.
func TestReplKilledInStatement(t *testing.T) {
	dir := sitDown(t)
	s := openScreen(t, dir, "repl")
	id := s.expect(`session ([a-z0-9]+);`)
	s.enter(">>> ", `n = [gate("g", prompt = "number %d" % i).payload for i in range(2)]`)
	s.expect(`g: number 0`)
	s.enter("answer> ", "10")
	s.expect(`g#2: number 1`)
	s.expect("answer> $")
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.end()

	s = openScreen(t, dir, "repl", "--resume", id)
	s.expect(`g#2: number 1`)
	s.enter("answer> ", "twenty")
	s.enter(">>> ", "n")
	s.expect(`\n\[10, "twenty"\]\n`)
}

// TestReplForm: a form is filled in at prompts, and Ctrl-D in the middle of it leaves the gate
// open; the session goes on there, and with what somebody else has answered meanwhile.
func TestReplForm(t *testing.T) {
	dir := sitDown(t)
	s := openScreen(t, dir, "repl")
	id := s.expect(`session ([a-z0-9]+);`)
	s.enter(">>> ", `d = gate("g", options = {"yes": "do it"}, schema = contract("{n: int, to: {who: string}}"))`)
	s.expect(`1\) yes: do it`)
	s.enter("yes> ", "1 at once")
	s.enter("n> ", "x")
	s.expect(`n: got "x", want int`)
	s.enter("n> ", "7")
	s.expect("to.who> $")
	s.tty.WriteString("\x04")
	s.expect(`starling signal ` + id + `/g --choice yes --data `)
	if code := s.end(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	s = openScreen(t, dir, "repl", "--resume", id)
	s.enter("yes> ", "yes now")
	s.enter("n> ", "8")
	s.expect("to.who> $")
	cmd := exec.Command("starling", "signal", id+"/g", "--choice", "yes", "--data", `{"n": 9, "to": {"who": "b"}}`, "--no-wait")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.tty.WriteString("a\r")
	s.expect(`decided`)
	s.enter(">>> ", "d.payload")
	s.expect(`\n\{"n": 9, "to": \{"who": "b"\}\}\n`)
}

// TestReviewForm: of two who fill in a form at once the second is told that it is decided, and one
// of a run that has been cancelled meanwhile that it is over.
func TestReviewForm(t *testing.T) {
	dir := sitDown(t)
	script := `
def main():
    d = gate("g", options = ["yes", "no"], schema = contract("{n: int}"))
    return [d.payload, gate("h", schema = contract("{n: int}")).payload]
`
	if err := os.WriteFile(filepath.Join(dir, "form.star"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	start := exec.Command("starling", "run", "form.star")
	start.Dir = dir
	if out, _ := start.CombinedOutput(); start.ProcessState.ExitCode() != 3 {
		t.Fatalf("exit code %d: %s", start.ProcessState.ExitCode(), out)
	}
	first, second := openScreen(t, dir, "review"), openScreen(t, dir, "review")
	for _, s := range []*screen{first, second} {
		s.enter("yes/no> ", "2")
		s.expect("n> $")
	}
	second.tty.WriteString("2\r")
	second.expect(`accepted`)
	first.tty.WriteString("1\r")
	first.expect(`decided`)
	second.expect("n> $")
	cancel := exec.Command("starling", "cancel", "@last")
	cancel.Dir = dir
	if out, err := cancel.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	second.tty.WriteString("3\r")
	second.expect(`error: .*(withdrawn|cancelled|ended)`)
	for _, s := range []*screen{second, first} { // whoever owns the store leaves last
		if code := s.end(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// TestReplPipe: without a terminal there are no prompts, and the same statements run, to the last.
// The exit code is that of the first that failed.
func TestReplPipe(t *testing.T) {
	dir := sitDown(t)
	cmd := exec.Command("starling", "repl")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader("x = 2\nfor i in range(3):\n  x += i\n\nx\nfail('no')\nx + 1\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 1 || string(out) != "5\n6\n" {
		t.Errorf("%v: %q\n%s", err, out, &stderr)
	}
	if strings.Contains(stderr.String(), ">>>") || !strings.Contains(stderr.String(), "no") {
		t.Errorf("people are told %s", &stderr)
	}
}

// TestReplHostile: values and mistakes do nothing to the terminal and end nothing. What was refused
// is recalled, and huge values are shortened.
func TestReplHostile(t *testing.T) {
	dir := sitDown(t)
	s := openScreen(t, dir, "repl")
	s.expect(`session ([a-z0-9]+);`)
	s.enter("1 >>> ", `print("\x1b]0;owned\x07\x1b[2J")`)
	s.expect("\n\ufffd\\]0;owned\ufffd?\ufffd\\[2J\n")
	s.enter("2 >>> ", `fail("\x1b[31mred")`)
	s.expect("\ufffd\\[31mred\n")
	s.enter("3 >>> ", "list(range(1 << 16))")
	s.expect(`(?s)\n\[\n  0, 1, .* …\n\]\n  … shortened; print\(_3\) shows all\n`)
	s.enter("4 >>> ", `"unfinished`)
	s.expect(`unexpected newline in string`)
	s.enter("4 >>> ", "prnt(4)")
	s.expect(`undefined: prnt`)
	s.expect("4 >>> $")
	s.tty.WriteString("\x1b[A\x01\x06\x06i\r") // recalled, and mended behind its second letter
	s.expect(`4\n`)
	s.enter("5 >>> ", ":type len(")
	s.expect(`want '\)'`)
	s.enter("5 >>> ", ":rewind 99")
	s.expect(`want the number of a statement up to 4`)
	s.enter("5 >>> ", ":attach nowhere@x")
	s.expect(`nowhere`)
	s.enter("5 >>> ", "x = (")
	s.expect(`\.\.\. $`)
	s.tty.WriteString("1,")
	s.expect(`1,$`)           // the editor has the keyboard: before, Ctrl-C would be a signal
	s.tty.WriteString("\x03") // drops the block
	s.enter("5 >>> ", "6 * 7")
	s.expect(`\n42\n`)
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw := s.all.String(); strings.Contains(raw, "\x1b]0;") || strings.Contains(raw, "\x1b[2J") || strings.Contains(raw, "\x1b[31m") {
		t.Errorf("a value has written to the terminal: %q", raw)
	}
}

// TestReplDesk is an hour at the prompt: completion, what names mean, values by number, what comes
// later, interruptions, and a session that goes back, survives SIGKILL and is written down.
func TestReplDesk(t *testing.T) {
	dir := sitDown(t)
	t.Setenv("XDG_STATE_HOME", dir)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("lib.star", "def hi(name):\n    'Greets.'\n    return 'hi ' + name\n")
	s := openScreen(t, dir, "repl", "--fake", "agents.star")
	s.expect(`session ([a-z0-9]+);`)
	s.expect("1 >>> $")
	s.tty.WriteString("r = age\t(\"ju\t\", \"the code\")\r")
	s.expect(`judge: ok`)
	s.expect("2 >>> $")
	s.tty.WriteString("r.out\t[\"lo\t\"]\r")
	s.expect(`\n"the code"\n`)
	s.expect("3 >>> $")
	s.tty.WriteString("r.\t\t")
	s.expect(`attempts.* degraded`)
	s.expect(`r\.$`)
	s.tty.WriteString("\x03")
	s.enter("3 >>> ", "[_, _2, Out[2]]")
	s.expect(`\n\["the code", "the code", "the code"\]\n`)
	s.enter("4 >>> ", `load("lib.star", "hi")`)
	s.enter("5 >>> ", "hi??")
	s.expect(`hi\(name\)    lib\.star:1:1\n\n  Greets\.\n\ndef hi\(name\):`)
	s.enter("5 >>> ", "gate?")
	s.expect(`Suspend until somebody decides`)
	write("lib.star", "def hi(name):\n    return 'ho ' + name\n")
	s.enter("5 >>> ", ":reload")
	s.enter("6 >>> ", "hi('you')")
	s.expect(`\n"ho you"\n`)
	s.enter("7 >>> ", "def odd(n):", "  return n != 0 and even(n - 1)", "")
	s.expect(`warning: even is not defined yet`)
	s.enter("8 >>> ", "def even(n):", "  return n == 0 or odd(n - 1)", "")
	s.enter("9 >>> ", "odd(7)")
	s.expect(`\nTrue\n`)
	s.enter("10 >>> ", "x = [1]")
	s.enter("11 >>> ", "for i in range(1 << 40): x[0] = i if i else print('at work')", "")
	s.expect(`\nat work\n`)
	s.tty.WriteString("\x03")
	s.expect(`interrupted`)
	s.enter("12 >>> ", `[{"name": "a rather long text that fills the line", "tags": ["a", "b"]} for _ in range(2)]`)
	s.expect(`\n\[\n  \{"name": .*\},\n  \{"name": .*\},\n\]\n`)
	s.enter("13 >>> ", ":type r.output")
	s.expect(`\ndict\n`)
	s.enter("13 >>> ", ":vars x r")
	s.expect(`\nr +Result +Result\(`)
	s.enter("13 >>> ", ":rewind 10")
	id := s.expect(`in session ([a-z0-9]+);`)
	s.expect("11 >>> $")
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.end()

	s = openScreen(t, dir, "repl", "--resume", id)
	s.enter("11 >>> ", "[x, _, _2, odd(3)]")
	s.expect(`\n\[\[1\], True, "the code", True\]\n`)
	s.enter("12 >>> ", ":rewind 3")
	s.expect(`session ([a-z0-9]+);`)
	s.expect("4 >>> $")
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.end()

	s = openScreen(t, dir, "repl", "--resume", id) // it was rewound, and goes on where it is
	s.expect(`was rewound`)
	s.enter("4 >>> ", "_ + [len(Out)]")
	s.expect(`\n\["the code", "the code", "the code", 2\]\n`)
	s.expect("5 >>> $")
	s.tty.WriteString("\x12Out[2") // Ctrl-R
	s.expect(`\[_, _2, Out\[2\]\]`)
	s.tty.WriteString("\r")
	s.expect(`\n\[\["the code", .*\], "the code", "the code"\]\n`)
	s.enter("6 >>> ", ":save out.star")
	s.expect(`out\.star: 5 statements`)
	s.enter("6 >>> ", "!cat out.star")
	s.expect(`def main\(\):\n    r = agent\("judge", "the code"\)\n    _2 = r\.output\["looked"\]\n`)
	for _, shown := range []string{"once more leaves", "to go on"} {
		s.expect("6 >>> $")
		s.tty.WriteString("\x0c") // drawn again, the editor has the keyboard
		s.expect("6 >>> $")
		s.tty.WriteString("\x03")
		s.expect(shown)
	}
	if code := s.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	run := exec.Command("starling", "run", "out.star", "--fake", "agents.star")
	run.Dir = dir
	if out, err := run.Output(); err != nil || !strings.Contains(string(out), `"the code"`) {
		t.Errorf("the script: %v: %s", err, out)
	}

	s = openScreen(t, dir, "repl") // another session recalls what was typed
	s.expect("1 >>> $")
	s.tty.WriteString("\x12odd(7")
	s.expect(`odd\(7\)`)
	s.tty.WriteString("\x07")
	s.expect(`>>> `)
}

// TestReplAttach: any moment of a run that has ended can be looked into, at a terminal, and nothing
// is changed there; a fork goes on from it. What was typed is found with Ctrl-R by the next
// session, also after SIGKILL.
func TestReplAttach(t *testing.T) {
	dir := sitDown(t)
	script := "def main():\n    n = [1]\n    n.append(len(agent(\"judge\", \"code\").output))\n    gate(\"ship\", options = [\"yes\"])\n    n.append(9)\n    return n\n"
	if err := os.WriteFile(filepath.Join(dir, "ships.star"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	starling := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("starling", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 3) {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	starling("run", "ships.star", "--fake", "agents.star")
	run := starling("ps", "-q")
	starling("signal", run+"/ship", "--choice", "yes")

	s := openScreen(t, dir, "repl", "--fake", "agents.star")
	s.enter(">>> ", ":attach "+run+"@judge")
	s.enter(">>> ", "n")
	s.expect(`\n\[1\]\n`)
	s.enter(">>> ", ":attach "+run+"@ship")
	s.enter(">>> ", "n")
	s.expect(`\n\[1, 1\]\n`)
	s.enter(">>> ", "n.append(5)")
	s.enter(">>> ", "n")
	s.expect(`\n\[1, 1, 5\]\n`) // of the copy
	s.enter(">>> ", `agent("judge", "more")`)
	s.expect(`nothing is asked of the world here`)
	s.enter(">>> ", ":fork")
	fork := s.expect(`run ([a-z0-9]+), a fork of`)
	s.expect(">>> $")
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.end()
	if got := starling("ps", "-a", "--json", "--jq", `.runs[] | select(.script == "ships.star") | "\(.id) \(.status)"`, "--raw"); !strings.Contains(got, run+" completed") || !strings.Contains(got, fork+" suspended") {
		t.Errorf("the runs are\n%s\nwant %s completed and %s suspended", got, run, fork)
	}

	if got := starling("signal", fork+"/ship", "--choice", "yes", "--json", "--jq", ".run", "--raw"); got != fork {
		t.Errorf("the signal to the fork: %s", got)
	}
	if got := starling("wait", fork, "--json", "--jq", ".output | tostring", "--raw"); got != "[1,1,9]" {
		t.Errorf("the fork came to %s, want [1,1,9]", got)
	}

	s = openScreen(t, dir, "repl")
	s.expect(">>> $")
	s.tty.WriteString("\x12@ship") // Ctrl-R
	s.expect(`:attach ` + run + `@ship`)
	s.tty.WriteString("\r")
	s.expect(`before ship`)
}
