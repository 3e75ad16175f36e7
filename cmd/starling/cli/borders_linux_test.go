package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"starling/runtime"
)

const restingScript = `
def main():
    print("x" * 300000)
    return gate("g", options = ["yes", "no"]).choice
`

// resting makes a store in dir with a run that rests. With killed its owner was, so that what it
// wrote is in its logs.
func resting(t *testing.T, dir string, killed bool) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "rest.star"), []byte(restingScript), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "rest.star", "--json"}
	if killed {
		args = append(args, "--detach")
	}
	inFull(t, dir, nil, args...)
	if killed {
		inFull(t, dir, nil, "wait", "@last", "--json")
		pid, err := ownerPid(filepath.Join(dir, ".starling", ownerFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil || !gone(pid) {
			t.Fatalf("the owner %d: %v", pid, err)
		}
	}
}

// reads are commands that change nothing. What they make is in out.
func reads(out string) [][]string {
	return [][]string{{"ps", "-a"}, {"ps", "--json"}, {"show", "@last"}, {"logs", "@last"},
		{"steps", "@last"}, {"graph", "@last"}, {"inbox"}, {"query", "status = suspended"},
		{"cost", "@last"}, {"queue", "ls"},
		{"replay", "@last", "--verify"}, {"check", "rest.star"}, {"store", "info"}, {"store", "check"},
		{"doctor"}, {"export", "@last", "-o", filepath.Join(out, "run")},
		{"store", "backup", filepath.Join(out, "backup")}, {"stop"}}
}

// writes are commands that change something.
func writes() [][]string {
	return [][]string{{"run", "rest.star"}, {"resume", "@last"}, {"approve", "@last/g"},
		{"cancel", "@last"}, {"wait", "@last"}, {"store", "gc"}, {"prune", "--older", "1d"}, {"define", "x", "rest.star"},
		{"push", "q", "1"}, {"serve"}, {"token", "add", "x", "--can", "read"}, {"mcp"}}
}

// TestReadOnlyStore: a store on a disk that can only be read is read, also after its owner was
// killed, and what would write is refused in one sentence.
func TestReadOnlyStore(t *testing.T) {
	played := false
	why := onDisk(t, "size=300m", func(dir string) {
		played = true
		for _, killed := range []bool{false, true} {
			resting(t, dir, killed)
			if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
			wantReads(t, dir)
			if killed {
				wantNoWrites(t, dir)
			}
			if err := unix.Mount("", dir, "", unix.MS_REMOUNT, ""); err != nil {
				t.Fatal(err)
			}
		}
	})
	if why == "" || played {
		return
	}
	dir := t.TempDir()
	resting(t, dir, false)
	if os.Getuid() == 0 {
		t.Logf("%s; permissions do not bind root: wanted instead that reading changes nothing", why)
		before := packing(t, dir)
		for _, args := range reads(t.TempDir()) {
			inFull(t, dir, nil, args...)
		}
		if after := packing(t, dir); after != before {
			t.Errorf("reading made of\n%s\n%s", before, after)
		}
		return
	}
	t.Logf("%s; taking the right to write away", why)
	setModes(t, dir, 0o500, 0o400)
	t.Cleanup(func() { setModes(t, dir, 0o700, 0o600) })
	wantReads(t, dir)
	wantNoWrites(t, dir)
}

// wantReads runs what only reads on a store that can only be read.
func wantReads(t *testing.T, dir string) {
	t.Helper()
	for _, args := range reads(t.TempDir()) {
		if a := inFull(t, dir, nil, args...); a.exit != 0 {
			t.Errorf("%v: exit %d: %s", args, a.exit, a.told)
		}
	}
}

// wantNoWrites runs what writes on a store that can only be read.
func wantNoWrites(t *testing.T, dir string) {
	t.Helper()
	for _, args := range writes() {
		a := inFull(t, dir, nil, args...)
		if a.exit != runtime.ErrKindReadOnly.ExitCode() || !strings.Contains(a.told, "can only be read: ") {
			t.Errorf("%v: exit %d: %s", args, a.exit, a.told)
		}
	}
}

func setModes(t *testing.T, dir string, folder, file os.FileMode) {
	t.Helper()
	for _, d := range []string{"", "badger"} {
		at := filepath.Join(dir, ".starling", d)
		if err := os.Chmod(at, 0o700); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(at)
		for _, e := range entries {
			if err == nil && !e.IsDir() {
				err = os.Chmod(filepath.Join(at, e.Name()), file)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"badger", ""} {
		if err := os.Chmod(filepath.Join(dir, ".starling", d), folder); err != nil {
			t.Fatal(err)
		}
	}
}

// packing tells of each file of a folder how long it is and when it was changed.
func packing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			b.WriteString(path + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFullOfFiles: an export and a backup that find no room are refused as such, and leave nothing.
func TestFullOfFiles(t *testing.T) {
	for _, limit := range [][]string{nil, limitedFiles()} {
		why := ""
		played := func(dir string) {
			store := t.TempDir()
			resting(t, store, false)
			for _, args := range [][]string{{"export", "@last", "-o", "x"}, {"store", "backup", "x"}} {
				args = append([]string{"--store", filepath.Join(store, ".starling")}, args...)
				a := inFull(t, dir, limit, append(args, "-C", dir)...)
				if a.exit != runtime.ErrKindFull.ExitCode() || !strings.Contains(a.told, "error: ") {
					t.Errorf("%v: exit %d: %s", args, a.exit, a.told)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left %v: %v", left, err)
			}
		}
		if limit == nil {
			why = onDisk(t, "size=64k", played)
		}
		if why != "" {
			t.Logf("%s; only with a limit to the length of files", why)
		}
		if limit != nil && os.Getenv(diskVariable) == "" {
			limit[2] = strings.Replace(limit[2], "1024", "8", 1)
			played(t.TempDir())
		}
	}
}

// TestDescriptors: a command that gets no descriptor any more says so in one sentence. With fewer
// than eight the runtime of Go itself cannot begin.
func TestDescriptors(t *testing.T) {
	dir := t.TempDir()
	resting(t, dir, false)
	refused := 0
	for n := 8; n <= 38; n += 3 {
		// What whoever has started the tests left open would be counted, too.
		limit := []string{"sh", "-c", fmt.Sprintf(`exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; ulimit -n %d; exec "$0" "$@"`, n)}
		for _, args := range [][]string{{"ps"}, {"run", "rest.star"}, {"store", "check"}} {
			a := inFull(t, dir, limit, args...)
			if a.exit == 0 || a.exit == runtime.ExitSuspended {
				continue
			}
			refused++
			said, help, _ := strings.Cut(a.told, "\nhelp: allow more descriptors")
			if a.exit != runtime.ErrKindExhausted.ExitCode() || help == "" || strings.Contains(said, "\n") {
				t.Errorf("%v with %d: exit %d: %s", args, n, a.exit, a.told)
			}
		}
	}
	if refused == 0 {
		t.Error("no command was refused: the descriptors were not limited")
	}
}
