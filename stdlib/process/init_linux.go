package process

import (
	"encoding/json"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// initMain is the first process of a PID namespace, and as confined as the program that it starts.
// It reaps, passes SIGTERM on to all others, and ends when nobody is left; what it cannot end the
// kernel ends with it. It returns only when the program could not be executed.
//
// The program cannot read or trace it, so that what is said of its end is true.
func initMain(path string, argv, env []string, tell *json.Encoder) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	program, err := os.StartProcess(path, argv, &os.ProcAttr{Env: env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return err
	}
	pid := program.Pid
	program.Release() // reaped by hand
	tell.Encode(confinementReport{Running: true})
	if err := letGo(); err != nil {
		return err
	}
	go func() {
		for range asked {
			syscall.Kill(-1, syscall.SIGTERM)
		}
	}()
	for {
		var ws syscall.WaitStatus
		switch ended, err := syscall.Wait4(-1, &ws, 0, nil); {
		case err == syscall.EINTR:
		case err != nil: // nobody is left
			os.Exit(0)
		case ended == pid:
			tell.Encode(endOf(ws)) // as Exit and Signal of a confinementReport
		}
	}
}

// letGo closes the program's descriptors, so that their other ends see when it does.
func letGo() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}
