package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter of system calls, in the kernel's classic BPF
// (Documentation/userspace-api/seccomp_filter.rst). It stands behind the namespaces: most of what
// it refuses would fail for want of rights, or reaches code of the kernel that no build, test or
// agent needs. Refused is EPERM; what programs try first and do without is ENOSYS or EAFNOSUPPORT,
// by which they know. Calls of another architecture end the process: the numbers below would mean
// others.

// Offsets of struct seccomp_data.
const (
	dataNumber       = 0
	dataArchitecture = 4
	dataArguments    = 16 // of 8 bytes each, the lower half first
)

// What a filter answers; the lower 16 bits are an errno.
const (
	answerAllow = unix.SECCOMP_RET_ALLOW
	answerEnd   = unix.SECCOMP_RET_KILL_PROCESS
	answerError = unix.SECCOMP_RET_ERRNO
)

// namespaceFlags are those of clone, unshare and setns.
const namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// denied are calls that are refused whatever their arguments.
func denied() []uint32 {
	return append([]uint32{
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS,
		unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
		unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE_ATTR,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NFSSERVCTL,
	}, deniedHere()...)
}

// missing are calls that this kernel seems not to have. What matters of clone3 and openat2 a filter
// cannot see: it is in memory.
func missing() []uint32 {
	return []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}
}

// filter is the program. alone tells that no process outside can be seen; otherwise what is said of
// a process by its number is refused but of the caller itself.
func filter(alone bool) []unix.SockFilter {
	p := program{}
	p.load(dataArchitecture)
	p.when(unix.BPF_JEQ, architecture, 1, 0)
	p.answer(answerEnd)
	p.load(dataNumber)
	p = append(p, otherABI()...)
	for _, call := range missing() {
		p.refuse(call, unix.ENOSYS)
	}
	for _, call := range denied() {
		p.refuse(call, unix.EPERM)
	}
	p.argument(unix.SYS_CLONE, 0, func(p *program) { p.refuseBits(namespaceFlags, unix.EPERM) })
	p.argument(unix.SYS_UNSHARE, 0, func(p *program) { p.refuseBits(namespaceFlags|unix.CLONE_NEWTIME, unix.EPERM) })
	p.argument(unix.SYS_IOCTL, 1, func(p *program) {
		p.refuse(unix.TIOCSTI, unix.EPERM)   // types into a terminal
		p.refuse(tiocLinux, unix.EPERM)      // pastes into a console
		p.refuse(tiocSetConsole, unix.EPERM) // takes the machine's messages
	})
	p.sockets()
	p.modes()
	if !alone {
		p.argument(unix.SYS_PRLIMIT64, 0, func(p *program) { p.onlyZero(unix.EPERM) })
		p.argument(unix.SYS_SCHED_SETAFFINITY, 0, func(p *program) { p.onlyZero(unix.EPERM) })
		p.argument(unix.SYS_PTRACE, 0, func(p *program) { p.onlyZero(unix.EPERM) }) // PTRACE_TRACEME
		p.refuse(unix.SYS_PROCESS_VM_READV, unix.EPERM)
		p.refuse(unix.SYS_PROCESS_VM_WRITEV, unix.EPERM)
		p.refuse(unix.SYS_PIDFD_GETFD, unix.EPERM)
	}
	p.answer(answerAllow)
	return p
}

// What x/sys has no names for: include/uapi/linux/tiocl.h, asm-generic/ioctls.h.
const (
	tiocLinux      = 0x541C
	tiocSetConsole = 0x541D
)

// program is one that is being written. Of the number of the call each row knows, since A holds it
// whenever a row begins.
type program []unix.SockFilter

func (p *program) emit(code uint16, k uint32, jt, jf uint8) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (p *program) load(offset uint32) { p.emit(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (p *program) answer(a uint32)    { p.emit(unix.BPF_RET|unix.BPF_K, a, 0, 0) }

// when jumps by a comparison of A with k.
func (p *program) when(test uint16, k uint32, yes, no uint8) {
	p.emit(unix.BPF_JMP|test|unix.BPF_K, k, yes, no)
}

// refuse answers with an error where A is k.
func (p *program) refuse(k uint32, e unix.Errno) {
	p.when(unix.BPF_JEQ, k, 0, 1)
	p.answer(answerError | uint32(e))
}

// refuseBits answers with an error where A has one of the bits.
func (p *program) refuseBits(bits uint32, e unix.Errno) {
	p.when(unix.BPF_JSET, bits, 0, 1)
	p.answer(answerError | uint32(e))
}

// onlyZero answers with an error where A is not 0.
func (p *program) onlyZero(e unix.Errno) {
	p.when(unix.BPF_JEQ, 0, 1, 0)
	p.answer(answerError | uint32(e))
}

// argument judges a call by the lower half of one of its arguments, which A holds in body; what
// body does not answer is allowed.
func (p *program) argument(call uint32, n uint32, body func(*program)) {
	var inner program
	inner.load(dataArguments + 8*n)
	body(&inner)
	inner.answer(answerAllow)
	p.when(unix.BPF_JEQ, call, 0, uint8(len(inner)))
	*p = append(*p, inner...)
}

// sockets allows the families that programs talk to each other and to the network by. Of netlink
// there are only routes, without which a program does not know its own addresses.
func (p *program) sockets() {
	p.argument(unix.SYS_SOCKET, 0, func(p *program) {
		p.when(unix.BPF_JEQ, unix.AF_UNIX, 5, 0)
		p.when(unix.BPF_JEQ, unix.AF_INET, 4, 0)
		p.when(unix.BPF_JEQ, unix.AF_INET6, 3, 0)
		p.when(unix.BPF_JEQ, unix.AF_NETLINK, 0, 3)
		p.load(dataArguments + 8*2) // the protocol
		p.when(unix.BPF_JEQ, unix.NETLINK_ROUTE, 0, 1)
		p.answer(answerAllow)
		p.answer(answerError | uint32(unix.EAFNOSUPPORT))
	})
}

// modes refuses to make programs that lend the rights of their owner, who is the owner of the
// store: in the workspace they would be there for every user of the machine.
func (p *program) modes() {
	for call, mode := range modeArguments() {
		p.argument(call, mode, func(p *program) { p.refuseBits(unix.S_ISUID, unix.EPERM) })
	}
	for call, flags := range openArguments() {
		p.argument(call, flags, func(p *program) {
			p.when(unix.BPF_JSET, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 1, 0)
			p.answer(answerAllow) // the mode is of no meaning, and may be anything
			p.load(dataArguments + 8*(flags+1))
			p.refuseBits(unix.S_ISUID, unix.EPERM)
		})
	}
}

// enforceFilter gives a filter to every thread, for good, with no_new_privs.
func enforceFilter(f []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	p := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	// Before Linux 5.16 a filter slows every program down unless it says that it trusts what it
	// filters with the processor's guesses, which is what a process without a filter has.
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	switch {
	case errno != 0:
		return fmt.Errorf("the filter of system calls: %w", errno)
	case thread != 0:
		return fmt.Errorf("the filter of system calls: thread %d has another one", thread)
	}
	return nil
}
