package live

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"starling/runtime"
)

// told is a board that was told events, "STEP TYPE DATA" each, a second apart. Of a branch itself
// it is BRANCH/.
func told(t *testing.T, events ...string) *Board {
	t.Helper()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := NewBoard(&runtime.Run{ID: "k3jc0x7c0x1y", Script: "ten.star"}, func(g runtime.Gate) []string {
		return []string{"starling approve " + g.Address, "starling reject " + g.Address}
	})
	for i, line := range events {
		words := strings.SplitN(line, " ", 3)
		step, data := strings.TrimPrefix(words[0], "-"), "{}"
		if len(words) > 2 {
			data = words[2]
		}
		if !json.Valid([]byte(data)) {
			t.Fatalf("%s is not JSON", data)
		}
		ev := runtime.Event{Seq: uint64(i + 1), Run: b.run, Time: start.Add(time.Duration(i) * time.Second), Step: step, Type: words[1], Data: json.RawMessage(data)}
		if branch, ok := strings.CutSuffix(step, "/"); ok {
			ev.Branch, ev.Step = branch, ""
		}
		b.Add(ev)
	}
	return b
}

// plainLines are lines without colours and without blanks at their ends.
func plainLines(lines []string) string {
	text := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(strings.Join(lines, "\n"), "")
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(text, "") + "\n"
}

func agent(step, task string) []string {
	return []string{step + ` step.requested {"kind":"agent","args":{"who":"worker","task":"` + task + `"}}`, step + ` attempt.started {"attempt":1}`}
}

func TestBoard(t *testing.T) {
	events := []string{"- run.started"}
	events = append(events, agent("plan", "think")...)
	events = append(events, `plan step.settled {"value":{"ok":true,"status":"ok","step":"plan"}}`)
	for i := range 4 {
		events = append(events, agent(fmt.Sprintf("parallel/k%d/worker", i), fmt.Sprintf("part %d", i))...)
	}
	events = append(events,
		`parallel/k0/worker agent.event {"kind":"tool","data":{"name":"Bash","input":{"command":"go test\n./..."}}}`,
		`parallel/k0/worker agent.event {"kind":"usage","data":{"usd":0.0312,"input_tokens":12000,"output_tokens":345}}`,
		`parallel/k1/worker step.settled {"value":{"ok":true}}`,
		`parallel/k2/worker step.settled {"error":{"kind":"timeout","message":"parallel/k2/worker: it took too long"}}`,
		`parallel/k3/worker attempt.ended {"class":"retryable","error":{"message":"parallel/k3/worker: it exited with 3"}}`,
		`tests step.requested {"kind":"sh","args":{"argv":["go","test"]}}`,
		`tests step.settled {"value":{"ok":false,"code":1,"signal":"","seconds":0.5}}`,
		`ship step.requested {"kind":"gate","args":{}}`,
		`ship gate.opened {"args":{"prompt":"Ship\nit?","target":"lead","options":["approve","reject"]}}`)
	b := told(t, events...)
	now := b.last.Add(time.Second)
	for _, test := range []struct {
		width, height int
		want          string
	}{
		{80, 24, `run k3jc0x7c0x1y  ten.star                                    21s  12.3k   $0.03
✓ plan                                                         2s
  parallel  1/4 done, 1 failed                                17s  12.3k   $0.03
  ⠋ k0      worker: uses Bash go test ./...                   17s  12.3k   $0.03
  ✗ k2      worker: timeout: it took too long                  7s
  · k3      worker: attempt 2: it exited with 3               11s
✗ tests     exit 1                                             1s
◆ ship      for lead: Ship it?                                 2s
    starling approve k3jc0x7c0x1y/ship
`},
		{40, 24, `run k3jc0x7c0x1y  ten.star           21s
✓ plan                                2s
  parallel  1/4 done, 1 failed       17s
  ⠋ k0      worker: uses Bash go…    17s
  ✗ k2      worker: timeout: it …     7s
  · k3      worker: attempt 2: i…    11s
✗ tests     exit 1                    1s
◆ ship      for lead: Ship it?        2s
    starling approve k3jc0x7c0x1y/ship
`},
		{24, 6, `run k3jc0x7c0x1y     21s
  parallel  1/4 …    17s
✗ tests     exit…     1s
◆ ship      for …     2s
    starling review
  … and 1 failed, 1 at …
`},
	} {
		lines := b.lines(page{now: now, width: test.width, height: test.height})
		if got := plainLines(lines); got != test.want {
			t.Errorf("%d x %d: got\n%swant\n%s", test.width, test.height, got, test.want)
		}
		assertFits(t, lines, test.width, test.height)
	}
	b.Add(runtime.Event{Type: "gate.decided", Step: "ship", Time: now, Data: json.RawMessage(`{"decision":{"choice":"approve","by":"ann","via":"signal","reason":"fine"}}`)})
	if got := plainLines(b.Summary(80)); !strings.Contains(got, "✓ ship      approve by ann: fine") {
		t.Errorf("the summary does not say who has decided:\n%s", got)
	}
}

// TestFailedBranches: a branch that has ended with an error is failed, with a step that says the
// same, with one that says something else, after steps that are fine, and without any.
func TestFailedBranches(t *testing.T) {
	events := []string{"- run.started"}
	for _, name := range []string{"same", "other", "fine", "open"} {
		events = append(events, agent("parallel/"+name+"/worker", "part")...)
	}
	b := told(t, append(events,
		`parallel/same/worker step.settled {"error":{"kind":"timeout","message":"parallel/same/worker: it took too long"}}`,
		`parallel/same/ branch.failed {"error":{"kind":"timeout","message":"parallel/same/worker: it took too long","where":"a.star:3:4"}}`,
		`parallel/other/worker step.settled {"value":{"ok":false,"code":1,"signal":"","seconds":0.5}}`,
		`parallel/other/ branch.failed {"error":{"kind":"script","message":"no\nway"}}`,
		`parallel/fine/worker step.settled {"value":{"ok":true}}`,
		`parallel/fine/ branch.failed {"error":{"kind":"script","message":"the reply is empty"}}`,
		`parallel/bare/ branch.failed {"error":{"kind":"script","message":"nothing to do"}}`)...)
	want := `run k3jc0x7c0x1y  ten.star                                    15s
  parallel    0/5 done, 4 failed                              14s
  ✗ same      worker: timeout: it took too long                8s
  ✗ other     script: no way                                   8s
    ✗ worker  exit 1                                           8s
  ✗ fine      script: the reply is empty                       8s
  ⠋ open      worker: part                                     8s
  ✗ bare      script: nothing to do
`
	if got := plainLines(b.lines(page{now: b.last, width: 80, height: 24})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestBranchesToCome: all branches of a parallel count from its first step on, also those that its
// limit keeps from beginning, below another, and those that are added; until it is over, for then
// nobody knows what became of those that have asked for nothing.
func TestBranchesToCome(t *testing.T) {
	asks := func(step, among string) string {
		return step + ` step.requested {"kind":"agent","args":{"task":"part"},"among":` + among + `}`
	}
	told := told(t, "- run.started", asks("parallel/0/a", "[30]"), asks("parallel/1/parallel/x/b", "[2,30]"), "parallel/0/a step.settled {}")
	shows := func(want string) {
		t.Helper()
		if got := plainLines(told.lines(page{now: told.last, width: 60, height: 24})); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
	add := func(step, typ, data string) {
		told.Add(runtime.Event{Type: typ, Step: step, Time: told.last, Data: json.RawMessage(data)})
	}
	shows(`run k3jc0x7c0x1y  ten.star                                3s
  parallel      1/30 done                                 2s
    1                                                     1s
      parallel  0/2 done                                  1s
      · x       b: part                                   1s
`)
	add("!permission:parallel/1/parallel/x/b", "gate.opened", `{"args":{"prompt":"May it?"}}`) // says nothing of the parallel
	add("!permission:parallel/1/parallel/x/b", "gate.decided", `{"decision":{"choice":"yes","by":"ann"}}`)
	add("parallel/1/parallel/x/b", "step.settled", "{}")
	add("parallel/2/a", "step.requested", `{"kind":"agent","among":[31]}`)
	add("parallel/2/a", "step.settled", "{}")
	shows(`run k3jc0x7c0x1y  ten.star                                3s
  parallel                  3/31 done                     2s
✓ !permission:parallel/1/…  yes by ann
`)
	add("next", "step.requested", `{"kind":"agent"}`)
	shows(`run k3jc0x7c0x1y  ten.star                                3s
✓ parallel                  3/3 done                      2s
✓ !permission:parallel/1/…  yes by ann
· next
`)
}

// assertFits: no line is wider than the screen, nor are there more of them than it has.
func assertFits(t *testing.T, lines []string, width, height int) {
	t.Helper()
	if len(lines) > height {
		t.Errorf("%d lines, want %d at most", len(lines), height)
	}
	for _, line := range lines {
		if w := runewidth.StringWidth(strings.TrimSuffix(plainLines([]string{line}), "\n")); w > width {
			t.Errorf("a line has %d columns, want %d at most: %q", w, width, line)
		}
	}
}

// TestBoardFitsAnyScreen: a hundred branches, names of every script and hostile texts, on screens
// of every size.
func TestBoardFitsAnyScreen(t *testing.T) {
	events := []string{"- run.started"}
	for i := range 100 {
		step := fmt.Sprintf("parallel/%%E6%%97%%A5%d/worker", i)
		events = append(events, agent(step, `\u001b[2J part\r\n \u202e 日本語`)...)
		if i%7 == 0 {
			events = append(events, step+` step.settled {"error":{"kind":"x","message":"\u001b]0;title\u0007"}}`)
		}
	}
	b := told(t, events...)
	for width := 1; width < 220; width += 9 {
		for height := 1; height < 60; height += 7 {
			lines := b.lines(page{now: b.last, width: width, height: height})
			assertFits(t, lines, width, height)
			if text := plainLines(lines); strings.ContainsAny(text, "\x1b\r\x07\u202e") {
				t.Fatalf("%q acts on the terminal", text)
			}
		}
	}
	if text := plainLines(b.lines(page{now: b.last, width: 80, height: 24})); !strings.Contains(text, "✗ 日0 ") && !strings.Contains(text, "✗ 日98") {
		t.Errorf("names are not in their own script:\n%s", text)
	}
}
