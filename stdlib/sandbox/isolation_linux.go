package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attributes adds to those of a process that is to be started. Where its namespaces are not
// allowed, starting it fails.
func (i Isolation) Attributes(p Policy, a *syscall.SysProcAttr) {
	if i == Bare {
		return
	}
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS |
		unix.CLONE_NEWCGROUP
	if i == Own {
		a.Cloneflags |= syscall.CLONE_NEWPID
	}
	if !p.Network {
		a.Cloneflags |= syscall.CLONE_NEWNET
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP} // until Enforce drops them
}
