package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"starling/runtime"
)

// fullScript writes more than the disk of the test has room for; what it comes to depends on all
// its steps.
const fullScript = `
def main():
    total, ids = 0, []
    for i in range(300):
        ids.append(uuid())
        print("%d %s " % (i, ids[-1]) + "x" * 40000)
        total += i
    return [total, len({id: True for id in ids})]
`

const fullOutput = "[44850,300]"

// diskVariable is set in a child of a test only, which has a mount namespace of its own: where a
// file system of its own is to be.
const diskVariable = "STARLING_TEST_DISK"

// noMount is what such a child says where it may mount nothing.
const noMount = "it cannot mount:"

// onDisk plays the test in a child that has a file system of its own, with mount options of tmpfs.
// It returns why that cannot be had here, "" where it was played.
func onDisk(t *testing.T, options string, play func(dir string)) (why string) {
	t.Helper()
	if dir := os.Getenv(diskVariable); dir != "" {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
			fmt.Println(noMount, err)
			return ""
		}
		play(dir)
		return ""
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=600s")
	cmd.Env = append(os.Environ(), diskVariable+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil || strings.Contains(out.String(), noMount) {
		return fmt.Sprintf("no file system of one's own: %v %s", err, &out)
	}
	if err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, &out)
	}
	return ""
}

// limitedFiles runs a command that may make no file longer than 512 KiB.
func limitedFiles() []string { return []string{"sh", "-c", `ulimit -f 1024; exec "$0" "$@"`} }

// TestFullDisk (A20 (5)) runs a script on a real small file system until that is full. The run
// stops, says so, and goes on when there is room again, to the end that it has on a large one.
// Where the system gives no file system of one's own, the length of files is limited instead.
func TestFullDisk(t *testing.T) {
	why := onDisk(t, "size=100m", func(dir string) {
		filler := filepath.Join(dir, "filler")
		if err := os.WriteFile(filler, make([]byte, 28<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		fills(t, dir, nil, func() { os.Remove(filler) })
	})
	if why != "" {
		t.Logf("%s; limiting the length of files", why)
		fills(t, t.TempDir(), limitedFiles(), func() {})
	}
}

// fullAnswer is what a command says in these tests.
type fullAnswer struct {
	Output json.RawMessage
	Error  struct{ Kind, Message string }
	exit   int
	told   string   // to people
	prints []string // step and id of each line that the script printed
}

// inFull runs a command in dir, under a limit if there is one.
func inFull(t *testing.T, dir string, limit []string, args ...string) (a fullAnswer) {
	t.Helper()
	args = append(append(limit[:len(limit):len(limit)], "starling"), args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	var out, shown bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &shown
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	a.exit, a.told = cmd.ProcessState.ExitCode(), shown.String()
	_ = json.Unmarshal(out.Bytes(), &a) // a command that was ended has no document
	a.prints = regexp.MustCompile(`\d+ [0-9a-f-]{36} x`).FindAllString(shown.String()+out.String(), -1)
	return a
}

// fills runs the script in dir until it cannot go on, makes room and lets it.
func fills(t *testing.T, dir string, limit []string, makeRoom func()) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "fill.star"), []byte(fullScript), 0o600); err != nil {
		t.Fatal(err)
	}
	if first := inFull(t, dir, nil, "ps"); limit != nil && first.exit != 0 { // makes the store, which is then limited
		t.Fatalf("%+v", first)
	}
	full := inFull(t, dir, limit, "run", "fill.star", "--json")
	if full.exit == 0 || limit == nil && (full.exit != runtime.ErrKindFull.ExitCode() || full.Error.Kind != "full" || !strings.Contains(full.Error.Message, "MiB are free, and a commit needs")) {
		t.Fatalf("on a full disk: exit %d, %+v", full.exit, full.Error)
	}
	makeRoom()
	if limit != nil {
		inFull(t, dir, nil, "run", "fill.star", "--json")
	}
	on := inFull(t, dir, nil, "resume", "@last", "--json")
	logs := inFull(t, dir, nil, "logs", "@last").prints
	if on.exit != 0 || string(on.Output) != fullOutput || len(logs) != 300 {
		t.Fatalf("with room: exit %d, %s, %d lines were printed, %+v", on.exit, on.Output, len(logs), on.Error)
	}
	t.Logf("%d lines were shown before the disk was full", len(full.prints))
	if limit == nil && len(full.prints) == 0 || !slices.Equal(full.prints, logs[:len(full.prints)]) {
		t.Errorf("what was shown when the disk became full is not what the run has: %q", full.prints)
	}
	if undisturbed := inFull(t, dir, nil, "run", "fill.star", "--json"); undisturbed.exit != 0 || string(undisturbed.Output) != string(on.Output) {
		t.Errorf("an undisturbed run: exit %d, %s", undisturbed.exit, undisturbed.Output)
	}
}
