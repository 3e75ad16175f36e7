package runtimetest

import (
	"context"
	"time"

	"starling/runtime"
)

// Slow returns a store whose commits take time: delay says for each how long until its change is
// there, and how long from then until its caller knows. What comes in meanwhile waits for the next
// turn, and a crash meanwhile leaves a commit of which nobody knows. delay may be called
// concurrently.
func Slow(s runtime.Store, delay func() (before, after time.Duration)) runtime.Store {
	return &slowStore{s, delay}
}

type slowStore struct {
	runtime.Store
	delay func() (before, after time.Duration)
}

// Commit commits, in its time.
func (s *slowStore) Commit(ctx context.Context, b *runtime.Batch) error {
	before, after := s.delay()
	time.Sleep(before)
	err := s.Store.Commit(ctx, b)
	time.Sleep(after)
	return err
}
