package api_test

import (
	"context"
	"testing"

	"starling/runtime"
	"starling/runtime/api"
)

// BenchmarkGet is what the socket adds to a call.
func BenchmarkGet(b *testing.B) {
	run := &runtime.Run{Schema: runtime.Schema, ID: "r", Status: runtime.Running, Inputs: []byte(`{"a":1}`), Output: []byte("null"), Gates: []runtime.Gate{}}
	c := benchClient(b, stub{get: func(context.Context, string) (*runtime.Run, error) { return run, nil }})
	for b.Loop() {
		if _, err := c.Get(context.Background(), "r"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatch is what one event costs in a stream.
func BenchmarkWatch(b *testing.B) {
	c := benchClient(b, stub{watch: func(ctx context.Context, _ runtime.WatchRequest, fn func(runtime.Event) error) error {
		for n := uint64(1); ; n++ {
			if err := fn(runtime.Event{Seq: n, Run: "r", Type: "output.print", Data: []byte(`{"text":"hello"}`)}); err != nil {
				return err
			}
		}
	}})
	seen := 0
	err := c.Watch(context.Background(), runtime.WatchRequest{Run: "r", Follow: true}, func(runtime.Event) error {
		if seen++; seen > b.N {
			return runtime.ErrStopWatch
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func benchClient(b *testing.B, e runtime.Engine) *api.Client {
	b.Helper()
	s, path := serve(b, e, api.Options{})
	b.Cleanup(func() { s.Close() })
	return dial(b, path)
}
