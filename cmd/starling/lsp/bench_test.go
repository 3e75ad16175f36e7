package lsp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"starling/lang"
)

// long is a script of about 2,000 lines.
func long() string {
	var b strings.Builder
	b.WriteString("Verdict = contract('{verdict: \"pass\" | \"fail\", notes: [string]}')\n\n")
	for i := range 200 {
		fmt.Fprintf(&b, `def step_%d(target):
    r = agent("reviewer", "look at " + target, output = Verdict, on_uncertain = "retry")
    notes, kept = r.output["notes"], []
    for n in notes:
        if n != target:
            kept.append(n.upper())
    if r.output["verdict"] == "fail":
        return ", ".join(kept)
    return "%%d notes" %% len(kept)

`, i)
	}
	b.WriteString("def main(target):\n    told = []\n")
	for i := range 200 {
		fmt.Fprintf(&b, "    told.append(step_%d(target))\n", i)
	}
	b.WriteString("    return told\n")
	return b.String()
}

// BenchmarkEdit is from a key in a script of 2,000 lines to its diagnostics, in milliseconds and in
// units of parsing it, each measured in turn so that a busy machine slows both.
func BenchmarkEdit(b *testing.B) { benchmarkEdit(b, start(b, map[string]string{})) }

// BenchmarkEditOverStdio is that of the program itself, as editors start it.
func BenchmarkEditOverStdio(b *testing.B) { benchmarkEdit(b, startProgram(b)) }

func benchmarkEdit(b *testing.B, c *client) {
	if list := c.open("long.star", long()); len(list) != 0 {
		b.Fatalf("got %v", list)
	}
	var edit, parse time.Duration
	for i := 0; b.Loop(); i++ {
		old, new := "told = []", "told = [ ]"
		if i%2 == 1 {
			old, new = new, old
		}
		start := time.Now()
		c.edit("long.star", old, new)
		middle := time.Now()
		if _, err := lang.Parse("long.star", []byte(c.texts["long.star"])); err != nil {
			b.Fatal(err)
		}
		edit, parse = edit+middle.Sub(start), parse+time.Since(middle)
	}
	b.ReportMetric(float64(edit)/float64(parse), "x-parse")
	b.ReportMetric(float64(edit.Microseconds())/1000/float64(b.N), "ms/edit")
}

// BenchmarkComplete is a completion of attributes in it.
func BenchmarkComplete(b *testing.B) {
	c := start(b, map[string]string{})
	c.open("long.star", long())
	c.edit("long.star", "    return told\n", "    x = told.\n    return told\n")
	for b.Loop() {
		if got := c.completions("long.star", "    x = told."); len(got) < 5 {
			b.Fatalf("got %v", got)
		}
	}
}
