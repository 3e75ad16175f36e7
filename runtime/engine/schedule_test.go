package engine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/runtime/runtimetest"
)

// planned is a world whose engine fires schedules. It begins on 2000-01-01 at 00:00 UTC.
type planned struct{ *world }

func newPlanned(t *testing.T) *planned {
	w := newWorld(t)
	w.engine.Close()
	w.unseen = true
	w.store = w.store.Reopen()
	w.open()
	return (&planned{w}).fires()
}

func (p *planned) kept() runtime.Schedules { return p.engine.(runtime.Schedules) }

// fires has the engine do what serve has it do.
func (p *planned) fires() *planned {
	p.t.Helper()
	if _, err := p.engine.Resume(p.ctx, runtime.ResumeRequest{All: true, Schedules: true}); err != nil {
		p.t.Fatal(err)
	}
	return p
}

// away closes the engine for a time.
func (p *planned) away(d time.Duration) {
	p.t.Helper()
	if err := p.engine.Close(); err != nil {
		p.t.Fatal(err)
	}
	time.Sleep(d)
	p.store = p.store.Reopen()
	p.open()
	p.fires()
	synctest.Wait()
}

func (p *planned) define(name, source string) {
	p.t.Helper()
	if _, err := p.engine.(runtime.Definitions).Define(p.ctx, runtime.DefineRequest{Name: name, Bundle: bundle(p.t, source, nil)}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *planned) make(r runtime.ScheduleRequest) *runtime.Schedule {
	p.t.Helper()
	s, err := p.kept().Schedule(p.ctx, r)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p *planned) change(c runtime.ScheduleChange) {
	p.t.Helper()
	c.Name = "s"
	if _, err := p.kept().Reschedule(p.ctx, c); err != nil {
		p.t.Fatal(err)
	}
	synctest.Wait()
}

// passes lets time pass, and everything come to rest.
func (p *planned) passes(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// outputs are those of the runs, sorted: runs may begin in one instant. "-" is one under way.
func (p *planned) outputs() string {
	p.t.Helper()
	l, err := p.engine.List(p.ctx, runtime.Query{All: true})
	if err != nil {
		p.t.Fatal(err)
	}
	var out []string
	for i := len(l.Runs) - 1; i >= 0; i-- {
		run, err := p.engine.Get(p.ctx, l.Runs[i].ID)
		if err != nil {
			p.t.Fatal(err)
		}
		switch {
		case run.Status == runtime.Cancelled:
			out = append(out, "cancelled")
		case !run.Status.Ended():
			out = append(out, "-")
		default:
			out = append(out, strings.Trim(string(run.Output), `"`))
		}
	}
	for i, text := range out {
		out[i] = strings.NewReplacer("2000-01-", "", ":00Z", "").Replace(text)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// wants what has run so far, and how the schedule stands: started, skipped, refused, waiting.
func (p *planned) wants(outputs string, counts ...uint64) *runtime.Schedule {
	p.t.Helper()
	list, err := p.kept().Scheduled(p.ctx, runtime.ScheduleQuery{Name: "s"})
	if err != nil {
		p.t.Fatal(err)
	}
	s := &list[0]
	got, text := []uint64{s.Started, s.Skipped, s.Refused, uint64(s.Waiting)}, p.outputs()
	for i, n := range counts {
		if got[i] != n {
			p.t.Errorf("at %s: started, skipped, refused, waiting are %v, want %v", time.Now().UTC(), got, counts)
			break
		}
	}
	want := strings.Fields(outputs)
	slices.Sort(want)
	if text != strings.Join(want, " ") {
		p.t.Errorf("at %s it came to %q, want %q", time.Now().UTC(), text, outputs)
	}
	return s
}

const (
	tellsTime = "def main(when):\n    return when\n"
	takesLong = "def main(when):\n    sleep(\"90m\")\n    return when\n"
)

var hourly = runtime.ScheduleRequest{Name: "s", Script: "job", Timetable: runtime.Timetable{Cron: "@hourly"}, TimeInput: "when"}

// Each time has one run, in the order of times, over restarts: with the newest version, the inputs
// and the time that it is for.
func TestScheduledRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlanned(t)
		p.define("job", "def main(when, what):\n    return what + when\n")
		r := hourly
		r.Inputs = json.RawMessage(`{"what": "at:"}`)
		if s := p.make(r); len(s.Next) != 1 || s.Next[0].Format(time.RFC3339) != "2000-01-01T01:00:00Z" || s.Overlap != runtime.OverlapSkip || s.CatchUp != runtime.CatchUpLast {
			t.Errorf("got %+v", s)
		}
		p.passes(59 * time.Minute)
		p.wants("", 0, 0, 0)
		p.passes(time.Minute)
		p.wants("at:01T01:00", 1, 0, 0)
		p.define("job", "def main(when, what):\n    return \"new:\" + what + when\n")
		p.passes(time.Hour)
		p.away(time.Second)
		s := p.wants("at:01T01:00 new:at:01T02:00", 2, 0, 0)
		if run, err := p.engine.Get(p.ctx, s.Last.Run); err != nil || run.Script != "job@2" || run.Details.StartedBy != "local:ann" {
			t.Errorf("the last run: %+v, %v", run, err)
		}
		p.change(runtime.ScheduleChange{Action: runtime.ScheduleRemove})
		p.passes(5 * time.Hour)
		if list, err := p.kept().Scheduled(p.ctx, runtime.ScheduleQuery{}); err != nil || len(list) != 0 {
			t.Errorf("after it was removed: %v, %v", list, err)
		}
		if got := p.outputs(); got != "at:01T01:00 new:at:01T02:00" {
			t.Errorf("after it was removed: %s", got)
		}
	})
}

// What was missed while nobody carried the store, or while the schedule was paused, is made up for
// as the schedule says.
func TestScheduleCatchesUp(t *testing.T) {
	for how, want := range map[runtime.CatchUp]struct {
		outputs string
		counts  []uint64
	}{
		runtime.CatchUpLast: {"01T03:00", []uint64{1, 2, 0, 0}},
		runtime.CatchUpAll:  {"01T01:00 01T02:00 01T03:00", []uint64{3, 0, 0, 0}},
		runtime.CatchUpNone: {"", []uint64{0, 3, 0, 0}},
	} {
		t.Run(string(how), func(t *testing.T) {
			for name, absent := range map[string]func(p *planned, d time.Duration){
				"away": (*planned).away,
				"paused": func(p *planned, d time.Duration) {
					p.change(runtime.ScheduleChange{Action: runtime.SchedulePause, Reason: "holidays"})
					p.passes(d)
					p.away(time.Second)
					if s := p.wants("", 0, 0, 0, 0); !s.Paused || s.Reason != "holidays" {
						p.t.Errorf("got %+v, want it paused", s)
					}
					p.change(runtime.ScheduleChange{Action: runtime.ScheduleResume})
				},
			} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						p := newPlanned(t)
						p.define("job", tellsTime)
						r := hourly
						r.CatchUp = how
						p.make(r)
						absent(p, 3*time.Hour+30*time.Minute)
						p.wants(want.outputs, want.counts...)
						p.passes(30 * time.Minute)
						p.wants(strings.TrimSpace(want.outputs+" 01T04:00"), want.counts[0]+1)
					})
				})
			}
		})
	}
}

// A time that comes while a run is at work is skipped, waits, cancels, or begins beside it; also
// over a restart.
func TestScheduleOverlaps(t *testing.T) {
	for how, want := range map[runtime.Overlap]struct{ two, three, four string }{ // a run takes 90 minutes
		runtime.OverlapSkip:   {"-", "01T01:00 -", "01T01:00 -"},
		runtime.OverlapQueue:  {"-", "01T01:00 -", "01T01:00 01T02:00 -"},
		runtime.OverlapCancel: {"cancelled -", "cancelled cancelled -", "cancelled cancelled cancelled -"},
		runtime.OverlapAllow:  {"- -", "01T01:00 - -", "01T01:00 01T02:00 - -"},
	} {
		t.Run(string(how), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlanned(t)
				p.define("job", takesLong)
				r := hourly
				r.Overlap = how
				p.make(r)
				p.passes(2*time.Hour + time.Minute)
				p.wants(want.two)
				p.passes(15 * time.Minute)
				p.away(time.Second)
				p.passes(45 * time.Minute)
				p.wants(want.three)
				p.passes(time.Hour)
				p.wants(want.four)
			})
		})
	}
}

// A crash between the start of a run and the note that it was started does not start another.
func TestScheduleSurvivesACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlanned(t)
		p.define("job", tellsTime)
		p.make(hourly)
		p.passes(59 * time.Minute)
		before := map[string][]byte{}
		if err := p.store.Scan([]byte("S/"), []byte("S0"), func(k, v []byte) error { before[string(k)] = append([]byte(nil), v...); return nil }); err != nil {
			t.Fatal(err)
		}
		p.passes(time.Minute)
		p.wants("01T01:00", 1)
		p.define("job", "def main(when):\n    return \"other\"\n") // the request would be another one now
		if err := p.engine.Close(); err != nil {
			t.Fatal(err)
		}
		p.store = p.store.Reopen()
		var b runtime.Batch
		for k, v := range before {
			b.Writes = append(b.Writes, runtime.Write{Key: []byte(k), Value: v})
		}
		if err := p.store.Commit(p.ctx, &b); err != nil {
			t.Fatal(err)
		}
		p.open()
		p.fires()
		synctest.Wait()
		p.wants("01T01:00", 1)
	})
}

// Runs that are asked for: now, and for times that have passed.
func TestScheduleTriggersAndBackfills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlanned(t)
		p.define("job", takesLong)
		p.make(hourly)
		p.passes(20 * time.Minute)
		p.change(runtime.ScheduleChange{Action: runtime.ScheduleTrigger})
		day := time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
		p.change(runtime.ScheduleChange{Action: runtime.ScheduleBackfill, From: day, To: day.Add(2 * time.Hour)})
		p.wants("-", 1, 0, 0, 2)
		p.passes(270 * time.Minute)
		p.wants("01T00:20 1999-12-31T00:00 1999-12-31T01:00", 3, 4, 0, 0)
		for _, c := range []runtime.ScheduleChange{
			{Action: runtime.ScheduleBackfill}, {Action: runtime.ScheduleBackfill, From: day, To: day}, {Action: "dance"},
			{Action: runtime.ScheduleBackfill, From: day.AddDate(-1, 0, 0), To: day},
		} {
			c.Name = "s"
			if _, err := p.kept().Reschedule(p.ctx, c); runtime.AsRefusal(err).Kind != runtime.ErrUsage {
				t.Errorf("%+v: got %v, want a refusal", c, err)
			}
		}
		p.change(runtime.ScheduleChange{Action: runtime.SchedulePause})
		for _, a := range []runtime.ScheduleAction{runtime.ScheduleTrigger, runtime.ScheduleBackfill} {
			if _, err := p.kept().Reschedule(p.ctx, runtime.ScheduleChange{Name: "s", Action: a, From: day, To: day.Add(time.Hour)}); runtime.AsRefusal(err).Kind != runtime.ErrUsage {
				t.Errorf("%s while it is paused: got %v, want a refusal", a, err)
			}
		}
	})
}

// Who may not, and what could not be started, is refused before there is a schedule; what cannot be
// started any more is told in the schedule, which goes on.
func TestScheduleRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlanned(t)
		p.define("job", tellsTime)
		p.make(hourly)
		with := func(change func(*runtime.ScheduleRequest)) error {
			r := hourly
			r.Name = "other"
			change(&r)
			_, err := p.kept().Schedule(p.ctx, r)
			return err
		}
		for want, err := range map[runtime.ErrorKind]error{
			runtime.ErrUnknownDefinition: with(func(r *runtime.ScheduleRequest) { r.Script = "nobody" }),
			runtime.ErrBadInput:          with(func(r *runtime.ScheduleRequest) { r.TimeInput = "" }),
			runtime.ErrUsage:             with(func(r *runtime.ScheduleRequest) { r.Cron = "soon" }),
		} {
			if runtime.AsRefusal(err).Kind != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		for _, change := range []func(*runtime.ScheduleRequest){
			func(r *runtime.ScheduleRequest) { r.Overlap = "perhaps" }, func(r *runtime.ScheduleRequest) { r.CatchUp = "some" }, func(r *runtime.ScheduleRequest) { r.Name = "a b" },
		} {
			if err := with(change); runtime.AsRefusal(err).Kind != runtime.ErrUsage {
				t.Errorf("got %v, want %s", err, runtime.ErrUsage)
			}
		}
		if _, err := p.engine.Start(p.ctx, runtime.StartRequest{Key: "\x00schedule/s/1", Bundle: bundle(t, tellsTime, nil), Script: "x.star"}); runtime.AsRefusal(err).Kind != runtime.ErrUsage {
			t.Errorf("a key of schedules: got %v, want a refusal", err)
		}
		kept := p.kept()
		if _, err := p.engine.(*engine.Local).AddToken(p.ctx, runtime.TokenRequest{Name: "bob", Can: []string{"run", "read"}}); err != nil {
			t.Fatal(err)
		}
		bob := runtimetest.As(p.engine, runtime.Caller{Name: "bob", Can: runtime.CanRun | runtime.CanRead}).(runtime.Schedules)
		for who, c := range map[string]runtime.Caller{"a reader": {Name: "eve", Can: runtime.CanRead}, "an agent": {Name: "attempt:x", Agent: "x"}} {
			if _, err := kept.Schedule(runtime.WithCaller(p.ctx, c), hourly); runtime.AsRefusal(err).Kind != runtime.ErrDenied {
				t.Errorf("%s: got %v, want it denied", who, err)
			}
		}
		if _, err := bob.Reschedule(p.ctx, runtime.ScheduleChange{Name: "s", Action: runtime.ScheduleRemove}); runtime.AsRefusal(err).Kind != runtime.ErrDenied {
			t.Errorf("somebody else's: got %v, want it denied", err)
		}
		p.change(runtime.ScheduleChange{Action: runtime.ScheduleRemove})
		if _, err := bob.Schedule(p.ctx, hourly); err != nil {
			t.Fatal(err)
		}
		p.passes(time.Hour)
		p.wants("01T01:00", 1, 0, 0)
		if _, err := p.engine.(*engine.Local).RemoveToken(p.ctx, "bob"); err != nil {
			t.Fatal(err)
		}
		p.passes(time.Hour)
		if s := p.wants("01T01:00", 1, 0, 1); !strings.Contains(s.Last.Refused, "may not start runs any more") {
			t.Errorf("got %+v, want it refused", s.Last)
		}
	})
}

// Over the nights when the clocks of Zurich are changed in 2000: 26 March has no 02:30, 29 October
// has two, and each has a run of its own.
func TestScheduleOverChangedClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlanned(t)
		p.define("job", tellsTime)
		for _, c := range []struct{ night, want string }{
			{"2000-03-25", "2000-03-25T01:30 2000-03-27T00:30"},
			{"2000-10-28", "2000-03-25T01:30 2000-03-27T00:30 2000-10-28T00:30 2000-10-29T00:30 2000-10-29T01:30 2000-10-30T01:30"},
		} {
			begin, err := time.Parse(time.DateOnly, c.night)
			if err != nil {
				t.Fatal(err)
			}
			p.passes(time.Until(begin))
			p.make(runtime.ScheduleRequest{Name: "s", Script: "job", TimeInput: "when", Timetable: runtime.Timetable{Cron: "30 2 * * *", Zone: "Europe/Zurich"}})
			p.passes(72 * time.Hour)
			p.wants(c.want)
			p.change(runtime.ScheduleChange{Action: runtime.ScheduleRemove})
		}
	})
}

// Whichever commit of a script that makes a schedule is the last before the power fails, the
// schedule is made once, and a time that was due meanwhile has its one run.
func TestScheduleOfAScriptSurvivesEachCrash(t *testing.T) {
	const source = "def main():\n    schedule.set(\"s\", \"job\", cron = \"@hourly\", time_input = \"when\")\n    return \"made\"\n"
	cuts := 0
	for n := 1; ; n++ {
		whole := false
		synctest.Test(t, func(t *testing.T) {
			p := newPlanned(t)
			p.define("job", tellsTime)
			p.store.FailCommit(n, errors.New("the power fails"), memory.AfterApply)
			r := runtime.StartRequest{Key: "once", Bundle: bundle(t, source, nil), Script: "x.star"}
			_, err := p.engine.Start(p.ctx, r)
			p.passes(59 * time.Minute)
			if whole = err == nil && p.outputs() == "made"; whole {
				return
			}
			cuts++
			p.crash()
			p.fires()
			if _, err := p.engine.Start(p.ctx, r); err != nil {
				t.Fatal(err)
			}
			p.passes(2 * time.Minute)
			p.wants("made 01T01:00", 1, 0, 0, 0)
		})
		if whole {
			break
		}
	}
	if cuts < 2 { // behind the start, and behind the schedule
		t.Errorf("the power has failed %d times, want it to at each commit", cuts)
	}
}
