package process

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 2 3\n"
	for content, want := range map[string]stat{
		"42 (sh)" + rest:              {42, 'S', 7, 8, 12345},
		"42 (a b) R (1 2 3 4)" + rest: {42, 'S', 7, 8, 12345}, // a program may call itself that
		"42 ()" + rest:                {42, 'S', 7, 8, 12345},
	} {
		if got, ok := parseStat(content); !ok || got != want {
			t.Errorf("%q: got %+v %v, want %+v", content, got, ok, want)
		}
	}
	for _, content := range []string{"", "42", "42 (sh", "42 (sh) S 7 8", "x (sh)" + rest, ") (" + rest, "(sh)" + rest} {
		if got, ok := parseStat(content); ok {
			t.Errorf("%q: got %+v, want a refusal", content, got)
		}
	}
}

// The kernel's own list and the walk through /proc agree.
func TestOwnChildren(t *testing.T) {
	var want []int
	for range 3 {
		c := exec.Command("sleep", "1000")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		want = append(want, c.Process.Pid)
	}
	for name, got := range map[string][]int{"list": ownChildren(), "walk": childrenOf(os.Getpid())} {
		for _, pid := range want {
			if !slices.Contains(got, pid) {
				t.Errorf("%s: got %v, want %d in it", name, got, pid)
			}
		}
	}
}

// A lock file names a process by more than its number.
func TestAttemptOfBelievesNoRecycledPid(t *testing.T) {
	dir := t.TempDir()
	me := holder{Attempt{"r", "s", 1, "a"}, ownIdentity()}
	if me.Start == 0 || me.Boot == "" {
		t.Fatalf("got %+v, want an identity", me)
	}
	find := func(name string, h holder) bool {
		t.Helper()
		content, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		got, found, err := AttemptOf(os.Getpid(), dir)
		if err != nil || found && got != me.Attempt {
			t.Errorf("got %+v, %v", got, err)
		}
		return found
	}
	earlier, rebooted, other := me, me, me
	earlier.Start--
	rebooted.Boot = "11111111-2222-3333-4444-555555555555"
	other.Guard++
	for name, h := range map[string]holder{"earlier": earlier, "rebooted": rebooted, "other": other, "unsigned": {}} {
		if find(name, h) {
			t.Errorf("%s: believed", name)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "torn"), []byte(`{"run":"r","gu`), 0o600); err != nil {
		t.Fatal(err)
	}
	if !find("live", me) {
		t.Error("the live guard was not found beside the others")
	}
}

func TestAttemptOfNobody(t *testing.T) {
	dir := t.TempDir()
	content, _ := json.Marshal(holder{Attempt{"r", "s", 1, "a"}, identity{1 << 30, 1, "x"}})
	if err := os.WriteFile(filepath.Join(dir, "step"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pid int
		dir string
	}{{os.Getpid(), dir}, {os.Getpid(), dir + "/none"}, {gone.Process.Pid, dir}, {1, dir}, {0, dir}, {-1, dir}} {
		if a, found, err := AttemptOf(c.pid, c.dir); found || err != nil || a != (Attempt{}) {
			t.Errorf("%+v: got %+v %v %v, want nobody", c, a, found, err)
		}
	}
	_, _, err := AttemptOf(os.Getpid(), filepath.Join(dir, "step"))
	if want := "process: reading locks: open " + dir + "/step: not a directory"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
