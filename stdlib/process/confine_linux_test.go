package process_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"starling/stdlib/process"
	"starling/stdlib/sandbox"
)

// cell is a confined shell with a folder that it may change, a hidden one in it, and one outside.
type cell struct {
	t                     *testing.T
	work, hidden, outside string
	policy                sandbox.Policy
}

func newCell(t *testing.T) *cell {
	top := t.TempDir()
	c := &cell{t: t, work: filepath.Join(top, "work"), hidden: filepath.Join(top, "work", "store"), outside: filepath.Join(top, "outside")}
	for _, dir := range []string{c.work, c.hidden, c.outside} {
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "f"), []byte(filepath.Base(dir)), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	c.policy = sandbox.Policy{Read: sandbox.System(), Write: []string{c.work}, Hide: []string{c.hidden}}
	return c
}

// run runs a script in the cell and wants to hear that all of the policy is enforced.
func (c *cell) run(script string, args ...string) process.Result {
	c.t.Helper()
	spec := sh(script, args...)
	spec.Dir, spec.Sandbox = c.work, &c.policy
	r := run(c.t, spec)
	if r.Err != nil || len(r.Lacks) > 0 {
		c.t.Fatalf("%s: %v; not enforced: %q", script, r.Err, r.Lacks)
	}
	return r
}

func TestConfinedFiles(t *testing.T) { confinedFiles(t) }

// A workspace may lie in shared memory, where files are quick. A program sees no more of that than
// of another folder.
func TestConfinedFilesInSharedMemory(t *testing.T) {
	shared, err := os.MkdirTemp("/dev/shm", "starling-test")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(shared)
	t.Setenv("TMPDIR", shared)
	confinedFiles(t)
}

func confinedFiles(t *testing.T) {
	c := newCell(t)
	for _, step := range []struct {
		script, arg string
		allowed     bool
	}{
		{`cat "$1"`, c.work + "/f", true},
		{`echo x > "$1" && mv "$1" "$1.2" && mkdir -p d/e && rm "$1.2"`, c.work + "/new", true},
		{`echo x > /dev/null && cat /etc/passwd > copy`, "", true},
		{`cat "$1"`, c.outside + "/f", false},
		{`ls "$1"`, c.outside, false},
		{`echo x > "$1"`, c.outside + "/f", false},
		{`ln -s "$1" link && cat link`, c.outside + "/f", false},
		{`echo x > /etc/starling-test`, "", false},
		{`cat "$1"`, c.hidden + "/f", false},
		{`echo x > "$1"`, c.hidden + "/g", false},
		{`umount "$1"`, c.hidden, false},
		{`mount -t tmpfs none "$1"`, c.work, false},
		{`cat /proc/$1/environ`, strconv.Itoa(os.Getpid()), false},
		{`kill -0 $1`, strconv.Itoa(os.Getpid()), false},
	} {
		if r := c.run(step.script, step.arg); (r.ExitCode == 0) != step.allowed {
			t.Errorf("%s %s: exit %d, stderr %s, want allowed = %v", step.script, step.arg, r.ExitCode, r.Stderr, step.allowed)
		}
	}
	for _, dir := range []string{c.hidden, c.outside} {
		if content, err := os.ReadFile(filepath.Join(dir, "f")); string(content) != filepath.Base(dir) {
			t.Errorf("%s holds %q, %v", dir, content, err)
		}
	}
}

// A confined program has no rights to gain, and belongs to whoever started it.
func TestConfinedRights(t *testing.T) {
	c := newCell(t)
	r := c.run(`grep -E "^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs)" /proc/self/status; id -u`)
	want := "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n" +
		strconv.Itoa(os.Getuid()) + "\n"
	if got := string(r.Stdout); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Without the network there is loopback and nobody else on it; with it there is the machine's.
func TestConfinedNetwork(t *testing.T) {
	c := newCell(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const connect = `exec 3<>/dev/tcp/127.0.0.1/$1`
	_, port, _ := net.SplitHostPort(l.Addr().String())
	shell := func() process.Result {
		spec := process.Spec{Argv: []string{"/bin/bash", "-c", connect, "sh", port}, Dir: c.work, Sandbox: &c.policy}
		return run(t, spec)
	}
	if r := shell(); r.ExitCode == 0 || len(r.Lacks) > 0 || !strings.Contains(string(r.Stderr), "refused") {
		t.Errorf("without: exit %d, %s, %q", r.ExitCode, r.Stderr, r.Lacks)
	}
	c.policy.Network = true
	if r := shell(); r.ExitCode != 0 || len(r.Lacks) > 0 {
		t.Errorf("with: exit %d, %s, %q", r.ExitCode, r.Stderr, r.Lacks)
	}
}

// The exit, the signal and the deadline of a confined program are its own, and nothing outlives it.
func TestConfinedEnd(t *testing.T) {
	c := newCell(t)
	if r := c.run("exit 42"); r.ExitCode != 42 {
		t.Errorf("got %+v", r)
	}
	if r := c.run("kill -KILL $$"); r.Signal != "SIGKILL" {
		t.Errorf("got %+v", r)
	}
	fifo := filepath.Join(c.work, "vigil")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	spec := sh(`(setsid sh -c 'echo up > vigil; sleep 1000' &) ; sleep 1000`)
	spec.Dir, spec.Sandbox, spec.Grace = c.work, &c.policy, 10*time.Millisecond
	child := start(t, ctx, spec)
	if _, err := os.ReadFile(fifo); err != nil {
		t.Fatal(err)
	}
	cancel()
	if r := wait(t, child); !r.Stopped || r.Err != nil {
		t.Errorf("got %+v", r)
	}
}

func TestConfinedProgramThatCannotRun(t *testing.T) {
	c := newCell(t)
	program := filepath.Join(c.outside, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := process.Start(t.Context(), process.Spec{Argv: []string{program}, Dir: c.work, Sandbox: &c.policy})
	if !errors.Is(err, process.ErrNotExecutable) || !strings.Contains(err.Error(), "no such file or directory") {
		t.Errorf("got %v", err)
	}
}
