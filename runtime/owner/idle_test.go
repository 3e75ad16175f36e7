package owner_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/owner"
)

// idles calls Idle and tells when it has returned.
func idles(t *testing.T, s *owner.Session, quiet time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Idle(within(t), quiet) }()
	return done
}

func still(t *testing.T, done <-chan error, why string) {
	t.Helper()
	select {
	case err := <-done:
		t.Fatalf("%s, and yet the owner may leave: %v", why, err)
	default:
	}
}

// TestOwnerStaysForItsClients waits for an attached client, and turns away who comes after.
func TestOwnerStaysForItsClients(t *testing.T) {
	dir := store(t)
	s := acquire(t, config(dir), owner.Participant)
	client := acquire(t, config(dir), owner.Participant)
	done := idles(t, s, 0)
	if _, err := client.Start(within(t), source(review)); err != nil {
		t.Fatal(err)
	}
	still(t, done, "a client is attached")
	if err := client.Idle(within(t), time.Hour); err != nil {
		t.Errorf("a client leaves when it likes: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil { // the run rests at its gate
		t.Fatal(err)
	}
	h, err := api.Greet(within(t), recorded(t, dir).Socket)
	if err != nil || h.State != api.Leaving {
		t.Errorf("got %+v, %v; want an owner that leaves", h, err)
	}
	late := make(chan *owner.Session)
	go func() {
		l, err := owner.Acquire(within(t), config(dir), owner.Participant)
		if err != nil {
			t.Error(err)
		}
		late <- l
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if l := <-late; l.Owner() != 0 || epoch(dir) != 2 {
		t.Errorf("the latecomer says %d owns, epoch %d; want itself, 2", l.Owner(), epoch(dir))
	} else {
		l.Close()
	}
}

// TestOwnerStaysForRunsInMotion waits for an agent at work, whose run a client has left to the
// owner.
func TestOwnerStaysForRunsInMotion(t *testing.T) {
	dir := store(t)
	s := acquire(t, config(dir), owner.Participant)
	client := acquire(t, config(dir), owner.Participant)
	run, err := client.Start(within(t), source(patient))
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
	done := idles(t, s, 0)
	still(t, done, "an agent is at work")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if now, err := s.Get(within(t), run.ID); err != nil || now.Status != runtime.Completed {
		t.Errorf("got %+v, %v; want a completed run", now, err)
	}
}

// timers is an engine in which nothing runs and one timer is due.
type timers struct {
	runtime.Engine
	summary runtime.Summary
}

func (e timers) List(context.Context, runtime.Query) (*runtime.Listing, error) {
	return &runtime.Listing{Runs: []runtime.Summary{e.summary}}, nil
}

// TestOwnerStaysForTimersThatAreNear checks which timers keep an owner.
func TestOwnerStaysForTimersThatAreNear(t *testing.T) {
	near, far := time.Now().Add(owner.Soon/2), time.Now().Add(2*owner.Soon)
	for name, c := range map[string]struct {
		summary runtime.Summary
		stays   bool
	}{
		"near":                 {runtime.Summary{Status: runtime.Suspended, Carried: true, NextDue: &near}, true},
		"far":                  {runtime.Summary{Status: runtime.Suspended, Carried: true, NextDue: &far}, false},
		"none":                 {runtime.Summary{Status: runtime.Suspended, Carried: true}, false},
		"running":              {runtime.Summary{Status: runtime.Running, Carried: true}, true},
		"pending":              {runtime.Summary{Status: runtime.Pending, Carried: true}, true},
		"carried by nobody":    {runtime.Summary{Status: runtime.Running}, false},
		"near, but by nobody ": {runtime.Summary{Status: runtime.Suspended, NextDue: &near}, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := config(store(t))
			open := config.Open
			config.Open = func(dir string) (runtime.Engine, error) {
				e, err := open(dir)
				return timers{e, c.summary}, err
			}
			s := acquire(t, config, owner.Participant)
			ctx := within(t)
			if c.stays {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond) // it would stay for as long as it is given
				defer cancel()
			}
			if err := s.Idle(ctx, 0); (err != nil) != c.stays {
				t.Errorf("got %v, want it to stay: %v", err, c.stays)
			}
		})
	}
}

// TestIdleForAWhile counts the time in which nothing happened, not the time since Idle was called.
func TestIdleForAWhile(t *testing.T) {
	dir := store(t)
	s := acquire(t, config(dir), owner.Keeper)
	client := acquire(t, config(dir), owner.Participant)
	const quiet = 100 * time.Millisecond
	done := idles(t, s, quiet)
	left := time.Now()
	client.Close()
	if err := <-done; err != nil || time.Since(left) < quiet {
		t.Errorf("may leave %v after its last client, with %v; want after %v", time.Since(left), err, quiet)
	}
}

// TestStoppingEndsIdle asks an owner to leave that has a client and something in motion.
func TestStoppingEndsIdle(t *testing.T) {
	dir := store(t)
	s := acquire(t, config(dir), owner.Keeper)
	client := acquire(t, config(dir), owner.Participant)
	if _, err := client.Start(within(t), source(patient)); err != nil {
		t.Fatal(err)
	}
	done := idles(t, s, time.Hour)
	stopped := make(chan error, 1)
	go func() {
		pid, err := owner.Stop(within(t), config(dir))
		if pid != os.Getpid() {
			t.Errorf("stopped %d, want %d", pid, os.Getpid())
		}
		stopped <- err
	}()
	<-s.Stopping()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil { // or it would be the next owner, of the same pid
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
