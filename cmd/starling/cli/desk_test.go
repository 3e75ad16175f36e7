package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// onDesk makes a folder with scripts, of which one was run to its gate.
func onDesk(t *testing.T) string {
	dir := sitDown(t)
	for _, name := range []string{"CI", "NO_COLOR"} { // of whoever runs the tests
		t.Setenv(name, "")
	}
	scripts := map[string]string{
		"ask.star":  "inputs = contract(\"{topic: string, n: int = 3}\")\n\ndef main(topic, n):\n    return gate(\"ship\", prompt = topic + \"?\", options = [\"approve\"]).choice\n",
		"keys.star": "def main():\n    parallel({\"日本\": lambda: sh.run([\"sh\", \"-c\", \"exit 3\"], name = \"t\")})\n",
	}
	scripts["starling.toml"] = "[sh]\nallow = [\"sh\"]\n"
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"trust"}, {"run", "ask.star", "-i", "topic=" + strings.Repeat("a long topic ", 20)}, {"run", "keys.star"}} {
		cmd := exec.Command("starling", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 3 {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	return dir
}

// TestTerminalTables: on a terminal rows are cut to its width, and times and states are for people.
func TestTerminalTables(t *testing.T) {
	dir := onDesk(t)
	for _, test := range []struct{ args, want string }{
		{"ps -a", `^[a-z0-9]{12} +suspended +- +\d+s ago +ask\.star +1 gate$`},
		{"inbox --no-tui", `^[a-z0-9]+/ship +\d+s ago +for anybody +a long topic .*…$`},
		{"logs @last --step t", `^\d\d:\d\d:\d\d  parallel/日本/t  exit 3`},
		{"config get", `^pager +less +default$`},
		{"schedule add slow ask.star --every 36h -i topic=x", `^slow +slow +every 36h +\S`},
	} {
		s := openScreenOf(t, dir, pty.Winsize{Rows: 40, Cols: 70}, []string{"PAGER="}, strings.Fields(test.args)...)
		s.end()
		text := strings.ReplaceAll(s.all.String(), "\r", "")
		plainText := escapes().ReplaceAllString(text, "")
		if !regexp.MustCompile("(?m)" + test.want).MatchString(plainText) {
			t.Errorf("%s: want %s in\n%s", test.args, test.want, plainText)
		}
		if !strings.Contains(text, "\x1b[") {
			t.Errorf("%s: no colour says a state: %q", test.args, text)
		}
	}
}

// TestTerminalDoc: what is written about names and keys is broken between words, examples are not.
func TestTerminalDoc(t *testing.T) {
	for name, want := range map[string]string{
		"agent":         "  files         list or tuple            Images, PDFs and texts to look at:\n                                         paths of the workspace,",
		"starling.toml": "\n  machine.steps\n      takes    int, from 1000\n      default  1e9\n      what a script may compute",
		"contracts":     "```contract\ntype Severity",
		"http":          "\n  http.request  Send a request of any method.\n",
	} {
		s := openScreenOf(t, t.TempDir(), pty.Winsize{Rows: 40, Cols: 80}, []string{"PAGER="}, "doc", name)
		s.end()
		page := strings.ReplaceAll(s.all.String(), "\r", "")
		if !strings.Contains(page, want) {
			t.Errorf("%s: want %q in\n%s", name, want, page)
		}
	}
}

// TestTerminalHelp: the page of a command is broken between words.
func TestTerminalHelp(t *testing.T) {
	s := openScreenOf(t, t.TempDir(), pty.Winsize{Rows: 40, Cols: 60}, nil, "run", "--help")
	s.end()
	page := strings.ReplaceAll(s.all.String(), "\r", "")
	for line := range strings.Lines(page) {
		if len(line) > 61 && !strings.Contains(line, "starling run review.star") {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if !strings.Contains(page, "      --key KEY             idempotency KEY: starting again\n                            with it gives the same run\n") {
		t.Errorf("the page is\n%s", page)
	}
}

// TestPager: what looks is shown by the pager, and waits for it.
func TestPager(t *testing.T) {
	dir := onDesk(t)
	s := openScreenOf(t, dir, pty.Winsize{Rows: 40, Cols: 70}, []string{"PAGER=sed s/RUN/PAGED/"}, "ps", "-a")
	s.expect(`PAGED +STATUS`)
	if code := s.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestPsWatch: a list that stays shows a run that comes, until Ctrl-C.
func TestPsWatch(t *testing.T) {
	dir := onDesk(t)
	s := openScreenOf(t, dir, pty.Winsize{Rows: 20, Cols: 90}, nil, "ps", "--watch")
	s.until("one run", func(rows []string) bool { return count(rows, ` suspended `) == 1 })
	cmd := exec.Command("starling", "run", "ask.star", "-i", "topic=x")
	cmd.Dir = dir
	_ = cmd.Run()
	s.until("another run", func(rows []string) bool { return count(rows, ` suspended `) == 2 && count(rows, `^RUN`) == 1 })
	s.tty.WriteString("\x03")
	if code := s.end(); code != 130 || !s.term.CursorVisible() {
		t.Errorf("exit code %d, the cursor is visible: %v", code, s.term.CursorVisible())
	}
}

// TestMissingInputs: on a terminal, what a script wants and nobody has given is asked for.
func TestMissingInputs(t *testing.T) {
	dir := onDesk(t)
	s := openScreenOf(t, dir, pty.Winsize{Rows: 20, Cols: 90}, nil, "run", "ask.star", "-i", "n:=4")
	s.expect(`topic: string`)
	s.enter("topic> ", "the moon")
	s.expect(`ship +for anybody: the moon\?`)
	if code := s.end(); code != 3 {
		t.Errorf("exit code %d", code)
	}
}

// TestInitAsks: on a terminal init asks three questions, again where an answer is none, and takes
// what it proposes for an empty line; who gives up has nothing written.
func TestInitAsks(t *testing.T) {
	dir := sitDown(t)
	for _, name := range []string{"CI", "NO_COLOR"} { // of whoever runs the tests
		t.Setenv(name, "")
	}
	s := openScreen(t, dir, "init", "given up")
	s.enter("Name of the script [triage]: ", "tickets")
	s.expect(`openai\) \[none\]: $`)
	s.types("\x04")
	if code := s.end(); code == 0 {
		t.Error("exit code 0 of a project that was given up")
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "given up")); len(left) > 0 {
		t.Errorf("%v was written", left)
	}

	s = openScreen(t, dir, "init", "made")
	s.enter("Name of the script [triage]: ", "a name")
	s.expect(`--name: got the name "a name"`)
	s.enter("Name of the script [triage]: ", "tickets.star")
	s.enter("openai) [none]: ", "claud")
	s.expect(`did you mean "claude"\?`)
	s.enter("openai) [none]: ", "")
	s.enter("none) [github]: ", "gitlab")
	s.expect(`wrote made/tickets\.star`)
	if code := s.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, "made", ".gitlab-ci.yml")); err != nil {
		t.Error(err)
	}
	cmd := exec.Command("starling", "test")
	cmd.Dir = filepath.Join(dir, "made")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("starling test: %v: %s", err, out)
	}
}
