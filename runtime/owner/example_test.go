package owner_test

import (
	"context"
	"fmt"
	"os"

	"starling/runtime"
	"starling/runtime/owner"
)

// A command that starts a run: by itself, for nobody owns the store. A second one, had it come
// meanwhile, would have been its client.
func ExampleAcquire() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := owner.Acquire(ctx, config(dir), owner.Participant)
	if err != nil {
		panic(err)
	}
	defer s.Close()

	run, err := s.Start(ctx, source("def main():\n    print(\"hello\")\n    return 42\n"))
	if err != nil {
		panic(err)
	}
	err = s.Watch(ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(ev runtime.Event) error {
		fmt.Println(ev.Seq, ev.Type)
		return nil
	})
	fmt.Println("watched:", err)
	fmt.Println("may leave:", s.Idle(ctx, 0))
	// Output:
	// 1 run.started
	// 2 output.print
	// 3 run.completed
	// watched: <nil>
	// may leave: <nil>
}
