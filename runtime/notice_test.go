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

// However many runs end at once, only a few connections go to one channel at a time, one that is slow holds up no other, and nobody is told twice.
func TestNoticesOfManyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		told, at, most := map[string]int{}, map[string]int{}, map[string]int{}
		late := false
		begin := time.Now()
		env := environment(nil)
		env.Handlers["notify"] = &effect.Handler{Perform: func(_ context.Context, a *effect.Attempt) effect.Reply {
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
		}}
		e, err := runtime.Open(memory.New(), env, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true})
		ends := []string{effect.NoticeEnd}
		for range 50 {
			if _, err := e.Start(ctx, runtime.StartRequest{Bundle: bundle(t, "def main():\n    return 1\n", nil), Script: "notice.star",
				Settings: effect.Settings{Notify: []effect.Notice{{Channel: "slow", On: ends}, {Channel: "quick", On: ends}}}}); err != nil {
				t.Fatal(err)
			}
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
		env := environment(nil)
		env.Handlers["notify"] = &effect.Handler{Perform: func(context.Context, *effect.Attempt) effect.Reply {
			tries++
			return effect.Reply{Err: effect.Errorf(effect.KindEffect, "not now"), Class: effect.Retryable}
		}}
		store := memory.New()
		e, err := runtime.Open(store, env, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true})
		if _, err := e.Start(ctx, runtime.StartRequest{Bundle: bundle(t, "def main():\n    return 1\n", nil), Script: "notice.star",
			Settings: effect.Settings{Notify: []effect.Notice{{Channel: "ops", On: []string{effect.NoticeEnd}}}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		care, err := e.Care(ctx, runtime.CareRequest{Task: runtime.CarePrune, Before: time.Now().Add(time.Hour)})
		if err != nil || len(care.Pruned) != 1 {
			t.Fatalf("got %+v, %v", care, err)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		left := 0
		err = store.Scan([]byte("y/"), []byte("y0"), func(_, _ []byte) error { left++; return nil })
		if tries != 4 || left != 0 || err != nil {
			t.Errorf("%d tries, and %d rows are left, %v", tries, left, err)
		}
	})
}
