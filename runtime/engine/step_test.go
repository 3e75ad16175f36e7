package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// BenchmarkStep measures what a step costs above the store: the machine, the turn, the attempt. Its
// commits are dropped, so that it says on any machine and under any load what changed, in
// allocations too:
//
//	go test -run '^$' -bench Step -benchtime 100000x ./runtime
func BenchmarkStep(b *testing.B) {
	s := &sieve{Store: memory.New()}
	var before, after goruntime.MemStats
	var used time.Duration
	done := make(chan struct{})
	ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:bench", Local: true})
	e, err := engine.Open(s, benchEnvironment(func(_ context.Context, a *effect.Attempt) effect.Reply {
		switch {
		case strings.HasPrefix(a.Step, "ready"):
			s.drop = true
			goruntime.ReadMemStats(&before)
			used = processor()
		case strings.HasPrefix(a.Step, "done"):
			used = processor() - used
			goruntime.ReadMemStats(&after)
			close(done)
		}
		return effect.Reply{}
	}), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	_, err = e.Start(ctx, runtime.StartRequest{Bundle: bundle(b, sequential, nil), Script: "bench.star", Inputs: json.RawMessage(fmt.Sprintf(`{"n": %d}`, b.N))})
	if err != nil {
		b.Fatal(err)
	}
	<-done
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/step")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(b.N), "allocs/step")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N), "B/step")
}

// sieve is a store that loses what is committed while drop is set.
type sieve struct {
	*memory.Store
	drop bool
}

func (s *sieve) Commit(ctx context.Context, b *runtime.Batch) error {
	if s.drop {
		return nil
	}
	return s.Store.Commit(ctx, b)
}
