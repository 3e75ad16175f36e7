package api

import "golang.org/x/sys/unix"

// credentials reads LOCAL_PEERCRED and LOCAL_PEERPID: who connected, or who listens.
func credentials(fd int) (Peer, error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return Peer{PID: pid, UID: int(c.Uid)}, err
}
