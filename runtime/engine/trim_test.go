package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/runtime/query"
)

// loops works through as many steps as it is told, asks, and does it again until it is told to end.
const loops = `
def main(n, pad = ""):
    total = 0
    kept = {"all": []}
    for round in range(1000000):
        for i in range(n):
            total += work("w", value = i)
        kept["all"].append(total)
        if gate("more", options = ["yes", "no"]).choice == "no":
            return [total, kept]
`

// trims is a world whose runs keep so many records.
func trims(t *testing.T, keep int) *world {
	w := newWorld(t)
	w.engine.Close()
	w.store, w.keep, w.spoiled, w.unseen = w.store.Reopen(), keep, true, true
	w.open()
	return w
}

// looped brings a run of loops to its gate.
func (w *world) looped(n int) string {
	w.t.Helper()
	run := w.start(loops, fmt.Sprintf(`{"n": %d}`, n))
	w.rests(run.ID)
	return run.ID
}

// rests waits until a run rests, without its journal, which may have been trimmed.
func (w *world) rests(run string) *runtime.Run {
	w.t.Helper()
	for {
		r, err := w.engine.Get(w.ctx, run)
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Status == runtime.Suspended || r.Status.Ended() {
			return r
		}
		err = w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run, After: r.Details.Seq, Follow: true}, func(runtime.Event) error { return runtime.ErrStopWatch })
		if err != nil && runtime.AsRefusal(err).Kind != runtime.ErrTrimmed {
			w.t.Fatal(err)
		}
	}
}

// care does something for the store.
func (w *world) care(c runtime.MaintenanceRequest) *runtime.MaintenanceReport {
	w.t.Helper()
	f, err := runtime.Extension[runtime.Maintenance](w.engine)
	if err != nil {
		w.t.Fatal(err)
	}
	report, err := f.Maintain(w.ctx, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// trim trims all runs.
func (w *world) trim(keep int) []runtime.Trimmed {
	w.t.Helper()
	report := w.care(runtime.MaintenanceRequest{Task: runtime.MaintenanceTrim, Keep: keep})
	for _, p := range report.Problems {
		w.t.Errorf("%+v", p)
	}
	return report.Trimmed
}

// size is what the store holds: keys, and bytes of keys and values.
func (w *world) size(prefixes ...string) (keys, size int) {
	w.t.Helper()
	if len(prefixes) == 0 {
		prefixes = []string{"\x01"}
	}
	for _, prefix := range prefixes {
		end := append([]byte(prefix[:len(prefix)-1]), prefix[len(prefix)-1]+1)
		if prefix == "\x01" {
			end = nil
		}
		err := w.store.Scan([]byte(prefix), end, func(k, v []byte) error {
			keys, size = keys+1, size+len(k)+len(v)
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return keys, size
}

func TestTrimmedRunGoesOn(t *testing.T) {
	for name, meanwhile := range map[string]func(*world){
		"in memory":        func(*world) {},
		"restarted":        (*world).restart,
		"crashed":          (*world).crash,
		"from a keyframe":  func(w *world) { w.each("s/", func([]byte) []byte { return nil }); w.crash() },
		"from one copy":    func(w *world) { w.each("s/", func([]byte) []byte { return nil }); w.spoilCopy(0); w.crash() },
		"from the other":   func(w *world) { w.each("s/", func([]byte) []byte { return nil }); w.spoilCopy(1); w.crash() },
		"one horizon lost": func(w *world) { w.each("s/", func([]byte) []byte { return nil }); w.spoilHorizon(); w.crash() },
	} {
		t.Run(name, func(t *testing.T) {
			w := trims(t, 0)
			run := w.looped(100)
			w.signal(answer(run, "more", "yes"))
			w.rests(run)
			done := w.trim(10)
			if len(done) != 1 || done[0].Run != run || done[0].Records != done[0].Horizon || done[0].Records < 700 {
				t.Fatalf("trimmed: %+v", done)
			}
			if again := w.trim(10); len(again) != 0 {
				t.Errorf("trimmed again: %+v", again)
			}
			meanwhile(w)
			_, err := w.engine.Signal(w.ctx, answer(run, "more", "yes"))
			want := fmt.Sprintf("it has not opened yet, or was decided before record %d, with which the journal begins", done[0].Horizon+1)
			if r := runtime.AsRefusal(err); r.Kind != runtime.ErrNotOpen || !strings.Contains(r.Message, want) {
				t.Errorf("the gate that was decided: got %v, want %q", err, want)
			}
			w.signal(answer(run, "more#2", "yes"))
			if at := w.rests(run); at.Details.Horizon != done[0].Horizon || len(at.Gates) != 1 || at.Gates[0].Gate != "more#3" {
				t.Errorf("the run: %+v, horizon %d, want %d", at, at.Details.Horizon, done[0].Horizon)
			}
			if further := w.trim(10); len(further) != 1 || further[0].Records < 300 {
				t.Errorf("trimmed further: %+v", further)
			}
			meanwhile(w)
			w.signal(answer(run, "more#3", "no"))
			if end := w.rests(run); string(end.Output) != `[14850,{"all":[4950,9900,14850]}]` {
				t.Errorf("output %s, error %+v", end.Output, end.Error)
			}
		})
	}
}

// spoilCopy damages one copy of every keyframe.
func (w *world) spoilCopy(copy byte) {
	w.each("f/", func(v []byte) []byte { return v })
	w.damage("f/", func(k []byte) bool { return k[2+12] == copy })
}

func (w *world) spoilHorizon() { w.damage("h/", func(k []byte) bool { return k[len(k)-1] == 0 }) }

// damage changes a byte of the values whose keys are chosen.
func (w *world) damage(prefix string, chosen func(key []byte) bool) {
	w.t.Helper()
	var b runtime.Batch
	err := w.store.Scan([]byte(prefix), []byte(prefix+"\xff"), func(k, v []byte) error {
		if chosen(k) {
			b.Writes = append(b.Writes, runtime.Write{Key: bytes.Clone(k), Value: spoilByte(bytes.Clone(v))})
		}
		return nil
	})
	if err != nil || len(b.Writes) == 0 {
		w.t.Fatalf("%d values of %s were chosen: %v", len(b.Writes), prefix, err)
	}
	if err := w.store.Commit(w.ctx, &b); err != nil {
		w.t.Fatal(err)
	}
}

// Nothing stands for what was dropped when both copies are damaged: the run says so, and others are
// served.
func TestBothCopiesDamaged(t *testing.T) {
	w := trims(t, 0)
	run := w.looped(50)
	w.trim(5)
	w.each("s/", func([]byte) []byte { return nil })
	w.spoilCopy(0)
	w.spoilCopy(1)
	w.crash()
	_, err := w.engine.Get(w.ctx, run)
	if err == nil || runtime.AsRefusal(err).Kind != runtime.ErrKindDamaged || !strings.Contains(err.Error(), "neither copy of the keyframe can be read") {
		t.Errorf("got %v", err)
	}
	w.looped(1)
}

// What was trimmed is refused, with the horizon, by whatever asks for it.
func TestTrimmedIsRefused(t *testing.T) {
	w := trims(t, 0)
	run := w.looped(100)
	file := w.export(run)
	horizon := w.trim(10)[0].Horizon
	for name, ask := range map[string]func() error{
		"logs": func() error {
			return w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run}, func(runtime.Event) error { return nil })
		},
		"logs in the middle": func() error {
			return w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run, After: horizon - 1}, func(runtime.Event) error { return nil })
		},
		"steps":     func() error { _, err := query.Steps(w.ctx, w.engine, run); return err },
		"artifacts": func() error { _, err := query.Artifacts(w.ctx, w.engine, run, ""); return err },
		"diff":      func() error { _, err := query.Compare(w.ctx, w.engine, run, run); return err },
		"replay":    func() error { _, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: run}); return err },
		"fork": func() error {
			_, err := w.reruns().Fork(w.ctx, runtime.ForkRequest{Kind: runtime.LineageFork, Run: run, Step: "w#3"})
			return err
		},
		"rerun": func() error {
			_, err := w.reruns().Fork(w.ctx, runtime.ForkRequest{Kind: runtime.LineageOnly, Run: run, Step: "more"})
			return err
		},
		"move": func() error {
			_, err := w.reruns().Move(w.ctx, runtime.MoveRequest{Run: run, Bundle: bundle(t, loops, nil), Script: "main.star"})
			return err
		},
		"export": func() error {
			f, err := runtime.Extension[runtime.Archive](w.engine)
			if err == nil {
				_, err = f.Export(w.ctx, run)
			}
			return err
		},
		"import over it": func() error {
			f, err := runtime.Extension[runtime.Archive](w.engine)
			if err == nil {
				_, err = f.Import(w.ctx, runtime.ImportRequest{File: file})
			}
			return err
		},
	} {
		err := ask()
		var r *runtime.Refusal
		if !errors.As(err, &r) || r.Kind != runtime.ErrTrimmed || r.Kind.ExitCode() != 10 || !strings.Contains(string(r.Data), fmt.Sprintf(`"horizon":%d`, horizon)) {
			t.Errorf("%s: got %v (%+v)", name, err, r)
		}
	}
	var first runtime.Event
	err := w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run, After: horizon}, func(ev runtime.Event) error {
		first = ev
		return runtime.ErrStopWatch
	})
	if err != nil || first.Seq != horizon+1 {
		t.Errorf("behind the horizon: %+v, %v", first, err)
	}
}

func (w *world) export(run string) []byte {
	w.t.Helper()
	f, err := runtime.Extension[runtime.Archive](w.engine)
	if err != nil {
		w.t.Fatal(err)
	}
	file, err := f.Export(w.ctx, run)
	if err != nil {
		w.t.Fatal(err)
	}
	return file
}

// meddler is a store to which something happens just before a keyframe is read for the first time.
type meddler struct {
	runtime.Store
	once sync.Once
	do   func()
}

func (m *meddler) Get(key []byte) ([]byte, error) {
	if bytes.HasPrefix(key, []byte("f/")) {
		m.once.Do(m.do)
	}
	return m.Store.Get(key)
}

// Whoever reads a run while it is trimmed again may look for a keyframe that has just been
// superseded.
func TestRunIsReadWhileItIsTrimmed(t *testing.T) {
	w := trims(t, 0)
	run := w.looped(30)
	w.trim(10)
	w.signal(answer(run, "more", "yes"))
	w.rests(run)
	w.each("s/", func([]byte) []byte { return nil })
	trimmed := false
	reader := engine.NewReader(&meddler{Store: w.store.Reader(), do: func() { trimmed = len(w.trim(10)) == 1 }}, environment(w.perform), nil)
	got, err := reader.Get(w.ctx, run)
	if err != nil || !trimmed || len(got.Gates) != 1 || got.Gates[0].Gate != "more#2" {
		t.Errorf("got %+v, %v; trimmed again: %v", got, err, trimmed)
	}
}

// A run that loops takes at most 300 bytes a step beyond payloads and, where its journal is
// trimmed, a bounded store.
func TestStoreOfALoopIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	const steps = 4000
	whole := trims(t, 0)
	whole.looped(steps / 2)
	_, before := whole.size("j/", "g/", "k/", "b/", "r/", "o/", "i/")
	whole.looped(steps + steps/2)
	_, after := whole.size("j/", "g/", "k/", "b/", "r/", "o/", "i/")
	if a := (after - 2*before) / steps; a > 300 {
		t.Errorf("a step takes %d bytes, want at most 300", a)
	} else {
		t.Logf("a step takes %d bytes", a)
	}

	const keep = 500
	w := trims(t, keep)
	run := w.looped(steps)
	largest := 0
	for i := range 4 {
		w.waitTrimmed(run, keep)
		_, size := w.size()
		keys, _ := w.size("j/")
		if i == 0 {
			largest = 2*size + size/10 // between two trims a journal has from keep to twice as many records
		}
		if size > largest || keys > 3*keep {
			t.Errorf("after %d steps the store has %d bytes and %d values of journal, want at most %d and %d", (i+1)*steps, size, keys, largest, 3*keep)
		}
		gate := "more"
		if i > 0 {
			gate = fmt.Sprintf("more#%d", i+1)
		}
		w.signal(answer(run, gate, "yes"))
		w.rests(run)
	}
	w.crash()
	w.signal(answer(run, "more#5", "no"))
	if end := w.rests(run); !strings.HasPrefix(string(end.Output), fmt.Sprintf("[%d,", 5*steps*(steps-1)/2)) {
		t.Errorf("output %.100s, error %+v", end.Output, end.Error)
	}
}

// waitTrimmed waits until no trim is due.
func (w *world) waitTrimmed(run string, keep uint64) {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if r := w.rests(run); r.Details.Seq-r.Details.Horizon <= 2*keep+4 {
			w.trim(1 << 30) // it waits for the one in progress
			return
		}
		w.engine.Get(w.ctx, run)
	}
	w.t.Fatalf("run %s has not been trimmed", run)
}

// A run that is loaded for each of its steps, from its head and from what another run like it has
// told, is trimmed no more often than one that stays in memory.
func TestRunThatIsLoadedForEachStepIsTrimmedRarely(t *testing.T) {
	const keep, rounds = 200, 10 // of seven records each
	w := trims(t, keep)
	long, other := w.looped(0), w.looped(0)
	next := func(run string, round int) uint64 {
		gate := "more"
		if round > 0 {
			gate = fmt.Sprintf("more#%d", round+1)
		}
		w.signal(answer(run, gate, "yes"))
		return w.rests(run).Details.Seq
	}
	answers := 0
	for seq := uint64(0); seq < 2*keep; answers++ {
		seq = next(long, answers)
	}
	begins := uint64(0)
	for ; begins == 0; begins = w.horizon(long) {
		w.trim(1 << 30) // it waits for one in progress
	}
	for i := range rounds {
		w.restart()
		next(other, i)
		next(long, answers+i)
		w.trim(1 << 30)
		if got := w.horizon(long); got != begins {
			t.Fatalf("%d answers later its journal begins with record %d, want %d", i+1, got, begins)
		}
	}
}

// A trim may be cut at any of its commits: the run is the same, and the next trim removes what was
// left.
func TestTrimCutAtEveryCommit(t *testing.T) {
	for _, moment := range []memory.Moment{memory.BeforeApply, memory.AfterApply} {
		over := false
		for n := 1; !over; n++ {
			w := trims(t, 0)
			run := w.looped(400)
			w.signal(answer(run, "more", "yes"))
			w.rests(run)
			w.trim(1500) // there is a keyframe already
			w.store.FailCommit(n, errors.New("cut"), moment)
			f, _ := runtime.Extension[runtime.Maintenance](w.engine)
			report, err := f.Maintain(w.ctx, runtime.MaintenanceRequest{Task: runtime.MaintenanceTrim, Keep: 10})
			over = w.store.Failure() == nil
			if over != (err == nil && len(report.Problems) == 0) {
				t.Fatalf("commit %d: got %+v, %v", n, report, err)
			}
			w.crash()
			w.signal(answer(run, "more#2", "yes"))
			w.rests(run)
			w.trim(10)
			if keys, _ := w.size("f/"); keys != 2 {
				t.Errorf("commit %d: %d parts of keyframes are there, want 2", n, keys)
			}
			if keys, _ := w.size("j/"); keys > 15 {
				t.Errorf("commit %d: %d values of the journal are there", n, keys)
			}
			w.signal(answer(run, "more#3", "no"))
			if end := w.rests(run); string(end.Output) != `[239400,{"all":[79800,159600,239400]}]` {
				t.Errorf("commit %d: output %s, error %+v", n, end.Output, end.Error)
			}
			if n > 40 {
				t.Fatal("there is no end of commits")
			}
		}
	}
}

// Idempotency keys outlive a trim by a day.
func TestKeysOutliveATrim(t *testing.T) {
	w := trims(t, 0)
	run := w.looped(50)
	s := answer(run, "more", "yes")
	s.Key = "k1"
	first := w.signal(s)
	w.rests(run)
	w.trim(5)
	if again := w.signal(s); !again.Repeated || again.Seq != first.Seq {
		t.Errorf("the key was forgotten: %+v", again)
	}
	w.ageKeys(run)
	s.Gate = "more#2"
	s.Key = "k2"
	w.signal(s)
	w.rests(run)
	w.trim(5)
	if keys, _ := w.size("k/" + run + "/k1"); keys != 0 {
		t.Error("the key is there after a day")
	}
	if keys, _ := w.size("k/" + run + "/k2"); keys != 1 {
		t.Error("the newer key is gone")
	}
}

// ageKeys lets all keys of a run be two days old.
func (w *world) ageKeys(run string) {
	w.each("k/"+run, func(v []byte) []byte {
		var row map[string]any
		if err := json.Unmarshal(v, &row); err != nil {
			w.t.Fatal(err)
		}
		row["at"] = time.Now().Add(-48 * time.Hour).UnixMicro()
		v, _ = json.Marshal(row)
		return v
	})
}
