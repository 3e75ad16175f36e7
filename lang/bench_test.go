package lang_test

import (
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/check"
)

// thousandLines is a script of about that many lines, of the usual kind.
func thousandLines() string {
	var s strings.Builder
	s.WriteString("inputs = contract(\"{n: int}\")\n")
	for i := range 90 {
		s.WriteString(strings.ReplaceAll(`
def step_N(items, threshold, *, strict = False):
    seen = {}
    for item in items:
        if item["score"] > threshold and not strict:
            seen[item["id"]] = [x for x in item["tags"] if len(x) > 1]
    r = agent("reviewer", "look at %d items" % len(seen), input = seen, timeout = "5m", name = "review-N")
    d = gate("gate-N", options = ["yes", "no"], fallback = "no", data = r.output, timeout = "1h")
    if d.choice == "yes":
        return parallel([(http.get, k) for k in sorted(seen)])
    return step_N(items, threshold + 1, strict = True)
`, "N", string(rune('a'+i/26))+string(rune('a'+i%26))))
	}
	s.WriteString("\ndef main(n):\n    return step_aa([], n)\n")
	return s.String()
}

// BenchmarkCheckRatio is what `starling check` costs for a thousand lines in units of parsing them,
// each measured in turn so that a busy machine slows both.
func BenchmarkCheckRatio(b *testing.B) {
	source, env := thousandLines(), environment()
	bundle, err := lang.Read("main.star", files{"main.star": source}.read, nil)
	if err != nil {
		b.Fatal(err)
	}
	var parse, checking time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := lang.FileOptions().Parse("main.star", source, 0); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if list := lang.Check(bundle, env, check.Project{Agents: []check.Agent{{Name: "reviewer"}}}); len(list) > 0 {
			b.Fatal(list)
		}
		parse, checking = parse+middle.Sub(start), checking+time.Since(middle)
	}
	b.ReportMetric(float64(checking)/float64(parse), "x-parse")
	b.ReportMetric(float64(checking.Milliseconds())/float64(b.N), "ms/check")
}

// BenchmarkCheck is what `starling check` costs for a thousand lines, beside go.starlark.net's own
// compiler, which says less.
func BenchmarkCheck(b *testing.B) {
	source := thousandLines()
	env := environment()
	f := files{"main.star": source}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := lang.Read("main.star", f.read, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	bundle, err := lang.Read("main.star", f.read, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			if _, err := lang.Compile(bundle, env); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if list := lang.Check(bundle, env, check.Project{}); len(list) > 0 {
				b.Fatal(list)
			}
		}
	})
	b.Run("reference", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := starlark.SourceProgramOptions(lang.FileOptions(), "main.star", source, env.Names.Has); err != nil {
				b.Fatal(err)
			}
		}
	})
}
