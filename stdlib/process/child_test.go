package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/stdlib/process"
	"starling/stdlib/redact"
)

func TestHowAChildEnds(t *testing.T) {
	for _, c := range []struct {
		script string
		code   int
		signal string
		stdout string
		stderr string
	}{
		{"exit 0", 0, "", "", ""},
		{"exit 3", 3, "", "", ""},
		{"exit 255", 255, "", "", ""},
		{"echo out; echo err >&2; exit 1", 1, "", "out\n", "err\n"},
		{"echo out; kill -KILL $$", -1, "SIGKILL", "out\n", ""},
		{"kill -TERM $$", -1, "SIGTERM", "", ""},
		{"kill -SEGV $$", -1, "SIGSEGV", "", ""},
		{"exec >&-; exit 4", 4, "", "", ""}, // closes its stdout early
		{"cat", 0, "", "", ""},              // reads the end of /dev/null
	} {
		r := run(t, sh(c.script))
		if r.ExitCode != c.code || r.Signal != c.signal || string(r.Stdout) != c.stdout || string(r.Stderr) != c.stderr {
			t.Errorf("%s: got %d %q %q %q, want %+v", c.script, r.ExitCode, r.Signal, r.Stdout, r.Stderr, c)
		}
		if r.TimedOut || r.Stopped || r.Err != nil || r.Elapsed <= 0 {
			t.Errorf("%s: got %+v, want an end of its own", c.script, r)
		}
	}
}

func TestCommandArrivesByteForByte(t *testing.T) {
	dir := t.TempDir()
	odd := "a b\n\"$HOME\" \xff\xfe ü"
	spec := sh(`printf '%s|' "$@" "$ODD" "$PWD"; env | grep -c .`, "", odd, "--")
	spec.Env = []string{"ODD=" + odd, "PATH=" + os.Getenv("PATH"), "PWD=wrong"}
	spec.Dir = dir
	r := run(t, spec)
	want := "|" + odd + "|--|" + odd + "|" + realPath(t, dir) + "|"
	if !strings.HasPrefix(string(r.Stdout), want) {
		t.Errorf("got %q, want %q", r.Stdout, want)
	}
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEnvironmentIsExact(t *testing.T) {
	t.Setenv("OWNERS_SECRET", "hunter2")
	env := findProgram(t, "env")
	for _, want := range [][]string{nil, {"A=1"}, {"A=1", "B=x=y", "EMPTY="}} {
		r := run(t, process.Spec{Argv: []string{env}, Env: want})
		got := strings.TrimSuffix(string(r.Stdout), "\n")
		if got != strings.Join(want, "\n") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func findProgram(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, name); fileExists(path) {
			return path
		}
	}
	t.Fatalf("no %s in PATH", name)
	return ""
}

func fileExists(path string) bool { _, err := os.Stat(path); return err == nil }

func TestStdin(t *testing.T) {
	spec := sh("cat")
	text := strings.Repeat("line\n", 100_000) // more than any pipe holds
	spec.Stdin = strings.NewReader(text)
	if r := run(t, spec); string(r.Stdout) != text {
		t.Errorf("got %d bytes back, want %d", len(r.Stdout), len(text))
	}
}

func TestStdinThatNobodyReads(t *testing.T) {
	spec := sh("exit 5")
	spec.Stdin = bytes.NewReader(make([]byte, 8<<20))
	if r := run(t, spec); r.ExitCode != 5 || r.Err != nil {
		t.Errorf("got %+v, want exit 5", r)
	}
	spec = sh("exec 0<&-; echo done")
	spec.Stdin = endless{}
	if r := run(t, spec); string(r.Stdout) != "done\n" || r.Err != nil {
		t.Errorf("got %+v, want done", r)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestStdinIsAStream(t *testing.T) {
	reader, writer := io.Pipe()
	spec := sh(`while read -r line; do echo "got $line"; done`)
	spec.Stdin = reader
	answers := make(chan string, 1)
	spec.OnLine = func(line []byte, _ bool) { answers <- string(line) }
	child := start(t, context.Background(), spec)
	for i := range 3 {
		fmt.Fprintln(writer, i)
		if got, want := within(t, "an answer", answers), fmt.Sprint("got ", i); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	writer.Close()
	if r := wait(t, child); r.ExitCode != 0 {
		t.Errorf("got %+v", r)
	}
}

// Whoever writes into the input of a child that has ended, or reads no more, is told so.
func TestStdinIsClosedWithTheChild(t *testing.T) {
	for _, script := range []string{"exit 0", "exec 0<&-; sleep 1000"} {
		reader, writer := io.Pipe()
		spec := sh(script)
		spec.Stdin = reader
		child := start(t, context.Background(), spec)
		failed := make(chan error, 1)
		go func() {
			var err error
			for err == nil {
				_, err = writer.Write(make([]byte, 1<<10))
			}
			failed <- err
		}()
		if err := within(t, "the end of the input", failed); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: got %v", script, err)
		}
		child.Stop()
		wait(t, child)
	}
}

// A child must not see the end of an input that merely failed.
func TestStdinThatFails(t *testing.T) {
	spec := sh("cat; echo acted on it")
	spec.Stdin = io.MultiReader(strings.NewReader("half"), failing{})
	r := run(t, spec)
	wantError(t, r.Err, "process: stdin not delivered: disk on fire")
	if !errors.Is(r.Err, process.ErrStdin) || strings.Contains(string(r.Stdout), "acted") {
		t.Errorf("got %q, %v", r.Stdout, r.Err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestStdoutLimit(t *testing.T) {
	spec := sh("printf 12345678; exit 1")
	spec.MaxStdout = 8
	if r := run(t, spec); string(r.Stdout) != "12345678" || r.Err != nil {
		t.Errorf("at the limit: got %q, %v", r.Stdout, r.Err)
	}
	spec.MaxStdout = 7
	r := run(t, spec)
	wantError(t, r.Err, "process: output over limit: more than 7 bytes on stdout")
	if string(r.Stdout) != "1234567" || !errors.Is(r.Err, process.ErrOverLimit) {
		t.Errorf("over the limit: got %q, %v", r.Stdout, r.Err)
	}
}

func TestEndlessStdoutIsEnded(t *testing.T) {
	v := newVigil(t)
	spec := sh(watch+`yes`, v.path)
	spec.MaxStdout = 1 << 20
	r := run(t, spec)
	v.end()
	if !errors.Is(r.Err, process.ErrOverLimit) || len(r.Stdout) != 1<<20 || r.TimedOut || r.Stopped {
		t.Errorf("got %d bytes, %v", len(r.Stdout), r.Err)
	}
}

func TestStderrKeepsItsEnd(t *testing.T) {
	spec := sh(`i=0; while [ $i -lt 20000 ]; do echo "line $i" >&2; i=$((i+1)); done`)
	spec.MaxStderr = 20
	r := run(t, spec)
	if string(r.Stderr) != "ne 19998\nline 19999\n" || r.Err != nil {
		t.Errorf("got %q, %v", r.Stderr, r.Err)
	}
}

// Values are hidden before anything is cut: neither limit nor kill leaves a part of one.
func TestValuesAreHiddenBeforeTheCut(t *testing.T) {
	const value = "sesame-key-12345"
	hide := new(redact.Redactor)
	hide.Hide("KEY", value)
	for limit := 1; limit < 18; limit += 3 {
		const said = "a [KEY] b [KEY]"
		spec := sh(`printf 'a %s b %s' "$1" "$1" >&2`, value)
		spec.MaxStderr, spec.Hide = limit, hide
		if got, want := string(run(t, spec).Stderr), said[max(0, len(said)-limit):]; got != want {
			t.Errorf("of %d bytes of stderr: got %q, want %q", limit, got, want)
		}
		spec = sh(`printf 'a %s b %s' "$1" "$1"`, value)
		spec.MaxStdout, spec.Hide = limit, hide
		if got, want := string(run(t, spec).Stdout), said[:min(len(said), limit)]; got != want {
			t.Errorf("of %d bytes of stdout: got %q, want %q", limit, got, want)
		}
	}
	spec := sh(`printf 'a %.12s' "$1"; printf 'a %.12s' "$1" >&2; kill -KILL $$`, value)
	spec.Hide = hide
	if r := run(t, spec); string(r.Stdout) != "a [KEY]" || string(r.Stderr) != "a [KEY]" || r.Signal != "SIGKILL" {
		t.Errorf("ended in the middle: got %q and %q", r.Stdout, r.Stderr)
	}
}

func TestLines(t *testing.T) {
	var got []string
	spec := sh(`printf 'one\n\nthr'; printf 'ee\nlast'`)
	spec.OnLine = func(line []byte, _ bool) { got = append(got, string(line)) }
	r := run(t, spec)
	if want := []string{"one", "", "three", "last"}; fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) || r.Stdout != nil {
		t.Errorf("got %q and %q, want %q", got, r.Stdout, want)
	}
}

func TestLineLimit(t *testing.T) {
	var got []string
	spec := sh(`printf '123\n1234\n12'; sleep 1000`)
	spec.MaxStdout = 3
	spec.OnLine = func(line []byte, _ bool) { got = append(got, string(line)) }
	r := run(t, spec)
	wantError(t, r.Err, "process: output over limit: a line of more than 3 bytes on stdout")
	if len(got) != 1 || got[0] != "123" {
		t.Errorf("got %q, want the lines before", got)
	}
}

// Limits bound a line, not the conversation: a tool server may talk for a month.
func TestManyLinesAreNoLimit(t *testing.T) {
	n := 0
	spec := sh(`i=0; while [ $i -lt 5000 ]; do echo 12345678; i=$((i+1)); done`)
	spec.MaxStdout = 8
	spec.OnLine = func([]byte, bool) { n++ }
	if r := run(t, spec); n != 5000 || r.Err != nil {
		t.Errorf("got %d lines, %v", n, r.Err)
	}
}

func TestTimeout(t *testing.T) {
	v := newVigil(t)
	cancelled, cancel := context.WithCancel(context.Background())
	spec := sh(watch+"echo before; echo up >&9; sleep 1000", v.path)
	spec.Grace = patience
	child := start(t, deadlined{cancelled}, spec)
	v.expect("up")
	cancel()
	r := wait(t, child)
	if !r.TimedOut || r.Stopped || r.Signal != "SIGTERM" || r.ExitCode != -1 || string(r.Stdout) != "before\n" || r.Err != nil {
		t.Errorf("got %+v, want a time-out", r)
	}
	v.end()
}

// deadlined is a context whose deadline comes when the test says so.
type deadlined struct{ context.Context }

func (d deadlined) Err() error {
	if d.Context.Err() == nil {
		return nil
	}
	return context.DeadlineExceeded
}

func TestStop(t *testing.T) {
	v := newVigil(t)
	spec := sh(watch+"trap 'echo bye; exit 7' TERM; echo up >&9; while :; do sleep 0.01; done", v.path)
	spec.Grace = patience
	child := start(t, context.Background(), spec)
	v.expect("up")
	child.Stop()
	child.Stop()
	r := wait(t, child)
	if !r.Stopped || r.TimedOut || r.ExitCode != 7 || string(r.Stdout) != "bye\n" || r.Err != nil {
		t.Errorf("got %+v, want its own answer to SIGTERM", r)
	}
	v.end()
	child.Stop()
	if again := child.Wait(); again.ExitCode != 7 {
		t.Errorf("a second Wait got %+v", again)
	}
}

func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	child := start(t, ctx, sh("sleep 1000"))
	cancel()
	if r := wait(t, child); !r.Stopped || r.TimedOut {
		t.Errorf("got %+v, want stopped", r)
	}
	_, err := process.Start(ctx, sh("echo never"))
	wantError(t, err, `process: "/bin/sh" was not started: context canceled`)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled within", err)
	}
}

func TestStubbornChildIsKilled(t *testing.T) {
	v := newVigil(t)
	spec := sh(watch+"trap '' TERM INT HUP; echo up >&9; while :; do sleep 0.01; done", v.path)
	spec.Grace = 20 * time.Millisecond
	child := start(t, context.Background(), spec)
	v.expect("up")
	child.Stop()
	if r := wait(t, child); r.Signal != "SIGKILL" || !r.Stopped {
		t.Errorf("got %+v, want SIGKILL", r)
	}
	v.end()
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o644)
	lost := write("lost", "#!/no/such/interpreter\n", 0o755)
	binary := write("binary", "\x7fELF nonsense", 0o755)
	path := "PATH=" + dir

	for _, c := range []struct {
		spec process.Spec
		kind error
		text string
	}{
		{process.Spec{}, process.ErrSpec, `process: bad spec: no program given; Argv[0] is the program to run`},
		{process.Spec{Argv: []string{"x", "ok", "to\x00ken"}}, process.ErrSpec, `process: "x": bad spec: argument 2 holds a NUL byte`},
		{process.Spec{Argv: []string{"x"}, Env: []string{"hunter2"}}, process.ErrSpec,
			`process: "x": bad spec: a variable of the environment is not NAME=value`},
		{process.Spec{Argv: []string{"x"}, Env: []string{"KEY=hun\x00ter2"}}, process.ErrSpec,
			`process: "x": bad spec: the variable KEY holds a NUL byte`},
		{process.Spec{Argv: []string{"x"}, Dir: dir + "/none"}, process.ErrSpec,
			`process: "x": bad spec: the working directory ` + dir + `/none is not a directory`},
		{process.Spec{Argv: []string{"x"}}, process.ErrNotFound,
			`process: "x": program not found: the child's environment has no PATH; give the path of the program, or set PATH`},
		{process.Spec{Argv: []string{"clade"}, Env: []string{path}}, process.ErrNotFound,
			`process: "clade": program not found: not in PATH=` + dir + `; install it, give its path, or add its directory to PATH`},
		{process.Spec{Argv: []string{"clade"}, Env: []string{"PATH=" + strings.Repeat(dir+":", 40) + "/none"}}, process.ErrNotFound,
			`process: "clade": program not found: in none of the 41 folders of PATH; install it, give its path, or add its directory to PATH`},
		{process.Spec{Argv: []string{"./clade"}, Dir: dir}, process.ErrNotFound,
			`process: "./clade": program not found: there is no ` + dir + `/./clade`},
		{process.Spec{Argv: []string{"plain"}, Env: []string{path}}, process.ErrNotExecutable,
			`process: "plain": program not executable: ` + plain + ` is a directory or may not be executed; chmod +x, or name the interpreter`},
		{process.Spec{Argv: []string{dir}}, process.ErrNotExecutable,
			`process: "` + dir + `": program not executable: ` + dir + ` is a directory or may not be executed; chmod +x, or name the interpreter`},
		{process.Spec{Argv: []string{lost}}, process.ErrNotExecutable,
			`process: "` + lost + `": program not executable: exec: fork/exec ` + lost + `: no such file or directory`},
		{process.Spec{Argv: []string{binary}}, process.ErrNotExecutable,
			`process: "` + binary + `": program not executable: exec: fork/exec ` + binary + `: exec format error`},
		{process.Spec{Argv: []string{"/bin/sh", strings.Repeat("x", 4<<20)}}, process.ErrSpec,
			`process: "/bin/sh": bad spec: exec: fork/exec /bin/sh: argument list too long`},
	} {
		child, err := process.Start(context.Background(), c.spec)
		wantError(t, err, c.text)
		var typed *process.StartError
		if child != nil || !errors.Is(err, c.kind) || !errors.As(err, &typed) {
			t.Errorf("got %v, %#v; want a StartError of %v", child, err, c.kind)
		}
	}
}

func TestProgramIsFoundAsTheChildWould(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"bin/tool", "work/tool"} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+name+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for program, want := range map[string]string{"tool": "bin/tool\n", "./tool": "work/tool\n", "../bin/tool": "bin/tool\n"} {
		r := run(t, process.Spec{Argv: []string{program}, Dir: dir + "/work", Env: []string{"PATH=.:" + dir + "/none:" + dir + "/bin"}})
		if string(r.Stdout) != want {
			t.Errorf("%s: got %q %q, want %q", program, r.Stdout, r.Stderr, want)
		}
	}
}

func TestFiftyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			spec := sh(`read -r x; echo "$x"; (sleep 1000 &); exit "$1"`, fmt.Sprint(i))
			spec.Stdin = strings.NewReader(fmt.Sprintln("input", i))
			spec.Lock = filepath.Join(dir, fmt.Sprint("step", i))
			r, err := process.Run(context.Background(), spec)
			if err != nil || r.ExitCode != i || string(r.Stdout) != fmt.Sprintln("input", i) || r.Err != nil {
				t.Errorf("child %d: got %+v, %v", i, r, err)
			}
		})
	}
	all.Wait()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d lock files are left", len(left))
	}
}

func Example() {
	r, err := process.Run(context.Background(), process.Spec{
		Argv:  []string{"sh", "-c", `read -r task; echo "done: $task"`},
		Env:   process.Environment(os.Environ(), nil),
		Stdin: strings.NewReader("sweep the floor\n"),
	})
	fmt.Printf("%q %d %v\n", r.Stdout, r.ExitCode, err)
	// Output: "done: sweep the floor\n" 0 <nil>
}
