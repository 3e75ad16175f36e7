package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/filter"
)

// BenchmarkFilters finds the first page of what filters mean among 100,000 runs, on the real store:
//
//	go test -run '^$' -bench Filters -benchtime 1x -timeout 30m ./runtime/engine
//
// "ratio" is the time that it takes to look at every run, by the time with the index; of "few" one
// run of a thousand is meant, of "none" none. Both are medians.
func BenchmarkFilters(b *testing.B) {
	const runs = 100_000
	for b.Loop() {
		l := newLab(b)
		c, script := &crowd{lab: l}, bundle(b, "def main(n, note):\n    pass\n", nil)
		c.each(runs, func(i int) {
			inputs, _ := json.Marshal(map[string]any{"n": 1, "note": fmt.Sprint(i % 1000)}) // plain data
			_, err := l.e.Start(l.ctx, runtime.StartRequest{Bundle: script, Script: "grow.star", Inputs: inputs,
				Labels: effect.Labels{"team": fmt.Sprintf("t%d", i%1000)}})
			if err != nil {
				b.Error(err)
			}
		})
		for what, text := range map[string]string{"label-few": "label.team = t7", "label-none": "label.team = nobody", "input-few": "input.note = 7", "cost-none": "cost > 5"} {
			f, err := filter.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			all := func(e runtime.Engine) func() error {
				return func() error {
					_, err := f.Runs(l.ctx, e, runtime.Query{All: true}, time.Now())
					return err
				}
			}
			index, scan := l.mid(b, 15, all(l.e)), l.mid(b, 3, all(scanning{l.e}))
			b.ReportMetric(float64(index.Microseconds()), what+"-µs")
			b.ReportMetric(float64(scan)/float64(index), what+"-ratio")
		}
		b.ReportMetric(timed(l.e.Reindex, b).Seconds(), "anew-s")
	}
}

// mid is the median time of some calls.
func (l *lab) mid(b *testing.B, times int, do func() error) time.Duration {
	var all []float64
	for range times {
		all = append(all, float64(timed(do, b)))
	}
	return time.Duration(median(all))
}
