package owner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"starling/runtime"
	"starling/runtime/owner"
)

// TestOwnerThatWasMissed takes away what an owner is found by, or puts something else in its place:
// the next command reaches it all the same, and so does stop.
func TestOwnerThatWasMissed(t *testing.T) {
	takeAway := map[string]func(t *testing.T, dir string, r owner.Record){
		"the socket": func(t *testing.T, _ string, r owner.Record) { remove(t, r.Socket) },
		"the record": func(t *testing.T, dir string, _ owner.Record) {
			remove(t, filepath.Join(dir, "owner.json"))
		},
		"the directory": func(t *testing.T, _ string, r owner.Record) {
			remove(t, filepath.Dir(r.Socket))
		},
		"a forged record": forgeRecord,
		"both": func(t *testing.T, dir string, r owner.Record) {
			remove(t, r.Socket)
			remove(t, filepath.Join(dir, "owner.json"))
		},
	}
	for name, take := range takeAway {
		for _, role := range []owner.Role{owner.Reader, owner.Participant} {
			t.Run(name, func(t *testing.T) {
				dir := store(t)
				a := launch(t, "participant", dir)
				take(t, dir, recorded(t, dir))
				s := acquire(t, config(dir), role)
				if s.Owner() != a.pid() {
					t.Errorf("process %d owns the store, want %d", s.Owner(), a.pid())
				}
				if _, err := s.List(within(t), runtime.Query{}); err != nil {
					t.Error(err)
				}
				if again := recorded(t, dir); again.PID != a.pid() {
					t.Errorf("got the record %+v, want one of process %d", again, a.pid())
				}
			})
		}
		t.Run("stop without "+name, func(t *testing.T) {
			dir := store(t)
			t.Setenv(roleVariable, "serve")
			t.Setenv(dirVariable, dir)
			if err := owner.Spawn(within(t), config(dir), os.Args[0]); err != nil {
				t.Fatal(err)
			}
			r := recorded(t, dir)
			take(t, dir, r)
			if pid, err := owner.Stop(within(t), config(dir)); err != nil || pid != r.PID {
				t.Errorf("stopped %d, %v; want %d", pid, err, r.PID)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// forgeRecord names an innocent process, which must not come to harm by it.
func forgeRecord(t *testing.T, dir string, r owner.Record) {
	r.PID, r.Socket = os.Getppid(), filepath.Join(filepath.Dir(r.Socket), "none")
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "owner.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestForgedOwnerIsNotBelieved puts a marked process in the place of the owner, which hangs:
// nothing is sent to it, and the refusal names it. When the owner is there again, it takes its
// place back.
func TestForgedOwnerIsNotBelieved(t *testing.T) {
	t.Parallel()
	dir := store(t)
	a := launch(t, "participant", dir)
	genuine := recorded(t, dir)
	forger := begin(t, "forger", dir)
	forger.ready()
	if recorded(t, dir).PID != forger.pid() {
		t.Fatal("the record is not forged")
	}
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err := owner.Acquire(within(t), config(dir), owner.Participant)
	refused(t, err, runtime.ErrDenied,
		strconv.Itoa(forger.pid())+" listens at the socket of the owner",
		"is not believed: it has no_new_privs, which this one does not")
	if _, err := os.Stat(filepath.Join(dir, "told")); !os.IsNotExist(err) {
		t.Errorf("the forger was told something: %v", err)
	}
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s := acquire(t, config(dir), owner.Participant)
	if s.Owner() != a.pid() || recorded(t, dir).Socket == genuine.Socket {
		t.Errorf("process %d owns the store, want %d at a new socket", s.Owner(), a.pid())
	}
}

// forge takes a mark, as a process that Starling starts has it, and the place of the owner in
// owner.json. Whoever asks it anything is remembered in the file "told".
func forge(role, dir string) {
	if role == "forger" {
		goruntime.LockOSThread()
		err := errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
			os.Setenv(roleVariable, "marked forger"))
		panic(errors.Join(err, syscall.Exec("/proc/self/exe", os.Args, os.Environ())))
	}
	socket := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "forged")
	l, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	text, _ := json.Marshal(owner.Record{PID: os.Getpid(), Protocol: 1, Socket: socket})
	if err := os.WriteFile(filepath.Join(dir, "owner.json"), text, 0o600); err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(reply{Done: true})
	http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		os.WriteFile(filepath.Join(dir, "told"), nil, 0o600)
		fmt.Fprintf(w, `{"protocol": 1, "store": %q, "state": "serving"}`, dir)
	}))
}

// TestOwnerHidesItsMemory: nobody of the same user reads it, or attaches to it. Root may, and is
// asked by its marks.
func TestOwnerHidesItsMemory(t *testing.T) {
	dir := store(t)
	a := launch(t, "participant", dir)
	_, err := os.ReadFile("/proc/" + strconv.Itoa(a.pid()) + "/environ")
	if os.Geteuid() != 0 && err == nil {
		t.Error("the environment of the owner can be read")
	}
	info, err := os.Stat("/proc/" + strconv.Itoa(a.pid()) + "/mem")
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the memory of the owner belongs to its user: %v", err)
	}
	if on, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || on != 1 {
		t.Errorf("this process, which owns nothing, is at %d, %v", on, err)
	}
}
