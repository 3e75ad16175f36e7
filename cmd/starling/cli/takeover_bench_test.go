package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/postgres"
	"starling/runtime/runtimetest"
)

var manyWaiting = flag.Int("waiting", 100_000, "how many runs wait in BenchmarkTakeoverInPostgres")

// BenchmarkTakeoverInPostgres measures how long after the owner of a store in a database was killed
// another machine answers, beyond the lease, while many runs wait.
func BenchmarkTakeoverInPostgres(b *testing.B) {
	server := runtimetest.StartPostgres(b)
	address := server.Address()
	ids := waitingIn(b, address, *manyWaiting)
	project := map[string]string{"starling.toml": ""}
	b.Setenv("STARLING_STORE", address)
	var took []time.Duration
	for b.Loop() {
		for i := range 3 {
			one, two := newMachine(b, project), newMachine(b, project)
			first := one.serve("--http", fmt.Sprintf("127.0.0.1:%d", runtimetest.FreePort(b)))
			first.says("unfinished runs")
			second := two.serve("--http", fmt.Sprintf("127.0.0.1:%d", runtimetest.FreePort(b)))
			second.says("standing by: process")
			time.Sleep(time.Second) // for the owner to rest
			first.end(syscall.SIGKILL)
			began := time.Now()
			for code, said := 7, ""; code != 0; {
				if code, said = two.run("signal", ids[i]+"/g", "--choice", "on"); code != 0 && code != 7 {
					b.Fatal(said)
				}
			}
			took = append(took, time.Since(began)-postgres.DefaultLease)
			second.end(terminate)
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "s-beyond-lease")
	b.ReportMetric(took[len(took)-1].Seconds(), "s-at-most")
}

// waitingIn starts runs in a database that wait at the gate g.
func waitingIn(b *testing.B, address string, n int) []string {
	store, err := postgres.Open(context.Background(), address, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	e, err := enginetest.Open(store, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:ann", Local: true})
	request := runtime.StartRequest{Script: "main.star", Inputs: json.RawMessage(`{}`),
		Bundle: enginetest.Bundle("def main():\n    return gate(\"g\", options = [\"on\"]).choice\n")}
	ids := make([]string, n)
	var all sync.WaitGroup
	const callers = 64
	for c := range callers {
		all.Go(func() {
			for i := c; i < n; i += callers {
				r, err := e.Start(ctx, request)
				if err != nil {
					b.Error(err)
					return
				}
				ids[i] = r.ID
			}
		})
	}
	all.Wait()
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	return ids
}
