package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// live is a run of many branches, whose agents wait for the file go.
const liveScript = `
def one(i):
    if i == 3:
        return sh.run(["sh", "-c", "exit 1"], name = "tests").code
    return agent("slow", "part %d" % i).text

def main(n):
    print("hello")
    parallel({"日%d" % i: (one, i) for i in range(n)})
    return gate("ship", prompt = "Ship it?", options = ["approve", "reject"], target = "lead").choice
`

const liveProject = `
[agents.slow]
command = ["sh", "-c", "cat > /dev/null; until test -e go; do sleep 0.3; done; echo done"]
[sh]
allow = ["sh"]
`

// watch starts a run of so many branches in a terminal of its own.
func watchRun(t *testing.T, branches string, size pty.Winsize, env ...string) (s *screen, dir string) {
	dir = sitDown(t)
	for name, text := range map[string]string{"live.star": liveScript, "starling.toml": liveProject} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust := exec.Command("starling", "trust")
	trust.Dir = dir
	if out, err := trust.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"CI", "NO_COLOR"} { // of whoever runs the tests
		t.Setenv(name, "")
	}
	s = openScreenOf(t, dir, size, env, "run", "live.star", "-i", "n:="+branches)
	return s, dir
}

// until waits until the rows of the emulated screen are as they should.
func (s *screen) until(what string, right func(rows []string) bool) {
	s.t.Helper()
	late := time.After(patience)
	for {
		rows := s.rows()
		if right(rows) {
			return
		}
		select {
		case <-s.news:
		case <-time.After(50 * time.Millisecond): // a resize makes no news of its own
		case <-late:
			s.t.Fatalf("waited in vain for %s:\n%s", what, strings.Join(rows, "\n"))
		}
	}
}

// rows are what stands on the emulated screen.
func (s *screen) rows() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := strings.Split(s.term.String(), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}

// count counts the rows that a pattern fits.
func count(rows []string, pattern string) (n int) {
	re := regexp.MustCompile(pattern)
	for _, row := range rows {
		if re.MatchString(row) {
			n++
		}
	}
	return n
}

// TestLiveRun: a run of a hundred branches is drawn in place, on screens of any width, and leaves a
// clean summary.
func TestLiveRun(t *testing.T) {
	s, dir := watchRun(t, "100", pty.Winsize{Rows: 24, Cols: 100})
	drawn := func(width int) func([]string) bool {
		return func(rows []string) bool {
			return count(rows, `^run [a-z0-9]+ +live\.star`) == 1 && count(rows, `1 failed`) == 1 && count(rows, `✗ 日 ?3 .*exit 1`) == 1 &&
				count(rows, `… and \d+ at work`) == 1 && count(rows, `slow: part \d+`) > 10
		}
	}
	s.until("a hundred branches", drawn(100))
	for _, width := range []uint16{40, 200, 61} {
		s.resize(24, width)
		s.until("the same on another width", drawn(int(width)))
	}
	s.tty.WriteString("\r\r\r") // whoever types meanwhile pushes nothing about
	s.until("the same", drawn(61))
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("the summary", func(rows []string) bool {
		return count(rows, `^run [a-z0-9]+ +live\.star`) == 1 && count(rows, `parallel +99/100 done, 1 failed`) == 1 &&
			count(rows, `^◆ ship +for lead: Ship it\?`) == 1 && count(rows, `starling approve .*/ship --as lead`) == 1 && count(rows, "at work|slow: part") == 0
	})
	if code := s.end(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if !s.term.CursorVisible() {
		t.Error("the cursor stays hidden")
	}
}

// TestLiveRate: not more than ten frames a second are drawn, and hardly a byte for what does not
// change.
func TestLiveRate(t *testing.T) {
	s, dir := watchRun(t, "20", pty.Winsize{Rows: 40, Cols: 100})
	s.until("twenty branches", func(rows []string) bool { return count(rows, `slow: part \d+`) == 19 })
	s.mu.Lock()
	before, from := strings.Count(s.all.String(), "\x1b[?2026h"), time.Now()
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	frames, took := strings.Count(s.all.String(), "\x1b[?2026h")-before, time.Since(from)
	s.mu.Unlock()
	if most := 2 * int(10*took.Seconds()); frames > most || frames == 0 {
		t.Errorf("%d frames in %v, want 1 to %d", frames, took, most)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.end()
}

// TestLiveInterrupted: Ctrl-C leaves the terminal as it was, and says how to go on.
func TestLiveInterrupted(t *testing.T) {
	s, _ := watchRun(t, "5", pty.Winsize{Rows: 24, Cols: 100})
	s.until("five branches", func(rows []string) bool { return count(rows, `slow: part \d+`) == 4 })
	s.tty.WriteString("\x03")
	s.until("how to go on", func(rows []string) bool { return count(rows, `starling resume [a-z0-9]+$`) == 1 })
	if code := s.end(); code != 130 || !s.term.CursorVisible() {
		t.Errorf("exit code %d, the cursor is visible: %v", code, s.term.CursorVisible())
	}
}

// TestLiveIsPlain: where a terminal shall not be drawn on there are lines, as in a file.
func TestLiveIsPlain(t *testing.T) {
	for _, env := range []string{"NO_COLOR=1", "CI=true", "TERM=dumb"} {
		s, dir := watchRun(t, "2", pty.Winsize{Rows: 24, Cols: 100}, env)
		s.expect(`日1/slow: started`)
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.expect(`ship: open, for lead`)
		s.end()
		if strings.Contains(s.all.String(), "\x1b") {
			t.Errorf("%s: there are escape sequences in %q", env, s.all.String())
		}
	}
}

// TestShowWatch: somebody else's run is drawn too, to its end.
func TestShowWatch(t *testing.T) {
	s, dir := watchRun(t, "5", pty.Winsize{Rows: 24, Cols: 100})
	s.until("five branches", func(rows []string) bool { return count(rows, `slow: part \d+`) == 4 })
	other := openScreenOf(t, dir, pty.Winsize{Rows: 24, Cols: 80}, nil, "show", "@last", "--watch")
	other.until("five branches", func(rows []string) bool {
		return count(rows, `slow: part \d+`) == 4 && count(rows, `^hello`) == 0 // that was said before
	})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other.until("the gate", func(rows []string) bool { return count(rows, `^◆ ship +for lead`) == 1 })
	approve := exec.Command("starling", "approve", "@last/ship", "--as", "lead", "--no-wait")
	approve.Dir = dir
	if out, err := approve.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	other.until("the end", func(rows []string) bool {
		return count(rows, `^✓ ship +approve by lead`) == 1 && count(rows, `output +"approve"`) == 1
	})
	if code := other.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.end()
}

// emulate has what is shown on a screen emulated.
func emulate(size pty.Winsize) vt10x.Terminal {
	return vt10x.New(vt10x.WithSize(int(size.Cols), int(size.Rows)))
}
