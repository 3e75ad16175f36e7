package git_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"starling/stdlib/git"
)

// Git goes on with as much of a sandbox as the machine has, and what it lacks is said. A user
// namespace in which there may be no further ones stands for a machine that allows none; a machine
// that does not allow this one is such a machine.
func TestLackOfSandboxIsSaid(t *testing.T) {
	const inside = "TEST_WITHOUT_NAMESPACES"
	if os.Getenv(inside) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		if cmd.Process != nil {
			if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
				t.Errorf("%v\n%s", err, out)
			}
			return
		}
		t.Logf("no user namespaces here: %v", err)
	} else if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	var said []string
	u := newUser(t)
	r := opened(git.Options{Workspace: u.dir, Store: u.path(".starling"),
		Warn: func(text string) { said = append(said, text) }})
	if err := r.Checkpoint(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	r.Close()
	if all := strings.Join(said, "\n"); !strings.Contains(all, "the sandbox of git is not whole") {
		t.Errorf("it was said: %q", all)
	}
}
