package runtimetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"starling/runtime"
)

// testSchedules checks that an engine keeps the promises of runtime.Schedules, also to scripts.
func testSchedules(t *testing.T, s Subject) {
	for name, test := range map[string]func(*subject, runtime.Schedules){
		"made":       testScheduleMade,
		"by scripts": testScheduleByScripts,
		"again":      testScheduleAgain,
		"refused":    testScheduleRefused,
		"filled in":  testScheduleFilled,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, s)
			e.define(extension[runtime.Definitions](e, e.Engine), "", "job", hello)
			test(e, extension[runtime.Schedules](e, e.Engine))
		})
	}
}

// nightly is made by scripts of these tests.
const nightly = `
def main():
    made = schedule.set("nightly", "job", cron = "0 3 * * *", zone = "Europe/Berlin", inputs = {"who": "<b>"}, labels = {"team": "web"}, jitter = "90s")
    return [made["name"], made["jitter"], made["paused"] if "paused" in made else False, len(made["next"])]
`

// scheduled are the schedules on one line.
func (e *subject) scheduled(kept runtime.Schedules) (shown string) {
	e.Helper()
	list, err := kept.Scheduled(e.ctx, runtime.ScheduleQuery{})
	e.ok(err)
	for _, s := range list {
		e.same("who has made "+s.Name, s.By, e.user)
		shown += fmt.Sprintf("%s %s %s%s %s %s %s %s %s paused=%t %d;", s.Name, s.Script, s.Cron, s.Every, s.Zone, s.Inputs, s.Labels["team"], s.Overlap, s.CatchUp, s.Paused, s.Started)
	}
	return shown
}

// does runs a script and gives its output.
func (e *subject) does(src string) string {
	e.Helper()
	end := e.ended(e.start(src).ID)
	if end.Status != runtime.Completed {
		e.Fatalf("the run: %s, %+v", end.Status, end.Error)
	}
	return string(end.Output)
}

func testScheduleMade(e *subject, kept runtime.Schedules) {
	e.same("at first", e.scheduled(kept), "")
	made, err := kept.Schedule(e.ctx, runtime.ScheduleRequest{Name: "s", Script: "job", Timetable: runtime.Timetable{Every: 6 * time.Hour}})
	e.ok(err)
	if len(made.Next) != 1 || !made.Next[0].Equal(made.At.Add(6*time.Hour)) {
		e.Errorf("got %+v, want it six hours later", made)
	}
	const stands = "s job 6h0m0s    skip last paused=%t 0;"
	e.same("made", e.scheduled(kept), fmt.Sprintf(stands, false))
	for _, action := range []runtime.ScheduleAction{runtime.SchedulePause, runtime.ScheduleResume} {
		_, err = kept.Reschedule(e.ctx, runtime.ScheduleChange{Name: "s", Action: action, Reason: "holidays"})
		e.ok(err)
		e.same(string(action), e.scheduled(kept), fmt.Sprintf(stands, action == runtime.SchedulePause))
	}
	_, err = kept.Reschedule(e.ctx, runtime.ScheduleChange{Name: "s", Action: runtime.ScheduleRemove})
	e.ok(err)
	e.same("removed", e.scheduled(kept), "")
	_, err = kept.Reschedule(e.ctx, runtime.ScheduleChange{Name: "s", Action: runtime.ScheduleRemove})
	e.refused(runtime.ErrUnknownSchedule, err)
}

func testScheduleByScripts(e *subject, kept runtime.Schedules) {
	e.same("set", e.does(nightly), `["nightly","1m30s",false,1]`)
	const stands = `nightly job 0 3 * * *0s Europe/Berlin {"who":"\u003cb\u003e"} web skip last paused=%t 0;`
	e.same("as it is kept", strings.ReplaceAll(e.scheduled(kept), "<b>", `\u003cb\u003e`), fmt.Sprintf(stands, false))
	e.same("paused", e.does("def main():\n    return schedule.pause(\"nightly\", \"holidays\")[\"reason\"]\n"), `"holidays"`)
	e.same("set again", e.does(nightly), `["nightly","1m30s",true,1]`)
	e.same("listed", e.does("def main():\n    return [s[\"name\"] for s in schedule.all() if s[\"paused\"]]\n"), `["nightly"]`)
	e.same("resumed", e.does("def main():\n    return \"reason\" in schedule.resume(\"nightly\")\n"), "false")
	e.same("another table", e.does(`
def main():
    return schedule.set("nightly", "job@1", every = "1.5d", overlap = "queue", catch_up = "all")["every"]
`), `"36h0m0s"`)
	e.same("as it is kept", e.scheduled(kept), "nightly job@1 36h0m0s    queue all paused=false 0;")
	e.same("removed twice", e.does("def main():\n    schedule.remove(\"nightly\")\n    return schedule.remove(\"nightly\")\n"), "null")
	e.same("in the end", e.scheduled(kept), "")
}

// testScheduleAgain: a run that makes sure of a schedule moves none of its times, and one that is
// replayed, or run again from behind it, makes none.
func testScheduleAgain(e *subject, kept runtime.Schedules) {
	const every = "def main():\n    schedule.set(\"often\", \"job\", every = \"6h\")\n    gate(\"g\", options = [\"on\"])\n"
	at := func() time.Time {
		list, err := kept.Scheduled(e.ctx, runtime.ScheduleQuery{Name: "often"})
		e.ok(err)
		return list[0].At
	}
	first := e.opened(every, "g").ID
	made := at()
	e.opened(every, "g")
	e.same("when it was made", at().Equal(made), true)

	_, err := kept.Reschedule(e.ctx, runtime.ScheduleChange{Name: "often", Action: runtime.ScheduleRemove})
	e.ok(err)
	reruns := extension[runtime.Reruns](e, e.Engine)
	_, err = reruns.Replay(e.ctx, runtime.ReplayRequest{Run: first})
	e.ok(err)
	fork, err := reruns.Fork(e.ctx, runtime.ForkRequest{Kind: runtime.LineageFork, Run: first, Step: "g"})
	e.ok(err)
	e.until(fork.ID, func(r *runtime.Run) bool { return len(r.Gates) == 1 })
	e.same("after a replay and a fork from behind it", e.scheduled(kept), "")
}

func testScheduleRefused(e *subject, kept runtime.Schedules) {
	for call, want := range map[string]string{
		`schedule.set("s", "nobody", cron = "@daily")`:                           `no script is defined as "nobody"`,
		`schedule.set("s", "job", cron = "soon")`:                                `got cron "soon", want minute`,
		`schedule.set("s", "job", cron = "@daily", zone = "Mars")`:               `got the zone "Mars", want an IANA name`,
		`schedule.set("s", "job", every = "10ms")`:                               "want 1s at least",
		`schedule.set("s", "job", cron = "@daily", inputs = {"whom": "x"})`:      "whom",
		`schedule.pause("s")`:                                                    `no schedule "s"`,
		`schedule.backfill("s", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")`: `no schedule "s"`,
		`schedule.set("s", "job")`:                                               "want cron, such as",
		`schedule.set("s", "job", cron = "@daily", every = "6h")`:                "want cron, such as",
		`schedule.set("a b", "job", cron = "@daily")`:                            "for parameter schedule",
		`schedule.set("s", "job", every = "0s")`:                                 "longer than 0",
		`schedule.backfill("s", "yesterday", "2026-01-02T00:00:00Z")`:            "want a time such as",
		`schedule.set("s", "job", cron = "@daily", labels = {"a b": "c"})`:       "label",
		`schedule.set("s", "job", every = "6h", labels = {"team": ["a", "b"]})`:  "labels: want a dict of strings",
	} {
		end := e.ended(e.start("def main():\n    " + call + "\n").ID)
		if end.Status != runtime.Failed || !strings.Contains(end.Error.Message, want) {
			e.Errorf("%s: got %s, %+v, want %q", call, end.Status, end.Error, want)
		}
	}
	e.same("made", e.scheduled(kept), "")
}

// testScheduleFilled: of a span that has passed each time waits for its run once, however often it
// is asked for.
func testScheduleFilled(e *subject, kept runtime.Schedules) {
	const fill = `
def main():
    schedule.set("old", "job", cron = "0 3 * * *")
    schedule.backfill("old", since = "2020-03-01T00:00:00Z", until = "2020-03-04T00:00:00Z")
    return schedule.backfill("old", "2020-03-01T00:00:00Z", "2020-03-05T00:00:00Z")["waiting"]
`
	for range 2 {
		e.same("wait", e.does(fill), "4")
	}
	list, err := kept.Scheduled(e.ctx, runtime.ScheduleQuery{Name: "old"})
	e.ok(err)
	e.same("wait", list[0].Waiting, 4)
}
