package process_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"starling/stdlib/process"
	"starling/stdlib/sandbox"
)

// attackVariable makes this test binary try one thing from where it stands, a line of JSON: see
// attackMain.
const attackVariable = "TEST_ATTACK"

// attack is one try and what it is aimed at.
type attack struct {
	Do    string // "" for all
	PID   int    // 0 for its guard
	Depth int    // 2: an orphan tries
}

// attackMain tries, and prints what was tried, and "done" or the error.
func attackMain(text string) {
	var a attack
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		panic(err)
	}
	if a.PID == 0 {
		a.PID = os.Getppid() // the guard
	}
	switch a.Depth {
	case 2:
		a.delegate()
	case 1:
		a.start(os.NewFile(3, "vigil"))
		os.Exit(0)
	}
	for do, try := range attacks() {
		if a.Do != "" && a.Do != do {
			continue
		}
		outcome := "done"
		if err := try(a); err != nil {
			outcome = err.Error()
		}
		fmt.Println(do+":", outcome)
	}
	os.Exit(0)
}

// delegate has an orphan try, which has an empty environment and a session of its own, and waits
// for its end.
func (a attack) delegate() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	a.start(w).Wait()
	w.Close()
	io.Copy(io.Discard, r)
	os.Exit(0)
}

func (a attack) start(vigil *os.File) *exec.Cmd {
	a.Depth--
	text, _ := json.Marshal(a) // plain data
	next := exec.Command("/proc/self/exe")
	next.Env, next.Stdout = []string{attackVariable + "=" + string(text)}, os.Stdout
	next.SysProcAttr, next.ExtraFiles = &syscall.SysProcAttr{Setsid: true}, []*os.File{vigil}
	if err := next.Start(); err != nil {
		panic(err)
	}
	return next
}

func attacks() map[string]func(attack) error {
	return map[string]func(attack) error{
		"exist":  func(a attack) error { return syscall.Kill(a.PID, 0) },
		"kill":   func(a attack) error { return syscall.Kill(a.PID, syscall.SIGKILL) },
		"thread": func(a attack) error { return unix.Tgkill(a.PID, a.PID, syscall.SIGKILL) },
		"group":  func(a attack) error { return syscall.Kill(-a.PID, syscall.SIGKILL) },
		"trace":  func(a attack) error { return syscall.PtraceAttach(a.PID) },
		"memory": func(a attack) error {
			f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", a.PID), os.O_RDWR, 0)
			if err == nil {
				f.Close()
			}
			return err
		},
		"read": func(a attack) error {
			var b [8]byte
			from := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b)), Len: 8}}
			_, err := unix.ProcessVMReadv(a.PID, []unix.Iovec{{Base: &b[0], Len: 8}}, from, 0)
			return err
		},
		"environment": func(a attack) error {
			_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", a.PID))
			return err
		},
		"descriptor": func(a attack) error {
			fd, err := unix.PidfdOpen(a.PID, 0)
			if err == nil {
				_, err = unix.PidfdGetfd(fd, 0, 0)
			}
			return err
		},
		"namespace": func(a attack) error {
			f, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", a.PID))
			if err == nil {
				err = unix.Setns(int(f.Fd()), unix.CLONE_NEWUSER)
			}
			return err
		},
		"pipe": func(a attack) error {
			f, err := os.Open(fmt.Sprintf("/proc/%d/fd/1", a.PID))
			if err == nil {
				f.Close()
			}
			return err
		},
	}
}

// tried is what comes of an attack by something that a guard has started.
func tried(t *testing.T, a attack) string {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{attackVariable + "=" + string(text)}
	r := run(t, process.Spec{Argv: []string{self}, Env: env, Grace: patience})
	said := strings.Join(r.Lacks, "\n")
	if keepsSignals() != (said == "") || said != "" && !strings.Contains(said, "it can signal") {
		t.Fatalf("it is said that it lacks: %q", said)
	}
	return strings.TrimSpace(string(r.Stdout))
}

// bystander is a process of the same user that no guard has started.
func bystander(t *testing.T) int {
	t.Helper()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c.Process.Pid
}

// alone is what comes of an attack by a process that no guard has started.
func alone(t *testing.T, a attack) string {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = []string{attackVariable + "=" + string(text)}
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// What a guard has started gets at no process that is not its own: neither its user's, nor its
// guard, nor the owner. The same tried by its user works.
func TestMarkedProcessesAreKeptFromOthers(t *testing.T) {
	innocent := bystander(t)
	targets := map[string]int{"its user's": innocent}
	if keepsSignals() {
		targets["the owner"], targets["its guard"] = os.Getpid(), 0
	}
	for name, pid := range targets {
		for _, depth := range []int{0, 2} {
			outcomes := strings.Split(tried(t, attack{PID: pid, Depth: depth}), "\n")
			if len(outcomes) != len(attacks()) {
				t.Errorf("%s: got %q, want an outcome of each attack", name, outcomes)
			}
			for _, got := range outcomes {
				if !refused(got) && (keepsSignals() || !isSignal(got)) {
					t.Errorf("%s, depth %d: got %q, want a refusal", name, depth, got)
				}
			}
		}
	}
	for _, do := range []string{"exist", "kill"} {
		if got := alone(t, attack{Do: do, PID: innocent}); got != do+": done" {
			t.Errorf("by its user: got %q", got)
		}
	}
}

// keepsSignals tells whether this kernel has what keeps signals in.
func keepsSignals() bool {
	version, err := kernel.LandlockGetABIVersion()
	return err == nil && version >= 6
}

func isSignal(outcome string) bool {
	do, _, _ := strings.Cut(outcome, ":")
	return do == "exist" || do == "kill" || do == "thread" || do == "group"
}

// refused: the owner of these tests leads no group, so there is none to be signalled.
func refused(got string) bool {
	return strings.HasSuffix(got, "operation not permitted") ||
		strings.HasSuffix(got, "permission denied") || got == "group: no such process"
}

// All that a guard starts has one mark more than its owner, a sandbox or not, and none can be taken
// off.
func TestMarks(t *testing.T) {
	own := marksOf(t, "self")
	box := &sandbox.Policy{Read: append(sandbox.System(), os.TempDir())}
	for name, box := range map[string]*sandbox.Policy{"plain": nil, "in a sandbox": box} {
		spec := sh(`grep -E "^(NoNewPrivs|Seccomp_filters)" /proc/self/status`)
		spec.Dir, spec.Sandbox = os.TempDir(), box
		got := strings.Join(strings.Fields(string(run(t, spec).Stdout)), " ")
		if want := fmt.Sprintf("NoNewPrivs: 1 Seccomp_filters: %d", own+1); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// marksOf is how many filters a process has.
func marksOf(t *testing.T, pid string) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	filters := regexp.MustCompile(`(?m)^Seccomp_filters:\s*(\d+)$`)
	n, err := strconv.Atoi(filters.FindStringSubmatch(string(status))[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A program finds the limit of open files that its user has set: not the one that a program in Go
// sets for itself.
func TestLimitOfOpenFilesIsTheUsers(t *testing.T) {
	const script = "ulimit -Sn; ulimit -Hn"
	want, err := exec.Command("/bin/sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, sh(script)).Stdout; string(got) != string(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
