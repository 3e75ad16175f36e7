package badger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	badgerdb "github.com/dgraph-io/badger/v4"

	"starling/runtime"
)

// step is what one step of a run commits: a journal entry, a checkpoint in place of the last, and
// where the run stands.
func step(run string, n uint64) *runtime.Batch {
	return &runtime.Batch{
		Fences: []runtime.Fence{{Run: run, Expect: n, Next: n + 1}},
		Writes: []runtime.Write{
			{Key: fmt.Appendf(nil, "j/%s%08d", run, n), Value: make([]byte, 200)},
			{Key: []byte("s/" + run), Value: make([]byte, 300)},
		},
	}
}

// BenchmarkCommit prints commits in this directory's file system against what it can do at most:
// one append and one fdatasync for each. Badger on its own syncs its value log too with each
// transaction, also when nothing was written to it. "of-floor" is the rate divided by that of the
// floor in the same run.
func BenchmarkCommit(b *testing.B) {
	var floor float64
	b.Run("floor=append+fdatasync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		record := make([]byte, 600)
		floor = measure(b, 1, func(int, uint64) error {
			if _, err := f.Write(record); err != nil {
				return err
			}
			return datasync(f)
		})
	})
	for _, callers := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("badger/callers=%d", callers), func(b *testing.B) {
			db := benchBadger(b)
			rate := measure(b, callers, func(caller int, n uint64) error { return plain(db, step(fmt.Sprintf("run%08d", caller), n)) })
			b.ReportMetric(2, "syncs/op")
			b.ReportMetric(rate/floor, "of-floor")
		})
	}
	for _, callers := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("store/callers=%d", callers), func(b *testing.B) {
			s := benchStore(b)
			rate := measure(b, callers, func(caller int, n uint64) error {
				return s.Commit(context.Background(), step(fmt.Sprintf("run%08d", caller), n))
			})
			stats := s.Stats()
			b.ReportMetric(float64(stats.Transactions)/float64(stats.Batches), "syncs/op")
			b.ReportMetric(rate/floor, "of-floor")
		})
	}
}

func benchStore(b *testing.B) *Store {
	s, err := Open(filepath.Join(b.TempDir(), "store"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// benchBadger is Badger as it would be used without this package.
func benchBadger(b *testing.B) *badgerdb.DB {
	o := turnedDown(b.TempDir(), findings{}, new(faults))
	o.SyncWrites = true
	db, err := badgerdb.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

// plain commits the batch as a Badger transaction of its own.
func plain(db *badgerdb.DB, batch *runtime.Batch) error {
	return db.Update(func(txn *badgerdb.Txn) error {
		for _, f := range batch.Fences {
			if err := txn.Set(fenceKey(f.Run), number(f.Next)); err != nil {
				return err
			}
		}
		for _, w := range batch.Writes {
			if err := txn.Set(w.Key, w.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

// measure spreads b.N calls over the callers and reports their rate and latency.
func measure(b *testing.B, callers int, call func(caller int, n uint64) error) (rate float64) {
	times := make([][]time.Duration, callers)
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	start := time.Now()
	for c := range callers {
		wg.Go(func() {
			for n := uint64(0); left.Add(-1) >= 0; n++ {
				begun := time.Now()
				if err := call(c, n); err != nil {
					b.Error(err)
					return
				}
				times[c] = append(times[c], time.Since(begun))
			}
		})
	}
	wg.Wait()
	rate = float64(b.N) / time.Since(start).Seconds()
	b.StopTimer()
	all := slices.Concat(times...)
	slices.Sort(all)
	b.ReportMetric(rate, "op/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	return rate
}

// BenchmarkOpen opens and closes a store as each command does. "rows" is how many keys of 1 KiB are
// in it.
func BenchmarkOpen(b *testing.B) {
	for _, rows := range []int{10, 100_000} {
		dir := filepath.Join(b.TempDir(), "store")
		fill(b, dir, rows)
		for _, o := range []Options{{}, {ReadOnly: true}} {
			b.Run(fmt.Sprintf("rows=%d/reading=%v", rows, o.ReadOnly), func(b *testing.B) {
				var closing time.Duration
				for b.Loop() {
					s, err := Open(dir, o)
					if err != nil {
						b.Fatal(err)
					}
					begun := time.Now()
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
					closing += time.Since(begun)
				}
				b.ReportMetric(float64(closing.Microseconds())/float64(b.N), "close-µs/op")
			})
		}
	}
}

func fill(b *testing.B, dir string, rows int) {
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := 0; i < rows; {
		batch := new(runtime.Batch)
		for ; i < rows && len(batch.Writes) < 1000; i++ {
			batch.Writes = append(batch.Writes, runtime.Write{Key: fmt.Appendf(nil, "row/%08d", i), Value: make([]byte, 1024)})
		}
		if err := s.Commit(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "store")
	fill(b, dir, 100_000)
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Get(fmt.Appendf(nil, "row/%08d", i*7919%100_000)); err != nil {
			b.Fatal(err)
		}
	}
}
