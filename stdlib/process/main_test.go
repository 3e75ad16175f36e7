package process_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"starling/stdlib/process"
)

// patience is how long a test waits for what must happen. Nothing asserts that it takes less.
const patience = 60 * time.Second

// TestMain is four programs: the guard, the owner that is killed, the attacker, and the tests.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	if spec := os.Getenv("TEST_OWNER"); spec != "" {
		ownerMain(spec)
	}
	if text := os.Getenv("TEST_ATTACK"); text != "" {
		attackMain(text)
	}
	if task := os.Getenv("TEST_PROBES"); task != "" {
		probeMain(task)
	}
	os.Exit(m.Run())
}

// ownerMain starts a child and waits for it.
func ownerMain(text string) {
	var spec process.Spec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		panic(err)
	}
	child, err := process.Start(context.Background(), spec)
	if err != nil {
		panic(err)
	}
	child.Wait()
	os.Exit(0)
}

// launchOwner runs another owner.
func launchOwner(t *testing.T, spec process.Spec) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(ownerSpec{spec.Argv, spec.Dir, spec.Env, spec.Lock, spec.Grace, spec.Attempt})
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), "TEST_OWNER="+string(text))
	owner.Stderr = os.Stderr
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Process.Kill(); owner.Wait() })
	return owner
}

// ownerSpec is the part of a Spec that is text.
type ownerSpec struct {
	Argv    []string
	Dir     string
	Env     []string
	Lock    string
	Grace   time.Duration
	Attempt process.Attempt
}

// sh is a Spec of a shell script with a PATH and no more.
func sh(script string, args ...string) process.Spec {
	return process.Spec{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...), Env: []string{"PATH=" + os.Getenv("PATH")}}
}

// run runs to the end, and fails the test if that does not come.
func run(t *testing.T, spec process.Spec) process.Result {
	t.Helper()
	return wait(t, start(t, context.Background(), spec))
}

func start(t *testing.T, ctx context.Context, spec process.Spec) *process.Child {
	t.Helper()
	child, err := process.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(child.Stop)
	return child
}

func wait(t *testing.T, child *process.Child) process.Result {
	t.Helper()
	done := make(chan process.Result, 1)
	go func() { done <- child.Wait() }()
	select {
	case r := <-done:
		return r
	case <-time.After(patience):
		t.Fatal("the child has not ended")
		return process.Result{}
	}
}

// within fails the test if the channel stays silent.
func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waiting for %s: nothing came", what)
		panic("unreachable")
	}
}

// vigil knows when processes are alive and when all of them are dead, without a pid. They hold the
// write end of a FIFO, and write their names into it; children inherit it. Its end comes when the
// last of them is gone.
type vigil struct {
	t       *testing.T
	path    string
	reader  *os.File
	lines   *bufio.Reader
	holding *os.File // keeps the end away until somebody has come
}

// watch is the beginning of a script: it holds the vigil of $1 as descriptor 9.
const watch = `exec 9>"$1"; `

func newVigil(t *testing.T) *vigil {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vigil")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	holding, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close(); holding.Close() })
	reader.SetReadDeadline(time.Now().Add(patience))
	return &vigil{t, path, reader, bufio.NewReader(reader), holding}
}

// expect returns when all of these names have been written.
func (v *vigil) expect(names ...string) {
	v.t.Helper()
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	for len(missing) > 0 {
		line, err := v.lines.ReadString('\n')
		if err != nil {
			v.t.Fatalf("waiting for %v: %v", missing, err)
		}
		delete(missing, strings.TrimSpace(line))
	}
}

// end returns when every process that held the vigil is dead, with what they wrote since.
func (v *vigil) end() string {
	v.t.Helper()
	v.holding.Close()
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(v.lines); err != nil {
		v.t.Fatalf("some process is still alive: %v", err)
	}
	return rest.String()
}

// wantError compares an error's whole text.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("got error %v\nwant %s", err, want)
	}
}
