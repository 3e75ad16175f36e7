package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"starling/stdlib/process"
)

// family is a child with every kind of descendant that is hard to end: one in the background, one
// in another process group, one in another session, a daemon (double fork and session, its parents
// gone), each of the last three deaf to SIGTERM. All hold the vigil of $1.
const family = watch + `
(echo background >&9; exec sleep 1000) &
trap '' TERM HUP INT
setsid sh -c 'echo session >&9; exec sleep 1000' &
(setsid sh -c '(echo daemon >&9; exec sleep 1000) &' &)
set -m
(echo group >&9; exec sleep 1000) &
`

func familyNames() []string { return []string{"background", "session", "daemon", "group"} }

func TestNothingOutlivesAnOwnerKilled(t *testing.T) {
	v := newVigil(t)
	spec := sh(family+"echo child >&9; wait", v.path)
	spec.Grace = time.Hour // an owner that is dead cannot be waited for that long
	owner := launchOwner(t, spec)
	v.expect(append(familyNames(), "child")...)
	owner.Process.Kill()
	v.end()
}

func TestTimeoutEndsAllDescendants(t *testing.T) {
	v := newVigil(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	spec := sh(family+"wait", v.path)
	spec.Grace = 20 * time.Millisecond
	child := start(t, ctx, spec)
	v.expect(familyNames()...)
	cancel()
	if r := wait(t, child); !r.Stopped || r.Err != nil {
		t.Errorf("got %+v", r)
	}
	v.end()
}

// The attempt is over when the child is; what it left behind is not part of the reply.
func TestWhatAChildLeavesBehindEndsWithIt(t *testing.T) {
	v, ready := newVigil(t), filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := sh(family+`read -r x < "$2"; echo reply; exit 3`, v.path, ready)
	spec.Grace = 20 * time.Millisecond
	child := start(t, context.Background(), spec)
	v.expect(familyNames()...)
	if err := os.WriteFile(ready, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	r := wait(t, child)
	v.end()
	if r.ExitCode != 3 || string(r.Stdout) != "reply\n" || r.TimedOut || r.Stopped || r.Err != nil {
		t.Errorf("got %+v, want exit 3", r)
	}
}

// A process that forks and dies, again and again, is never where one looks for it.
func TestForkChainIsCaught(t *testing.T) {
	for name, script := range map[string]string{
		"one group":     `hop() { echo hop >&9; hop & }; hop & exec sleep 1000`,
		"many sessions": `printf '#!/bin/sh\necho hop >&9\nsetsid "$0" &\n' > "$2"; chmod +x "$2"; "$2" & exec sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			v := newVigil(t)
			spec := sh(watch+"trap '' TERM; "+script, v.path, filepath.Join(t.TempDir(), "hop"))
			spec.Grace = 20 * time.Millisecond
			child := start(t, context.Background(), spec)
			for range 20 {
				v.expect("hop")
			}
			child.Stop()
			if r := wait(t, child); r.Err != nil {
				t.Errorf("got %v", r.Err)
			}
			v.end()
		})
	}
}

// A second SIGTERM means "at once" to many programs; each process gets one.
func TestSIGTERMComesOnce(t *testing.T) {
	t.Parallel()
	v := newVigil(t)
	count := `n=0; trap 'n=$((n+1)); echo "$1 $n" >&9' TERM; echo "$1 up" >&9; while :; do sleep 0.01; done`
	spec := sh(watch+`C=$2; sh -c "$C" sh inner & setsid sh -c "$C" sh apart & trap 'trap "" TERM; exit' TERM; echo up >&9; wait`, v.path, count)
	spec.Grace = 2 * time.Second
	child := start(t, context.Background(), spec)
	v.expect("up", "inner up", "apart up")
	child.Stop()
	wait(t, child)
	rest := strings.Fields(strings.ReplaceAll(v.end(), " ", "-"))
	if len(rest) != 2 || !(has(rest, "inner-1") && has(rest, "apart-1")) {
		t.Errorf("got %v, want one for each", rest)
	}
}

func has(list []string, want string) bool {
	return strings.Contains(" "+strings.Join(list, " ")+" ", " "+want+" ")
}

func TestChildInheritsNothingButStdio(t *testing.T) {
	leak, err := syscall.Dup(int(os.Stderr.Fd())) // not closed on exec: as a shell may start us with one
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	spec := sh(`for f in /proc/self/fd/*; do readlink "$f" >/dev/null && echo "${f##*/}"; done; cat /proc/self/fdinfo/0 /proc/self/fdinfo/1 /proc/self/fdinfo/2 | grep flags`)
	spec.Lock = filepath.Join(t.TempDir(), "step")
	spec.Stdin = strings.NewReader("x")
	r := run(t, spec)
	lines := strings.Fields(strings.ReplaceAll(string(r.Stdout), "flags:", ""))
	if len(lines) != 6 || strings.Join(lines[:3], " ") != "0 1 2" {
		t.Fatalf("got descriptors %q, want 0 1 2 and their flags", r.Stdout)
	}
	for _, octal := range lines[3:] {
		flags, err := strconv.ParseInt(octal, 8, 64)
		if err != nil || flags&syscall.O_NONBLOCK != 0 {
			t.Errorf("flags %s, %v: a program that is not asked must not find its stdio non-blocking", octal, err)
		}
	}
}

func TestChildHasASessionOfItsOwn(t *testing.T) {
	r := run(t, sh(`cut -d' ' -f1,5,6 /proc/$$/stat`))
	f := strings.Fields(string(r.Stdout))
	if len(f) != 3 || f[0] != f[1] || f[0] != f[2] || f[0] == strconv.Itoa(syscall.Getpgrp()) {
		t.Errorf("got pid, group, session %q, want one number", r.Stdout)
	}
}

// What other users can see of a guard tells nothing of the command.
func TestGuardShowsNoSecret(t *testing.T) {
	t.Setenv("OWNERS_TOKEN", "hunter2")
	spec := sh("exec sleep 1000", "hunter2")
	spec.Env = append(spec.Env, "TOKEN=hunter2")
	spec.Stdin = strings.NewReader("hunter2")
	child := start(t, t.Context(), spec)
	got := ""
	for _, file := range []string{"cmdline", "environ", "comm"} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", guardPid(t, child), file))
		if err != nil {
			t.Fatal(err)
		}
		got += strings.ReplaceAll(string(content), "\x00", " ") + "\n"
	}
	got = strings.Replace(got, "GORACE=atexit_sleep_ms=0 ", "", 1) // of a build with the race detector
	want := "starling __guard \nSTARLING_GUARD=1 GOMAXPROCS=1 \nstarling-guard\n\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSignalToTheGuardIsAStop(t *testing.T) {
	v := newVigil(t)
	spec := sh(family+"echo $PPID >&9; wait", v.path)
	spec.Grace = 20 * time.Millisecond
	child := start(t, context.Background(), spec)
	guard := guardPid(t, child)
	v.expect(append(familyNames(), strconv.Itoa(guard))...)
	syscall.Kill(guard, syscall.SIGTERM)
	r := wait(t, child)
	v.end()
	if r.Signal != "SIGKILL" || r.Err != nil {
		t.Errorf("got %+v", r)
	}
}

// guardPid reads the parent of a child that is alive.
func guardPid(t *testing.T, child *process.Child) int {
	t.Helper()
	content, err := os.ReadFile("/proc/" + strconv.Itoa(child.Pid()) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(regexp.MustCompile(`PPid:\s*(\d+)`).FindStringSubmatch(string(content))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestGuardKilledTakesTheChildWithIt(t *testing.T) {
	v := newVigil(t)
	child := start(t, context.Background(), sh(watch+"echo up >&9; exec sleep 1000", v.path))
	v.expect("up")
	syscall.Kill(guardPid(t, child), syscall.SIGKILL)
	r := wait(t, child)
	wantError(t, r.Err, "process: guard failed: it ended early (signal: killed)")
	if !errors.Is(r.Err, process.ErrGuard) {
		t.Errorf("got %v, want ErrGuard", r.Err)
	}
	v.end()
}

// A guard that cannot finish in time is given up by its owner, and goes on with its work.
func TestLateGuardIsNotWaitedForButKeepsItsLock(t *testing.T) {
	t.Parallel()
	v := newVigil(t)
	spec := sh(watch+"echo up >&9; exec sleep 1000", v.path)
	spec.Lock = filepath.Join(t.TempDir(), "step")
	spec.Grace = 20 * time.Millisecond
	spec.LockWait = 50 * time.Millisecond
	child := start(t, context.Background(), spec)
	v.expect("up")
	guard := guardPid(t, child)
	syscall.Kill(guard, syscall.SIGSTOP)
	child.Stop()
	r := wait(t, child)
	wantError(t, r.Err, "process: guard failed: process "+strconv.Itoa(guard)+" is late: a descendant does not end, or the machine stands still")
	if !r.Stopped {
		t.Errorf("got %+v, want stopped", r)
	}
	if _, err := process.Start(context.Background(), spec); !errors.Is(err, process.ErrLockBusy) {
		t.Errorf("the next attempt got %v, want lock busy", err)
	}
	syscall.Kill(guard, syscall.SIGCONT)
	v.end()
}

// A program that does not hand its arguments to GuardMain must not start itself for ever.
func TestProgramWithoutGuardMain(t *testing.T) {
	t.Setenv("STARLING_GUARD", "1")
	_, err := process.Start(context.Background(), sh("echo never"))
	wantError(t, err, `process: "/bin/sh": guard failed: this process was started as a guard and went past process.GuardMain; call it first in main or TestMain`)
}

func TestGuardTypedByHand(t *testing.T) {
	out, err := exec.Command(os.Args[0], "__guard").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("got %v, want exit 2", err)
	}
	if want := "__guard is started by the program itself, with pipes that a shell does not give it\n"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}
