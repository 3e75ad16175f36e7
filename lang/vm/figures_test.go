package vm_test

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/compile"
	"starling/lang/effect"
)

var rounds = flag.Int("rounds", 15, "interleaved rounds of each comparison in BenchmarkFigures")

// BenchmarkFigures prints what lang/design.md records: how fast the machine and the compiler are
// beside go.starlark.net in the same process, and what a snapshot takes.
//
//	go test -run '^$' -bench Figures -benchtime 1x ./lang/vm -rounds 31
func BenchmarkFigures(b *testing.B) {
	tab := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer tab.Flush()
	speedFigures(b, tab)
	compileFigures(b, tab)
	snapshotFigures(b, tab)
	b.ReportMetric(0, "ns/op")
}

// speedFigures prints how many times faster than go.starlark.net each workload runs.
func speedFigures(b *testing.B, w io.Writer) {
	fmt.Fprintln(w, "\nworkload\tgo.starlark.net µs\tstarling µs\tratio\t")
	sum, least := 0.0, math.Inf(1)
	for _, load := range workloads {
		c := compare(b, referenceRun(b, load), machineRun(b, load))
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.2f\t\n", load.name, c.reference, c.own, c.ratio)
		sum += math.Log(c.ratio)
		least = min(least, c.ratio)
	}
	mean := math.Exp(sum / float64(len(workloads)))
	fmt.Fprintf(w, "geometric mean\t\t\t%.2f\t\nleast\t\t\t%.2f\t\n", mean, least)
	b.ReportMetric(mean, "ratio")
	b.ReportMetric(least, "least-ratio")
}

// compileFigures prints how long compiling takes, as a multiple of go.starlark.net's time for the
// same file: of the compiler alone, and of all that [lang.Compile] does.
func compileFigures(b *testing.B, w io.Writer) {
	text := workloadFile()
	reference := func() (starlark.Value, error) {
		opts := product
		_, _, err := starlark.SourceProgramOptions(&opts, "workloads.star", text, benchmarkNames.Has)
		return nil, err
	}
	own := func() (starlark.Value, error) {
		_, err := compile.Compile(compile.Source{Name: "workloads.star", Text: []byte(text), Options: product, Predeclared: benchmarkNames.Has})
		return nil, err
	}
	bundle, err := lang.Read("workloads.star", func(string) ([]byte, error) { return []byte(text), nil }, nil)
	if err != nil {
		b.Fatal(err)
	}
	env := &effect.Environment{Names: benchmarkNames}
	whole := func() (starlark.Value, error) {
		_, err := lang.Compile(bundle, env)
		return nil, err
	}
	fmt.Fprintf(w, "\ncompile %d lines\tgo.starlark.net µs\tstarling µs\ttimes the reference\t\n", strings.Count(text, "\n"))
	for _, row := range []struct {
		name string
		run  func() (starlark.Value, error)
	}{{"compile.Compile", own}, {"lang.Compile", whole}} {
		c := compare(b, reference, row.run)
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.2f\t\n", row.name, c.reference, c.own, 1/c.ratio)
	}
}

// workloadFile is all workloads in one file, each with a name of its own for its run.
func workloadFile() string {
	var text strings.Builder
	for i, w := range workloads {
		text.WriteString(strings.ReplaceAll(w.text, "def run(", fmt.Sprintf("def run%d(", i)))
	}
	return text.String()
}

// comparison is the outcome of interleaved rounds: medians in microseconds, and the median of the
// ratios of the rounds.
type comparison struct{ reference, own, ratio float64 }

// compare times two functions in rounds, each round one batch of each. Who goes first takes turns,
// so that a machine which grows slower or faster meanwhile favours none.
func compare(tb testing.TB, reference, own func() (starlark.Value, error)) comparison {
	n := max(1, int(8000/batch(tb, reference, 1))) // about 8 ms a batch
	var refs, owns, ratios []float64
	for round := range *rounds {
		var r, o float64
		if round%2 == 0 {
			r, o = batch(tb, reference, n), batch(tb, own, n)
		} else {
			o, r = batch(tb, own, n), batch(tb, reference, n)
		}
		refs, owns, ratios = append(refs, r), append(owns, o), append(ratios, r/o)
	}
	return comparison{median(refs), median(owns), median(ratios)}
}

// batch is the time of one of n runs, in microseconds.
func batch(tb testing.TB, run func() (starlark.Value, error), n int) float64 {
	runtime.GC()
	start := time.Now()
	for range n {
		if _, err := run(); err != nil {
			tb.Fatal(err)
		}
	}
	return float64(time.Since(start).Nanoseconds()) / 1000 / float64(n)
}

func median(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/2]
}

// snapshotFigures prints what machines take when they are written down, the MAC and the program's
// hash included, and how long writing and reading take.
func snapshotFigures(b *testing.B, w io.Writer) {
	fmt.Fprintln(w, "\nsnapshot\tbytes\tµs to write\tµs to read\t")
	for _, s := range snapshotStates {
		img := imageOf(b, s.script, "lib.star", library)
		m := suspended(b, img)
		snap := snapshotOf(b, m)
		write := quickest(func() { snapshotOf(b, m) })
		read := quickest(func() {
			if _, err := img.Restore(snap, snapshotKey); err != nil {
				b.Fatal(err)
			}
		})
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t\n", s.name, len(snap), write, read)
	}
}

// snapshotStates are scripts that rest where they are measured.
var snapshotStates = []struct{ name, script string }{
	{"one frame, a library", "load(\"lib.star\", \"names\")\ndef main():\n    return [names, rest()]\n"},
	{"11 frames", nestedCalls(9)},
	{"201 frames", nestedCalls(199)},
	{"1,000 records", `
def main():
    l = [{"id": i, "name": "name %d" % i, "tags": [i, i + 1], "ok": True} for i in range(1000)]
    rest()
    return l
`},
	{"60 texts", `
def main():
    l = {"step %d" % i: {"text": "what the agent has said, number %d, " % i + "and more of it " * 4, "ok": True} for i in range(60)}
    rest()
    return l
`},
}

func nestedCalls(n int) string {
	return fmt.Sprintf("def f(n):\n    return rest() if n == 0 else f(n - 1)\ndef main():\n    return f(%d)\n", n)
}

// quickest is the least time that do takes of 200 tries, in microseconds.
func quickest(do func()) float64 {
	best := time.Hour
	for range 200 {
		begin := time.Now()
		do()
		best = min(best, time.Since(begin))
	}
	return float64(best.Nanoseconds()) / 1000
}
