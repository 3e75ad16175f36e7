package engine_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/metrics"
	"starling/runtime/query"
	"starling/runtime/tool"
)

var billedRuns = flag.Int("billed", 100_000, "how many runs BenchmarkCost has")

// BenchmarkCost sums up what the agents of 100,000 runs have cost, on the real store:
//
//	go test -run '^$' -bench Cost -benchtime 1x -timeout 30m ./runtime/engine
//
// Each run has asked three agents, and waits. "ratio" is the time that it takes to read the journal
// of every run, by the time with the index; both are measured in turns in one process. "metrics" is
// /metrics in the same way: each run listed, by the engine's count of them, which is taken once.
func BenchmarkCost(b *testing.B) {
	const script = `
def main(n):
    for who in ["judge", "smith", "judge"]:
        agent(who = who)
    gate("g", options = ["on"])
`
	for b.Loop() {
		l := newLab(b)
		c, asks := &crowd{lab: l}, bundle(b, script, nil)
		c.each(*billedRuns, func(i int) {
			inputs, _ := json.Marshal(map[string]any{"n": i}) // plain data
			if _, err := l.e.Start(l.ctx, runtime.StartRequest{Bundle: asks, Script: "grow.star", Inputs: inputs, Labels: map[string]string{"team": fmt.Sprint(i % 10)}}); err != nil {
				b.Error(err)
			}
		})
		for i := 0; i < *billedRuns; { // the last of them are still at work
			l, err := l.e.List(l.ctx, runtime.Query{Status: []runtime.Status{runtime.Suspended, runtime.Failed}})
			if err != nil {
				b.Fatal(err)
			}
			if i = len(l.Runs); b.Failed() {
				b.FailNow()
			}
			time.Sleep(10 * time.Millisecond)
		}
		for _, by := range []string{"agent", "day", "run", "label.team"} {
			cost := func(e runtime.Engine) func() error {
				return func() error {
					sums, err := query.CostOf(l.ctx, e, query.CostQuery{By: by})
					if err == nil && sums.Total.Calls != int64(3**billedRuns) {
						err = fmt.Errorf("by %s: got %d calls, want %d", by, sums.Total.Calls, 3**billedRuns)
					}
					return err
				}
			}
			journals, index := l.mid(b, 1, cost(unbilled{l.e})), l.mid(b, 5, cost(l.e))
			b.ReportMetric(float64(index.Milliseconds()), by+"-ms")
			b.ReportMetric(float64(journals)/float64(index), by+"-ratio")
		}
		gauges := func(e runtime.Engine) func() error {
			return func() error {
				_, err := (&metrics.Reader{Desk: &tool.Desk{Engine: e}}).Read(l.ctx)
				return err
			}
		}
		first := timed(gauges(l.e), b)
		lists, census := l.mid(b, 3, gauges(unbilled{l.e})), l.mid(b, 15, gauges(l.e))
		b.ReportMetric(float64(first.Milliseconds()), "metrics-first-ms")
		b.ReportMetric(float64(census.Microseconds())/1000, "metrics-ms")
		b.ReportMetric(float64(lists)/float64(census), "metrics-ratio")
		b.ReportMetric(timed(l.e.Reindex, b).Seconds(), "anew-s")
	}
}
