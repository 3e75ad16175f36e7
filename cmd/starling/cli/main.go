package cli

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"starling/cmd/starling/collector"
	"starling/cmd/starling/connect"
	"starling/cmd/starling/plain"
	"starling/cmd/starling/shell"
	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/badger"
	"starling/stdlib/process"
)

const (
	hangUp    = syscall.SIGHUP
	terminate = syscall.SIGTERM
)

// Main is the program: it reads os.Args, does what they say, and ends the process with the exit
// code of the verb. A guard of an agent's process is this program too (stdlib/process), so nothing
// may be done before it. further is an engine that not every program has, nil for none.
func Main(further *connect.Further) {
	start(further, func(s runtime.Store) runtime.Store { return s }, time.Now, api.Doubt)
}

// start is the program with what stores are wrapped in, a clock on the wall, and what the machine
// cannot tell about who calls.
func start(further *connect.Further, around func(runtime.Store) runtime.Store, clock func() time.Time, doubt func() string) {
	process.GuardMain(os.Args)
	heap := collector.Bound()
	badger.SpareProcessor()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, interruptions()...)
	// A file that must not grow is an error of the write, not the end of the process. Who is
	// started from here has the signal as it was, which it would not if it were ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ)
	c := &call{
		args:    os.Args[1:],
		program: shell.Program(os.Args[0]),
		stdin:   os.Stdin,
		stdout:  plain.Output{To: &plain.Sink{To: os.Stdout}},
		stderr:  plain.Output{To: os.Stderr},
		getenv:  os.LookupEnv,
		signals: signals,
		exit:    os.Exit,
		env:     sync.OnceValue(environment),
		around:  around,
		clock:   clock,
		doubt:   sync.OnceValue(doubt),
		further: further,
		heap:    heap,
	}
	c.door = c.openDoors
	os.Exit(c.run())
}
