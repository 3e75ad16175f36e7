package engine_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/badger"
)

// tape is a store that keeps what is committed through it, so that the same batches can be
// committed again with nothing above them: the floor.
type tape struct {
	runtime.Store

	mu  sync.Mutex // guards what follows
	on  bool
	all []*runtime.Batch // that move one run, in order
}

// transactions is how many a store has made, 0 where it does not tell.
func transactions(s runtime.Store) uint64 {
	if s, ok := s.(*badger.Store); ok {
		return s.Stats().Transactions
	}
	return 0
}

// Commit hands the batch on, and keeps it while the tape is on.
func (t *tape) Commit(ctx context.Context, b *runtime.Batch) error {
	t.mu.Lock()
	if t.on && len(b.Fences) == 1 {
		t.all = append(t.all, b)
	}
	t.mu.Unlock()
	return t.Store.Commit(ctx, b)
}

// record keeps what is committed from now on.
func (t *tape) record() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on, t.all = true, make([]*runtime.Batch, 0, 1<<14) // what it takes is taken from the workload's time
}

// take ends the recording and hands it out by runs. The fences begin at 0, as on a store that has
// never seen these runs.
func (t *tape) take() map[string][]*runtime.Batch {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = false
	runs := map[string][]*runtime.Batch{}
	for _, b := range t.all {
		run := b.Fences[0].Run
		runs[run] = append(runs[run], b)
	}
	for _, batches := range runs {
		first := batches[0].Fences[0].Expect
		for _, b := range batches {
			b.Fences[0].Expect -= first
			b.Fences[0].Next -= first
		}
	}
	return runs
}

// replay commits what was recorded, each run's batches one after another and all runs at once, and
// tells how long that took.
func replay(b testing.TB, s runtime.Store, runs map[string][]*runtime.Batch) time.Duration {
	return replayBy(b, s, runs, len(runs))
}

// replayBy is replay by so many callers, who take one run after another.
func replayBy(b testing.TB, s runtime.Store, runs map[string][]*runtime.Batch, callers int) time.Duration {
	begin := time.Now()
	var all sync.WaitGroup
	places := make(chan struct{}, callers)
	for _, batches := range runs {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			for _, batch := range batches {
				if err := s.Commit(context.Background(), batch); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(begin)
}

// volume is what was committed.
type volume struct{ batches, keys, bytes int }

func volumeOf(runs map[string][]*runtime.Batch) volume {
	var v volume
	for _, batches := range runs {
		v.batches += len(batches)
		for _, b := range batches {
			v.keys += len(b.Writes) + len(b.Fences)
			for _, w := range b.Writes {
				v.bytes += len(w.Key) + len(w.Value)
			}
			for _, f := range b.Fences {
				v.bytes += len(f.Run) + 8
			}
		}
	}
	return v
}

func openBadger(b testing.TB) runtime.Store {
	b.Helper()
	s, err := badger.Open(filepath.Join(b.TempDir(), "store"), badger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}
