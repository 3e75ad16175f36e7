package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"starling/runtime"
)

// inboxScript opens a gate of each kind, in runs of their own or in one.
const inboxScript = `
inputs = contract("{kind: string, n: int = 0}")

def main(kind, n):
    if kind == "form":
        return gate("form", prompt = "How many?", options = ["yes", "no"], schema = contract("{n: int(1..9), password?: string}")).payload
    if kind == "slow":
        gate("slow", options = ["approve"])
        sleep("1h")
    if kind == "edit":
        return gate("edit", prompt = "Is it right?", options = ["approve", "reject"], editable = True, data = {"title": "Hello", "more": [1]}).payload
    if kind == "evil":
        return gate("evil", prompt = "\x1b]0;owned\x07\x1b[2J\u202e gnp", options = ["approve"], data = {"a\x1b[31m": "x" * 1000000, "z": "e" + "\u0301" * 1000}).choice
    d = gate("ship", prompt = "Ship 日本語 %d?" % n, options = ["approve", "reject"], target = "lead")
    return [d.choice, d.reason, d.by]
`

// atInbox makes a folder with a run of each of the kinds, in their order, at its gate.
func atInbox(t *testing.T, kinds ...string) string {
	t.Helper()
	dir := sitDown(t)
	for _, name := range []string{"CI", "NO_COLOR"} { // of whoever runs the tests
		t.Setenv(name, "")
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	for name, text := range map[string]string{"ask.star": inboxScript, "starling.toml": "[inbox]\n\"急ぎ\" = \"target = lead\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range kinds {
		cmd := exec.Command("starling", "run", "ask.star", "-i", "kind="+kind, "-q")
		cmd.Dir = dir
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 3 {
			t.Fatalf("%s: exit code %d: %s", kind, cmd.ProcessState.ExitCode(), out)
		}
	}
	t.Cleanup(func() { // the process that carries on what was answered
		cmd := exec.Command("starling", "stop")
		cmd.Dir = dir
		_ = cmd.Run() // there may be none
	})
	return dir
}

// openInbox opens the view, and waits for the first sight of it: before, keys are not for it.
func openInbox(t *testing.T, dir string, size pty.Winsize, env []string, args ...string) *screen {
	t.Helper()
	s := openScreenOf(t, dir, size, env, append([]string{"inbox", "--take-back", "10m"}, args...)...) // however slow the machine is
	s.sees("the view", `^›`, `^(\$ |.*leave|.*approve|.*choose)`)
	return s
}

// sees waits until the terminal shows all patterns, each in a row.
func (s *screen) sees(what string, patterns ...string) {
	s.t.Helper()
	s.until(what, func(rows []string) bool {
		for _, pattern := range patterns {
			if count(rows, pattern) == 0 {
				return false
			}
		}
		return true
	})
}

// types types keys.
func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// left waits for the end, and gives what stays on the terminal.
func (s *screen) left() string {
	s.t.Helper()
	if code := s.end(); code != 0 {
		s.t.Errorf("exit code %d", code)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.all.String()
	return escapes().ReplaceAllString(text[strings.LastIndex(text, "\x1b[?1049l")+1:], "")
}

// What the keys of a terminal send.
const keyEnter, keyEscape, keyTab, keySend, keyBackspace = "\r", "\x1b", "\t", "\x13", "\x7f"

// TestInbox answers a gate of each kind in a terminal, and holds the runs' outcome against what was
// typed; a receipt for each stays when the view is left.
func TestInbox(t *testing.T) {
	dir := atInbox(t, "ship", "form", "edit", "ship")
	s := openInbox(t, dir, pty.Winsize{Rows: 30, Cols: 120}, nil)
	s.sees("all gates", ` all 4 +急ぎ 2`, `^› +ship +Ship 日本語 0\? +`, `for lead, opened \d+s ago`, `^\$ starling approve \w+/ship --as lead`)
	s.types("a")
	s.sees("it is on its way", `^ → ship +approve in \d+s`, `^› +form`)
	s.types("u")
	s.sees("it is taken back", `taken back, nothing was sent`, `1 ● approve`)
	s.types(keyEscape)
	s.sees("the list", `^›✎ ship`, `d drop draft`)
	s.types("r")
	s.sees("the form", `2 ● reject`, `› reason`)
	s.types("too early" + keyEnter)
	s.sees("the next gate", `^› +form`, `How many\?`)
	s.types("1")
	s.sees("the form", `› n$`)
	s.types("12")
	s.sees("what is wrong", `✗ got 12, want int\(1\.\.9\)`)
	s.types(keyBackspace + keyTab + "hunter2")
	s.sees("dots", `password +•••••••`, `^\$ starling signal \w+/form --choice yes --data '\{"n":1,"password":"…"\}'`)
	s.types(keySend)
	s.sees("the next gate", `^› +edit`)
	s.types("e")
	s.sees("what stands there", `› title +Hello`, `more +\[1\]`)
	s.types(" you" + keySend)
	s.sees("what is missing", `choose one of the options`)
	s.types("1" + keySend)
	s.sees("the last gate", `^› +ship`, `^ → edit +approve in`)
	s.types("q")
	left := s.left()
	for _, want := range []string{`accepted \w+/ship: reject`, `accepted \w+/form: yes`, `accepted \w+/edit: approve`} {
		if !regexp.MustCompile(want).MatchString(left) {
			t.Errorf("want %s in what stays:\n%s", want, left)
		}
	}
	got := outputs(t, dir)
	for _, want := range []string{`["reject","too early","lead"]`, `{"n":1,"password":"hunter2"}`, `{"title":"Hello you","more":[1]}`} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
	}
	if raw := s.all.String(); strings.Contains(raw, "hunter2") {
		t.Error("a password was drawn")
	}
}

// outputs waits for the runs that were answered, and gives what came of them.
func outputs(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("starling", "ps", "--all", "--jq", `.runs[] | select(.gates == 0) | .id`, "--raw")
	cmd.Dir = dir
	ids, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, id := range strings.Fields(string(ids)) {
		cmd := exec.Command("starling", "wait", id, "--json")
		cmd.Dir = dir
		out, _ := cmd.Output()
		all.Write(out)
	}
	return all.String()
}

// TestInboxSurvives: SIGKILL sends nothing, and what was typed is back, for its user alone.
func TestInboxSurvives(t *testing.T) {
	dir := atInbox(t, "ship", "form")
	s := openInbox(t, dir, pty.Winsize{Rows: 30, Cols: 120}, nil)
	s.types("a")
	s.sees("it is on its way", `^ → ship`)
	s.types(keyEnter + "2" + keyTab + "7" + keyTab + "hunter2")
	s.sees("what was typed", `2 ● no`, `n +7`, `password +•••••••`)
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.end()
	drafts, _ := filepath.Glob(filepath.Join(dir, "state", "starling", "drafts", "*"))
	for _, name := range drafts {
		info, err := os.Stat(name)
		text, _ := os.ReadFile(name)
		if err != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(text), "hunter2") {
			t.Errorf("%s: %v, %v: %s", name, info.Mode(), err, text)
		}
	}
	s = openInbox(t, dir, pty.Winsize{Rows: 30, Cols: 120}, nil)
	s.sees("drafts of both", `^›✎ ship`, `^ ✎ form`)
	s.types("j" + keyEnter)
	s.sees("what was typed", `2 ● no`, `n +7`, `password$`)
	s.types(keySend)
	s.sees("it is on its way", `^.→ form`)
	s.types("q")
	if left := s.left(); !strings.Contains(left, "/form: no") || !strings.Contains(left, "1 draft kept") {
		t.Errorf("what stays is\n%s", left)
	}
	if drafts, _ = filepath.Glob(filepath.Join(dir, "state", "starling", "drafts", "*")); len(drafts) != 1 {
		t.Errorf("drafts are %v, want that of ship", drafts)
	}
}

// TestInboxLeaves: who leaves has the shell back, whatever the runs do that were answered.
func TestInboxLeaves(t *testing.T) {
	dir := atInbox(t, "slow")
	s := openInbox(t, dir, pty.Winsize{Rows: 30, Cols: 120}, nil)
	s.types("a")
	s.sees("it is on its way", `^.→ slow`)
	s.types("q")
	if left := s.left(); !regexp.MustCompile(`accepted \w+/slow: approve\s+process \d+ carries on`).MatchString(left) {
		t.Errorf("what stays is\n%s", left)
	}
}

// TestInboxFaster: whoever fills in a form hears who was faster, and sends nothing.
func TestInboxFaster(t *testing.T) {
	dir := atInbox(t, "ship", "edit")
	s := openInbox(t, dir, pty.Winsize{Rows: 30, Cols: 120}, nil)
	s.types("r")
	s.sees("the form", `› reason`)
	s.types("too late")
	cmd := exec.Command("starling", "approve", "@last/edit", "--no-wait")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.sees("one less", ` all 1 `)
	ship := s.row(`^\$ starling reject (\w+/ship)`)
	cmd = exec.Command("starling", "approve", ship, "--as", "lead", "--no-wait")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.sees("who was faster", `approve by lead was faster`, `reason +too late`)
	s.types(keyEnter)
	s.sees("nothing is left", `no gate is open`)
	s.types("q")
	if left := s.left(); strings.Contains(left, "accepted") || strings.Contains(left, "kept") {
		t.Errorf("what stays is\n%s", left)
	}
}

// row gives what the group of a pattern matches in a row of the screen.
func (s *screen) row(pattern string) (found string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	s.until(pattern, func(rows []string) bool {
		for _, row := range rows {
			if m := re.FindStringSubmatch(row); m != nil {
				found = m[1]
			}
		}
		return found != ""
	})
	return found
}

// TestInboxHostile: what scripts and agents say does nothing to the terminal, whatever its size.
func TestInboxHostile(t *testing.T) {
	dir := atInbox(t, "evil", "ship")
	s := openInbox(t, dir, pty.Winsize{Rows: 12, Cols: 100}, nil)
	s.sees("what it says", `^› +evil +�\]0;owned��\[2J� gnp`, `there is more|↓ \d+ more`)
	for _, size := range [][2]uint16{{20, 20}, {6, 20}, {3, 12}, {40, 200}, {24, 80}} {
		s.resize(size[0], size[1])
		s.sees("the gate", `^›.*(evil|…)`)
	}
	s.types(" j")
	s.sees("the other gate", `^› +ship`)
	s.types("q")
	s.left()
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw := s.all.String(); strings.Contains(raw, "\x1b]0;") || strings.Contains(raw, "\u202e") || strings.Contains(raw, strings.Repeat("\u0301", 9)) {
		t.Errorf("a value has written to the terminal: %.2000q", raw)
	}
}

// TestInboxPlain: there are plain lines where nobody can or wants to look at a view, and a view
// without colours where these are not wanted.
func TestInboxPlain(t *testing.T) {
	dir := atInbox(t, "ship")
	size := pty.Winsize{Rows: 20, Cols: 80}
	for _, test := range []struct{ env, args string }{{"TERM=dumb", ""}, {"CI=1", ""}, {"", "--no-tui"}, {"", "--full"}, {"", "--limit 3"}, {"", "--json"}} {
		s := openScreenOf(t, dir, size, []string{test.env}, append([]string{"inbox"}, strings.Fields(test.args)...)...)
		if left := s.left(); !strings.Contains(left, "/ship") || strings.Contains(s.all.String(), "\x1b[?1049h") {
			t.Errorf("%+v: got %q", test, s.all.String())
		}
	}
	cmd := exec.Command("starling", "inbox")
	cmd.Dir = dir
	if out, err := cmd.Output(); err != nil || !regexp.MustCompile(`^\w+/ship for lead: Ship 日本語 0\?\n$`).Match(out) {
		t.Errorf("without a terminal: %v: %q", err, out)
	}
	s := openInbox(t, dir, size, []string{"NO_COLOR=1"})
	s.types("q")
	s.left()
	if coloured := regexp.MustCompile(`\x1b\[[0-9;]*3[0-7][0-9;]*m`).FindString(s.all.String()); coloured != "" {
		t.Errorf("NO_COLOR: there is %q", coloured)
	}
}

// TestInboxOfServer: the inbox of a server is answered in the name of the token, as far as it may.
func TestInboxOfServer(t *testing.T) {
	for _, name := range []string{"CI", "NO_COLOR"} { // of whoever runs the tests
		t.Setenv(name, "")
	}
	o := newOffice(t)
	o.write("ask.star", "def main(who):\n    d = gate(\"ship\", options = [\"approve\", \"reject\"], target = who)\n    return d.choice + \" by \" + d.by\n")
	address, _ := o.serving("--http", "127.0.0.1:0")
	token := strings.TrimSpace(o.cli(0, "token", "add", "lead", "--can", "read,signal"))
	run := func(who string) string {
		return strings.TrimSpace(o.cli(3, "run", "ask.star", "-i", "who="+who, "--jq", ".id", "--raw"))
	}
	mine, theirs := run("lead"), run("boss")
	d := o.desk(address, token, "XDG_STATE_HOME="+t.TempDir())
	s := openScreenOf(t, d.dir, pty.Winsize{Rows: 30, Cols: 120}, d.env, append(d.at, "inbox", "--take-back", "0s")...)
	s.sees("both", ` all 2$`, `^› +ship`, `^\$ starling --server \S+ approve `+mine+`/ship --as lead`)
	s.types("a")
	s.sees("it is accepted", ` all 1$`, `accepted `+mine+`/ship: approve`)
	s.types("a")
	s.sees("why it is not", theirs+`/ship: lead may not act as "boss"`, `^›`)
	s.types("q")
	if code := s.end(); code != runtime.ErrDenied.ExitCode() {
		t.Errorf("exit code %d", code)
	}
	if got := o.cli(0, "wait", mine, "--raw"); got != "approve by lead\n" {
		t.Errorf("the run has returned %q", got)
	}
}
