package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// otherABI is for architectures that have one.
func otherABI() program { return nil }

func deniedHere() []uint32 { return nil }

// modeArguments says which argument of a call is the mode of a file.
func modeArguments() map[uint32]uint32 {
	return map[uint32]uint32{unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_MKNODAT: 2}
}

// openArguments says which argument of a call are the flags; the mode follows.
func openArguments() map[uint32]uint32 { return map[uint32]uint32{unix.SYS_OPENAT: 2} }
