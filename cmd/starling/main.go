package main

import (
	"os"
	"os/signal"
	"syscall"

	"starling/stdlib/process"
)

const (
	hangUp    = syscall.SIGHUP
	terminate = syscall.SIGTERM
)

func main() { start(openStore) }

// start is the program with a way to open stores.
func start(open opener) {
	process.GuardMain(os.Args)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, interruptions()...)
	c := &call{
		args:    os.Args[1:],
		program: programWord(os.Args[0]),
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  plain{os.Stderr},
		getenv:  os.LookupEnv,
		signals: signals,
		exit:    os.Exit,
		env:     environment(),
		open:    open,
	}
	c.door = c.openDoors
	os.Exit(c.run())
}
