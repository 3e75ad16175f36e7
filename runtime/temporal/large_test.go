package temporal

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
)

// noise is text that does not get shorter by deflating it much.
func noise(n int) string {
	b := make([]byte, n*3/4)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}

// What comes in at once and is too much for one turn is taken by several.
func TestMuchComesAtOnce(t *testing.T) {
	const calls = 6
	var all sync.WaitGroup
	all.Add(calls)
	text := noise(800 << 10)
	p := play(t, fmt.Sprintf("def main():\n    return len(\"\".join([r.output for r in parallel([lambda: agent(\"a\", \"one\") for i in range(%d)])]))\n", calls), ``, func(context.Context, *effect.Attempt) (string, error) {
		all.Done()
		all.Wait()
		return text, nil
	})
	p.wants(p.ends(), runtime.Completed, fmt.Sprint(calls*len(text)))
}

// A turn that leaves more than a history takes at once would be taken again for ever: its run rests
// at the gate !quarantine, and can be cancelled.
func TestATurnLeavesTooMuch(t *testing.T) {
	p := play(t, `def main():
    text = agent("a", "one").output
    def ask(i):
        gate("g", prompt = text[i * 1000:i * 1000 + 15000], options = ["yes"])
    parallel([(ask, i) for i in range(300)])
`, ``, func(context.Context, *effect.Attempt) (string, error) { return noise(450 << 10), nil })
	why := ""
	p.after(time.Hour, func() {
		if r := p.now(); len(r.Gates) == 1 && r.Gates[0].Gate == runtime.GateQuarantine {
			why = r.Gates[0].Prompt
		}
		p.update(letterCancel, &asked{Who: []string{"ann"}, Cancel: &runtime.CancelRequest{Run: p.id}}, func(_ *runtime.Receipt, err error) { p.must(err) })
	})
	p.wants(p.ends(), runtime.Cancelled, "")
	if !strings.Contains(why, "too_large: one turn leaves") {
		t.Errorf("it is quarantined because %q, want that one turn leaves too much", why)
	}
}

// What thousands of branches leave in the first turn of a run fits into what a run begins with.
func TestManyGatesOpenAtOnce(t *testing.T) {
	w := &Worker{connection: connect(Options{Env: enginetest.Environment(nil), Log: t.Logf})}
	source := "def main():\n    parallel([lambda: gate(\"g\", options = [\"yes\", \"no\"], timeout = \"1h\", fallback = \"no\") for i in range(2500)])\n"
	first, err := w.first(t.Context(), "0123456789ab", runtime.StartRequest{Bundle: enginetest.Bundle(source), Script: "main.star"}, "ann", "", 0, time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	b := first.encode()
	if len(b) > maxBody {
		t.Errorf("it begins with %d bytes, want %d at most", len(b), maxBody)
	}
	again, err := decodeTurned(b)
	if err != nil || len(again.writes) != len(first.writes) {
		t.Errorf("it is read as %d writes, %v, want %d", len(again.writes), err, len(first.writes))
	}
}

// Things leave in their order, as there is room, and what was taken back does not.
func TestDispatch(t *testing.T) {
	var left []string
	var gone []*parcel
	d := dispatch{most: 3}
	add := func(to string, size int) {
		d.add(parcel{to: to, size: size, send: func(p *parcel) { left, gone = append(left, p.to), append(gone, p) }})
	}
	wants := func(want string, idle bool) {
		t.Helper()
		if got := strings.Join(left, ""); got != want || d.idle() != idle {
			t.Errorf("%q have left, idle: %t; want %q, %t", got, d.idle(), want, idle)
		}
	}
	add("a", 2*maxLeavingBytes) // the first goes, whatever its size
	add("b", 1)
	add("c", 1)
	add("d", 1)
	add("e", 1)
	wants("a", false)
	d.arrived(gone[0])
	wants("abc", false)
	d.arrived(gone[1])
	d.arrived(gone[2])
	wants("abc", false) // the others wait until one of these is over
	d.drop("d")
	d.over()
	wants("abce", false)
	d.arrived(gone[3])
	wants("abce", true)
}
