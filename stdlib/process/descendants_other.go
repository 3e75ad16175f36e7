//go:build unix && !linux

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const openFiles = "/dev/fd"

// becomeGuardian: there is no subreaper here. See Limits in the package comment.
func becomeGuardian() error { return nil }

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ownExecutable is the path of this program.
func ownExecutable() (string, error) { return os.Executable() }

// descendants is the process group of the child: what stays in it can be found, the rest is lost
// sight of.
//
// The group keeps its number as long as one process is in it. Between the question whether somebody
// is left and the signal the last one may go; the window is two system calls wide, and another
// process would have to be given that very number in it.
type descendants struct {
	child int
	ended bool // the child has been reaped
	asked bool // the group has had its SIGTERM
}

func (d *descendants) terminate() {
	if !d.asked {
		d.asked = true
		d.signal(syscall.SIGTERM)
	}
}

func (d *descendants) kill() { d.signal(syscall.SIGKILL) }

func (d *descendants) signal(sig syscall.Signal) {
	if !d.ended || d.alive() {
		syscall.Kill(-d.child, sig)
	}
}

func (d *descendants) alive() bool { return syscall.Kill(-d.child, 0) != syscall.ESRCH }

func (d *descendants) reap() (ended *syscall.WaitStatus, gone bool) {
	if !d.ended {
		var ws syscall.WaitStatus
		if pid, err := syscall.Wait4(d.child, &ws, syscall.WNOHANG, nil); err == nil && pid == d.child {
			ended = &ws
			d.ended = true
		}
	}
	return ended, d.ended && !d.alive()
}

func signalName(sig syscall.Signal) string { return unix.SignalName(sig) }
