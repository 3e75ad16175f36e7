package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/memory"
)

// A crowd is told of by a few at a time, and nobody twice.
func TestNoticesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most, told := 0, 0, map[string]int{}
		env := environment(nil)
		env.Handlers["notify"] = &effect.Handler{Perform: func(_ context.Context, a *effect.Attempt) effect.Reply {
			mu.Lock()
			now++
			most = max(most, now)
			told[a.Key]++
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return effect.Reply{}
		}}
		e, err := runtime.Open(memory.New(), env, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true})
		script := "def main():\n    parallel([lambda: gate(\"g\", options = [\"a\"]) for _ in range(50)])\n"
		_, err = e.Start(ctx, runtime.StartRequest{Bundle: bundle(t, script, nil), Script: "crowd.star",
			Settings: effect.Settings{Notify: []effect.Notice{{Channel: "ops", On: []string{effect.NoticeGate}}}}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(told) != 50 || most != 8 {
			t.Errorf("%d were told of, %d at once, want 50 and 8", len(told), most)
		}
		for id, n := range told {
			if n != 1 {
				t.Errorf("%s was told %d times", id, n)
			}
		}
	})
}

// What nobody takes is told again after growing pauses, and in the end given up; the run has gone on meanwhile.
func TestNoticesAreToldAgain(t *testing.T) {
	for _, c := range []struct {
		fails int
		class effect.Failure
		want  string
	}{
		{3, effect.Retryable, "0s 1s 3s 7s: tries 4"},
		{1000, effect.Retryable, "0s 1s 3s 7s 15s 31s 1m3s 2m7s 4m15s 8m31s 17m3s 34m7s 1h8m15s 2h8m15s 3h8m15s 4h8m15s 5h8m15s 6h8m15s 7h8m15s 8h8m15s: tries 20 not now"},
		{1000, effect.Final, "0s: tries 1 not now"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var at []string
			ids := map[string]bool{}
			begin := time.Now()
			env := environment(nil)
			env.Handlers["notify"] = &effect.Handler{Perform: func(_ context.Context, a *effect.Attempt) effect.Reply {
				at, ids[a.Key] = append(at, time.Since(begin).Truncate(time.Second).String()), true
				if len(at) <= c.fails {
					return effect.Reply{Err: effect.Errorf(effect.KindEffect, "not now"), Class: c.class}
				}
				return effect.Reply{}
			}}
			e, err := runtime.Open(memory.New(), env, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true})
			run, err := e.Start(ctx, runtime.StartRequest{Bundle: bundle(t, "def main():\n    return 1\n", nil), Script: "notice.star",
				Settings: effect.Settings{Notify: []effect.Notice{{Channel: "ops", On: []string{effect.NoticeEnd}}, {Channel: "gates", On: []string{effect.NoticeGate}}}}})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			got := strings.Join(at, " ")
			err = e.Watch(ctx, runtime.WatchRequest{Run: run.ID}, func(ev runtime.Event) error {
				if ev.Type == "notice.sent" {
					var d struct {
						Tries int
						Error struct{ Message string }
					}
					if err := json.Unmarshal(ev.Data, &d); err != nil {
						return err
					}
					got += strings.TrimRight(fmt.Sprintf(": tries %d %s", d.Tries, d.Error.Message), " ")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want || len(ids) != 1 {
				t.Errorf("got  %s (%d ids)\nwant %s", got, len(ids), c.want)
			}
		})
	}
}
