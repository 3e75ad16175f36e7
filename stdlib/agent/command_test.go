package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

func intOf(v starlark.Value) (int, error) { return starlark.AsInt32(v) }

// read returns a file of the workspace.
func (s *stage) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.settings.Workspace, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// Programs that lie, die, babble and overflow.
func TestBadPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	for _, c := range []struct{ name, script, want string }{
		{"a failure", `echo '{"output": 1}'; echo 'quota exceeded' >&2; exit 1`, `retryable agent: a: it exited with 1; stderr ends with: quota exceeded`},
		{"a failure that says nothing", `exit 3`, `retryable agent: a: it exited with 3`},
		{"wrong usage", `exit 64`, `final agent: a: it exited with 64 (usage)`},
		{"no permission", `exit 77`, `final agent: a: it exited with 77 (permission denied)`},
		{"wrong configuration", `exit 78`, `final agent: a: it exited with 78 (configuration)`},
		{"a program within that is not there", `exec /nowhere/at-all 2>/dev/null`, `missing agent: a: it exited with 127 (program not found or not executable)`},
		{"suicide", `kill -9 $$`, `retryable agent: a: it was ended by SIGKILL`},
		{"silence with a reason", `echo 'permission denied by policy' >&2`,
			`retryable agent: a: it exited with 0 and an empty reply; stderr ends with: permission denied by policy`},
		{"garbage", `printf '\377\376\000{"output": '`, "ok text=\"\uFFFD\\x00{\\\"output\\\":\""},
		{"a truncated answer", `printf '{"output": {"a": [1, 2'`, `ok text="{\"output\": {\"a\": [1, 2"`},
		{"chatter around the answer", `echo 'loading {model}...'; echo '{"progress": 1}'; echo '{"output": 7}'; echo 'bye'`, `ok output=7`},
		{"two answers", `echo '{"output": 1}'; echo '{"output": 2}'`, `ok output=2`},
		{"an object that is no answer", `echo '{"result": 1}'`, `ok text="{\"result\": 1}"`},
		{"more than there is room for", `head -c 5000000 /dev/zero | tr '\0' x`, `final agent: a: it wrote more than 4194304 bytes to standard output`},
		{"no end of it", `yes`, `final agent: a: it wrote more than 4194304 bytes to standard output`},
		{"standard input closed at once", `exec <&-; echo '{"output": 1}'`, `ok output=1`},
	} {
		got := show(newStage(t, shell("a", c.script), "").ask(t.Context(), `agent("a", input = "x" * 300000)`))
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	s := newStage(t, "[agents.a]\ncommand = ['./nowhere']\n", "")
	r := s.ask(t.Context(), `agent("a")`)
	has(t, show(r), "missing agent: a: ", "program not found", filepath.Join(s.settings.Workspace, "nowhere"))

	if err := os.WriteFile(filepath.Join(s.settings.Workspace, "nowhere"), []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	has(t, show(s.ask(t.Context(), `agent("a")`)), "missing agent: a: ", "program not executable")
}

// A program with a slash is found beside the project file, wherever the run works.
func TestProgramBesideTheProject(t *testing.T) {
	s := newStage(t, "[agents.a]\ncommand = ['./bin/a', 'x y']\n", "")
	dir := filepath.Join(s.settings.Workspace, "bin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("#!/bin/sh\nprintf '%s in %s' \"$1\" \"$PWD\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.settings.Workspace = t.TempDir()
	if got, want := show(s.ask(t.Context(), `agent("a")`)), `ok text="x y in `+s.settings.Workspace+`"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEnvironmentOfAgents(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "must-not-leak")
	t.Setenv("API_KEY", "of the owner")
	t.Setenv("CLAUDECODE", "1")
	s := newStage(t, shell("a", "env >env")+"env = ['API_KEY']\n", "")
	s.vars["API_KEY"] = "of the client"
	s.number = 2
	s.ask(t.Context(), `agent("a", name = "first")`)
	env := "\n" + s.read("env")
	has(t, env, "\nAPI_KEY=of the client\n", "\nPATH="+os.Getenv("PATH")+"\n", "\nSTARLING_RUN_ID=run1\n", "\nSTARLING_STEP=b/first\n", "\nSTARLING_BRANCH=b\n",
		"\nSTARLING_ATTEMPT=2\n", "\nSTARLING_AGENT=a\n", "\nSTARLING_KEY=run1/b/first\n")
	for _, absent := range []string{"AWS_", "of the owner", "CLAUDECODE"} {
		if strings.Contains(env, absent) {
			t.Errorf("%s reached the agent:%s", absent, env)
		}
	}
}

func TestVariableWithoutValue(t *testing.T) {
	s := newStage(t, shell("a", "true")+"env = ['API_KEY']\n", "")
	const want = "missing refused: a: the environment variable API_KEY, which a declares, has no value; set it and resume the run"
	if got := show(s.ask(t.Context(), `agent("a")`)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What an error says goes into the journal and to people: the values of declared variables do not.
func TestErrorsHideDeclaredValues(t *testing.T) {
	s := newStage(t, shell("a", `echo "401 for key $API_KEY at level $LEVEL" >&2; exit 1`)+"env = ['API_KEY', 'LEVEL']\n", "")
	s.vars["API_KEY"], s.vars["LEVEL"] = "sk-hunter2", "3"
	const want = "retryable agent: a: it exited with 1; stderr ends with: 401 for key [API_KEY] at level 3"
	if got := show(s.ask(t.Context(), `agent("a")`)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A value is hidden whole: not a shorter one within it, and not up to where the end of stderr
// happens to begin.
func TestHiddenValuesAreHiddenWhole(t *testing.T) {
	s := newStage(t, shell("a", `printf '%s ' "$LONG" >&2; head -c 2040 /dev/zero | tr '\0' x >&2; exit 1`)+"env = ['SHORT', 'LONG']\n", "")
	s.vars["SHORT"], s.vars["LONG"] = "sk-1", "sk-1234567890"
	got := show(s.ask(t.Context(), `agent("a")`))
	for _, part := range []string{"234567890", "567890", "890 "} {
		if strings.Contains(got, part) {
			t.Errorf("%q of a declared value is in %s", part, got)
		}
	}
	s = newStage(t, shell("a", `echo "$LONG" >&2; exit 1`)+"env = ['SHORT', 'LONG']\n", "")
	s.vars["SHORT"], s.vars["LONG"] = "sk-1", "sk-1234567890"
	if got, want := show(s.ask(t.Context(), `agent("a")`)), "retryable agent: a: it exited with 1; stderr ends with: [LONG]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The end of stderr says why; what went before may be long.
func TestStderrIsBounded(t *testing.T) {
	r := newStage(t, shell("a", `head -c 100000 /dev/zero | tr '\0' x >&2; echo ' the reason' >&2; exit 1`), "").ask(t.Context(), `agent("a")`)
	if n := len(r.Err.Message); n > 4096 || !strings.HasSuffix(r.Err.Message, "x the reason") {
		t.Errorf("got %d bytes: …%s", n, r.Err.Message[max(0, n-40):])
	}
}

// hold makes a fifo and a program that writes its name into it when it runs; the test reads it and
// so knows that it does.
func hold(t *testing.T, s *stage) (started func()) {
	path := filepath.Join(s.settings.Workspace, "fifo")
	if err := mkfifo(path); err != nil {
		t.Fatal(err)
	}
	return func() {
		if text, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(text)) != "started" {
			t.Errorf("got %q, %v", text, err)
		}
	}
}

// A program that is stopped takes everything that it started with it, daemons included, before Ask
// returns.
func TestStoppedProgramLeavesNothing(t *testing.T) {
	const script = `
(setsid sh -c 'trap "" TERM HUP; echo $$ >daemon; echo started >fifo; exec sleep 1000' >/dev/null 2>&1 &)
trap "" TERM
sleep 1000 & wait`
	s := newStage(t, shell("a", script), "")
	started := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	replies := make(chan effect.Reply, 1)
	go func() { replies <- s.ask(ctx, `agent("a")`) }()
	started()
	cancel()
	if got := show(<-replies); got != "final cancelled: a: cancelled" {
		t.Errorf("got %s", got)
	}
	if alive(strings.TrimSpace(s.read("daemon"))) {
		t.Error("a daemon has outlived the agent")
	}
	if _, err := os.Stat(filepath.Join(s.settings.Workspace, "locks", "step")); !os.IsNotExist(err) {
		t.Errorf("the lock is still there: %v", err)
	}
}

// A program that answers and leaves a daemon behind has answered; the daemon is ended.
func TestDaemonOfAProgramThatAnswered(t *testing.T) {
	const script = `
(setsid sh -c 'echo $$ >daemon; echo started >fifo; exec sleep 1000' >/dev/null 2>&1 &)
read line <fifo
echo '{"output": "done"}'`
	s := newStage(t, shell("a", script), "")
	if err := mkfifo(filepath.Join(s.settings.Workspace, "fifo")); err != nil {
		t.Fatal(err)
	}
	if got := show(s.ask(t.Context(), `agent("a")`)); got != `ok output="done"` {
		t.Errorf("got %s", got)
	}
	if alive(strings.TrimSpace(s.read("daemon"))) {
		t.Error("a daemon has outlived the agent")
	}
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// alive tells whether a process of this id is there.
func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && syscall.Kill(n, 0) == nil
}

// What a program is not held to is said when it is asked; of a preset, or in a sandbox, it is.
func TestBoundsThatNothingHolds(t *testing.T) {
	const tools = "not enforced: it may use any tool of its own, not only Read: it is no preset"
	const files = "not enforced: it can change files, though its role says modifies = False; " +
		"sandbox = true in [agents.a] keeps it from that"
	for _, c := range []struct {
		project, call string
		want          []string
	}{
		{"", `agent("a")`, nil},
		{"", `agent(role("a", modifies = False))`, []string{files}},
		{"tools = ['Read']", `agent(role("a", modifies = True))`, []string{tools}},
		{"tools = ['Read']", `agent(role("a", modifies = False))`, []string{tools, files}},
		{"sandbox = true", `agent(role("a", modifies = False))`, nil},
	} {
		s := newStage(t, "[agents.a]\ncommand = ['sh', '-c', 'echo done']\n"+c.project, "")
		s.ask(t.Context(), c.call)
		var got []string
		for _, event := range s.events {
			_, text, ok := strings.Cut(event, `warning {"text": "not enforced: it `)
			if ok { // and nothing that this machine lacks
				got = append(got, "not enforced: it "+strings.TrimSuffix(text, `"}`))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s with %q\ngot  %q\nwant %q", c.call, c.project, got, c.want)
		}
	}
}
