package metrics_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"starling/runtime"
	"starling/runtime/metrics"
	"starling/runtime/tool"
)

// slow is an engine whose lists take their time.
type slow struct {
	runtime.Engine
	takes time.Duration
	lists int
}

func (s *slow) List(_ context.Context, q runtime.Query) (*runtime.Listing, error) {
	if !q.Gates && !q.Work && !q.Queues {
		s.lists++
		time.Sleep(s.takes)
	}
	return &runtime.Listing{Runs: make([]runtime.Summary, s.lists)}, nil
}

// A store that takes long to read is read for a small part of the time, however often somebody
// asks; one that does not is read each time. Who may not read is shown nothing, also of what is
// kept.
func TestRead(t *testing.T) {
	for takes, want := range map[time.Duration]int{0: 100, time.Second: 5} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{takes: takes}
			r := &metrics.Reader{Desk: &tool.Desk{Engine: s}}
			ctx := runtime.WithCaller(t.Context(), runtime.Caller{Name: "prometheus", Can: runtime.CanRead})
			for range 100 {
				list, err := r.Read(ctx)
				if err != nil || list[0].Name != "starling_runs" {
					t.Fatalf("%v, %v", list, err)
				}
				time.Sleep(time.Second - min(takes, time.Second))
				if takes > 0 {
					time.Sleep(time.Second)
				}
			}
			if s.lists > want || takes == 0 && s.lists != want {
				t.Errorf("a store that takes %v was read %d times, want %d", takes, s.lists, want)
			}
			if _, err := r.Read(t.Context()); runtime.AsRefusal(err).Kind != runtime.ErrDenied {
				t.Errorf("nobody: got %v, want it denied", err)
			}
		})
	}
}
