package engine_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/memory"
)

var rewriteTable = flag.Bool("crash-table", false, "write the crash table into design.md anew")

// tableScript has one request, one gate, and more in memory than rides along with a commit.
const tableScript = `
def main():
    large = ["z" * 500000 + str(i) for i in range(3)]
    posted = work("post", value = 7, on_uncertain = "retry")
    decision = gate("review", options = ["approve"])
    return [posted, decision.choice, len(large)]
`

// The table in design.md is made here: the life of a run is played once, then again for each of its
// commits with the power failing before it and after it. What the next owner finds in the store
// then, and what it writes, is what stands in a row.
func TestCrashTable(t *testing.T) {
	lives := &tableOfCrashes{t: t}
	table := lives.render()
	text, err := os.ReadFile("../design.md")
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- crash table: go test ./runtime/engine -run TestCrashTable -crash-table -->\n", "<!-- end of the crash table -->\n"
	before, rest, opened := strings.Cut(string(text), from)
	printed, after, closed := strings.Cut(rest, to)
	if !opened || !closed {
		t.Fatal("design.md has no place for the crash table")
	}
	if *rewriteTable {
		if err := os.WriteFile("../design.md", []byte(before+from+table+to+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if printed != table {
		t.Errorf("design.md has\n%s\nwant\n%s", printed, table)
	}
}

type tableOfCrashes struct {
	t    *testing.T
	want string // the end of a life without a crash
}

func (tb *tableOfCrashes) render() string {
	var out strings.Builder
	out.WriteString("| commit | crash before it: the store has | the next owner writes | crash after it: the store has | the next owner writes |\n|---|---|---|---|---|\n")
	for n := 1; ; n++ {
		before, after := tb.live(n, memory.BeforeApply), tb.live(n, memory.AfterApply)
		if !before.crashed {
			return out.String()
		}
		commit := strings.Join(after.found[len(before.found):], ", ")
		if commit == "" {
			commit = "a checkpoint"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", commit, before.has, before.wrote, after.has, after.wrote)
	}
}

// life is a run through which a crash went.
type life struct {
	*world
	run string

	crashed bool
	found   []string // the types of the records that the next owner found
	has     string   // the same in short, with the status of the run
	wrote   string   // what that owner added by itself
}

// live plays the life of a run, with a crash at its n-th commit.
func (tb *tableOfCrashes) live(n int, moment memory.Moment) *life {
	l := &life{world: newWorld(tb.t)}
	l.store.FailCommit(n, errors.New("the power failed"), moment)
	l.through(func() error {
		r, err := l.engine.Start(l.ctx, runtime.StartRequest{Key: "start", Bundle: bundle(l.t, tableScript, nil), Script: "main.star"})
		if err == nil {
			l.run = r.ID
		}
		return err
	})
	l.through(l.rest)
	l.through(l.leave)
	s := answer(l.run, "review", "approve")
	s.Key = "answer"
	l.through(func() error {
		_, err := l.engine.Signal(l.ctx, s)
		return err
	})
	l.through(l.rest)
	end, err := l.engine.Get(l.ctx, l.run)
	if err != nil {
		l.t.Fatal(err)
	}
	if came := string(end.Status) + " " + string(end.Output); tb.want == "" {
		tb.want = came
	} else if came != tb.want {
		l.t.Errorf("a crash at commit %d: the run came to %s, want %s", n, came, tb.want)
	}
	return l
}

// through does something, and does it again if the crash went through it.
func (l *life) through(do func() error) {
	l.t.Helper()
	err := do()
	if l.store.Failure() != nil {
		l.engine.Close()
		l.crash()
		l.recover()
		err = do()
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// recover looks at what is in the store, and lets the next owner do what it does by itself.
func (l *life) recover() {
	l.t.Helper()
	l.crashed, l.has, l.wrote = true, "no run", "nothing"
	list, err := l.engine.List(l.ctx, runtime.Query{All: true})
	if err != nil {
		l.t.Fatal(err)
	}
	if len(list.Runs) == 0 {
		return
	}
	run := list.Runs[0]
	l.run, l.found = run.ID, l.types(run.ID)
	l.has = fmt.Sprintf("%d records, %s", len(l.found), run.Status)
	if run.Status.Ended() {
		return
	}
	l.resume(l.run)
	if err := l.rest(); err != nil {
		l.t.Fatal(err)
	}
	if wrote := l.types(l.run)[len(l.found):]; len(wrote) > 0 {
		l.wrote = strings.Join(wrote, ", ")
	}
}

// rest waits until the run is suspended or has ended, or for the crash.
func (l *life) rest() error {
	for {
		r, err := l.engine.Get(l.ctx, l.run)
		if err != nil || r.Status == runtime.Suspended || r.Status.Ended() || l.store.Failure() != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// leave closes the engine as a process that leaves would, and opens another.
func (l *life) leave() error {
	if err := l.engine.Close(); err != nil || l.store.Failure() != nil {
		return err
	}
	l.store = l.store.Reopen()
	l.open()
	l.resume(l.run)
	return nil
}
