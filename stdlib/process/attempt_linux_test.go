package process_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"starling/stdlib/process"
)

// The pids are written by the processes themselves, which stay alive while they are asked about.
func TestAttemptOfDescendants(t *testing.T) {
	dir, v := t.TempDir(), newVigil(t)
	spec := sh(watch+`
		echo child $$ >&9
		sh -c 'echo grandchild $$ >&9; exec sleep 1000' &
		(setsid sh -c 'sh -c "echo daemon \$\$ >&9; exec sleep 1000" &' &)
		wait; exec sleep 1000`, v.path)
	spec.Lock, spec.Attempt, spec.Grace = filepath.Join(dir, "step"), attempt(3), 20*time.Millisecond
	child := start(t, context.Background(), spec)
	for range 3 {
		line, err := v.lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		got, found, err := process.AttemptOf(pid, dir)
		if got != attempt(3) || !found || err != nil {
			t.Errorf("%s: got %+v %v %v, want attempt 3", name, got, found, err)
		}
		if _, found, err := process.AttemptOf(pid, t.TempDir()); found || err != nil {
			t.Errorf("%s: found in another store: %v", name, err)
		}
	}
	if _, found, err := process.AttemptOf(os.Getpid(), dir); found || err != nil {
		t.Errorf("the owner itself: got %v, %v", found, err)
	}
	checkLockFile(t, spec.Lock, guardPid(t, child))
	child.Stop()
	wait(t, child)
	v.end()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// checkLockFile reads the file as the package comment documents it.
func checkLockFile(t *testing.T, path string, guard int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"run": "r7f3", "step": "review#2", "attempt": 3.0, "agent": "reviewer", "guard": float64(guard)} {
		if got[key] != want {
			t.Errorf("%s: got %v, want %v", key, got[key], want)
		}
	}
	if len(got) != 7 || got["start"].(float64) <= 0 || len(got["boot"].(string)) != 36 {
		t.Errorf("got %s", content)
	}
}

// An agent may run a Starling of its own, whose agent is under two guards: it works for the nearest
// in each store.
func TestNestedGuards(t *testing.T) {
	outer, inner, v := t.TempDir(), t.TempDir(), newVigil(t)
	below := sh(watch+"echo $$ >&9; exec sleep 1000", v.path)
	below.Lock, below.Attempt = filepath.Join(inner, "step"), attempt(2)
	text, err := json.Marshal(ownerSpec{below.Argv, below.Dir, below.Env, below.Lock, time.Hour, below.Attempt})
	if err != nil {
		t.Fatal(err)
	}
	above := process.Spec{Argv: []string{os.Args[0]}, Env: []string{"TEST_OWNER=" + string(text)}}
	above.Lock, above.Attempt, above.Grace = filepath.Join(outer, "step"), attempt(1), 20*time.Millisecond
	child := start(t, context.Background(), above)
	line, err := v.lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	for dir, want := range map[string]process.Attempt{outer: attempt(1), inner: attempt(2)} {
		if got, found, err := process.AttemptOf(pid, dir); got != want || !found || err != nil {
			t.Errorf("got %+v %v %v, want %+v", got, found, err, want)
		}
	}
	child.Stop()
	if r := wait(t, child); r.Err != nil {
		t.Error(r.Err)
	}
	v.end()
}
