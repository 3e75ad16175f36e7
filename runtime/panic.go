package runtime

import (
	"fmt"
	"runtime/debug"
)

// EndWithPanic ends the process when the function that defers it panics, as a panic on a goroutine
// of its own would. It is for callers that do what others wait for too: one that recovers, as HTTP
// handlers do, would leave those waiting for ever.
func EndWithPanic() {
	if p := recover(); p != nil {
		stack := debug.Stack()
		go func() { panic(fmt.Sprintf("%v\n\nin what others wait for:\n%s", p, stack)) }()
		select {}
	}
}
