package lang_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/vm"
	"starling/stdlib"
)

// BenchmarkInferred prints how many times as long as compiling a file of 2,000 lines takes to check
// it, types included.
func BenchmarkInferred(b *testing.B) {
	bundle := longScript(b)
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	var compiling, checking time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := lang.Compile(bundle, env); err != nil {
			b.Fatal(err)
		}
		compiled := time.Now()
		if list := lang.Check(bundle, env, check.Project{}); list.Err() != nil {
			b.Fatal(list.Render())
		}
		compiling += compiled.Sub(began)
		checking += time.Since(compiled)
	}
	b.ReportMetric(float64(checking)/float64(compiling), "check/compile")
	b.ReportMetric(float64(checking.Microseconds())/float64(b.N)/1000, "ms/check")
}

// longScript is one of 2,000 lines with what scripts have in them.
func longScript(b *testing.B) *lang.Bundle {
	b.Helper()
	var s strings.Builder
	s.WriteString("Finding = contract(\"{findings: [{file: path, line: int, severity: \\\"HIGH\\\" | \\\"LOW\\\"}], note: string?}\")\n")
	calls := ""
	for i := range 80 {
		fmt.Fprintf(&s, `
def stage_%[1]d(target, limit):
    seen, kept = {}, []
    for cycle in range(limit):
        r = agent("judge-%[1]d", "look at " + target, input = {"cycle": cycle, "seen": seen}, output = Finding)
        for f in r.output["findings"]:
            key = f["file"] + ":" + str(f["line"])
            if key in seen:
                continue
            seen[key] = f["severity"]
            kept.append(f)
        if not kept or cycle > 3:
            break
    worst = sorted(kept, key = lambda f: f["line"])
    high = [f for f in worst if f["severity"] == "HIGH"]
    d = gate("ship-%[1]d", options = ["yes", "no"], data = {"high": high, "all": len(kept)})
    if d.choice == "no":
        fail("stopped by", d.by, "because", d.reason)
    both = parallel({"a": lambda: len(high), "b": lambda: len(worst)})
    total = both["a"] + both["b"]
    note = "%%d of %%d" %% (both["a"], total) if total else "nothing"
    return {"target": target, "note": note, "files": [f["file"] for f in worst], "total": total}
`, i)
		calls += fmt.Sprintf("    out.append(stage_%d(target, 3))\n", i)
	}
	s.WriteString("\ndef main(target):\n    out = []\n" + calls + "    return {\"stages\": out, \"sum\": sum_of(out)}\n\ndef sum_of(out):\n    n = 0\n    for o in out:\n        n += o[\"total\"]\n    return n\n")
	f := files{"long.star": s.String()}
	bundle, err := lang.Read("long.star", f.read, nil)
	if err != nil {
		b.Fatal(err)
	}
	return bundle
}
