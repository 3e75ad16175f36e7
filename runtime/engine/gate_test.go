package engine_test

import (
	"strings"
	"testing"

	"starling/runtime"
)

func TestGatesInTheOrderTheyOpened(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def main():
    parallel([lambda: gate("z"), lambda: gate("a"), lambda: gate("m")])
`, "")
	at := w.until(run.ID, runtime.Suspended)
	var names []string
	for _, g := range at.Gates {
		names = append(names, g.Gate)
	}
	if got := strings.Join(names, " "); got != "parallel/0/z parallel/1/a parallel/2/m" {
		t.Error(got)
	}
}
