package api

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerPidfd is SO_PEERPIDFD of Linux 6.5: a descriptor of the process that connected, or listens.
// As long as it says that this process is alive, nobody else has its pid.
const peerPidfd = 77

// credentials reads SO_PEERCRED and SO_PEERPIDFD: who connected, or who listens.
func credentials(fd int) (Peer, error) {
	c, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	p := Peer{PID: int(c.Pid), UID: int(c.Uid)}
	held, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, peerPidfd)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return p, nil // an older kernel
	}
	if err != nil {
		return Peer{}, fmt.Errorf("process %d cannot be held: %w", p.PID, err)
	}
	p.Alive = func() error {
		if err := unix.PidfdSendSignal(held, 0, nil, 0); err != nil {
			return fmt.Errorf("it is gone, or not to be seen from here: %w", err)
		}
		return nil
	}
	p.release = func() { unix.Close(held) }
	return p, nil
}

// Doubt is why this machine cannot tell for certain who calls, "" where it can.
func Doubt() string {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Sprintf("no socket can be made: %v", err)
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	p, err := credentials(ends[0])
	if err == nil && p.Alive == nil {
		return "this kernel does not hold the process at the other end of a socket, as Linux 6.5 " +
			"and later do; a process that has shed its parents is taken for its user"
	}
	if err == nil {
		defer p.close()
		_, err = readMarks("self")
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// marks are what a process inherits and cannot take off. stdlib/process gives more of them to all
// that it starts.
type marks struct {
	noNewPrivs, filters int
	users, pids         string // its namespaces
}

// markedBeyondSelf says what a process carries that this one does not, "" for nothing. What cannot
// be read is an error.
func markedBeyondSelf(pid int) (string, error) {
	own, err := readMarks("self")
	if err != nil {
		return "", err
	}
	other, err := readMarks(strconv.Itoa(pid))
	if err != nil {
		return "", fmt.Errorf("the marks of process %d cannot be read: %w", pid, err)
	}
	return other.beyond(own), nil
}

func (m marks) beyond(own marks) string {
	switch {
	case m.noNewPrivs > own.noNewPrivs:
		return "it has no_new_privs, which this one does not"
	case m.filters > own.filters:
		return fmt.Sprintf("it has more seccomp filters (%d) than this one (%d)",
			m.filters, own.filters)
	case m.users != own.users:
		return "it is in another user namespace"
	case m.pids != own.pids:
		return "it is in another PID namespace"
	}
	return ""
}

// readMarks reads them all. The namespaces of a process that hides its memory can be read by root
// alone.
func readMarks(pid string) (m marks, err error) {
	if m, err = readStatus(pid); err != nil {
		return marks{}, err
	}
	if m.users, err = os.Readlink("/proc/" + pid + "/ns/user"); err != nil {
		return marks{}, err
	}
	m.pids, err = os.Readlink("/proc/" + pid + "/ns/pid")
	return m, err
}

// readStatus reads those that everybody may read, of proc_pid_status(5).
func readStatus(pid string) (m marks, err error) {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return marks{}, err
	}
	wanted := map[string]*int{"NoNewPrivs:": &m.noNewPrivs, "Seccomp_filters:": &m.filters}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || wanted[fields[0]] == nil {
			continue
		}
		if *wanted[fields[0]], err = strconv.Atoi(fields[1]); err != nil {
			return marks{}, err
		}
		delete(wanted, fields[0])
	}
	if len(wanted) > 0 {
		return marks{}, errors.New("this kernel does not say which seccomp filters a process has")
	}
	return m, nil
}

// forged says why who listens is not believed, "" if it is: it was started for an attempt, and this
// process was not, or not for as many. An owner hides its memory, so that only its status can be
// read.
func (p Peer) forged() (string, error) {
	if p.Alive == nil {
		return "", nil // an older kernel
	}
	own, err := readStatus("self")
	if err != nil {
		return "", err
	}
	other, err := readStatus(strconv.Itoa(p.PID))
	if err != nil {
		return "", fmt.Errorf("the marks of process %d cannot be read: %w", p.PID, err)
	}
	if err := p.Alive(); err != nil && !errors.Is(err, unix.EPERM) { // there, and not ours to signal
		return "", err
	}
	return other.beyond(own), nil
}
