package api

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"starling/runtime"
)

// Peer is the process at the other end of a connection, as the kernel knows it.
type Peer struct {
	PID int
	UID int // effective
}

// Self is this process.
func Self() Peer { return Peer{PID: os.Getpid(), UID: os.Geteuid()} }

// Identify tells which agent a process acts for: the one whose attempt it descends from, and the run of that attempt. An empty agent means that
// it descends from none. With an error the process is not trusted.
type Identify func(pid int) (agent, run string, err error)

// Authenticate says who calls. A peer of another user is refused, and so is one of which it cannot be told whether it descends from an attempt: the
// doubt must not make it the user. A nil identify knows no attempts.
func Authenticate(p Peer, identify Identify) (runtime.Caller, error) {
	if own := os.Geteuid(); p.UID != own {
		return runtime.Caller{}, runtime.Refuse(runtime.ErrDenied, "", "the owner of the store is user %d, and the caller is user %d", own, p.UID)
	}
	who := runtime.Caller{Name: "local:" + userName(p.UID), Local: true}
	if identify == nil {
		return who, nil
	}
	agent, run, err := identify(p.PID)
	if err != nil {
		return runtime.Caller{}, runtime.Refuse(runtime.ErrDenied, "", "it cannot be told whether process %d belongs to an agent: %v", p.PID, err)
	}
	if agent != "" {
		who.Agent, who.Run, who.Local = agent, run, false
	}
	return who, nil
}

// userName is the login name, or the number of a user without one.
func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// peerOf asks the kernel who is at the other end.
func peerOf(c net.Conn) (Peer, error) {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return Peer{}, errors.New("not a unix socket")
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var p Peer
	var peerErr error
	if err := raw.Control(func(fd uintptr) { p, peerErr = credentials(int(fd)) }); err != nil {
		return Peer{}, err
	}
	if peerErr != nil {
		return Peer{}, fmt.Errorf("asking the kernel for the peer of a socket: %w", peerErr)
	}
	return p, nil
}
