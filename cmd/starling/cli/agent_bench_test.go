package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
	"starling/runtime/fact"
)

// BenchmarkAgents measures what Starling adds to an agent, and two hundred programs at once:
//
//	go test -run '^$' -bench Agents -benchtime 1x ./cmd/starling/cli
//
// In each round a run in a real store asks an agent twenty times, one after the other, and then
// what the backend asks of the world is done as often by itself: the program is executed with as
// much input, the API is sent a request. They take turns, because the machine changes within
// minutes; figures are medians of the rounds, for one call. "overhead-ms" is what a call takes
// beyond the time that its backend is at work, measured in the same call; "backend-ms" is that
// time, of which the guard of a program is part; "own-ms" is the program or the API by itself;
// "syncs" is what the store did for a call, the start of the run being a twentieth. "ratio" is the
// overhead beside that of a store without the rows of bills, "cpu-ratio" what processors do.
func BenchmarkAgents(b *testing.B) {
	b.Run("command", func(b *testing.B) {
		benchCalls(b, "[agents.a]\ncommand = ['/bin/sh', '-c', '''"+agentProgram+"''']\n", func(request []byte) {
			cmd := exec.Command("/bin/sh", "-c", agentProgram)
			cmd.Stdin = bytes.NewReader(request)
			if out, err := cmd.Output(); err != nil || len(out) == 0 {
				b.Fatal(err)
			}
		})
	})
	b.Run("openai", func(b *testing.B) {
		api := httptest.NewServer(http.HandlerFunc(speakOpenAI))
		b.Cleanup(api.Close)
		benchCalls(b, fmt.Sprintf("[agents.a]\nbackend = 'openai'\nmodel = 'm'\nurl = %q\nenv = []\n", api.URL), func(request []byte) {
			resp, err := http.Post(api.URL+"/chat/completions", "application/json", bytes.NewReader(request))
			if err != nil {
				b.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := new(bytes.Buffer).ReadFrom(resp.Body); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("bill", benchBill)
	b.Run("concurrent=200", benchCrowd)
}

const (
	agentProgram = `cat >/dev/null; echo '{"text": "done"}'`
	benchRounds  = 15
	benchAsked   = 20 // calls of a round
)

func speakOpenAI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// bench is an engine on a real store with a project.
type bench struct {
	b        *testing.B
	store    *badger.Store
	engine   *engine.Local
	settings effect.Settings
	ctx      context.Context

	mu    sync.Mutex
	asked time.Duration // how long backends were at work
}

// timed notes how long backends are at work.
func (x *bench) timed(env *effect.Environment) *effect.Environment {
	handler := *env.Handlers["agent"]
	perform := handler.Perform
	handler.Perform = func(ctx context.Context, a *effect.Attempt) effect.Reply {
		begin := time.Now()
		defer func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.asked += time.Since(begin)
		}()
		return perform(ctx, a)
	}
	env.Handlers["agent"] = &handler
	return env
}

func newBench(b *testing.B, project string) *bench {
	return newBenchOn(b, project, func(s runtime.Store) runtime.Store { return s })
}

// newBenchOn has the engine see of the store what seen makes of it.
func newBenchOn(b *testing.B, project string, seen func(runtime.Store) runtime.Store) *bench {
	dir := b.TempDir()
	x := &bench{b: b, ctx: runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:bench", Local: true}),
		settings: effect.Settings{Workspace: dir, ProjectFile: filepath.Join(dir, "starling.toml"), Project: []byte(project)}}
	var err error
	if x.store, err = badger.Open(filepath.Join(dir, ".starling"), badger.Options{}); err != nil {
		b.Fatal(err)
	}
	if x.engine, err = engine.Open(seen(x.store), x.timed(environment()), engine.Options{}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { x.engine.Close() })
	return x
}

// start starts a script with the input n.
func (x *bench) start(source string, n int) string {
	bundle, err := lang.Read("bench.star", func(string) ([]byte, error) { return []byte(source), nil }, nil)
	if err != nil {
		x.b.Fatal(err)
	}
	run, err := x.engine.Start(x.ctx, runtime.StartRequest{Bundle: bundle.Encode(), Script: "bench.star", Inputs: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)), Settings: x.settings})
	if err != nil {
		x.b.Fatal(err)
	}
	return run.ID
}

// finished waits for the end of a run, which must complete.
func (x *bench) finished(run string) {
	err := x.engine.Watch(x.ctx, runtime.WatchRequest{Run: run, Follow: true}, func(ev runtime.Event) error {
		switch ev.Type {
		case "run.completed":
			return runtime.ErrStopWatch
		case "run.failed":
			x.b.Fatal(string(ev.Data))
		}
		return nil
	})
	if err != nil {
		x.b.Fatal(err)
	}
}

// benchCalls asks one agent again and again; own does what its backend asks of the world.
func benchCalls(b *testing.B, project string, own func(request []byte)) {
	x := newBench(b, project)
	request := bytes.Repeat([]byte("x"), 400) // as long as a request is
	var overhead, backend, alone, syncs []float64
	for b.Loop() {
		for range benchRounds {
			before := x.store.Stats().Syncs
			x.asked = 0
			call := average(benchAsked, func() {
				x.finished(x.start("def main(n):\n    for i in range(n):\n        agent('a', 'Look.')\n", benchAsked))
			})
			asked := x.asked.Seconds() * 1000 / benchAsked
			overhead, backend = append(overhead, call-asked), append(backend, asked)
			syncs = append(syncs, float64(x.store.Stats().Syncs-before)/benchAsked)
			alone = append(alone, average(benchAsked, func() {
				for range benchAsked {
					own(request)
				}
			}))
		}
	}
	b.ReportMetric(middle(overhead), "overhead-ms")
	b.ReportMetric(middle(backend), "backend-ms")
	b.ReportMetric(middle(alone), "own-ms")
	b.ReportMetric(middle(syncs), "syncs")
}

// benchBill measures what the bill of a run adds to a call of an API: the same calls on a store
// that is not told its rows, in turns. What is summed up in memory is done on both sides.
func benchBill(b *testing.B) {
	api := httptest.NewServer(http.HandlerFunc(speakOpenAI))
	b.Cleanup(api.Close)
	project := fmt.Sprintf("[agents.a]\nbackend = 'openai'\nmodel = 'm'\nurl = %q\nenv = []\n", api.URL)
	sides := [2]*bench{}
	for i, bills := range []bool{true, false} {
		sides[i] = newBenchOn(b, project, func(s runtime.Store) runtime.Store { return &billed{s, bills} })
	}
	var took, cpu [2][]float64
	var slower, busier []float64
	for b.Loop() {
		for pair := range 4 * benchRounds {
			var call, work [2]float64
			for side := range 2 {
				i := (pair + side) % 2 // nobody is always the second
				x, before := sides[i], processed(b)
				x.asked = 0
				call[i] = average(benchAsked, func() {
					x.finished(x.start("def main(n):\n    for i in range(n):\n        agent('a', 'Look.')\n", benchAsked))
				}) - x.asked.Seconds()*1000/benchAsked
				work[i] = (processed(b) - before).Seconds() * 1000 / benchAsked
				took[i], cpu[i] = append(took[i], call[i]), append(cpu[i], work[i])
			}
			slower, busier = append(slower, call[0]/call[1]), append(busier, work[0]/work[1])
		}
	}
	b.ReportMetric(middle(took[0]), "overhead-ms")
	b.ReportMetric(middle(took[1]), "overhead-without-ms")
	b.ReportMetric(middle(slower), "ratio")
	b.ReportMetric(middle(cpu[0]), "cpu-ms")
	b.ReportMetric(middle(busier), "cpu-ratio")
}

// processed is the time of processors that this process has taken, its API included.
func processed(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// billed is a store that drops the rows of bills, unless it keeps them.
type billed struct {
	runtime.Store
	keeps bool
}

func (s *billed) Commit(ctx context.Context, batch *runtime.Batch) error {
	if !s.keeps {
		kept := *batch
		kept.Writes = slices.DeleteFunc(slices.Clone(batch.Writes), func(w runtime.Write) bool {
			return bytes.HasPrefix(w.Key, []byte(fact.PrefixBill))
		})
		batch = &kept
	}
	return s.Store.Commit(ctx, batch)
}

// average is the time of one of n, in milliseconds.
func average(n int, do func()) float64 {
	begin := time.Now()
	do()
	return time.Since(begin).Seconds() * 1000 / float64(n)
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// benchCrowd has 200 programs at work at the same time: none ends before all have begun. A run has
// at most 64 attempts in flight, so four runs ask them.
func benchCrowd(b *testing.B) {
	const runs, each = 4, 50
	const meet = `cat >/dev/null; echo >>started; read x <gate; echo '{"text": "done"}'`
	x := newBench(b, "[agents.a]\ncommand = ['/bin/sh', '-c', '''"+meet+"''']\n")
	gate := filepath.Join(x.settings.Workspace, "gate")
	if err := exec.Command("mkfifo", gate).Run(); err != nil {
		b.Fatal(err)
	}
	var alive, all, bare []float64
	for b.Loop() {
		for range 3 {
			begin := time.Now()
			var ids []string
			for range runs {
				ids = append(ids, x.start("def main(n):\n    parallel([lambda: agent('a', 'Look.') for _ in range(n)])\n", each))
			}
			leave := x.meet(gate, runs*each)
			alive = append(alive, time.Since(begin).Seconds()*1000)
			for _, id := range ids {
				x.finished(id)
			}
			leave()
			all = append(all, time.Since(begin).Seconds()*1000)
			begin = time.Now()
			var group sync.WaitGroup
			for range runs * each {
				group.Go(func() {
					cmd := exec.Command("/bin/sh", "-c", meet)
					cmd.Dir, cmd.Stdin = x.settings.Workspace, strings.NewReader("{}")
					if err := cmd.Run(); err != nil {
						b.Error(err)
					}
				})
			}
			leave = x.meet(gate, runs*each)
			group.Wait()
			leave()
			bare = append(bare, time.Since(begin).Seconds()*1000)
		}
	}
	b.ReportMetric(middle(alive), "ms-until-all-at-work")
	b.ReportMetric(middle(all), "ms")
	b.ReportMetric(middle(bare), "bare-ms")
}

// meet waits until so many programs have begun, and lets each go on. What it returns is called when
// they have ended.
func (x *bench) meet(gate string, n int) (leave func()) {
	started := filepath.Join(x.settings.Workspace, "started")
	for text := []byte(nil); bytes.Count(text, []byte("\n")) < n; time.Sleep(5 * time.Millisecond) {
		text, _ = os.ReadFile(started) // not there until the first has begun
	}
	f, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err == nil {
		err = os.Remove(started)
	}
	if err == nil {
		_, err = f.Write(bytes.Repeat([]byte("\n"), n)) // a line for each
	}
	if err != nil {
		x.b.Fatal(err)
	}
	return func() { f.Close() }
}
