package process

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	goruntime "runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A child needs marks that its guard must not have, set between fork and exec, where the standard
// library lets nobody in. Another execution of this program between guard and child could set them,
// and costs more than everything else that a start takes (design.md). So the fork is our own.
//
// The child of a fork in a process of many threads may call nothing but the kernel: no allocation,
// no growth of the stack, no lock. It works off a list of system calls that its parent has written.
// The runtime lets package syscall, and whoever links to these three by name, prepare it for that:

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// call is one system call of a child.
type call struct {
	number    uintptr
	arguments [6]uintptr
	result    uintptr // a result below it is a failure
	optional  bool    // one that fails is reported, and the next is made
	name      string  // for the report
}

// callFailed is what a child reports of a call: which of the list, and the kernel's error, as two
// words of this machine.
type callFailed [2]uint32

// fork makes a process that works off calls, reports those that fail to a descriptor, and ends at
// the first that is not optional. It is the whole of what runs in the child, so it calls nothing
// that may grow the stack.
//
//go:norace
//go:noinline
func fork(flags uintptr, calls []call, report uintptr, failed *callFailed) (
	pid uintptr, err syscall.Errno,
) {
	var got uintptr
	beforeFork()
	flags |= uintptr(syscall.SIGCHLD)
	pid, _, err = syscall.RawSyscall6(syscall.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if err != 0 || pid != 0 {
		afterFork()
		return pid, err
	}
	afterForkInChild()
	for i := range calls {
		c, a := &calls[i], &calls[i].arguments
		got, _, err = syscall.RawSyscall6(c.number, a[0], a[1], a[2], a[3], a[4], a[5])
		if err == 0 && got >= c.result {
			continue
		}
		failed[0], failed[1] = uint32(i), uint32(err)
		syscall.RawSyscall(syscall.SYS_WRITE, report,
			uintptr(unsafe.Pointer(failed)), unsafe.Sizeof(*failed))
		if !c.optional {
			break
		}
	}
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 126, 0, 0)
	}
}

// birth is the making of one child.
type birth struct {
	least int // the lowest number that no descriptor of the child has
	calls []call
	pins  []any      // what calls point to
	files []*os.File // the parent's, of no use when the child is born
	err   error      // the first
}

// call adds a call. An optional one that fails is a lack of the child; any other is its end.
func (b *birth) call(name string, optional bool, number uintptr, arguments ...uintptr) *call {
	c := call{number: number, optional: optional, name: name}
	copy(c.arguments[:], arguments)
	b.calls = append(b.calls, c)
	return &b.calls[len(b.calls)-1]
}

func (b *birth) note(err error) {
	if b.err == nil {
		b.err = err
	}
}

// address keeps what is at p where it is until the child is born.
func address[T any](b *birth, p *T) uintptr {
	b.pins = append(b.pins, p)
	return uintptr(unsafe.Pointer(p))
}

func (b *birth) text(s string) uintptr {
	p, err := syscall.BytePtrFromString(s)
	b.note(err)
	return address(b, p)
}

func (b *birth) texts(list []string) uintptr {
	p, err := syscall.SlicePtrFromStrings(list)
	b.note(err)
	return address(b, unsafe.SliceData(p))
}

// above is a copy of a descriptor, at a number that no descriptor of the child has.
func (b *birth) above(fd int) *os.File {
	fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, b.least)
	if err != nil {
		b.note(fmt.Errorf("copying a descriptor: %w", err))
		return nil // as a file it fails whoever uses it
	}
	f := os.NewFile(uintptr(fd), "descriptor")
	b.files = append(b.files, f)
	return f
}

// pipe is one whose reads and writes block, unlike those of os.Pipe: the child has no poller.
func (b *birth) pipe() (r, w *os.File) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		b.note(fmt.Errorf("making a pipe: %w", err))
		return nil, nil
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	return b.above(p[0]), b.above(p[1])
}

func (b *birth) close() {
	for _, f := range b.files {
		f.Close() // those that are closed already say so
	}
}

// startForked is os.StartProcess for the attributes that guards use, with further calls before the
// program is executed. It returns when it is, and says which of the optional calls have failed. A
// program that the kernel does not execute is errExec.
func startForked(path string, argv []string, attr *os.ProcAttr, further func(*birth)) (
	_ *os.Process, failed []error, err error,
) {
	if err := supported(*attr.Sys); err != nil {
		return nil, nil, err
	}
	b := &birth{least: max(len(attr.Files), 3)}
	defer b.close()
	asleep, wake := b.pipe()
	reports, report := b.pipe()
	if b.err == nil {
		b.prepare(attr, asleep, wake)
		further(b)
		for i, f := range attr.Files {
			b.call("dup3", false, unix.SYS_DUP3, b.above(int(f.Fd())).Fd(), uintptr(i), 0)
		}
		b.call("fork/exec "+path, false, unix.SYS_EXECVE,
			b.text(path), b.texts(argv), b.texts(attr.Env))
	}
	if b.err != nil {
		return nil, nil, b.err
	}
	syscall.ForkLock.Lock()
	pid, errno := fork(attr.Sys.Cloneflags, b.calls, report.Fd(), new(callFailed))
	syscall.ForkLock.Unlock()
	goruntime.KeepAlive(b)
	if errno != 0 {
		return nil, nil, fmt.Errorf("fork: %w", errno)
	}
	report.Close()
	asleep.Close()
	err = mapIDs(int(pid), attr.Sys)
	if err == nil {
		wake.Write([]byte{1}) // a child that is gone has its end read below
	}
	wake.Close()
	failed, fatal := b.read(reports)
	if err = cmp.Or(err, fatal); err != nil {
		unix.Wait4(int(pid), nil, 0, nil)
		return nil, nil, err
	}
	p, err := os.FindProcess(int(pid))
	return p, failed, err
}

// supported refuses attributes of a process that are not looked at here.
func supported(sys syscall.SysProcAttr) error {
	sys.Setsid, sys.Pdeathsig, sys.Cloneflags, sys.AmbientCaps = false, 0, 0, nil
	sys.UidMappings, sys.GidMappings, sys.GidMappingsEnableSetgroups = nil, nil, false
	if !reflect.DeepEqual(sys, syscall.SysProcAttr{}) {
		return fmt.Errorf("attributes of a process that guards do not know: %+v", sys)
	}
	return nil
}

// prepare writes down what comes first: the child waits until its parent has written its ids. Where
// the parent dies, there is nothing to be read.
func (b *birth) prepare(attr *os.ProcAttr, asleep, wake *os.File) {
	sys := attr.Sys
	b.call("close", false, unix.SYS_CLOSE, wake.Fd())
	if sys.Setsid {
		b.call("setsid", false, unix.SYS_SETSID)
	}
	if sys.Pdeathsig != 0 {
		b.call("pdeathsig", false, unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(sys.Pdeathsig))
	}
	b.call("read", false, unix.SYS_READ, asleep.Fd(), address(b, new(byte)), 1).result = 1
	if len(sys.AmbientCaps) > 0 {
		b.raise(sys.AmbientCaps)
	}
	if attr.Dir != "" {
		b.call("chdir", false, unix.SYS_CHDIR, b.text(attr.Dir))
	}
}

// raise keeps these capabilities, and no others, beyond exec. In a user namespace of its own a
// process has them all.
func (b *birth) raise(capabilities []uintptr) {
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := new([2]unix.CapUserData)
	for _, c := range capabilities {
		d := &data[c/32]
		d.Effective |= 1 << (c % 32)
		d.Permitted, d.Inheritable = d.Effective, d.Effective
	}
	b.call("capset", false, unix.SYS_CAPSET, address(b, header), address(b, data))
	for _, c := range capabilities {
		b.call("ambient", false, unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c)
	}
}

// mapIDs writes the ids of a user namespace.
func mapIDs(pid int, sys *syscall.SysProcAttr) error {
	if sys.UidMappings == nil && sys.GidMappings == nil {
		return nil
	}
	place := fmt.Sprintf("/proc/%d/", pid)
	groups := "deny"
	if sys.GidMappingsEnableSetgroups {
		groups = "allow"
	}
	return errors.Join(
		os.WriteFile(place+"uid_map", mapText(sys.UidMappings), 0),
		os.WriteFile(place+"setgroups", []byte(groups), 0),
		os.WriteFile(place+"gid_map", mapText(sys.GidMappings), 0))
}

func mapText(list []syscall.SysProcIDMap) (text []byte) {
	for _, m := range list {
		text = fmt.Appendf(text, "%d %d %d\n", m.ContainerID, m.HostID, m.Size)
	}
	return text
}

// read returns what the child says of itself, up to its exec or its end.
func (b *birth) read(reports io.Reader) (failed []error, fatal error) {
	for {
		var f callFailed
		if err := binary.Read(reports, binary.NativeEndian, &f); err != nil {
			return failed, nil
		}
		c := b.calls[f[0]]
		err := fmt.Errorf("%s: %w", c.name, syscall.Errno(f[1]))
		if c.number == unix.SYS_EXECVE {
			err = fmt.Errorf("%w: %w", errExec, err)
		}
		if !c.optional {
			return nil, err
		}
		failed = append(failed, err)
	}
}
