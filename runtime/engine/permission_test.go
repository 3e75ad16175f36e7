package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// While people decide, no time of an attempt passes; what they decided holds for whoever asks the
// same; and a question that nobody waits for any more is withdrawn.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := environment(nil)
		env.Names["agent"] = ask("agent", effect.Waiting, "name", "timeout")
		var told []string
		tell := func(what string, granted bool, err error) {
			switch {
			case err != nil:
				what += ": " + err.Error()
			case granted:
				what += ": yes"
			default:
				what += ": no"
			}
			told = append(told, what)
		}
		env.Handlers["agent"] = &effect.Handler{Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
			a.Wait(ctx, 20*time.Second)
			for _, what := range []string{"make", "rm", "make"} {
				granted, err := a.Ask(ctx, effect.Leave{Prompt: what})
				tell(what, granted, err)
			}
			hasty, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			granted, err := a.Ask(hasty, effect.Leave{Prompt: "wait for nobody"})
			tell("hasty", granted, err)
			begin := time.Now()
			<-ctx.Done()
			told = append(told, time.Since(begin).String(), context.Cause(ctx).Error())
			return effect.Reply{Err: effect.Errorf(effect.KindCancelled, "over")}
		}}
		e, err := engine.Open(memory.New(), env, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true})
		run, err := e.Start(ctx, runtime.StartRequest{Bundle: bundle(t, "def main():\n    agent(\"a\", timeout = \"1m\")\n", nil), Script: "leave.star"})
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range []string{"approve", "reject"} {
			time.Sleep(10 * time.Hour)
			synctest.Wait()
			if _, err := e.Signal(ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "!permission:a", Choice: choice}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		want := "make: yes, rm: no, make: yes, hasty: context deadline exceeded, 40s, context deadline exceeded"
		if got := strings.Join(told, ", "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		r, err := e.Get(ctx, run.ID)
		if err != nil || r.Status != runtime.Failed || len(r.Gates) != 0 {
			t.Errorf("got %s, %v, %v", r.Status, r.Gates, err)
		}
		_, err = e.Signal(ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "!permission:a", Choice: "approve"})
		if refused := (*runtime.Refusal)(nil); !errors.As(err, &refused) || refused.Kind != runtime.ErrClosed {
			t.Errorf("got %v", err)
		}
	})
}

// A question whose end comes before it is written down leaves nothing behind: the engine knows what
// is in motion, and can be closed.
func TestLeaveInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := environment(nil)
		env.Names["agent"] = ask("agent", effect.Waiting, "name")
		env.Handlers["agent"] = &effect.Handler{Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
			gone, cancel := context.WithCancel(ctx)
			cancel()
			for range 100 { // some of them come as far as the question
				if granted, err := a.Ask(gone, effect.Leave{Prompt: "make"}); granted || err == nil {
					t.Errorf("got %v, %v", granted, err)
				}
			}
			if a.Step == "b" {
				time.Sleep(time.Second)
			}
			return effect.Reply{Value: starlark.None}
		}}
		e, err := engine.Open(memory.New(), env, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true})
		for _, step := range []string{"a", "b"} {
			if _, err := e.Start(ctx, runtime.StartRequest{Bundle: bundle(t, fmt.Sprintf("def main():\n    agent(%q)\n", step), nil), Script: "leave.star"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}
