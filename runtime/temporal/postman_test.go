package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/journal"
	"starling/runtime/run"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// played is one run in the SDK's own test environment, whose clock skips what nobody waits for.
type played struct {
	*testing.T
	env    *testsuite.TestWorkflowEnvironment
	worker *Worker
	id     string
	seen   *history // of what its turns have recorded
	turns  int
	first  []byte
}

func play(t *testing.T, source string, inputs string, agent enginetest.Agent) *played {
	t.Helper()
	return playBundle(t, enginetest.Bundle(source), inputs, agent)
}

func playBundle(t *testing.T, bundle []byte, inputs string, agent enginetest.Agent) *played {
	t.Helper()
	return playWith(t, bundle, inputs, agent, nil)
}

func playWith(t *testing.T, bundle []byte, inputs string, agent enginetest.Agent, contents Contents) *played {
	t.Helper()
	w := &Worker{connection: connect(Options{Contents: contents, Env: enginetest.Environment(agent), Log: t.Logf, Getenv: func(string) (string, bool) { return "", false }})}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(tlog.NewStructuredLogger(quiet()))
	p := &played{T: t, env: suite.NewTestWorkflowEnvironment(), worker: w, id: "0123456789ab"}
	w.Register(p.env)
	r := runtime.StartRequest{Bundle: bundle, Script: "main.star", Inputs: []byte(inputs)}
	first, err := w.first(t.Context(), p.id, r, "ann", "", 0, time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	w.settings.known = map[string]*effect.Settings{journal.HashOf(run.SettingsPayload(&r.Settings)): &r.Settings}
	p.seen = &history{book: newBook(p.id)}
	p.seen.store = p.seen.book.store
	p.must(p.seen.apply(first))
	p.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: p.id})
	p.env.SetTestTimeout(time.Minute)
	p.env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is none
	p.env.SetStartTime(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	p.env.OnUpsertMemo(mock.Anything).Return(nil)
	p.env.SetOnLocalActivityCompletedListener(func(info *activity.Info, result converter.EncodedValue, err error) {
		var body []byte
		if err == nil {
			err = result.Get(&body)
		}
		if err == nil && info.WorkflowExecution.ID == p.id {
			if p.turns++; len(body) > maxTurned {
				t.Errorf("a turn leaves %d bytes, want %d at most", len(body), maxTurned)
			}
			if body, err = w.open(t.Context(), body); err == nil {
				err = p.seen.takeTurn(body)
			}
		}
		if err != nil {
			t.Errorf("a turn: %v", err)
		}
	})
	p.env.RegisterDelayedCallback(func() {}, 0)
	p.first = first.encode()
	return p
}

func (p *played) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// after does something once the workflow's clock has moved on.
func (p *played) after(d time.Duration, do func()) { p.env.RegisterDelayedCallback(do, d) }

// update hands in a letter, and then has what it is answered.
func (p *played) update(kind letterKind, a *asked, then func(*runtime.Receipt, error)) {
	p.env.UpdateWorkflow(updateName, fmt.Sprint(time.Now().UnixNano()), &testsuite.TestUpdateCallback{
		OnReject: func(err error) { p.Errorf("rejected: %v", err) },
		OnAccept: func() {},
		OnComplete: func(body any, err error) {
			var t told
			if err == nil {
				err = json.Unmarshal(body.([]byte), &t)
			}
			if err != nil {
				then(nil, err)
				return
			}
			then(t.give())
		},
	}, letterOf(kind, a))
}

func (p *played) answer(gate, choice string, then func(*runtime.Receipt, error)) {
	p.update(letterSignal, &asked{Caller: runtime.Caller{Name: "ann", Local: true}, Signal: &runtime.Signal{Kind: runtime.SignalAnswer, Run: p.id, Gate: gate, Choice: choice}}, then)
}

// ends plays the run to its end.
func (p *played) ends() *runtime.Run {
	p.Helper()
	p.env.ExecuteWorkflow(workflowName, p.first)
	if err := p.env.GetWorkflowError(); err != nil || !p.env.IsWorkflowCompleted() {
		p.Fatalf("the workflow: %v", err)
	}
	return p.now()
}

// now is the run as its history has it.
func (p *played) now() *runtime.Run {
	p.Helper()
	ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "ann", Local: true})
	r, err := p.worker.desk.Reader(p.seen.store, goesOn(p.seen.store)).Get(ctx, p.id)
	p.must(err)
	return r
}

func (p *played) wants(r *runtime.Run, status runtime.Status, output string) {
	p.Helper()
	if r.Status != status || status == runtime.Completed && string(r.Output) != output {
		p.Fatalf("got a run that is %s with %s and %+v, want %s with %s", r.Status, r.Output, r.Error, status, output)
	}
}

func TestARunEnds(t *testing.T) {
	p := play(t, "def main(who):\n    print(\"hello\", who)\n    return {\"greeted\": who}\n", `{"who": "ann"}`, nil)
	p.wants(p.ends(), runtime.Completed, `{"greeted":"ann"}`)
}

func TestAttemptsAreActivities(t *testing.T) {
	const two = "def main():\n    return [agent(\"a\", \"one\").output, agent(\"b\", \"two\").output]\n"
	p := play(t, two, ``, func(_ context.Context, a *effect.Attempt) (string, error) {
		return fmt.Sprintf("%s/%d", a.Step, a.Number), nil
	})
	p.wants(p.ends(), runtime.Completed, `["a/1","b/1"]`)
	if p.turns != 3 {
		t.Errorf("two steps took %d turns, want 3", p.turns)
	}
}

func TestAFailedAttemptIsTriedAgain(t *testing.T) {
	tried := 0
	p := play(t, "def main():\n    return agent(\"a\", \"one\", retries = 2)\n", ``, func(context.Context, *effect.Attempt) (string, error) {
		tried++
		return "", errors.New("no luck")
	})
	r := p.ends()
	if p.wants(r, runtime.Failed, ""); tried != 1 { // the error says nothing of another try
		t.Errorf("it was tried %d times, want once", tried)
	}
}

func TestAnAnswerIsReceipted(t *testing.T) {
	p := play(t, "def main():\n    return gate(\"review\", options = [\"yes\", \"no\"]).choice\n", ``, nil)
	var receipt *runtime.Receipt
	var refused, late error
	p.after(time.Minute, func() {
		p.answer("review", "maybe", func(_ *runtime.Receipt, err error) { refused = err })
	})
	p.after(time.Hour, func() {
		p.answer("review", "yes", func(r *runtime.Receipt, err error) { receipt = r; p.must(err) })
		p.answer("review", "no", func(_ *runtime.Receipt, err error) { late = err })
	})
	p.wants(p.ends(), runtime.Completed, `"yes"`)
	if receipt == nil || !receipt.Accepted || receipt.Gate != "review" || receipt.Seq == 0 {
		t.Errorf("got the receipt %+v, want one for review", receipt)
	}
	if k := runtime.AsRefusal(refused).Kind; k != runtime.ErrBadChoice {
		t.Errorf("a choice that is not offered: got %v, want %s", refused, runtime.ErrBadChoice)
	}
	if k := runtime.AsRefusal(late).Kind; k != runtime.ErrDecided {
		t.Errorf("the second answer: got %v, want %s", late, runtime.ErrDecided)
	}
}

func TestATimerIsTheServers(t *testing.T) {
	p := play(t, "def main():\n    sleep(\"10h\")\n    return gate(\"review\", timeout = \"2h\", fallback = \"none\").choice == None\n", ``, nil)
	began := p.env.Now()
	p.wants(p.ends(), runtime.Completed, `true`)
	if took := p.env.Now().Sub(began); took < 12*time.Hour || took > 13*time.Hour {
		t.Errorf("the run took %s by the server's clock, want 12 hours", took)
	}
	if p.turns > 5 {
		t.Errorf("the run took %d turns, want 5 at most", p.turns)
	}
}

func TestACancelEndsWhatFlies(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	p := play(t, "def main():\n    agent(\"a\", \"one\")\n", ``, func(context.Context, *effect.Attempt) (string, error) {
		<-release
		return "", errors.New("it was ended")
	})
	p.after(50*time.Millisecond, func() { // the clock does not skip what flies
		p.update(letterCancel, &asked{Who: []string{"ann"}, Cancel: &runtime.CancelRequest{Run: p.id, Reason: "enough"}}, func(r *runtime.Receipt, err error) {
			p.must(err)
			if r.Status != runtime.Cancelled {
				t.Errorf("got the receipt %+v, want that of a cancel", r)
			}
		})
	})
	r := p.ends()
	if p.wants(r, runtime.Cancelled, ""); !strings.Contains(r.Error.Message, "enough") {
		t.Errorf("got the error %+v, want its reason", r.Error)
	}
}

func TestAHistoryIsLeftForANewOne(t *testing.T) {
	p := play(t, "def main():\n    return gate(\"review\", options = [\"yes\"]).choice\n", ``, nil)
	message := func(key string) {
		p.update(letterSignal, &asked{Caller: runtime.Caller{Name: "ann", Local: true}, Signal: &runtime.Signal{Kind: runtime.SignalMessage, Run: p.id, Name: "note", Data: []byte("1"), Key: key}},
			func(_ *runtime.Receipt, err error) { p.must(err) })
	}
	p.after(time.Minute, func() { message("m") })
	p.after(time.Hour, func() {
		p.env.SetContinueAsNewSuggested(true)
		message("n")
	})
	p.env.ExecuteWorkflow(workflowName, p.first)
	var next *workflow.ContinueAsNewError
	if err := p.env.GetWorkflowError(); !errors.As(err, &next) {
		t.Fatalf("got %v, want that it goes on as new", err)
	}
	carried, err := decodeTurned(bytesOf(next.Input))
	p.must(err)
	h := &history{book: newBook(p.id)}
	p.must(h.apply(carried))
	r, err := p.worker.desk.Reader(h.book.store, goesOn(h.book.store)).Get(runtime.WithCaller(context.Background(), runtime.Caller{Name: "ann", Local: true}), p.id)
	p.must(err)
	if p.wants(r, runtime.Suspended, ""); len(r.Gates) != 1 {
		t.Errorf("got the gates %v behind the hand-over, want review", r.Gates)
	}
	if _, ok := h.past.LookupKey(p.id, "m"); !ok {
		t.Error("the key of a message is forgotten behind the hand-over")
	}
}

// A parent waits for its child run, and rests while that does.
func TestAChildRunIsAWorkflow(t *testing.T) {
	files := map[string]string{
		"main.star":  "def main():\n    return run(\"child.star\", inputs = {\"n\": 2})\n",
		"child.star": "def main(n):\n    return str(n) + gate(\"review\", options = [\"yes\", \"3\"], timeout = \"1h\", fallback = \"3\").choice\n",
	}
	b, err := lang.Read("main.star", func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := playBundle(t, b.Encode(), ``, nil)
	rests := false
	p.after(time.Minute, func() {
		row, err := p.seen.store.Get(journal.RunKey(p.id))
		p.must(err)
		s, err := journal.ReadSummary(p.id, row)
		p.must(err)
		rests = s.Status == runtime.Suspended
	})
	r := p.ends()
	if !rests {
		t.Error("the parent does not rest while its child run does")
	}
	p.wants(r, runtime.Completed, `"23"`)
}
