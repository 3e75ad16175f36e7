package api

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Doubt is why this machine cannot tell for certain who calls.
func Doubt() string {
	return "this system gives processes no marks that they cannot take off; " +
		"an agent that calls is taken for its user"
}

func markedBeyondSelf(int) (string, error) { return "", errors.ErrUnsupported }

func (p Peer) forged() (string, error) { return "", nil }

// credentials reads LOCAL_PEERCRED and LOCAL_PEERPID: who connected, or who listens.
func credentials(fd int) (Peer, error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return Peer{PID: pid, UID: int(c.Uid)}, err
}
