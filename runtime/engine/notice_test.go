package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// listeners are those who are told, and the engine that tells them.
type listeners struct {
	t      *testing.T
	ctx    context.Context
	store  *memory.Store
	engine *engine.Local
	hear   func(a *effect.Attempt) effect.Reply
}

func listen(t *testing.T, hear func(a *effect.Attempt) effect.Reply) *listeners {
	l := &listeners{t: t, ctx: runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true}), store: memory.New(), hear: hear}
	l.open(engine.Options{})
	t.Cleanup(func() { l.engine.Close() })
	return l
}

func (l *listeners) open(opts engine.Options) {
	l.t.Helper()
	env := environment(nil)
	env.Handlers["notify"] = &effect.Handler{Perform: func(_ context.Context, a *effect.Attempt) effect.Reply { return l.hear(a) }}
	var err error
	if l.engine, err = engine.Open(l.store, env, opts); err != nil {
		l.t.Fatal(err)
	}
}

// start starts a run of which channels are told.
func (l *listeners) start(script string, channels ...effect.Notice) string {
	l.t.Helper()
	run, err := l.engine.Start(l.ctx, runtime.StartRequest{Bundle: bundle(l.t, script, nil), Script: "notice.star", Settings: effect.Settings{Notify: channels}})
	if err != nil {
		l.t.Fatal(err)
	}
	return run.ID
}

// told is what the journal says of notices: types, tries and errors.
func (l *listeners) told(run string) (told []string) {
	l.t.Helper()
	err := l.engine.Watch(l.ctx, runtime.WatchRequest{Run: run}, func(ev runtime.Event) error {
		if !strings.HasPrefix(ev.Type, "notice.") {
			return nil
		}
		var d struct {
			Tries int
			Error struct{ Message string }
		}
		told = append(told, strings.TrimPrefix(ev.Type, "notice."))
		err := json.Unmarshal(ev.Data, &d)
		told[len(told)-1] += strings.TrimRight(fmt.Sprintf(" %d %s", d.Tries, d.Error.Message), " ")
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return told
}

// rows is how many notices the store has that are still to be told.
func (l *listeners) rows() (n int) {
	l.t.Helper()
	if err := l.store.Scan([]byte("y/"), []byte("y0"), func(_, _ []byte) error { n++; return nil }); err != nil {
		l.t.Fatal(err)
	}
	return n
}

func notNow(class effect.Failure) effect.Reply {
	return effect.Reply{Err: effect.Errorf(effect.KindEffect, "not now"), Class: class}
}

// ends is a channel that is told of ends, gates one that is told of gates.
func ends(channel string) effect.Notice {
	return effect.Notice{Channel: channel, On: []string{effect.NoticeEnd}}
}

func gates(channel string) effect.Notice {
	return effect.Notice{Channel: channel, On: []string{effect.NoticeGate}}
}

const atOnce = "def main():\n    return 1\n"

// What nobody takes is told again after growing pauses, and in the end given up; the run has gone
// on meanwhile.
func TestNoticesAreToldAgain(t *testing.T) {
	for _, c := range []struct {
		fails int
		class effect.Failure
		want  string
	}{
		{3, effect.Retryable, "0s 1s 3s 7s [sent 4]"},
		{1000, effect.Retryable, "0s 1s 3s 7s 15s 31s 1m3s 2m7s 4m15s 8m31s 17m3s 34m7s 1h8m15s 2h8m15s 3h8m15s 4h8m15s 5h8m15s 6h8m15s 7h8m15s 8h8m15s [sent 20 not now]"},
		{1000, effect.Final, "0s [sent 1 not now]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var at []string
			ids := map[string]bool{}
			begin := time.Now()
			l := listen(t, func(a *effect.Attempt) effect.Reply {
				at, ids[a.Key] = append(at, time.Since(begin).Truncate(time.Second).String()), true
				if len(at) <= c.fails {
					return notNow(c.class)
				}
				return effect.Reply{}
			})
			run := l.start(atOnce, ends("ops"), gates("gates"))
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			if got := fmt.Sprintf("%s %v", strings.Join(at, " "), l.told(run)); got != c.want || len(ids) != 1 {
				t.Errorf("got  %s (%d ids)\nwant %s", got, len(ids), c.want)
			}
		})
	}
}

// However many runs end at once, only a few connections go to one channel at a time, one that is
// slow holds up no other, and nobody is told twice.
func TestNoticesOfManyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		told, at, most := map[string]int{}, map[string]int{}, map[string]int{}
		late := false
		begin := time.Now()
		l := listen(t, func(a *effect.Attempt) effect.Reply {
			channel := effect.ViewOf(a.Args).Text("channel")
			mu.Lock()
			at[channel]++
			most[channel] = max(most[channel], at[channel])
			late = late || channel == "quick" && time.Since(begin) > 0
			mu.Unlock()
			if channel == "slow" {
				time.Sleep(10 * time.Second)
			}
			mu.Lock()
			defer mu.Unlock()
			at[channel]--
			told[a.Key]++
			return effect.Reply{}
		})
		for range 50 {
			l.start(atOnce, ends("slow"), ends("quick"))
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(told) != 100 || most["slow"] != 8 || late {
			t.Errorf("told of %d notices, at once %v, quick ones late: %v", len(told), most, late)
		}
		for id, n := range told {
			if n != 1 {
				t.Errorf("%s was told %d times", id, n)
			}
		}
	})
}

// Of a run that was pruned nobody is told any more, and nothing of the notice is left to tell.
func TestNoticesOfPrunedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		l := listen(t, func(*effect.Attempt) effect.Reply { tries++; return notNow(effect.Retryable) })
		l.start(atOnce, ends("ops"))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		care, err := l.engine.Maintain(l.ctx, runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: time.Now().Add(time.Hour)})
		if err != nil || len(care.Pruned) != 1 {
			t.Fatalf("got %+v, %v", care, err)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if tries != 4 || l.rows() != 0 {
			t.Errorf("%d tries, and %d rows are left", tries, l.rows())
		}
	})
}

// Nobody is asked for an answer that was given meanwhile, by a new owner either; who stands next in
// an escalation is asked in the place of who stood before. An end is told of all the same.
func TestNoticesOfGatesThatAreOver(t *testing.T) {
	for name, c := range map[string]struct {
		script, decide string
		want           string
	}{
		"answered":  {`gate("g", options = ["on"])`, "on", "gate.opened×4 run.completed×4 [withdrawn 4 sent 4]"},
		"withdrawn": {`parallel([lambda: gate("g", options = ["on"]), lambda: sleep("10s")], wait = "any")`, "", "gate.opened×4 run.completed×4 [withdrawn 4 sent 4]"},
		"passed on": {`gate("g", options = ["on"], escalate = [("first", "10s"), ("second", "1h")], fallback = "on")`, "",
			"gate.opened×4 gate.escalated×4 run.completed×4 [withdrawn 4 sent 4 sent 4]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var order []string
				tries := map[string]int{}
				l := listen(t, nil)
				l.hear = func(a *effect.Attempt) effect.Reply {
					kind := regexp.MustCompile(`"type":"([a-z.]+)"`).FindStringSubmatch(effect.ViewOf(a.Args).Text("body"))[1]
					if tries[kind]++; tries[kind] == 1 {
						order = append(order, kind)
					}
					if tries[kind] < 4 || kind == "gate.opened" {
						return notNow(effect.Retryable)
					}
					return effect.Reply{}
				}
				run := l.start("def main():\n    "+c.script+"\n", gates("ops"), ends("ops2"))
				time.Sleep(9 * time.Second)
				if err := l.engine.Close(); err != nil {
					t.Fatal(err)
				}
				l.store = l.store.Reopen()
				l.open(engine.Options{})
				if _, err := l.engine.Resume(l.ctx, runtime.ResumeRequest{Runs: []string{run}}); err != nil {
					t.Fatal(err)
				}
				if c.decide != "" {
					if _, err := l.engine.Signal(l.ctx, answer(run, "g", c.decide)); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				for i, kind := range order {
					order[i] = fmt.Sprintf("%s×%d", kind, tries[kind])
				}
				if got := fmt.Sprintf("%s %v", strings.Join(order, " "), l.told(run)); got != c.want || l.rows() != 0 {
					t.Errorf("got  %s (%d rows are left)\nwant %s", got, l.rows(), c.want)
				}
			})
		})
	}
}

// Nobody hears of work that somebody has claimed by then, nor of what was withdrawn; when it is
// offered again, it is told again.
func TestNoticesOfWork(t *testing.T) {
	for name, c := range map[string]struct {
		claims bool
		want   string
	}{
		"claimed, and offered again": {true, "[withdrawn 4 sent 1]"},
		"withdrawn":                  {false, "[withdrawn 4]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := listen(t, nil)
				var hears atomic.Bool
				l.hear = func(*effect.Attempt) effect.Reply {
					if !hears.Load() {
						return notNow(effect.Retryable)
					}
					return effect.Reply{}
				}
				run := l.start("def main():\n    work(\"w\", value = 7, pulls = \"helper\", retries = 1)\n",
					effect.Notice{Channel: "ops", On: []string{effect.NoticeWork}, Targets: []string{"helper"}},
					effect.Notice{Channel: "others", On: []string{effect.NoticeWork}, Targets: []string{"nobody"}})
				time.Sleep(9 * time.Second)
				hears.Store(true)
				if c.claims {
					if _, err := l.engine.Signal(l.ctx, claim(run)); err != nil { // for a minute
						t.Fatal(err)
					}
					time.Sleep(2 * time.Minute)
				}
				if _, err := l.engine.Cancel(l.ctx, runtime.CancelRequest{Run: run}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				if got := fmt.Sprint(l.told(run)); got != c.want || l.rows() != 0 {
					t.Errorf("got %s (%d rows are left), want %s", got, l.rows(), c.want)
				}
			})
		})
	}
}

// An engine that has closed leaves no timer behind, and the next one tells what it did not.
func TestNoticesOfClosedEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var timers, tries atomic.Int32
		l := listen(t, func(*effect.Attempt) effect.Reply { tries.Add(1); return notNow(effect.Retryable) })
		if err := l.engine.Close(); err != nil {
			t.Fatal(err)
		}
		l.store = l.store.Reopen()
		l.open(engine.Options{After: func(d time.Duration, do func()) func() bool {
			timers.Add(1)
			timer := time.AfterFunc(d, func() { timers.Add(-1); do() })
			return func() bool {
				stopped := timer.Stop()
				if stopped {
					timers.Add(-1)
				}
				return stopped
			}
		}})
		for range 20 {
			l.start(atOnce, ends("ops"))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if timers.Load() < 20 || tries.Load() != 60 {
			t.Errorf("%d timers and %d tries, want one of each notice and 3", timers.Load(), tries.Load())
		}
		if err := l.engine.Close(); err != nil || timers.Load() != 0 {
			t.Errorf("%v; %d timers are left", err, timers.Load())
		}
		time.Sleep(24 * time.Hour)
		l.store = l.store.Reopen()
		if tries.Load() != 60 || l.rows() != 20 {
			t.Errorf("%d tries, %d notices are left to tell; want 60, 20", tries.Load(), l.rows())
		}
		l.open(engine.Options{})
		synctest.Wait()
		if tries.Load() != 80 {
			t.Errorf("%d tries, want 80", tries.Load())
		}
	})
}

// Whoever started a run is told what it waits for, how that was decided and how the run ended, also
// of the runs below it; a channel of somebody else is told nothing. S0-27
func TestWhoStartedARunIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var heard []string
		l := listen(t, func(a *effect.Attempt) effect.Reply {
			args := effect.ViewOf(a.Args)
			var body struct {
				Type      string
				StartedBy string `json:"started_by"`
				Gate      struct{ Gate, Target, AnswerWith string }
				Decision  struct{ Choice, Reason, By, Through, Via string }
			}
			text := args.Text("body")
			if err := json.Unmarshal([]byte(text), &body); err != nil || strings.Contains(text, "payload") {
				t.Errorf("%s: %v", text, err)
			}
			mu.Lock()
			defer mu.Unlock()
			line := fmt.Sprintf("%s %s %s %s %v", args.Text("channel"), body.Type, body.StartedBy, body.Gate.Gate, body.Decision)
			heard = append(heard, strings.TrimSuffix(line, " {    }"))
			return effect.Reply{}
		})
		all := []string{effect.NoticeGate, effect.NoticeDecision, effect.NoticeEnd}
		files := map[string]string{"child.star": `def main(): gate("below", options = ["yes"], target = "bob")` + "\n"}
		start := func(by string) string {
			ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: by, Local: true})
			run, err := l.engine.Start(ctx, runtime.StartRequest{Bundle: bundle(t, "def main():\n    run(\"child.star\")\n", files), Script: "notice.star",
				Settings: effect.Settings{Notify: []effect.Notice{
					{Channel: "ann", On: all, StartedBy: []string{"ann"}},
					{Channel: "bob", On: []string{effect.NoticeDecision}, Targets: []string{"bob"}, StartedBy: []string{"ann", "cy"}},
				}}})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return run.ID
		}
		for _, by := range []string{"ann", "cy", "dan"} {
			run := start(by)
			sig := runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: "run/below", Choice: "yes", Reason: "it is fine", As: "bob", Data: []byte(`"payload"`)}
			if _, err := l.engine.Signal(l.ctx, sig); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		slices.Sort(heard)
		want := `ann gate.decided ann below {yes it is fine bob local:test signal}
ann gate.opened ann below
ann run.completed ann ` + `
bob gate.decided ann below {yes it is fine bob local:test signal}
bob gate.decided cy below {yes it is fine bob local:test signal}`
		if got := strings.Join(heard, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
