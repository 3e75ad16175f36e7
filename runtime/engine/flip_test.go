package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
)

var (
	flips    = flag.Int("flips", 60, "how many single bits TestFlippedBits flips")
	flipSeed = flag.Uint64("flip-seed", 0, "of TestFlippedBits; 0 takes one from the clock")
)

// shelf is a store on the disk with runs of several kinds, and what is to be seen of them.
type shelf struct {
	t     *testing.T
	ctx   context.Context
	dir   string
	runs  map[string]string // run to how it shows, its journal included
	waits string            // the run that waits at a gate
	end   string            // what that one comes to
}

// shelves lays up a run that has ended, one with a large value, one with a child and one that
// waits.
func shelves(t *testing.T) *shelf {
	s := &shelf{t: t, ctx: runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:ann", Local: true}), dir: filepath.Join(t.TempDir(), "store"), runs: map[string]string{}, end: `["on",1999000]`}
	e := s.open(s.dir)
	defer e.Close()
	for _, script := range []string{
		`def main(): return work("a", value = 1)`,
		`def main(): return len(work("large", value = "large" * 20000))`,
		`def main(): return run("child.star")`,
		`
def main():
    items = [work("item", value = i) for i in range(20)]
    numbers = list(range(2000))
    return [gate("g", options = ["on"]).choice, sum_of(numbers)]

def sum_of(numbers):
    total = 0
    for n in numbers:
        total += n
    return total
`,
	} {
		run, err := e.Start(s.ctx, runtime.StartRequest{Bundle: bundle(t, script, map[string]string{"child.star": `def main(): return work("b")`}), Script: "main.star"})
		if err != nil {
			t.Fatal(err)
		}
		last := "run.completed"
		if strings.Contains(script, "gate(") {
			s.waits, last = run.ID, "run.suspended"
		}
		follow(t, e, s.ctx, run.ID, last)
	}
	for id := range s.listed(e) {
		s.runs[id] = s.shown(e, id)
	}
	if len(s.runs) != 5 {
		t.Fatalf("there are %d runs, want 5 with the child", len(s.runs))
	}
	return s
}

func (s *shelf) open(dir string) *engine.Local {
	s.t.Helper()
	e, err := s.tryOpen(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

func (s *shelf) tryOpen(dir string) (*engine.Local, error) {
	store, err := badger.Open(dir, badger.Options{})
	if err != nil {
		return nil, err
	}
	return engine.Open(store, environment(func(_ context.Context, a *effect.Attempt) effect.Reply {
		if v := effect.ViewOf(a.Args).Value("value"); v != nil {
			return effect.Reply{Value: v}
		}
		return effect.Reply{Value: starlark.None}
	}), engine.Options{})
}

func (s *shelf) listed(e runtime.Engine) map[string]runtime.Status {
	l, err := e.List(s.ctx, runtime.Query{All: true})
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]runtime.Status{}
	for _, r := range l.Runs {
		all[r.ID] = r.Status
	}
	return all
}

// shown is all that can be seen of a run, or that it is damaged.
func (s *shelf) shown(e runtime.Engine, run string) string {
	r, err := e.Get(s.ctx, run)
	if errors.Is(err, runtime.ErrDamaged) {
		return "damaged"
	}
	if err != nil {
		return err.Error()
	}
	r.Details.Carried = false
	events := []runtime.Event{}
	err = e.Watch(s.ctx, runtime.WatchRequest{Run: run}, func(ev runtime.Event) error {
		events = append(events, ev)
		return nil
	})
	text, _ := json.Marshal([]any{r, events, fmt.Sprint(err)}) // plain data
	return string(text)
}

// files are those whose bytes matter: what Badger has written, and what says which store it is.
func (s *shelf) files(dir string) (paths []string, sizes []int64) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".gitignore" || d.Name() == "LOCK" {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > 0 {
			paths, sizes = append(paths, path), append(sizes, info.Size())
		}
		return err
	})
	if err != nil || len(paths) < 4 {
		s.t.Fatalf("%s: %v, %v", dir, paths, err)
	}
	return paths, sizes
}

// copyTo copies the store's files. Badger makes its logs far longer than what it writes to them:
// what follows the last written byte is left out.
func (s *shelf) copyTo(dir string) {
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, strings.TrimPrefix(path, s.dir))
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o700))
		}
		content, err := os.ReadFile(path)
		if ext := filepath.Ext(path); len(content) > 16<<20 && (ext == ".mem" || ext == ".vlog") {
			content = append(bytes.TrimRight(content, "\x00"), make([]byte, 64)...)
		}
		return errors.Join(err, os.WriteFile(to, content, 0o600))
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// One bit is flipped anywhere in the files of a store. Either the store is refused with the name of
// a file, or every run shows as it did or as damaged, and the one that waits goes on to its end
// unless it is damaged: never another answer, never a run that is gone.
func TestFlippedBits(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	if *flipSeed == 0 {
		*flipSeed = uint64(time.Now().UnixNano())
	}
	rng := rand.New(rand.NewPCG(*flipSeed, 0))
	kept := shelves(t)
	open := kept.open(kept.dir) // as SIGKILL leaves it: the logs are not tables yet
	follow(t, open, kept.ctx, kept.waits, "run.suspended")
	crashed := &shelf{t: t, ctx: kept.ctx, dir: filepath.Join(t.TempDir(), "crashed"), runs: kept.runs, waits: kept.waits, end: kept.end}
	kept.copyTo(crashed.dir)
	open.Close()
	counts := map[string]int{}
	for i, s := range []*shelf{kept, crashed} {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("whole", i))
		s.copyTo(dir)
		if came := s.look(dir, "as it is"); came != "whole" {
			t.Fatalf("a copy that nobody has changed was found to be %s: %s", came, dir)
		}
	}
	for i := range *flips {
		s := kept
		if i%2 == 1 {
			s = crashed
		}
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		s.copyTo(dir)
		what := s.flip(rng, dir)
		if came := s.look(dir, what); came != "" {
			counts[came]++
		}
		os.RemoveAll(dir)
	}
	t.Logf("-flip-seed %d: %v", *flipSeed, counts)
	if counts["refused"] == 0 {
		t.Error("no store was refused")
	}
}

// flip changes a bit, of each file as often as of another.
func (s *shelf) flip(rng *rand.Rand, dir string) (what string) {
	paths, sizes := s.files(dir)
	i := rng.IntN(len(paths))
	at, bit := rng.Int64N(sizes[i]), rng.IntN(8)
	f, err := os.OpenFile(paths[i], os.O_RDWR, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil && err != io.EOF {
		s.t.Fatal(err)
	}
	b[0] ^= 1 << bit
	if _, err := f.WriteAt(b, at); err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("-flip-seed %d: bit %d of byte %d of %s (%d bytes)", *flipSeed, bit, at, strings.TrimPrefix(paths[i], dir), sizes[i])
}

// look opens a store of which a bit was flipped and tells what became of it.
func (s *shelf) look(dir, what string) string {
	e, err := s.tryOpen(dir)
	if err != nil {
		if !strings.Contains(err.Error(), dir) || !errors.Is(err, runtime.ErrDamaged) && !errors.Is(err, runtime.ErrNotAStore) && !errors.Is(err, runtime.ErrNewer) {
			s.t.Errorf("%s: refused without saying what is wrong with which file: %v", what, err)
		}
		return "refused"
	}
	defer e.Close()
	all, damaged := s.listed(e), 0
	for id, want := range s.runs {
		if _, ok := all[id]; !ok {
			s.t.Errorf("%s: run %s is gone", what, id)
		}
		switch got := s.shown(e, id); got {
		case want:
		case "damaged":
			damaged++
		default:
			s.t.Errorf("%s: run %s shows as\n%s\nwant\n%s", what, id, got, want)
		}
	}
	s.goesOn(e, what)
	if damaged > 0 {
		return "quarantined"
	}
	return "whole"
}

// goesOn answers the run that waits.
func (s *shelf) goesOn(e *engine.Local, what string) {
	_, err := e.Signal(s.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: s.waits, Gate: "g", Choice: "on"})
	if errors.Is(err, runtime.ErrDamaged) || err != nil && strings.Contains(err.Error(), "quarantined") {
		return
	}
	if err != nil {
		s.t.Errorf("%s: the answer: %v", what, err)
		return
	}
	follow(s.t, e, s.ctx, s.waits, "run.completed")
	if r, err := e.Get(s.ctx, s.waits); err != nil || string(r.Output) != s.end {
		s.t.Errorf("%s: it came to %s, %v; want %s", what, r.Output, err, s.end)
	}
}

// Checkpoints that are not as they were written are passed over: the journal says it all.
func TestDamagedCheckpointsOnTheDisk(t *testing.T) {
	s := shelves(t)
	store, err := badger.Open(s.dir, badger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := changed(store, "", spoilByte); err != nil || n == 0 {
		t.Fatalf("%d checkpoints, %v", n, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if came := s.look(s.dir, "with damaged checkpoints"); came != "whole" {
		t.Errorf("the store was found to be %s", came)
	}
}
