package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/postgres"
	"starling/runtime/runtimetest"
)

// through is an address as it is behind a proxy.
func through(p *runtimetest.Proxy, server *runtimetest.Postgres, address string) string {
	return strings.Replace(address, fmt.Sprintf(":%d/", server.Port), fmt.Sprintf(":%d/", p.Port), 1)
}

func proxied(t *testing.T, server *runtimetest.Postgres) *runtimetest.Proxy {
	return runtimetest.StartProxy(t, net.JoinHostPort("127.0.0.1", fmt.Sprint(server.Port)))
}

func open(t *testing.T, address string, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// step is a batch that moves a run by one and keeps that it did.
func step(run string, n uint64) *runtime.Batch {
	return &runtime.Batch{
		Fences: []runtime.Fence{{Run: run, Expect: n, Next: n + 1, Head: []byte("head")}},
		Writes: []runtime.Write{{Key: fmt.Appendf(nil, "%s/%06d", run, n), Value: []byte("v")}},
	}
}

// commits has several writers move runs of their own, until stop, and gives how far each came.
func commits(t *testing.T, s *postgres.Store, stop <-chan struct{}) []uint64 {
	const writers = 4
	done := make([]uint64, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				run := fmt.Sprintf("run%d", w)
				if err := s.Commit(context.Background(), step(run, done[w])); err != nil {
					t.Errorf("%s, step %d: %v", run, done[w], err)
					return
				}
				done[w]++
				if _, err := s.Get(fmt.Appendf(nil, "%s/%06d", run, done[w]-1)); err != nil {
					t.Errorf("%s, step %d was acknowledged: %v", run, done[w]-1, err)
				}
			}
		})
	}
	wg.Wait()
	return done
}

// whole wants exactly the steps that were acknowledged in the store, each counted once.
func whole(t *testing.T, s *postgres.Store, done []uint64) {
	t.Helper()
	sum, keys := uint64(0), uint64(0)
	for w, n := range done {
		sum += n
		if at, _, err := s.Head(fmt.Sprintf("run%d", w)); at != n || err != nil {
			t.Errorf("run%d stands at %d, %v; %d steps were acknowledged", w, at, err, n)
		}
	}
	if err := s.Scan(nil, nil, func(_, _ []byte) error { keys++; return nil }); err != nil {
		t.Error(err)
	}
	if keys != sum || s.Info().Sequence != sum {
		t.Errorf("%d steps were acknowledged; %d keys are there, and %d batches were counted", sum, keys, s.Info().Sequence)
	}
}

// Whatever becomes of a commit's request or its answer, it counts once.
func TestLostAnswers(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	proxy := proxied(t, server)
	address := server.Address()
	s := open(t, through(proxy, server, address), postgres.Options{Lease: time.Minute})
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	proxy.Trouble(20, seed)
	stop := make(chan struct{})
	time.AfterFunc(3*time.Second, func() { close(stop) })
	done := commits(t, s, stop)
	proxy.Trouble(0, 0)
	whole(t, s, done)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	whole(t, open(t, address, postgres.Options{}), done)
}

// A server that is killed and started again has lost nothing, and its owner goes on.
func TestServerRestarts(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	s := open(t, server.Address(), postgres.Options{Lease: time.Minute})
	stop, restarted := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(restarted)
		defer close(stop)
		for _, end := range []func(){server.Kill, server.Stop, server.Kill} {
			time.Sleep(300 * time.Millisecond) // for commits to be on their way
			end()
			server.Start()
		}
		time.Sleep(300 * time.Millisecond)
	}()
	done := commits(t, s, stop)
	<-restarted
	whole(t, s, done)
}

// An owner that is cut off has lost the store before another takes it, and changes nothing after.
func TestCutOff(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	for name, swallow := range map[string][2]bool{"both directions": {true, true}, "requests": {true, false}, "answers": {false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, address := proxied(t, server), server.Address()
			first := open(t, through(proxy, server, address), postgres.Options{Lease: 2 * time.Second, Address: "https://first"})
			if err := first.Commit(t.Context(), step("run", 0)); err != nil {
				t.Fatal(err)
			}
			stood := make(chan postgres.Holder, 10)
			taken := make(chan *postgres.Store)
			go func() {
				s, err := postgres.Stand(t.Context(), address, postgres.Options{Lease: 2 * time.Second}, func(h postgres.Holder) { stood <- h })
				if err != nil {
					t.Error(err)
				}
				taken <- s
			}()
			if h := <-stood; h.Address != "https://first" {
				t.Errorf("the standby waits for %+v", h)
			}
			proxy.Swallow(swallow[0], swallow[1])
			late := make(chan error, 1)
			if name != "answers" { // else it is applied, and renews the lease that nobody hears of
				go func() { late <- first.Commit(context.Background(), step("run", 1)) }()
			}
			var second *postgres.Store
			select {
			case <-first.Lost():
				second = <-taken
			case second = <-taken:
				t.Error("the store was taken before its owner had lost it")
			}
			defer second.Close()
			proxy.Swallow(false, false)
			proxy.Cut()
			if name == "answers" {
				late <- first.Commit(context.Background(), step("run", 1))
			}
			if err := <-late; !errors.Is(err, runtime.ErrLost) {
				t.Errorf("the first owner's commit: got %v, wanted %v", err, runtime.ErrLost)
			}
			if err := second.Commit(t.Context(), step("run", 1)); err != nil {
				t.Errorf("the second owner's commit: %v", err)
			}
		})
	}
}

// A replica that is promoted goes on where the first server was killed, and is refused where it had
// not had all that was acknowledged.
func TestPromotedReplica(t *testing.T) {
	for name, behind := range map[string]uint64{"up to date": 0, "behind": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := runtimetest.StartPostgres(t)
			proxy := proxied(t, server)
			replica := server.Replica(proxy.Port)
			one := server.Address()
			both := strings.Replace(one, fmt.Sprintf("127.0.0.1:%d/", server.Port), fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d/", server.Port, replica.Port), 1) + "&target_session_attrs=read-write"
			folder := t.TempDir()
			s := open(t, both, postgres.Options{Folder: folder, Lease: time.Minute})
			commit := func(n uint64) error { return s.Commit(t.Context(), step("run", n)) }
			for n := range uint64(5) {
				if err := commit(n); err != nil {
					t.Fatal(err)
				}
			}
			follows(t, server, replica)
			if behind > 0 {
				proxy.End() // swallowed, the replica's next connection would keep a server that is killed for a minute
			}
			for n := uint64(5); n < 5+behind; n++ {
				if err := commit(n); err != nil {
					t.Fatal(err)
				}
			}
			server.Kill()
			replica.Query("select pg_promote()")
			err := commit(5 + behind)
			if behind == 0 {
				if err != nil {
					t.Errorf("on the promoted server: %v", err)
				}
				return
			}
			const want = "3 acknowledged batches are missing: the database has 5, wanted 8"
			if !errors.Is(err, runtime.ErrDamaged) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, wanted %s", err, want)
			}
			s.Close()
			_, err = postgres.Open(t.Context(), both, postgres.Options{Folder: folder})
			if !errors.Is(err, runtime.ErrDamaged) || !strings.Contains(err.Error(), want) {
				t.Errorf("opened again: got %v, wanted %s", err, want)
			}
		})
	}
}

// follows waits until a replica has all that its server has.
func follows(t *testing.T, server, replica *runtimetest.Postgres) {
	t.Helper()
	at := server.Query("select pg_current_wal_lsn()")
	for end := time.Now().Add(time.Minute); replica.Query("select pg_last_wal_replay_lsn() >= '"+at+"'") != "t"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the replica does not follow")
		}
	}
}

// A database that lacks what was acknowledged is refused: by its owner, and by whoever has seen it.
func TestMissingBatches(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	address, folder := server.Address(), t.TempDir()
	schema := address[strings.LastIndex(address, "=")+1:]
	s := open(t, address, postgres.Options{Folder: folder})
	for n := range uint64(5) {
		if err := s.Commit(t.Context(), step("run", n)); err != nil {
			t.Fatal(err)
		}
	}
	server.Query("update " + schema + ".starling_store set sequence = 3")
	const want = "the store is damaged: 2 acknowledged batches are missing: the database has 3, wanted 5, as it is when a replica is promoted, or a backup restored, that lacks them"
	for range 2 {
		if err := s.Commit(t.Context(), step("run", 5)); !errors.Is(err, runtime.ErrDamaged) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, wanted %s", err, want)
		}
	}
	s.Close()
	_, err := postgres.Open(t.Context(), address, postgres.Options{Folder: folder})
	mark := filepath.Join(folder, "acknowledged")
	if !errors.Is(err, runtime.ErrDamaged) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "remove "+mark) {
		t.Errorf("opened again: got %v, wanted %s", err, want)
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	if n := open(t, address, postgres.Options{Folder: folder}).Info().Sequence; n != 3 {
		t.Errorf("it has %d batches, wanted 3", n)
	}
}
