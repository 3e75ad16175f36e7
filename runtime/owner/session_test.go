package owner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/badger"
	"starling/runtime/engine/enginetest"
	"starling/runtime/memory"
	"starling/runtime/owner"
	"starling/runtime/runtimetest"
)

// acquire opens a session of this process, which is closed with the test.
func acquire(t *testing.T, c owner.Config, role owner.Role) *owner.Session {
	t.Helper()
	s, err := owner.Acquire(within(t), c, role)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestSessionIsAnEngine checks both seats of a session: the user goes through it, others go to the
// engine behind it.
func TestSessionIsAnEngine(t *testing.T) {
	self, err := api.Authenticate(api.Self(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, seat := range []string{"owner", "client"} {
		t.Run(seat, func(t *testing.T) {
			runtimetest.TestEngine(t, runtimetest.Subject{
				User:   self.Name,
				Bundle: enginetest.Bundle,
				Open: func(t *testing.T) func(runtime.Caller) runtime.Engine {
					e, err := enginetest.Open(memory.New(), nil)
					if err != nil {
						t.Fatal(err)
					}
					c := config(store(t))
					c.Open = func(string) (runtime.Engine, error) { return e, nil }
					s := acquire(t, c, owner.Participant)
					if seat == "client" {
						s = acquire(t, c, owner.Participant)
					}
					return func(c runtime.Caller) runtime.Engine {
						if c.Local {
							return s
						}
						return runtimetest.As(e, c)
					}
				},
			})
		})
	}
}

// TestReaderChangesNothing reads a store that nobody owns: no epoch, no record, no socket; and one
// that does not exist stays so.
func TestReaderChangesNothing(t *testing.T) {
	dir := store(t)
	read := func(runtime.Engine) error { t.Error("there is nothing to read"); return nil }
	if err := owner.Read(within(t), config(dir), read); !errors.Is(err, runtime.ErrNoStore) {
		t.Errorf("no store: got %v, want %v", err, runtime.ErrNoStore)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the reader has made the store: %v", err)
	}

	s := acquire(t, config(dir), owner.Participant)
	run, err := s.Start(within(t), source(review))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names := listing(t, dir)
	for range 2 {
		err = owner.Read(within(t), config(dir), func(e runtime.Engine) error {
			found, err := e.Get(within(t), "@last")
			if err == nil && (found.ID != run.ID || found.Details.Carried) {
				t.Errorf("got %+v, want %s, carried by nobody", found, run.ID)
			}
			if now := listing(t, dir); !slices.Equal(now, names) {
				t.Errorf("while it is read the store holds %q, want %q", now, names)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	broken := errors.New("broken pipe")
	if err := owner.Read(within(t), config(dir), func(runtime.Engine) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want the function's own error", err)
	}
	if epoch(dir) != 1 {
		t.Errorf("got epoch %d after reading, want 1", epoch(dir))
	}
}

func listing(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestReaderAsksTheOwner reads while an owner is there, which need not wait for the reader.
func TestReaderAsksTheOwner(t *testing.T) {
	dir := store(t)
	s := acquire(t, config(dir), owner.Participant)
	run, err := s.Start(within(t), source(review))
	if err != nil {
		t.Fatal(err)
	}
	r := acquire(t, config(dir), owner.Reader)
	found, err := r.Get(within(t), run.ID)
	if err != nil || !found.Details.Carried || r.Owner() != os.Getpid() {
		t.Errorf("got %+v, %v from process %d; want what the owner knows", found, err, r.Owner())
	}
	if err := s.Idle(within(t), 0); err != nil {
		t.Errorf("with a reader about the owner cannot leave: %v", err)
	}
	if err := r.Idle(within(t), time.Hour); err != nil {
		t.Errorf("a reader waits to leave: %v", err)
	}
}

// TestReadersAndOwnersTakeTurns lets readers and owners come and go at once: all get in, whoever
// holds the lock at the moment.
func TestReadersAndOwnersTakeTurns(t *testing.T) {
	dir := store(t)
	if err := acquire(t, config(dir), owner.Participant).Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	const each = 5
	for range each {
		go func() {
			done <- owner.Read(within(t), config(dir), func(e runtime.Engine) error {
				_, err := e.List(within(t), runtime.Query{})
				return err
			})
		}()
		go func() {
			s, err := owner.Acquire(within(t), config(dir), owner.Participant)
			if err == nil {
				_, err = s.Start(within(t), source(hello))
				err = errors.Join(err, s.Close())
			}
			done <- err
		}()
	}
	for range 2 * each {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestKeeper checks that serve owns or is refused, and that its place is free when it has left.
func TestKeeper(t *testing.T) {
	dir := store(t)
	first := acquire(t, config(dir), owner.Keeper)
	_, err := owner.Acquire(within(t), config(dir), owner.Keeper)
	refused(t, err, runtime.ErrOwnerUnreachable, fmt.Sprintf("the store %s is owned by process %d (test) already", dir, os.Getpid()), "starling stop")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if second := acquire(t, config(dir), owner.Keeper); second.Owner() != 0 {
		t.Errorf("process %d owns, want this one", second.Owner())
	}
}

// TestKeeperWaitsForAPassingOwner meets a command that owns the store: it is asked again and again
// who it is, and when it leaves the keeper owns.
func TestKeeperWaitsForAPassingOwner(t *testing.T) {
	dir := store(t)
	c := config(dir)
	asked := make(chan struct{}, 1000)
	c.Identify = func(int) (string, string, error) { asked <- struct{}{}; return "", "", nil } // of each connection
	passing := acquire(t, c, owner.Participant)
	for len(asked) > 0 {
		<-asked // for itself
	}
	kept := make(chan error)
	go func() {
		s, err := owner.Acquire(within(t), config(dir), owner.Keeper)
		if err == nil {
			defer s.Close()
			if s.Owner() != 0 {
				err = fmt.Errorf("process %d owns, want this one", s.Owner())
			}
		}
		kept <- err
	}()
	for range 2 { // asked twice, it has answered once
		select {
		case <-asked:
		case err := <-kept:
			t.Fatalf("while a command owns the store: %v", err)
		}
	}
	if err := passing.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-kept; err != nil {
		t.Error(err)
	}
}

// hold takes a store's lock as a process does that never says a word.
func hold(t *testing.T, dir string) *os.File {
	t.Helper()
	if err := badger.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "owner.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// TestNobodyAnswers finds the lock held, and nobody who says that it is he: no owner.json, one that
// was left by a dead process, one that is no JSON.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]string{
		"no record":     "",
		"a stale one":   `{"pid": 1, "started": "never", "socket": "/nowhere"}`,
		"a damaged one": `{"pid"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			hold(t, dir)
			if record != "" {
				if err := os.WriteFile(filepath.Join(dir, "owner.json"), []byte(record), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, role := range []owner.Role{owner.Participant, owner.Keeper, owner.Reader} {
				t.Run(fmt.Sprint(role), func(t *testing.T) {
					t.Parallel()
					_, err := owner.Acquire(within(t), config(dir), role)
					refused(t, err, runtime.ErrOwnerUnreachable, "the store "+dir+
						" is held by a process that has not said who it is within 5s", "lsof")
				})
			}
		})
	}
}

// TestOwnerOfAnotherVersion meets an owner with which only hello and stop can be spoken.
func TestOwnerOfAnotherVersion(t *testing.T) {
	dir := store(t)
	lock := hold(t, dir)
	socket := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	later := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"protocol": 7, "build": "v9", "pid": %d, "store": %q, "state": "serving"}`, os.Getpid(), dir)
		if r.URL.Path == "/stop" {
			lock.Close()
		}
	})}
	go later.Serve(l)
	defer later.Close()
	record := fmt.Sprintf(`{"pid": %d, "started": "x", "socket": %q, "of": "tomorrow"}`, os.Getpid(), socket)
	if err := os.WriteFile(filepath.Join(dir, "owner.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, role := range []owner.Role{owner.Participant, owner.Reader} {
		_, err = owner.Acquire(within(t), config(dir), role)
		refused(t, err, runtime.ErrOwnerUnreachable, "the owner of the store speaks protocol 7, this command protocol 1", "starling stop")
	}
	_, err = owner.Acquire(within(t), config(dir), owner.Keeper)
	refused(t, err, runtime.ErrOwnerUnreachable, "(v9) already", "starling stop")
	if pid, err := owner.Stop(within(t), config(dir)); err != nil || pid != os.Getpid() {
		t.Errorf("stopped %d, %v; want the later version", pid, err)
	}
	acquire(t, config(dir), owner.Participant)
}

// TestAnotherStoresSocket finds a record whose socket has become that of another store.
func TestAnotherStoresSocket(t *testing.T) {
	t.Parallel()
	dir := store(t)
	acquire(t, config(dir), owner.Participant)
	other := filepath.Join(t.TempDir(), "other")
	hold(t, other)
	record := fmt.Sprintf(`{"pid": %d, "started": "x", "socket": %q}`, os.Getpid(), recorded(t, dir).Socket)
	if err := os.WriteFile(filepath.Join(other, "owner.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := owner.Acquire(within(t), config(other), owner.Participant)
	refused(t, err, runtime.ErrOwnerUnreachable, "has not said who it is")
}

// TestStoresOwnLockLags opens a store whose own lock is let go a moment after ours.
func TestStoresOwnLockLags(t *testing.T) {
	c := config(store(t))
	open, tries := c.Open, 0
	c.Open = func(dir string) (runtime.Engine, error) {
		if tries++; tries < 3 {
			return nil, fmt.Errorf("%s: %w", dir, runtime.ErrLocked)
		}
		return open(dir)
	}
	acquire(t, c, owner.Participant)
	if tries != 3 {
		t.Errorf("opened %d times, want 3", tries)
	}
}

// TestStoreThatCannotBeOpened gives the error of the store, and leaves the lock to the next.
func TestStoreThatCannotBeOpened(t *testing.T) {
	dir := store(t)
	c := config(dir)
	c.Open = func(dir string) (runtime.Engine, error) { return nil, fmt.Errorf("%s: %w", dir, runtime.ErrDamaged) }
	for range 2 {
		if _, err := owner.Acquire(within(t), c, owner.Participant); !errors.Is(err, runtime.ErrDamaged) {
			t.Errorf("got %v, want %v", err, runtime.ErrDamaged)
		}
	}
	if names := listing(t, dir); !slices.Equal(names, []string{".gitignore", "format", "owner.lock"}) {
		t.Errorf("left %q, want an empty store and the lock file", names)
	}
	c.Prepare = func(dir string) error { return fmt.Errorf("%s: %w", dir, runtime.ErrNotAStore) }
	if _, err := owner.Acquire(within(t), c, owner.Keeper); !errors.Is(err, runtime.ErrNotAStore) {
		t.Errorf("got %v, want %v", err, runtime.ErrNotAStore)
	}
}

// TestStoreOfSomebodyElse says whose rights are wanting, for every role, and does not ask who calls
// before it.
func TestStoreOfSomebodyElse(t *testing.T) {
	dir := store(t)
	denied := &fs.PathError{Op: "open", Path: "owner.lock", Err: fs.ErrPermission}
	c := config(dir)
	c.Prepare = func(string) error { return fmt.Errorf("make a store: %w", denied) }
	c.Identify = func(int) (string, string, error) { return "", "", denied }
	_, err := owner.Acquire(within(t), c, owner.Participant)
	refused(t, err, runtime.ErrDenied, fmt.Sprintf("the store %s is not open to user %d: make a store: open owner.lock: permission denied", dir, os.Geteuid()), "--store DIR")

	if err := config(dir).Prepare(dir); err != nil {
		t.Fatal(err)
	}
	c = config(dir)
	c.OpenReader = func(string) (runtime.Engine, error) { return nil, denied }
	_, err = owner.Acquire(within(t), c, owner.Reader)
	refused(t, err, runtime.ErrDenied, "is not open to user", "chown -R")
}

// TestClientsWaitForAnOwnerThatStarts lets an owner take its time to open the store.
func TestClientsWaitForAnOwnerThatStarts(t *testing.T) {
	dir := store(t)
	slow := config(dir)
	entered, release := make(chan struct{}), make(chan struct{})
	slow.Open = func(dir string) (runtime.Engine, error) {
		close(entered)
		<-release
		return config(dir).Open(dir)
	}
	first := make(chan error)
	go func() {
		s, err := owner.Acquire(within(t), slow, owner.Participant)
		first <- err
		<-first
		first <- s.Close()
	}()
	<-entered
	ctx, cancel := context.WithCancel(within(t))
	second := make(chan error)
	go func() {
		s, err := owner.Acquire(ctx, config(dir), owner.Participant)
		if err == nil && s.Owner() != os.Getpid() {
			err = fmt.Errorf("process %d owns, want this one", s.Owner())
		}
		second <- err
		s.Close()
	}()
	for h := (api.Hello{}); h.State != api.Starting; {
		if content, err := os.ReadFile(filepath.Join(dir, "owner.json")); err == nil && len(content) > 0 {
			h, _ = api.Greet(ctx, recorded(t, dir).Socket)
		}
	}
	close(release)
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	cancel()
	first <- nil
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestClientsOfAnOwnerThatLeaves closes an owner under its clients: they go on, one of them as the
// owner.
func TestClientsOfAnOwnerThatLeaves(t *testing.T) {
	dir := store(t)
	first := acquire(t, config(dir), owner.Participant)
	second, third := acquire(t, config(dir), owner.Participant), acquire(t, config(dir), owner.Participant)
	run, err := second.Start(within(t), source(review))
	if err != nil {
		t.Fatal(err)
	}
	watching, ended := make(chan struct{}), make(chan error, 1)
	var seen []uint64
	go func() {
		ended <- third.Watch(within(t), runtime.WatchRequest{Run: "@last", Follow: true}, func(ev runtime.Event) error {
			if seen = append(seen, ev.Seq); ev.Seq == 3 {
				close(watching)
			}
			return nil
		})
	}()
	<-watching
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Start(within(t), source(hello)); err != nil { // @last is another run from now on
		t.Fatal(err)
	}
	for _, gate := range []string{"review", "again"} {
		if _, err := second.Signal(within(t), answer(run.ID, gate)); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := make([]uint64, 17)
	for i := range want {
		want[i] = uint64(i + 1)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %v, want %v", seen, want)
	}
	if _, err := first.Get(within(t), run.ID); err == nil || err.Error() != "the session is closed" {
		t.Errorf("a closed session: got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("a second Close: got %v", err)
	}
}

// TestAgentsActAsAgents checks that a command which descends from an attempt has that agent's
// rights when it is the owner itself.
func TestAgentsActAsAgents(t *testing.T) {
	c := config(store(t))
	c.Identify = func(int) (string, string, error) { return "bob", "r1", nil }
	_, err := acquire(t, c, owner.Participant).Start(within(t), source(hello))
	refused(t, err, runtime.ErrDenied, `the agent "bob" may not start runs`)
	c.Identify = func(int) (string, string, error) { return "", "", errors.New("no /proc") }
	_, err = owner.Acquire(within(t), c, owner.Participant)
	refused(t, err, runtime.ErrDenied, "no /proc")
}

// TestRequestThatBreaksItsOwner is given up after some owners.
func TestRequestThatBreaksItsOwner(t *testing.T) {
	dir := store(t)
	hold(t, dir)
	socket := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	fragile := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hello":
			fmt.Fprintf(w, `{"protocol": 1, "store": %q, "state": "serving", "keep_alive": 15000000000}`, dir)
		case "/attach":
			io.WriteString(w, ": attached\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			asked.Add(1)
			panic(http.ErrAbortHandler)
		}
	})}
	go fragile.Serve(l)
	defer fragile.Close()
	record := fmt.Sprintf(`{"pid": %d, "started": "x", "socket": %q}`, os.Getpid(), socket)
	if err := os.WriteFile(filepath.Join(dir, "owner.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = acquire(t, config(dir), owner.Participant).Cancel(within(t), runtime.CancelRequest{Run: "x"})
	refused(t, err, runtime.ErrOwnerUnreachable, "the request was sent 5 times and never answered: the owner of the store is gone: EOF")
	if asked.Load() != 5 {
		t.Errorf("asked %d times, want 5", asked.Load())
	}
}
