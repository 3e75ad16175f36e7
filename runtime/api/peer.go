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

	// Marked is what it carries that this process does not, in words: it was started for an
	// attempt, or stands in a sandbox. "" is nothing.
	Marked string
	// Alive tells whether the process is still there that connected, so that what was read under
	// its pid was read of it. Nil where that cannot be told: see [Doubt].
	Alive func() error

	release func() // lets go of what Alive needs
}

// Self is this process.
func Self() Peer { return Peer{PID: os.Getpid(), UID: os.Geteuid()} }

// Identify tells which agent a process acts for: the one whose attempt it descends from, and the
// run of that attempt. An empty agent means that it descends from none; with a run it works for
// that, and is no agent. With an error the process is not trusted.
type Identify func(pid int) (agent, run string, err error)

// Authenticate says who calls. A peer of another user is refused. One that works for an attempt is
// its agent, or nobody where it has none, and so are a marked one of which nobody knows for whom it
// works and one of which something cannot be told: the doubt must not make it the user. Nobody has
// no rights but those of a token that it brings: see [Nobody]. A nil identify knows no attempts.
func Authenticate(p Peer, identify Identify) (runtime.Caller, error) {
	if own := os.Geteuid(); p.UID != own {
		return runtime.Caller{}, runtime.Refusef(runtime.ErrDenied, "the owner of the store is user %d, and the caller is user %d", own, p.UID)
	}
	who := runtime.Caller{Name: "local:" + userName(p.UID), Local: true}
	agent, run, err := "", "", error(nil)
	if identify != nil {
		agent, run, err = identify(p.PID)
	}
	if err == nil && p.Alive != nil {
		err = p.Alive() // last: its pid was another's, if not until now
	}
	switch {
	case err != nil:
		return nobody("", "it cannot be told whether process %d belongs to an agent: %v",
			p.PID, err)
	case agent != "":
		who.Agent, who.Run, who.Local = agent, run, false
	case run != "":
		return nobody("what a script runs has no rights; give it a token: starling token add",
			"process %d was started by the run %s, and not for an agent", p.PID, run)
	case p.Marked != "":
		return nobody("in a container or a sandbox of yours bring a token: starling token add",
			"process %d is not taken for %s: %s, as what agents start has",
			p.PID, who.Name, p.Marked)
	}
	return who, nil
}

// Nobody is the refusal of a process that has no rights of its own. It may bring a token.
type Nobody struct{ refusal *runtime.Refusal }

// Error is that of the refusal.
func (n *Nobody) Error() string { return n.refusal.Error() }

// Unwrap returns the refusal.
func (n *Nobody) Unwrap() error { return n.refusal }

func nobody(help, format string, arguments ...any) (runtime.Caller, error) {
	return runtime.Caller{}, &Nobody{runtime.Refuse(runtime.ErrDenied, help, format, arguments...)}
}

// userName is the login name, or the number of a user without one.
func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// peerOf asks the kernel who is at the other end, and reads its marks.
func peerOf(c net.Conn) (Peer, error) {
	p, err := endOf(c)
	if err == nil && p.Alive != nil {
		p.Marked, err = markedBeyondSelf(p.PID)
	}
	if err != nil {
		p.close()
		return Peer{}, err
	}
	return p, nil
}

func (p Peer) close() {
	if p.release != nil {
		p.release()
	}
}

// endOf asks the kernel who is at the other end.
func endOf(c net.Conn) (Peer, error) {
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
