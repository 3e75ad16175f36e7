package cli

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// crowded is an office in whose store runs wait at a gate each.
func crowded(t testing.TB, n int) (*store, []string) {
	o := newOffice(t)
	t.Setenv("XDG_STATE_HOME", o.dir)
	for _, name := range []string{"CI", "NO_COLOR"} { // of whoever runs the tests
		t.Setenv(name, "")
	}
	s := &store{office: o}
	s.serve()
	return s, s.start(n, `
def main():
    return gate("g", prompt = "Is it right?", options = ["yes", "no"], data = {"text": "a line\n" * 20}).choice
`)
}

// lookInto opens the inbox of an office, and waits until all gates are listed.
func (o *office) lookInto(n string) *screen {
	s := openScreenOf(o.t, o.dir, pty.Winsize{Rows: 40, Cols: 120}, o.env[len(o.env)-1:], "inbox")
	s.sees("all gates", ` all `+n+`$`, `^› +g +Is it right\?`)
	return s
}

// TestInboxOfMany: ten thousand runs wait, the one that is looked for is found and answered, and no
// other.
func TestInboxOfMany(t *testing.T) {
	const n = 10_000
	s, runs := crowded(t, n)
	screen := s.lookInto("10000")
	screen.types("G")
	screen.sees("the last", `^› +g`, `^ +g`)
	chosen := runs[n/2]
	screen.types("/" + chosen)
	screen.sees("one of them", ` all 1 of 10000$`, `│ `+chosen+`/g$`)
	screen.types(keyEnter + "1")
	screen.sees("it is on its way", `^.→ g +yes in`)
	screen.types("q")
	if left := screen.left(); !strings.Contains(left, "accepted "+chosen+"/g: yes") {
		t.Errorf("what stays is\n%s", left)
	}
	s.decidedOnce(chosen, `"yes"`)
	screen = s.lookInto("9999")
	screen.types("q")
	screen.left()
}

// BenchmarkInboxKey is how long it takes from a key to the screen while ten thousand gates are
// listed, beside a terminal whose program only gives the key back. Both are measured in turn, so
// that a busy machine slows both.
func BenchmarkInboxKey(b *testing.B) {
	s, _ := crowded(b, 10_000)
	view, echo := s.lookInto("10000"), echoing(b)
	var times, floor []time.Duration
	at := 0
	for b.Loop() {
		key, to := "j", at+1
		if at == 30 {
			key, to = "g", 0
		}
		start := time.Now()
		view.types(key)
		view.cursorAt(1 + to)
		middle := time.Now()
		echo()
		times, floor = append(times, middle.Sub(start)), append(floor, time.Since(middle))
		at = to
	}
	slices.Sort(times)
	slices.Sort(floor)
	middle, slow := len(times)/2, len(times)*99/100
	b.ReportMetric(float64(times[middle].Microseconds())/1000, "ms/key")
	b.ReportMetric(float64(times[slow].Microseconds())/1000, "ms/slow-key")
	b.ReportMetric(float64(times[middle])/float64(floor[middle]), "x-echo")
	b.ReportMetric(float64(times[slow])/float64(floor[slow]), "x-slow-echo")
}

// echoing sends a byte to a program in a terminal that gives it back, and waits for it.
func echoing(b *testing.B) (once func()) {
	cmd := exec.Command("sh", "-c", "stty raw -echo && echo ready && exec cat")
	tty, err := pty.Start(cmd)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		tty.Close()
	})
	buf := make([]byte, 64)
	read := func() {
		if _, err := tty.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
	for !bytes.Contains(buf, []byte("ready")) {
		read()
	}
	return func() {
		if _, err := tty.Write([]byte("x")); err != nil {
			b.Fatal(err)
		}
		read()
	}
}

// cursorAt waits until the mark of the list stands in a row of the screen.
func (s *screen) cursorAt(row int) {
	here := regexp.MustCompile("^›")
	for !here.MatchString(s.rows()[row]) {
		select {
		case <-s.news:
		case <-time.After(patience):
			s.t.Fatalf("the cursor does not come to row %d", row)
		}
	}
}
