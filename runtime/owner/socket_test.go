package owner_test

import (
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"starling/runtime"
	"starling/runtime/owner"
)

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// TestSocketIsPrivate checks the modes of all that an owner makes, however deep the store lies.
func TestSocketIsPrivate(t *testing.T) {
	dir := filepath.Join(store(t), strings.Repeat("deep/", 60), "store")
	acquire(t, config(dir), owner.Participant)
	socket := recorded(t, dir).Socket
	if want := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "starling"); filepath.Dir(socket) != want || len(socket) >= 100 {
		t.Errorf("got socket %s of %d bytes, want less than 100 of them, in %s", socket, len(socket), want)
	}
	for path, want := range map[string]fs.FileMode{
		filepath.Dir(socket):             fs.ModeDir | 0o700,
		socket:                           fs.ModeSocket | 0o600,
		filepath.Join(dir, "owner.json"): 0o600,
		filepath.Join(dir, "owner.lock"): 0o600,
	} {
		if got := mode(t, path); got != want {
			t.Errorf("%s: got mode %v, want %v", path, got, want)
		}
	}
}

// TestOneStoreHasOneSocket reaches a store by another name, and finds its owner.
func TestOneStoreHasOneSocket(t *testing.T) {
	dir := store(t)
	acquire(t, config(dir), owner.Participant)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir()) // another session has another one
	if s := acquire(t, config(link), owner.Participant); s.Owner() != os.Getpid() {
		t.Errorf("process %d owns the store under its other name, want this one", s.Owner())
	}
}

// TestRuntimeDirectories checks where sockets are when the runtime directory cannot be used.
func TestRuntimeDirectories(t *testing.T) {
	own := "starling-" + strconv.Itoa(os.Geteuid())
	temp, err := os.MkdirTemp("", "tmp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	open := filepath.Join(temp, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o770); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, xdg, tmp, want string }{
		{"none", "", temp, filepath.Join(temp, own)},
		{"a relative one", "run", temp, filepath.Join(temp, own)},
		{"one that does not exist", "/nowhere/run", temp, filepath.Join(temp, own)},
		{"one that others can enter", open, temp, filepath.Join(temp, own)},
		{"one that is too long", long, temp, filepath.Join(temp, own)},
		{"and one for temporary files that is too long as well", long, long, filepath.Join("/tmp", own)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", c.xdg)
			t.Setenv("TMPDIR", c.tmp)
			dir := filepath.Join(t.TempDir(), "store")
			acquire(t, config(dir), owner.Participant)
			if got := filepath.Dir(recorded(t, dir).Socket); got != c.want {
				t.Errorf("got a socket in %s, want in %s", got, c.want)
			}
		})
	}
}

// TestPreparedDirectoriesAreRefused checks what somebody else may have put where our directory is
// to be.
func TestPreparedDirectoriesAreRefused(t *testing.T) {
	elsewhere := t.TempDir()
	cases := []struct {
		name string
		make func(path string) error
		want string
	}{
		{"a symbolic link", func(path string) error { return os.Symlink(elsewhere, path) }, "got a symbolic link, want a directory for sockets"},
		{"a file", func(path string) error { return os.WriteFile(path, nil, 0o600) }, "got a file, want a directory for sockets"},
		{"one that others can enter", func(path string) error { return os.Mkdir(path, 0o755) }, "got mode 0755, want 0700"},
	}
	if os.Geteuid() == 0 { // who else could make one that belongs to another
		cases = append(cases, struct {
			name string
			make func(path string) error
			want string
		}{"one of another user", func(path string) error {
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			return os.Chown(path, 1234, 1234)
		}, "it belongs to user 1234, want 0"})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			own, err := os.MkdirTemp("", "run")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(own) })
			t.Setenv("XDG_RUNTIME_DIR", own)
			dir, path := store(t), filepath.Join(own, "starling")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			_, err = owner.Acquire(within(t), config(dir), owner.Participant)
			refused(t, err, runtime.ErrOwnerUnreachable, path+": "+c.want)
			if entries, _ := os.ReadDir(elsewhere); len(entries) > 0 {
				t.Errorf("the link was followed: %v", entries)
			}
		})
	}
}

// TestForeignFileInARecord is not removed: what an owner that was killed has left is a socket, in a
// directory of ours, on which nobody listens.
func TestForeignFileInARecord(t *testing.T) {
	dir := store(t)
	s := acquire(t, config(dir), owner.Participant)
	r := recorded(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ours := filepath.Dir(r.Socket)
	elsewhere := filepath.Join(t.TempDir(), "s")
	served, stale := filepath.Join(ours, "served"), filepath.Join(ours, "stale")
	for _, path := range []string{elsewhere, served, stale} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		if path == served {
			defer l.Close()
		} else {
			l.Close()
		}
	}
	file := filepath.Join(ours, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, kept := range map[string]bool{file: true, elsewhere: true, served: true, stale: false} {
		r.Socket = path
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "owner.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := acquire(t, config(dir), owner.Participant).Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); (err == nil) != kept {
			t.Errorf("%s: %v, want kept = %v", path, err, kept)
		}
	}
}

// TestSocketHasAnotherNameEachTime, and none that could be found from the store.
func TestSocketHasAnotherNameEachTime(t *testing.T) {
	dir, names := store(t), map[string]bool{}
	for range 3 {
		s := acquire(t, config(dir), owner.Participant)
		names[recorded(t, dir).Socket] = true
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) != 3 {
		t.Errorf("got the sockets %v, want three names", names)
	}
}
