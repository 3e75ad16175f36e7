package cli

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"starling/cmd/starling/stay"
	"starling/runtime"
)

// TestUsage: what is wrong with the command line is said in one way, with what to try.
func TestUsage(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"sgnal x", `error: unknown command "sgnal"|help: did you mean "signal"?|`},
		{"frobnicate", `error: unknown command "frobnicate"|help: starling help lists the commands|`},
		{"help sgnal", `error: unknown command "sgnal"|help: did you mean "signal"?|`},
		{"help token new", `error: unknown command "token new"|help: starling token has add, ls, rm|`},
		{"token new bob", `error: unknown command "token new"|help: starling token has add, ls, rm|`},
		{"agents judge", `error: unknown command "agents judge"|help: starling agents has ls, show, test|`},
		{"tools cal x", `error: unknown command "tools cal"|help: did you mean "call"?|`},
		{"queue lst", `error: unknown command "queue lst"|help: did you mean "ls"?|`},
		{"store chek", `error: unknown command "store chek"|help: did you mean "check"?|`},
		{"show x --jsn", "error: show: unknown flag: --jsn|help: did you mean --json?|"},
		{"show x --whatever", "error: show: unknown flag: --whatever|help: see starling show --help|"},
		{"show x -z", "error: show: unknown shorthand flag: 'z' in -z|help: see starling show --help|"},
		{"show", "error: show: got 0 operands, want RUN|help: see starling show --help|"},
		{"inbox x", "error: inbox: got 1 operands, want none|help: see starling inbox --help|"},
		{"signal tq", `error: got the address "tq", want RUN/GATE|help: starling inbox lists the open gates|`},
		{"signal tq/g --message m", `error: got the address "tq/g", want a RUN, because of --message|help: starling inbox lists the open gates|`},
		{"wait tq --for done", `error: wait: --for: "done" is not a status|help: a run is one of pending, running, suspended, completed, failed, cancelled, damaged|`},
		{"wait tq --for suspnded", `error: wait: --for: "suspnded" is not a status|help: did you mean "suspended"?|`},
		{"wait tq --timeout soon", `error: --timeout: got "soon", want a number with a unit (ns us ms s m h d), such as "90s", "2h" or "1d"|`},
		{"resume", "error: resume: name the runs, or say --all|help: starling ps lists the runs|"},
		{"resume tq --all", "error: resume: name the runs, or say --all|help: starling ps lists the runs|"},
		{"-C nowhere ps", "error: cannot work in nowhere: no such file or directory|"},
		{"run x.star -d --wait", "error: run: --detach and --wait exclude each other|"},
	} {
		term, code := invoke(t, &fakeSession{states: []*runtime.Run{aRun(runtime.Running)}}, strings.Fields(test.args)...)
		if got := strings.ReplaceAll(term.err.String(), "\n", "|"); got != test.want || code != 2 || term.out.Len() > 0 {
			t.Errorf("%s: exit %d\n got %s\nwant %s\n out %s", test.args, code, got, test.want, &term.out)
		}
	}
}

// TestErrorDocument: with --json standard output is one document even if the flags cannot be read.
func TestErrorDocument(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"show nope --json", 5, `{"schema":"starling/v1","error":{"kind":"unknown_run","message":"no run nope","help":"starling ps -a lists the runs"}}`},
		{"show x --json --jsn", 2, `{"schema":"starling/v1","error":{"kind":"usage","message":"show: unknown flag: --jsn","help":"did you mean --json?"}}`},
	} {
		term, code := invoke(t, &fakeSession{states: []*runtime.Run{aRun(runtime.Running)}}, strings.Fields(test.args)...)
		if got := strings.TrimSpace(term.out.String()); got != test.want || code != test.code {
			t.Errorf("%s: exit %d, want %d\n got %s\nwant %s", test.args, code, test.code, got, test.want)
		}
		if !strings.HasPrefix(term.err.String(), "error: ") {
			t.Errorf("%s: people are told %q", test.args, &term.err)
		}
	}
}

// TestWaitAtGate: a run at a gate is at rest; the document and the commands that answer are as
// promised.
func TestWaitAtGate(t *testing.T) {
	f := &fakeSession{states: []*runtime.Run{withGate(aRun(runtime.Suspended))}}
	term, code := invoke(t, f, "wait", "tq3", "--json")
	want := `{"schema":"starling/v1","id":"tq3f9zk1m5ab","status":"suspended","script":"review.star","inputs":{"threshold":0.85},"output":null,` +
		`"error":null,"gates":[{"address":"tq3f9zk1m5ab/review-gate","gate":"review-gate","prompt":"Publish?",` +
		`"options":[{"name":"approve"},{"name":"ask more"}],"target":"reviewer-agent","data":{"n":2},"schema":null,` +
		`"opened_at":"0001-01-01T00:00:00Z","deadline":null,"answer_with":"starling approve tq3f9zk1m5ab/review-gate --as reviewer-agent"}]}`
	if got := strings.TrimSpace(term.out.String()); got != want || code != runtime.ExitSuspended {
		t.Errorf("exit %d\n got %s\nwant %s", code, got, want)
	}
	notice := `waiting for tq3f9zk1m5ab: suspended
suspended tq3f9zk1m5ab: waits for a decision
  review-gate for reviewer-agent: Publish?
    starling approve tq3f9zk1m5ab/review-gate --as reviewer-agent
    starling signal tq3f9zk1m5ab/review-gate --choice 'ask more' --as reviewer-agent
`
	if term.err.String() != notice {
		t.Errorf("people are told\n%swant\n%s", &term.err, notice)
	}
	if len(f.carried) != 1 || f.carried[0].Env["TOKEN"] != "value of TOKEN" || len(f.carried[0].Env) != 1 || !f.closed {
		t.Errorf("carried %+v, closed %v", f.carried, f.closed)
	}
}

// TestSignalFollows: the receipt is the result, what follows is progress, and how the run ends does
// not change the exit code.
func TestSignalFollows(t *testing.T) {
	after := aRun(runtime.Failed)
	after.Details.Seq = 6
	after.Error = &runtime.RunError{Kind: "script", Message: "fail: no", Where: "review.star:7:3", Backtrace: "Traceback:\n  review.star:7:3: in main\n"}
	running := aRun(runtime.Running)
	running.Details.Seq = 4
	f := &fakeSession{states: []*runtime.Run{withGate(aRun(runtime.Suspended)), running, after}, events: []runtime.Event{
		{Seq: 5, Type: "step.requested", Step: "http.post"},
		{Seq: 6, Type: "run.failed"},
	}}
	term, code := invoke(t, f, "approve", "tq3/review-gate", "-m", "fine", "--as", "reviewer-agent", "--key", "k1", "--data", "1")
	if code != 0 || term.out.String() != "accepted tq3f9zk1m5ab/review-gate\n" {
		t.Errorf("exit %d, %q", code, &term.out)
	}
	if want := "failed tq3f9zk1m5ab\nerror: fail: no\nTraceback:\n  review.star:7:3: in main\n"; term.err.String() != want {
		t.Errorf("people are told\n%swant\n%s", &term.err, want)
	}
	got, _ := json.Marshal(f.signals)
	want := `[{"key":"k1","kind":"answer","run":"tq3f9zk1m5ab","gate":"review-gate","choice":"approve","reason":"fine","data":1,"as":"reviewer-agent","env":{"TOKEN":"value of TOKEN"}}]`
	if string(got) != want {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
}

func TestSignalRefused(t *testing.T) {
	f := &fakeSession{states: []*runtime.Run{withGate(aRun(runtime.Suspended))},
		refusal: runtime.Refuse(runtime.ErrDecided, "starling show tells how", "the gate review-gate was decided: approve")}
	term, code := invoke(t, f, "reject", "@last/review-gate")
	if want := "error: the gate review-gate was decided: approve\nhelp: starling show tells how\n"; code != 8 || term.err.String() != want {
		t.Errorf("exit %d, %q", code, &term.err)
	}
}

// TestRandomKeys: two requests that nobody gave a key are two requests.
func TestRandomKeys(t *testing.T) {
	a, b := requestKey(""), requestKey("")
	if a == b || !strings.HasPrefix(a, "cli-") || requestKey("mine") != "mine" {
		t.Errorf("got %q, %q", a, b)
	}
}

// TestRest: how long a command stays.
func TestRest(t *testing.T) {
	at := func(d time.Duration) *time.Time { t := time.Now().Add(d); return &t }
	gateUntil := func(d time.Duration) *runtime.Run {
		r := withGate(aRun(runtime.Suspended))
		r.Details.NextDue = at(d)
		r.Gates[0].Deadline = r.Details.NextDue
		return r
	}
	sleeping := func(d time.Duration) *runtime.Run {
		r := aRun(runtime.Suspended)
		r.Details.NextDue = at(d)
		return r
	}
	for _, test := range []struct {
		name      string
		run       *runtime.Run
		run1, wai bool // run and wait leave
	}{
		{"running", aRun(runtime.Running), false, false},
		{"completed", aRun(runtime.Completed), true, true},
		{"at a gate", withGate(aRun(runtime.Suspended)), true, true},
		{"a gate that ends soon", gateUntil(30 * time.Second), false, false},
		{"a gate that ends late", gateUntil(2 * time.Hour), true, true},
		{"a short sleep", sleeping(30 * time.Second), false, false},
		{"a long sleep", sleeping(2 * time.Hour), true, false},
	} {
		if got := stay.AtRest(test.run); got != test.run1 {
			t.Errorf("%s: run leaves: %v", test.name, got)
		}
		if got := stay.OnlySignal(test.run); got != test.wai {
			t.Errorf("%s: wait leaves: %v", test.name, got)
		}
		if got := stay.Ended(test.run); got != test.run.Status.Ended() {
			t.Errorf("%s: run --wait leaves: %v", test.name, got)
		}
	}
}

func TestInboxAndStop(t *testing.T) {
	term, code := invoke(t, &fakeSession{gates: withGate(aRun(runtime.Suspended)).Gates}, "inbox", "--full")
	want := `tq3f9zk1m5ab/review-gate for reviewer-agent: Publish?
  {
    "n": 2
  }
    starling approve tq3f9zk1m5ab/review-gate --as reviewer-agent
    starling signal tq3f9zk1m5ab/review-gate --choice 'ask more' --as reviewer-agent
`
	if code != 0 || term.out.String() != want {
		t.Errorf("exit %d\n%s", code, &term.out)
	}
	term, _ = invoke(t, &fakeSession{}, "inbox", "--json")
	if got := term.out.String(); got != `{"schema":"starling/v1","gates":[]}`+"\n" {
		t.Errorf("an empty inbox: %s", got)
	}
	term, _ = invoke(t, &fakeSession{owner: 71}, "stop", "--json")
	if got := term.out.String(); got != `{"schema":"starling/v1","stopped":71}`+"\n" {
		t.Errorf("stop: %s", got)
	}
}

// TestInterrupted: the first interruption leaves in good order and says how to go on, with the exit
// code of its signal.
func TestInterrupted(t *testing.T) {
	for _, test := range []struct {
		signal syscall.Signal
		owner  int
		code   int
		first  string
	}{
		{syscall.SIGINT, 0, 130, "left tq3f9zk1m5ab where it is; it goes on from there"},
		{syscall.SIGTERM, 71, 143, "detached: process 71 carries tq3f9zk1m5ab on"},
		{syscall.SIGHUP, 0, 129, "left tq3f9zk1m5ab where it is; it goes on from there"},
	} {
		f := &fakeSession{states: []*runtime.Run{aRun(runtime.Running)}, endless: true, owner: test.owner}
		term := sitting(f, "wait", "tq3", "--json")
		signals := make(chan os.Signal, 1)
		signals <- test.signal
		term.call.signals = signals
		want := "waiting for tq3f9zk1m5ab: running\n" + test.first + "\n  starling resume tq3f9zk1m5ab\n  starling cancel tq3f9zk1m5ab\n"
		if code := term.call.run(); code != test.code || term.err.String() != want || !f.closed {
			t.Errorf("%v: exit %d, closed %v, people are told\n%swant\n%s", test.signal, code, f.closed, &term.err, want)
		}
		if got := term.out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"status":"running"`) {
			t.Errorf("%v: the document is %s", test.signal, got)
		}
	}
}

// TestInterruptedTwice: the second interruption does not wait for anything.
func TestInterruptedTwice(t *testing.T) {
	signals := make(chan os.Signal, 2)
	signals <- syscall.SIGINT
	signals <- syscall.SIGINT
	left := make(chan int)
	c := &call{signals: signals, exit: func(code int) { left <- code }}
	_, release := c.interruptible()
	defer release()
	if code := <-left; code != 130 {
		t.Errorf("left with %d", code)
	}
}

// TestWaitTimeout: the command's own time is over; the document says how the run stands.
func TestWaitTimeout(t *testing.T) {
	f := &fakeSession{states: []*runtime.Run{aRun(runtime.Running)}, endless: true}
	term, code := invoke(t, f, "wait", "tq3", "--timeout", "1ms", "--json")
	if code != 124 || !strings.Contains(term.out.String(), `"status":"running"`) || !strings.HasSuffix(term.err.String(), "the run is still running\n") {
		t.Errorf("exit %d: %s%s", code, &term.out, &term.err)
	}
}

// TestReceiptCounts: what goes wrong after the receipt was printed is told to people, is no second
// document and does not change the exit code.
func TestReceiptCounts(t *testing.T) {
	f := &fakeSession{states: []*runtime.Run{withGate(aRun(runtime.Suspended)), aRun(runtime.Running)},
		broken: runtime.Refusef(runtime.ErrOwnerUnreachable, "the owner is gone")}
	term, code := invoke(t, f, "approve", "tq3/review-gate", "--json")
	if code != 0 || strings.Count(term.out.String(), "\n") != 1 || !strings.Contains(term.out.String(), `"accepted":true`) {
		t.Errorf("exit %d: %s", code, &term.out)
	}
	if !strings.HasSuffix(term.err.String(), "warning: cannot follow the run: the owner is gone\n") {
		t.Errorf("people are told %s", &term.err)
	}
}
