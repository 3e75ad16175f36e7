package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
)

// BenchmarkCrowd measures a store with many runs that wait for a signal; STARLING_CROWD says how
// many, 100,000 where it says nothing:
//
//	go test -run '^$' -bench Crowd -benchtime 1x -timeout 1h ./runtime/engine
func BenchmarkCrowd(b *testing.B) {
	n := 100_000
	if text := os.Getenv("STARLING_CROWD"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	for b.Loop() {
		clocks(b)
		newCrowd(b, n).measure()
	}
}

type crowd struct {
	*lab
	ids []string
}

func newCrowd(b *testing.B, n int) *crowd {
	return &crowd{newLab(b), make([]string, n)}
}

const waiting = `
def main(n):
    for i in forever():
        gate("g", options = ["on"])
`

func (c *crowd) measure() {
	memory, goroutines := settled(), goruntime.NumGoroutine()
	begin := time.Now()
	c.each(len(c.ids), func(i int) {
		run, err := c.e.Start(c.ctx, runtime.StartRequest{Bundle: c.bundle(), Script: "crowd.star", Inputs: json.RawMessage(`{"n": 1}`)})
		if err != nil {
			c.b.Error(err)
			return
		}
		c.ids[i] = run.ID
	})
	c.b.ReportMetric(float64(len(c.ids))/time.Since(begin).Seconds(), "start+suspend/s")
	c.b.ReportMetric(float64(settled()-memory)/1e6, "MB-more-just-started")
	c.reopen()
	c.idle()
	c.b.ReportMetric(float64(settled()-memory)/1e6, "MB-more")
	c.b.ReportMetric(float64(goruntime.NumGoroutine()-goroutines), "goroutines-more")
	c.signals()
	c.burst()
	c.list()
}

var crowdBundle []byte

func (c *crowd) bundle() []byte {
	if crowdBundle == nil {
		crowdBundle = bundle(c.b, waiting, nil)
	}
	return crowdBundle
}

// each calls do for 0 to n-1, 256 at a time.
func (c *crowd) each(n int, do func(i int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range 256 {
		all.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// settled is the memory of the heap and of stacks once garbage is gone.
func settled() uint64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// idle says what the engine takes of a processor while nothing happens.
func (c *crowd) idle() {
	time.Sleep(3 * time.Second)
	c.b.ReportMetric(100*share(5*time.Second), "idle-cpu-%")
}

// clocks says what two clocks take of a processor that strike as often as the two of Badger, which
// look for tables to merge, and of which nothing follows.
func clocks(b *testing.B) {
	for range 2 {
		clock := time.NewTicker(50 * time.Millisecond)
		defer clock.Stop()
		done := make(chan struct{})
		defer close(done)
		go func() {
			for {
				select {
				case <-clock.C:
				case <-done:
					return
				}
			}
		}()
		time.Sleep(20 * time.Millisecond)
	}
	b.ReportMetric(100*share(5*time.Second), "clocks-cpu-%")
}

// share is how much of a processor this process takes during a time.
func share(d time.Duration) float64 {
	used, begin := processor(), time.Now()
	time.Sleep(d)
	return float64(processor()-used) / float64(time.Since(begin))
}

func (c *crowd) answer(i int) {
	if _, err := c.e.Signal(c.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: c.ids[i], Choice: "on"}); err != nil {
		c.b.Error(err)
	}
}

// signals sends one after another, each to another run, in turn with syncs of the floor.
func (c *crowd) signals() {
	floor := openBadger(c.b)
	defer floor.Close()
	var ours, theirs []time.Duration
	for i := range 1000 {
		begin := time.Now()
		c.answer(i * len(c.ids) / 1000)
		ours = append(ours, time.Since(begin))
		begin = time.Now()
		batch := &runtime.Batch{Writes: []runtime.Write{{Key: fmt.Appendf(nil, "j/floor%08d", i), Value: make([]byte, 300)}}}
		if err := floor.Commit(context.Background(), batch); err != nil {
			c.b.Fatal(err)
		}
		theirs = append(theirs, time.Since(begin))
	}
	reportTimes(c.b, "signal", ours)
	reportTimes(c.b, "floor", theirs)
}

// burst sends bursts of ten thousand signals, each to as many other runs, and says at which rate
// they are taken: at the median, and while Badger merges tables.
func (c *crowd) burst() {
	n := min(10_000, len(c.ids))
	var rates []float64
	for at := 0; at+n <= len(c.ids); at += n {
		begin := time.Now()
		c.each(n, func(i int) { c.answer(at + i) })
		rates = append(rates, float64(n)/time.Since(begin).Seconds())
	}
	c.b.ReportMetric(median(rates), "burst-signals/s")
	c.b.ReportMetric(rates[0], "burst-slowest/s") // median has sorted them
}

func (c *crowd) list() {
	begin := time.Now()
	if _, err := c.e.List(c.ctx, runtime.Query{Limit: 20}); err != nil {
		c.b.Fatal(err)
	}
	c.b.ReportMetric(float64(time.Since(begin).Microseconds())/1000, "list-20-ms")
}

// reopen closes the store, says how large it is and opens it again.
func (c *crowd) reopen() {
	dir := c.tape.Info().Path
	if err := c.e.Close(); err != nil {
		c.b.Fatal(err)
	}
	c.b.ReportMetric(float64(sizeOf(c.b, dir))/float64(len(c.ids)), "store-bytes/run")
	begin := time.Now()
	s, err := badger.Open(dir, badger.Options{})
	if err != nil {
		c.b.Fatal(err)
	}
	e, err := engine.Open(s, benchEnvironment(c.work), engine.Options{})
	if err != nil {
		c.b.Fatal(err)
	}
	c.b.ReportMetric(float64(time.Since(begin).Microseconds())/1000, "open-ms")
	begin = time.Now()
	if _, err := e.Resume(c.ctx, runtime.ResumeRequest{All: true}); err != nil {
		c.b.Fatal(err)
	}
	c.b.ReportMetric(float64(time.Since(begin).Microseconds())/1000, "carry-all-ms")
	c.e = e
	var times []time.Duration
	for i := range 200 {
		begin := time.Now()
		c.answer((i*37 + 11) % len(c.ids))
		times = append(times, time.Since(begin))
	}
	reportTimes(c.b, "resume", times)
	c.b.Cleanup(func() { e.Close() })
}

// sizeOf is what the files of a directory take of the disk.
func sizeOf(b *testing.B, dir string) int64 {
	total := int64(0)
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		switch info, err := e.Info(); {
		case err != nil:
			b.Fatal(err)
		case e.IsDir():
			total += sizeOf(b, dir+"/"+e.Name())
		case !strings.HasSuffix(e.Name(), ".tmp"):
			total += info.Size()
		}
	}
	return total
}
