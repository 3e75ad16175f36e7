package cli

import (
	"encoding/json"
	"testing"
	"time"

	"starling/runtime"
)

// at is a time some seconds after the tests' beginning of time.
func at(seconds int) time.Time { return time.Date(2026, 1, 2, 3, 4, 5+seconds, 0, time.UTC) }

func TestShow(t *testing.T) {
	r := withGate(aRun(runtime.Suspended))
	due := at(7200)
	r.Gates[0].Deadline = &due
	r.Gates[0].Options[1].Description = "send them back"
	r.Details = &runtime.Details{StartedBy: "local:ann", StartedAt: at(0), UpdatedAt: at(2), Seq: 7, NextDue: &due}
	f := &fakeSession{states: []*runtime.Run{r}, events: []runtime.Event{
		{Seq: 2, Time: at(0), Type: "step.requested", Step: "http.get", Data: json.RawMessage(`{"kind":"http"}`)},
		{Seq: 3, Time: at(0), Type: "attempt.started", Step: "http.get"},
		{Seq: 4, Time: at(1), Type: "attempt.started", Step: "http.get"},
		{Seq: 5, Time: at(2), Type: "step.settled", Step: "http.get", Data: json.RawMessage(`{}`)},
		{Seq: 6, Time: at(2), Type: "step.requested", Step: "review-gate", Data: json.RawMessage(`{"kind":"gate"}`)},
	}}
	want := `tq3f9zk1m5ab  suspended  review.star
  started  2026-01-02T03:04:05Z by local:ann
  updated  2026-01-02T03:04:07Z, record 7
  waits    reviewer-agent decides review-gate by 2026-01-02T05:04:05Z
  due      2026-01-02T05:04:05Z
  inputs   {
    "threshold": 0.85
  }

  http.get     http  ok  2 attempts  2s
  review-gate  gate  waiting

tq3f9zk1m5ab/review-gate for reviewer-agent, until 2026-01-02T05:04:05Z: Publish?
  {
    "n": 2
  }
  ask more: send them back
    starling approve tq3f9zk1m5ab/review-gate --as reviewer-agent
    starling signal tq3f9zk1m5ab/review-gate --choice 'ask more' --as reviewer-agent
`
	term, code := invoke(t, f, "show", "@last")
	if code != 0 || term.out.String() != want {
		t.Errorf("exit %d\n%s\nwant\n%s", code, &term.out, want)
	}
}

// TestShowJSON: the document of run with the details beside it.
func TestShowJSON(t *testing.T) {
	r := aRun(runtime.Failed)
	r.Error = &runtime.RunError{Kind: "script", Message: "no", Where: "review.star:2:3"}
	r.Details = &runtime.Details{StartedBy: "local:ann", StartedAt: at(0), UpdatedAt: at(2), Seq: 3, Program: "abc"}
	term, code := invoke(t, &fakeSession{states: []*runtime.Run{r}}, "show", "tq3", "--json")
	want := `{"schema":"starling/v1","id":"tq3f9zk1m5ab","status":"failed","script":"review.star","inputs":{"threshold":0.85},"output":null,` +
		`"error":{"kind":"script","message":"no","where":"review.star:2:3","backtrace":""},"gates":[],"steps":[],"program":"abc",` +
		`"started_by":"local:ann","started_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:07Z","seq":3,"carried":false,"in_flight":0,` +
		`"next_due":null}` + "\n"
	if code != 0 || term.out.String() != want {
		t.Errorf("exit %d\n%s\nwant\n%s", code, &term.out, want)
	}
}

func TestPs(t *testing.T) {
	due := at(60)
	f := &fakeSession{runs: []runtime.Summary{
		{ID: "aaaaaaaaaaaa", Status: runtime.Suspended, Script: "a.star", StartedAt: at(3), Gates: 2, NextDue: &due, Carried: true},
		{ID: "bbbbbbbbbbbb", Status: runtime.Suspended, Script: "b.star", StartedAt: at(2), NextDue: &due, Overdue: true},
		{ID: "cccccccccccc", Status: runtime.Running, Script: "c.star", StartedAt: at(1)},
		{ID: "dddddddddddd", Status: runtime.Failed, Script: "d.star", StartedAt: at(0), Error: "first line\nsecond line"},
	}}
	want := `RUN           STATUS     CARRIED  STARTED               SCRIPT  NOTES
aaaaaaaaaaaa  suspended  yes      2026-01-02T03:04:08Z  a.star  2 gates, due 2026-01-02T03:05:05Z
bbbbbbbbbbbb  suspended  no       2026-01-02T03:04:07Z  b.star  overdue since 2026-01-02T03:05:05Z
cccccccccccc  running    no       2026-01-02T03:04:06Z  c.star  
dddddddddddd  failed     -        2026-01-02T03:04:05Z  d.star  first line
`
	term, code := invoke(t, f, "ps", "-a")
	if code != 0 || term.out.String() != want {
		t.Errorf("exit %d\n%s\nwant\n%s", code, &term.out, want)
	}
}

// TestLogs: the journal as lines for people, and as it is.
func TestLogs(t *testing.T) {
	f := &fakeSession{states: []*runtime.Run{aRun(runtime.Completed)}, events: []runtime.Event{
		{Seq: 1, Time: at(0), Run: "tq3f9zk1m5ab", Type: "run.started", Data: json.RawMessage(`{"by":"local:ann"}`)},
		{Seq: 2, Time: at(1), Run: "tq3f9zk1m5ab", Branch: "parallel/a", Step: "parallel/a/g", Type: "gate.opened", Data: json.RawMessage(`{}`)},
	}}
	term, code := invoke(t, f, "logs", "tq3")
	want := "2026-01-02T03:04:05Z  run.started  {\"by\":\"local:ann\"}\n2026-01-02T03:04:06Z  gate.opened  parallel/a/g\n"
	if code != 0 || term.out.String() != want {
		t.Errorf("exit %d\n%s", code, &term.out)
	}
	term, code = invoke(t, f, "logs", "tq3", "--jsonl")
	want = `{"seq":1,"time":"2026-01-02T03:04:05Z","run":"tq3f9zk1m5ab","branch":"","step":"","type":"run.started","data":{"by":"local:ann"}}
{"seq":2,"time":"2026-01-02T03:04:06Z","run":"tq3f9zk1m5ab","branch":"parallel/a","step":"parallel/a/g","type":"gate.opened","data":{}}
`
	if code != 0 || term.out.String() != want {
		t.Errorf("exit %d\n%s", code, &term.out)
	}
}
