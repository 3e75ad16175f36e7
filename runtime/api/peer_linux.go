package api

import "syscall"

// credentials reads SO_PEERCRED: who connected, or who listens.
func credentials(fd int) (Peer, error) {
	c, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{PID: int(c.Pid), UID: int(c.Uid)}, nil
}
