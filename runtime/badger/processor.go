package badger

import (
	"os"
	goruntime "runtime"
)

// SpareProcessor lets Go run on one processor more than it has found, unless the environment says
// how many (GOMAXPROCS). While a transaction is synced its thread waits in a system call, and the
// scheduler leaves it its processor until it looks around, between 20 µs and 10 ms later: on two
// processors half of what could be done meanwhile would wait too. It is for programs that own a
// store, at their start; undo takes it back. Go itself then no longer follows changes to the limits
// of a container.
func SpareProcessor() (undo func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	found := goruntime.GOMAXPROCS(0)
	goruntime.GOMAXPROCS(found + 1)
	return func() { goruntime.GOMAXPROCS(found) }
}
