package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"starling/runtime"
)

// How batches are committed, alone and against each other.

func testAtomic(s *shop) {
	s.open()
	s.commit(fenced(set("a", "1", "gone", "1"), "run", 0, 1))
	bad := fenced(set("a", "2", "b", "2"), "run", 0, 1)
	bad.Writes = append(bad.Writes, del("gone").Writes...)
	s.refused(bad, runtime.ErrFenced)
	s.holds("a", "1", "gone", "1")
}

func testFences(s *shop) {
	s.open()
	s.refused(fenced(set("a", "1"), "r1", 1, 2), runtime.ErrFenced) // never seen: it stands at 0
	s.commit(fenced(set("a", "1"), "r1", 0, 5))
	err := s.Commit(s.Context(), fenced(set("a", "2"), "r1", 0, 6))
	if want := "run r1 stands at 5, the batch expects 0"; err == nil || !strings.Contains(err.Error(), want) {
		s.Errorf("got %v, wanted it to say %q", err, want)
	}
	// A batch of two runs moves both or none.
	s.refused(fenced(fenced(set("b", "2"), "r2", 0, 1), "r1", 4, 6), runtime.ErrFenced)
	s.commit(fenced(fenced(set("b", "3"), "r2", 0, 1), "r1", 5, 6))
	// A run may be moved twice in one batch; a fence that does not move only compares.
	s.refused(fenced(fenced(set("c", "4"), "r1", 6, 7), "r1", 6, 8), runtime.ErrFenced)
	s.commit(fenced(fenced(set("c", "5"), "r1", 6, 7), "r1", 7, 8))
	s.commit(fenced(set("d", "6"), "r1", 8, 8))
	s.commit(fenced(set("e", "7"), "r1", 8, 9))
	s.holds("a", "1", "b", "3", "c", "5", "d", "6", "e", "7")
	// A run whose name begins as another's is another.
	s.commit(fenced(set("f", "8"), "r", 0, 1))
	s.commit(fenced(set("f", "9"), "r11", 0, 1))
	// One that is forgotten is as one that was never seen.
	s.refused(fenced(set("g", "10"), "r2", 2, 0), runtime.ErrFenced)
	s.commit(fenced(set("g", "11"), "r2", 1, 0))
	s.stands("r2", 0, "")
	s.open()
	s.stands("r2", 0, "")
	s.commit(fenced(set("g", "12"), "r2", 0, 3))
	s.commit(fenced(fenced(set("h", "13"), "r2", 3, 0), "r2", 0, 1))
	s.stands("r2", 1, "")
}

func testHeads(s *shop) {
	s.open()
	s.stands("run", 0, "")
	s.commit(headed("run", 0, 3, "three"))
	s.stands("run", 3, "three")
	s.commit(set("a", "1")) // says nothing of the run
	s.stands("run", 3, "three")
	s.refused(headed("run", 2, 4, "four"), runtime.ErrFenced)
	s.stands("run", 3, "three")
	s.commit(headed("run", 3, 3, "again"))
	s.stands("run", 3, "again")
	s.open()
	s.stands("run", 3, "again")
	s.commit(headed("run", 3, 5, ""))
	s.stands("run", 5, "")
	twice := headed("run", 5, 6, "six")
	twice.Fences = append(twice.Fences, headed("run", 6, 7, "seven").Fences...)
	s.commit(twice)
	s.stands("run", 7, "seven")
	s.stands("ru", 0, "")
	longest := strings.Repeat("h", runtime.MaxHead)
	s.commit(headed("long", 0, 1, longest))
	s.stands("long", 1, longest)
	_, head, _ := s.Head("long")
	head[0] = 'x' // it is the caller's
	s.stands("long", 1, longest)
	s.refused(headed("long", 1, 2, longest+"h"), runtime.ErrTooLarge)
}

// A reader that looks at runs while they are moved leaves their fences as they are.
func testLooks(s *shop) {
	s.open()
	const runs, steps = 16, 50
	ctx, stop := context.WithCancel(s.Context())
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for r := 0; ctx.Err() == nil; r = (r + 1) % runs {
				if _, _, err := s.Head(fmt.Sprintf("run%02d", r)); err != nil {
					s.Error(err)
				}
			}
		})
	}
	for r := range runs {
		writers.Go(func() {
			run := fmt.Sprintf("run%02d", r)
			for n := range uint64(steps) {
				if err := s.Commit(context.Background(), headed(run, n, n+1, "h")); err != nil {
					s.Errorf("%s, step %d: %v", run, n, err)
				}
				if err := s.Commit(context.Background(), headed(run, n, n+1, "h")); !errors.Is(err, runtime.ErrFenced) {
					s.Errorf("%s, step %d again: %v", run, n, err)
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
}

func testContest(s *shop) {
	s.open()
	const writers, rounds = 8, 20
	for round := range uint64(rounds) {
		results := make([]error, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				results[i] = s.Commit(context.Background(), fenced(set(fmt.Sprintf("won/%02d/%d", round, i), ""), "run", round, round+1))
			})
		}
		wg.Wait()
		won := 0
		for i, err := range results {
			_, found := s.Get([]byte(fmt.Sprintf("won/%02d/%d", round, i)))
			switch {
			case err == nil && found == nil:
				won++
			case !errors.Is(err, runtime.ErrFenced) || !errors.Is(found, runtime.ErrNoKey):
				s.Errorf("round %d: writer %d got %v, and its key %v", round, i, err, found)
			}
		}
		if won != 1 {
			s.Fatalf("round %d: %d writers won, wanted 1", round, won)
		}
	}
}

func testConcurrent(s *shop) {
	s.open()
	const runs, steps = 32, 10
	var wg sync.WaitGroup
	for r := range runs {
		wg.Go(func() {
			run := fmt.Sprintf("run%02d", r)
			for i := range uint64(steps) {
				b := fenced(set(fmt.Sprintf("%s/%d", run, i), run), run, i, i+1)
				if err := s.Commit(context.Background(), b); err != nil {
					s.Errorf("%s step %d: %v", run, i, err)
				}
			}
		})
	}
	wg.Wait()
	s.open()
	if n := len(s.scan(nil, nil)) / 2; n != runs*steps {
		s.Errorf("%d keys are there, wanted %d", n, runs*steps)
	}
	for r := range runs {
		s.commit(fenced(new(runtime.Batch), fmt.Sprintf("run%02d", r), steps, steps+1))
	}
}

func testCancelled(s *shop) {
	s.open()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, b := range []*runtime.Batch{fenced(set("a", "1"), "run", 0, 1), {Lazy: true, Writes: set("a", "2").Writes}} {
		if err := s.Commit(ctx, b); !errors.Is(err, context.Canceled) {
			s.Errorf("got %v, wanted %v", err, context.Canceled)
		}
	}
	s.commit(fenced(set("b", "3"), "run", 0, 1))
	s.holds("b", "3")
}

func testLazy(s *shop) {
	lazy := func(kv ...string) *runtime.Batch {
		b := set(kv...)
		b.Lazy = true
		return b
	}
	s.open()
	s.commit(set("a", "durable"))
	s.commit(lazy("a", "lazy", "b", "lazy"))
	s.commit(lazy("b", "lazier"))
	b := lazy("d", "as given")
	s.commit(b)
	copy(b.Writes[0].Value, "XXXXXXXX")
	s.commit(set("c", "durable"))
	s.holds("a", "lazy", "b", "lazier", "c", "durable", "d", "as given")
	if n := s.Info().Sequence; n != 5 {
		s.Errorf("%d batches were counted, wanted 5", n)
	}
	s.commit(lazy("e", "at close"))
	s.open()
	s.value("e", "at close")
	// So many that the store cannot hold them all back.
	big := strings.Repeat("x", 16<<10)
	for i := range 400 {
		s.commit(lazy(fmt.Sprintf("many/%03d", i), big))
	}
	s.commit(new(runtime.Batch))
	if n := len(s.scan([]byte("many/"), []byte("many0"))) / 2; n != 400 {
		s.Errorf("%d lazy batches are there, wanted 400", n)
	}
}

func testBadBatch(s *shop) {
	s.open()
	long := strings.Repeat("k", runtime.MaxKey+1)
	for _, test := range []struct {
		batch *runtime.Batch
		want  string
	}{
		{set("", "1"), "a write has an empty key"},
		{set("a", "1", "\x00s", "1"), `key "\x00s" begins with a zero byte; such keys belong to the store`},
		{set(long, "1"), `the batch is larger than the store takes in one commit: a key of 2049 bytes begins "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"; the longest has 2048`},
		{fenced(set("a", "1"), "", 0, 1), "a fence names no run"},
		{fenced(set("a", "1"), long, 0, 1), "the batch is larger than the store takes in one commit: a fence names a run of 2049 bytes; the longest has 2048"},
		{headed("run", 0, 1, strings.Repeat("h", runtime.MaxHead+1)), "the batch is larger than the store takes in one commit: the head of run run has 24577 bytes; the longest has 24576"},
		{fenced(set("a", "1"), "run", 3, 2), "the fence of run run goes from 3 to 2; it cannot go back"},
		{headed("run", 3, 0, "head"), "the fence of run run goes to 0 with a head; a run that is forgotten has none"},
		{&runtime.Batch{Lazy: true, Fences: []runtime.Fence{{Run: "run", Next: 1}}}, "a lazy batch has 1 fences; it can have none, for nobody waits to hear that one failed"},
	} {
		if err := s.Commit(s.Context(), test.batch); err == nil || err.Error() != test.want {
			s.Errorf("got  %v\nwanted %s", err, test.want)
		}
	}
	if err := s.Commit(s.Context(), set(long, "")); !errors.Is(err, runtime.ErrTooLarge) {
		s.Errorf("a key of %d bytes: got %v, wanted %v", len(long), err, runtime.ErrTooLarge)
	}
	longest := string(bytes.Repeat([]byte("k"), runtime.MaxKey))
	s.commit(fenced(set(longest, "1"), longest, 0, 1))
	s.holds(longest, "1")
}

func testSequence(s *shop) {
	s.open()
	for i := range uint64(10) {
		if n := s.Info().Sequence; n != i {
			s.Errorf("%d batches were counted, wanted %d", n, i)
		}
		s.commit(fenced(set("a", "1"), "run", i, i+1))
		s.refused(fenced(set("a", "1"), "run", i, i+1), runtime.ErrFenced)
	}
	if s.open(); s.Info().Sequence != 10 {
		s.Errorf("after opening again %d batches were counted, wanted 10", s.Info().Sequence)
	}
}
