package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// x32 is a bit in the numbers of calls of an ABI of the same architecture.
const x32 = 0x40000000

// otherABI refuses calls by the numbers of x32. -1 is what a debugger skips a call with.
func otherABI() program {
	var p program
	p.when(unix.BPF_JGE, x32, 0, 2)
	p.when(unix.BPF_JEQ, 0xffffffff, 1, 0)
	p.answer(answerError | uint32(unix.ENOSYS))
	return p
}

func deniedHere() []uint32 {
	return []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE, unix.SYS_QUERY_MODULE, unix.SYS_GET_KERNEL_SYMS}
}

// modeArguments says which argument of a call is the mode of a file.
func modeArguments() map[uint32]uint32 {
	return map[uint32]uint32{unix.SYS_CHMOD: 1, unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_CREAT: 1, unix.SYS_MKNOD: 1, unix.SYS_MKNODAT: 2}
}

// openArguments says which argument of a call are the flags; the mode follows.
func openArguments() map[uint32]uint32 {
	return map[uint32]uint32{unix.SYS_OPEN: 1, unix.SYS_OPENAT: 2}
}
