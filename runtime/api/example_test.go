package api_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/engine/enginetest"
	"starling/runtime/memory"
)

// An engine served to another process, which uses it as its own.
func ExampleServer() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		panic(err)
	}
	engine, err := enginetest.Open(memory.New(), nil)
	if err != nil {
		panic(err)
	}
	s := api.NewServer(api.Options{Build: "v1"})
	go s.Serve(l)
	defer s.Close()
	s.Ready(engine)

	ctx := context.Background()
	client, err := api.Dial(ctx, filepath.Join(dir, "s"))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	fmt.Println("protocol", client.Hello().Protocol, "of", client.Hello().Build)
	run, err := client.Start(ctx, runtime.StartRequest{Script: "review.star", Bundle: enginetest.Bundle(review)})
	fmt.Println(run.Status, run.Gates[0].Gate, err)
	_, err = client.Signal(ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "review", Choice: "publish"})
	fmt.Println(runtime.AsRefusal(err).Kind, "-", err)
	// Output:
	// protocol 1 of v1
	// suspended review <nil>
	// bad_choice - gate "review": got choice "publish", want one of approve, reject
}
