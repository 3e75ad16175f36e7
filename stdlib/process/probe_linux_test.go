package process_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// scene is what lies around a sandbox: what its probes try to get at. The test makes it, the probes
// have it as JSON.
type scene struct {
	Work    string // the workspace, a repository with a project file and a store in it
	Outside string // a folder beside it, with the file f and a FIFO
	Shown   string // a folder that may be read, with a FIFO and a socket in it
	Home    string // of the user
	Victim  int    // a process of the user
	Path    string // a socket
	Name    string // an abstract socket
	Port    int    // of TCP, on the loopback device
	Memory  int    // the key of a System V segment
	Queue   string // of POSIX messages
	PTY     string // somebody's terminal
	Shm     string // a file in /dev/shm

}

func (s scene) work(name string) string    { return filepath.Join(s.Work, name) }
func (s scene) outside(name string) string { return filepath.Join(s.Outside, name) }

// probe is one thing that a confined program tries. own is what must come in the whole sandbox,
// bare in what is left without namespaces: "ok", names of errors, "refused" for any of them, or
// other words that try answers with. "" makes no claim, and the probe is left out where it would do
// harm.
type probe struct {
	name      string
	own, bare string
	try       func(s scene) error
}

// said is an answer of a probe that is no error of the system.
type said string

func (s said) Error() string { return string(s) }

func answered(format string, args ...any) error { return said(fmt.Sprintf(format, args...)) }

// came says what a probe came to.
func came(err error) string {
	var errno syscall.Errno
	var word said
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &word):
		return string(word)
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func text(s string) uintptr {
	p, _ := syscall.BytePtrFromString(s)
	return uintptr(unsafe.Pointer(p))
}

func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func read(path string) error {
	content, err := os.ReadFile(path)
	if err == nil && len(content) == 0 {
		return said("empty")
	}
	return err
}

func list(path string) error {
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) == 0 {
		return said("empty")
	}
	return err
}

func write(path string) error { return os.WriteFile(path, []byte("x"), 0o644) }

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func connect(family, kind int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}

// probes is the table.
func probes() []probe {
	var all []probe
	for _, part := range [][]probe{probesOfFiles(), probesOfSystem(), probesOfDevices(), probesOfProc(), probesOfProcesses(), probesOfMemory(), probesOfSockets(),
		probesOfNamespaces(), probesOfKernel(), probesOfRights(), probesOfWorkspace(), probesOfRepository()} {
		all = append(all, part...)
	}
	return all
}

func probesOfFiles() []probe {
	return []probe{
		{"read a file outside", "ENOENT", "EACCES", func(s scene) error { return read(s.outside("f")) }},
		{"write to a file outside", "ENOENT", "EACCES", func(s scene) error { return open(s.outside("f"), unix.O_WRONLY) }},
		{"truncate a file outside", "ENOENT", "EACCES", func(s scene) error { return os.Truncate(s.outside("f"), 0) }},
		{"make a file outside", "ENOENT", "EACCES", func(s scene) error { return write(s.outside("new")) }},
		{"change the rights of a file outside", "ENOENT", "", func(s scene) error { return os.Chmod(s.outside("f"), 0o777) }},
		{"change the owner of a file outside", "ENOENT", "", func(s scene) error { return os.Chown(s.outside("f"), os.Getuid(), os.Getgid()) }},
		{"change the times of a file outside", "ENOENT", "", func(s scene) error { return os.Chtimes(s.outside("f"), time.Unix(1, 0), time.Unix(1, 0)) }},
		{"set an attribute of a file outside", "ENOENT", "", func(s scene) error { return unix.Setxattr(s.outside("f"), "user.probe", []byte("x"), 0) }},
		{"remove a file outside", "ENOENT", "EACCES", func(s scene) error { return unix.Unlink(s.outside("f")) }},
		{"rename a file outside", "ENOENT", "EACCES", func(s scene) error { return unix.Rename(s.outside("f"), s.outside("g")) }},
		{"move a file outside into the workspace", "ENOENT", "EACCES|EXDEV", func(s scene) error { return unix.Rename(s.outside("f"), s.work("g")) }},
		{"move a file of the workspace outside", "ENOENT", "EACCES|EXDEV", func(s scene) error { return unix.Rename(s.work("f"), s.outside("g")) }},
		{"link a file outside into the workspace", "ENOENT", "EACCES|EXDEV|EPERM", func(s scene) error { return unix.Link(s.outside("f"), s.work("linked")) }},
		{"read through a symbolic link", "ENOENT", "EACCES", func(s scene) error {
			if err := os.Symlink(s.outside("f"), s.work("symlink")); err != nil {
				return err
			}
			return read(s.work("symlink"))
		}},
		{"read through ..", "ENOENT", "EACCES", func(s scene) error { return read("../outside/f") }},
		{"read through /proc/self/cwd", "ENOENT", "EACCES", func(s scene) error { return read("/proc/self/cwd/../outside/f") }},
		{"read through /proc/self/root", "ENOENT", "EACCES", func(s scene) error { return read("/proc/self/root" + s.outside("f")) }},
		{"list a folder outside", "ENOENT", "EACCES", func(s scene) error { return list(s.Outside) }},
		{"make a folder outside", "ENOENT", "EACCES", func(s scene) error { return unix.Mkdir(s.outside("d"), 0o755) }},
		{"make a FIFO outside", "ENOENT", "EACCES", func(s scene) error { return unix.Mkfifo(s.outside("p"), 0o600) }},
		{"write to a FIFO outside", "ENOENT", "EACCES", func(s scene) error { return open(s.outside("fifo"), unix.O_WRONLY|unix.O_NONBLOCK) }},
		{"write to a FIFO that can be seen", "EACCES", "EACCES", func(s scene) error { return open(filepath.Join(s.Shown, "fifo"), unix.O_WRONLY|unix.O_NONBLOCK) }},
		{"execute a program outside", "ENOENT", "EACCES", func(s scene) error { return syscall.Exec(s.outside("program"), []string{"program"}, nil) }},
		{"look at a file outside", "ENOENT", "", func(s scene) error { _, err := os.Stat(s.outside("f")); return err }},
		{"watch a folder outside", "ENOENT", "", func(s scene) error {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.InotifyAddWatch(fd, s.Outside, unix.IN_ALL_EVENTS)
			return err
		}},
		{"read the user's keys", "ENOENT", "EACCES|ENOENT", func(s scene) error { return list(filepath.Join(s.Home, ".ssh")) }},
		{"find what is in the user's home", "ENOENT", "EACCES", func(s scene) error { return read(filepath.Join(s.Home, "probe")) }},
		{"change what can only be read", "EROFS", "EACCES", func(s scene) error { return write(filepath.Join(s.Shown, "f")) }},
		{"change the rights of what can only be read", "EROFS", "", func(s scene) error { return os.Chmod(filepath.Join(s.Shown, "f"), 0o777) }},
	}
}

func probesOfSystem() []probe {
	return []probe{
		{"make a file in /etc", "EROFS", "EACCES", func(scene) error { return write("/etc/starling-probe") }},
		{"write to /etc/passwd", "EROFS|EACCES", "EACCES", func(scene) error { return open("/etc/passwd", unix.O_WRONLY) }},
		{"change the rights of /etc/passwd", "EROFS", "", func(scene) error { return os.Chmod("/etc/passwd", 0o644) }},
		{"change the owner of /etc/passwd", "EROFS", "", func(scene) error { return os.Chown("/etc/passwd", -1, os.Getgid()) }},
		{"change the times of /etc", "EROFS", "", func(scene) error { return os.Chtimes("/etc", time.Unix(1, 0), time.Unix(1, 0)) }},
		{"set an attribute of /usr", "EROFS", "", func(scene) error { return unix.Setxattr("/usr", "user.probe", []byte("x"), 0) }},
		{"remove /etc/hosts", "EROFS", "EACCES|EBUSY", func(scene) error { return unix.Unlink("/etc/hosts") }},
		{"rename /etc/hosts", "EROFS", "EACCES|EBUSY", func(scene) error { return unix.Rename("/etc/hosts", "/etc/hosts2") }},
		{"make a folder in /usr", "EROFS", "EACCES", func(scene) error { return unix.Mkdir("/usr/starling-probe", 0o755) }},
		{"make a folder in the root", "EROFS", "EACCES", func(scene) error { return unix.Mkdir("/starling-probe", 0o755) }},
		{"remove a folder of the root", "EROFS|EBUSY|ENOTEMPTY", "EACCES|EBUSY|ENOTEMPTY", func(scene) error { return unix.Rmdir("/etc") }},
		{"link /etc/passwd into the workspace", "EXDEV", "EACCES|EXDEV|EPERM", func(s scene) error { return unix.Link("/etc/passwd", s.work("passwd")) }},
		{"read the users' passwords", "empty|EACCES|ENOENT", "", func(scene) error { return read("/etc/shadow") }},
		{"list the machine's SSH keys", "empty|ENOENT", "", func(scene) error { return list("/etc/ssh") }},
		{"list /var/lib", "ENOENT", "EACCES", func(scene) error { return list("/var/lib") }},
		{"list /run", "empty", "EACCES", func(scene) error { return list("/run") }},
		{"list /sys/fs/cgroup", "ENOENT", "EACCES", func(scene) error { return list("/sys/fs/cgroup") }},
		{"list /sys/kernel", "ENOENT", "EACCES", func(scene) error { return list("/sys/kernel") }},
		{"switch a processor off", "EROFS|ENOENT|EACCES", "EACCES|ENOENT", func(scene) error { return open("/sys/devices/system/cpu/cpu1/online", unix.O_WRONLY) }},
		{"read /etc/passwd", "ok", "ok", func(scene) error { return read("/etc/passwd") }},
		{"run a program of the system", "ok", "ok", func(scene) error { return exec.Command("/bin/sh", "-c", "true").Run() }},
	}
}

func probesOfDevices() []probe {
	return []probe{
		{"change the rights of /dev/null", "EROFS", "", func(scene) error { return os.Chmod("/dev/null", 0o666) }},
		{"change the owner of /dev/null", "EROFS", "", func(scene) error { return os.Chown("/dev/null", os.Getuid(), -1) }},
		{"change the times of /dev/zero", "EROFS", "", func(scene) error { return os.Chtimes("/dev/zero", time.Unix(1, 0), time.Unix(1, 0)) }},
		{"remove /dev/null", "EBUSY|EROFS", "EACCES|EPERM", func(scene) error { return unix.Unlink("/dev/null") }},
		{"make a device in /dev", "EPERM|EROFS", "EACCES|EPERM", func(scene) error { return unix.Mknod("/dev/probe", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) }},
		{"make a character device", "EPERM", "EPERM|EACCES", func(s scene) error { return unix.Mknod(s.work("c"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 1))) }},
		{"make a block device", "EPERM", "EPERM|EACCES", func(s scene) error { return unix.Mknod(s.work("b"), unix.S_IFBLK|0o666, int(unix.Mkdev(8, 0))) }},
		{"make a file in /dev", "EROFS", "EACCES", func(scene) error { return write("/dev/probe") }},
		{"read the kernel's messages", "ENOENT", "EACCES|EPERM|ENOENT", func(scene) error { return open("/dev/kmsg", unix.O_RDONLY) }},
		{"read the machine's memory", "ENOENT", "EACCES|EPERM|ENOENT", func(scene) error { return open("/dev/mem", unix.O_RDONLY) }},
		{"read a disk", "ENOENT", "EACCES|ENOENT", func(scene) error {
			return errors.Join(open("/dev/sda", unix.O_RDONLY), open("/dev/vda", unix.O_RDONLY))
		}},
		{"read a console", "ENOENT", "EACCES|ENOENT", func(scene) error { return open("/dev/vcs", unix.O_RDONLY) }},
		{"open a serial line", "ENOENT", "EACCES|ENOENT", func(scene) error { return open("/dev/ttyS0", unix.O_RDONLY|unix.O_NONBLOCK) }},
		{"open /dev/fuse", "ENOENT", "EACCES|ENOENT", func(scene) error { return open("/dev/fuse", unix.O_RDWR) }},
		{"open /dev/kvm", "ENOENT", "EACCES|ENOENT", func(scene) error { return open("/dev/kvm", unix.O_RDWR) }},
		{"open somebody's terminal", "ENOENT", "EACCES", func(s scene) error { return open(s.PTY, unix.O_RDWR|unix.O_NOCTTY) }},
		{"count the terminals", "1", "", func(scene) error {
			entries, err := os.ReadDir("/dev/pts")
			return errors.Join(err, answered("%d", len(entries)))
		}},
		{"read somebody's shared memory", "ENOENT", "", func(s scene) error { return read(s.Shm) }},
		{"list the shared memory", "empty", "", func(scene) error { return list("/dev/shm") }},
		{"open the terminal of its session", "ENXIO", "ENXIO", func(scene) error { return open("/dev/tty", unix.O_RDWR) }},
		{"have a terminal", "ok", "", func(scene) error {
			p, t, err := pty.Open()
			if err == nil {
				err = errors.Join(p.Close(), t.Close())
			}
			return err
		}},
		{"type into its terminal", "EPERM", "", func(scene) error {
			p, t, err := pty.Open()
			if err != nil {
				return err
			}
			defer p.Close()
			defer t.Close()
			b := byte('x')
			return call(unix.SYS_IOCTL, t.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&b)))
		}},
		{"take the machine's messages", "EPERM", "EPERM", func(scene) error { return call(unix.SYS_IOCTL, 0, 0x541D, 0) }},
		{"write to /dev/null", "ok", "ok", func(scene) error { return write("/dev/null") }},
		{"read random bytes", "ok", "ok", func(scene) error { return open("/dev/urandom", unix.O_RDONLY) }},
		{"have shared memory", "ok", "", func(scene) error { return write("/dev/shm/probe") }},
	}
}

func probesOfProc() []probe {
	var all []probe
	for path, want := range map[string]string{
		"/proc/sys/kernel/core_pattern": "EROFS", "/proc/sys/kernel/hostname": "EROFS", "/proc/sys/vm/drop_caches": "EROFS", "/proc/sys/vm/overcommit_memory": "EROFS",
		"/proc/sys/kernel/modprobe": "EROFS|ENOENT", "/proc/sys/net/ipv4/ip_forward": "EROFS|ENOENT", "/proc/sys/fs/binfmt_misc/register": "EROFS|ENOENT|EACCES",
		"/proc/sys/user/max_user_namespaces": "EROFS", "/proc/sysrq-trigger": "EROFS|ENOENT", "/proc/irq/default_smp_affinity": "EROFS|ENOENT|EACCES",
	} {
		all = append(all, probe{"write to " + path, want + "|EACCES", "EACCES|ENOENT|EPERM", func(scene) error { return open(path, unix.O_WRONLY) }})
	}
	for _, name := range []string{"kcore", "kmsg", "kallsyms", "keys", "timer_list", "config.gz", "key-users"} {
		all = append(all, probe{"read /proc/" + name, "empty|ENOENT", "", func(scene) error {
			f, err := os.Open("/proc/" + name)
			if err != nil {
				return err
			}
			defer f.Close()
			if n, _ := f.Read(make([]byte, 16)); n == 0 {
				return said("empty")
			}
			return nil
		}})
	}
	return append(all, []probe{
		{"read the environment of the first process", "refused", "", func(scene) error { return read("/proc/1/environ") }},
		{"read the arguments of the first process", "starling __confine", "", func(scene) error {
			content, err := os.ReadFile("/proc/1/cmdline")
			return errors.Join(err, said(strings.TrimRight(strings.ReplaceAll(string(content), "\x00", " "), " ")))
		}},
		{"read the memory of the first process", "EACCES|EPERM", "", func(scene) error { return open("/proc/1/mem", unix.O_RDONLY) }},
		{"follow the files of the first process", "EACCES|EPERM", "", func(scene) error { _, err := os.Readlink("/proc/1/fd/3"); return err }},
		{"enter the root of the first process", "EACCES|EPERM", "", func(s scene) error { return list("/proc/1/root") }},
		{"enter the folder of the first process", "EACCES|EPERM", "", func(s scene) error { return list("/proc/1/cwd") }},
		{"see a process outside", "ENOENT", "", func(s scene) error { return read(fmt.Sprintf("/proc/%d/status", s.Victim)) }},
		{"read the environment of a process outside", "ENOENT", "EACCES|EPERM", func(s scene) error { return read(fmt.Sprintf("/proc/%d/environ", s.Victim)) }},
		{"read outside through a process outside", "ENOENT", "EACCES|EPERM", func(s scene) error { return list(fmt.Sprintf("/proc/%d/root/", s.Victim)) }},
		{"count the processes", "2", "", func(scene) error {
			all, err := filepath.Glob("/proc/[0-9]*")
			return errors.Join(err, answered("%d", len(all)))
		}},
		{"change the rights of /proc/sys", "EROFS", "", func(scene) error { return os.Chmod("/proc/sys/kernel", 0o777) }},
		{"map further users", "refused", "refused", func(scene) error { return write("/proc/self/uid_map") }},
		{"allow itself groups", "refused", "refused", func(scene) error { return os.WriteFile("/proc/self/setgroups", []byte("allow"), 0) }},
		{"list /proc/acpi", "empty|ENOENT", "", func(scene) error { return list("/proc/acpi") }},
		{"find open files of others", "ok", "ok", func(s scene) error {
			entries, err := os.ReadDir("/proc/self/fd")
			for _, e := range entries {
				target, _ := os.Readlink("/proc/self/fd/" + e.Name())
				if strings.HasPrefix(target, s.Outside) || strings.Contains(target, "/store") {
					return said(target)
				}
			}
			return err
		}},
		{"read the machine's memory figures", "ok", "ok", func(scene) error { return read("/proc/meminfo") }},
		{"read its own status", "ok", "ok", func(scene) error { return read("/proc/self/status") }},
	}...)
}

func probesOfProcesses() []probe {
	local, remote := make([]byte, 8), unix.RemoteIovec{Base: 0x1000, Len: 8}
	vector := func() []unix.Iovec { v := unix.Iovec{Base: &local[0]}; v.SetLen(8); return []unix.Iovec{v} }
	return []probe{
		{"signal a process outside", "ESRCH", "EPERM", func(s scene) error { return unix.Kill(s.Victim, 0) }},
		{"kill a process outside", "ESRCH", "EPERM", func(s scene) error { return unix.Kill(s.Victim, unix.SIGKILL) }},
		{"kill a thread outside", "ESRCH", "EPERM", func(s scene) error { return unix.Tgkill(s.Victim, s.Victim, unix.SIGKILL) }},
		{"open a process outside", "ESRCH|EINVAL", "", func(s scene) error { _, err := unix.PidfdOpen(s.Victim, 0); return err }},
		{"limit a process outside", "ESRCH", "EPERM", func(s scene) error { return unix.Prlimit(s.Victim, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{}) }},
		{"slow a process outside down", "ESRCH", "", func(s scene) error { return unix.Setpriority(unix.PRIO_PROCESS, s.Victim, 19) }},
		{"slow all processes of its user down", "ok", "", func(s scene) error { return unix.Setpriority(unix.PRIO_USER, 0, 19) }},
		{"move a process outside to a processor", "ESRCH", "EPERM", func(s scene) error { set := unix.CPUSet{}; set.Set(0); return unix.SchedSetaffinity(s.Victim, &set) }},
		{"trace a process outside", "ESRCH", "EPERM", func(s scene) error { return unix.PtraceSeize(s.Victim) }},
		{"read the memory of a process outside", "ESRCH", "EPERM", func(s scene) error {
			_, err := unix.ProcessVMReadv(s.Victim, vector(), []unix.RemoteIovec{remote}, 0)
			return err
		}},
		{"learn the session of a process outside", "ESRCH", "", func(s scene) error { _, err := unix.Getsid(s.Victim); return err }},
		{"trace the first process", "EPERM", "", func(scene) error { return unix.PtraceSeize(1) }},
		{"read the memory of the first process by a call", "EPERM", "", func(scene) error {
			_, err := unix.ProcessVMReadv(1, vector(), []unix.RemoteIovec{remote}, 0)
			return err
		}},
		// It ends with its processes: who limits it ends himself.
		{"limit the first process", "ok", "", func(scene) error { return unix.Prlimit(1, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil) }},
		{"see its parent", "1", "", func(scene) error { return answered("%d", os.Getppid()) }},
	}
}

func probesOfMemory() []probe {
	return []probe{
		{"attach the machine's shared memory", "ENOENT", "", func(s scene) error { _, err := unix.SysvShmGet(s.Memory, 16, 0); return err }},
		{"find the machine's semaphores", "ENOENT", "", func(s scene) error { return call(unix.SYS_SEMGET, uintptr(s.Memory), 1, 0) }},
		{"find the machine's messages", "ENOENT", "", func(s scene) error { return call(unix.SYS_MSGGET, uintptr(s.Memory), 0) }},
		{"open the machine's message queue", "ENOENT", "", func(s scene) error { return call(unix.SYS_MQ_OPEN, text(s.Queue), unix.O_RDWR, 0, 0) }},
		{"have shared memory of its own", "ok", "", func(scene) error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 16, unix.IPC_CREAT|0o600)
			if err == nil {
				_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			}
			return err
		}},
	}
}

func probesOfSockets() []probe {
	all := []probe{
		{"connect to a socket with a path", "ENOENT", "", func(s scene) error { return connect(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: s.Path}) }},
		// What Read names is shown with what is in it: the package comment says so.
		{"connect to a socket that can be seen", "ok", "", func(s scene) error {
			return connect(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: filepath.Join(s.Shown, "socket")})
		}},
		{"connect to an abstract socket", "ECONNREFUSED|EPERM", "EPERM", func(s scene) error {
			return connect(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: "@" + s.Name})
		}},
		{"connect by TCP", "ECONNREFUSED", "EACCES", func(s scene) error {
			return connect(unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Port: s.Port, Addr: [4]byte{127, 0, 0, 1}})
		}},
		{"connect to another machine", "ENETUNREACH", "EACCES", func(scene) error {
			return connect(unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Port: 80, Addr: [4]byte{192, 0, 2, 1}})
		}},
		{"send to another machine", "ENETUNREACH", "", func(scene) error {
			return connect(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{192, 0, 2, 1}})
		}},
		{"add a route", "EPERM", "EPERM", func(scene) error { return addRoute() }},
		{"ask for its routes", "ok", "ok", func(scene) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) }},
		{"count the network's devices", "1", "", func(scene) error { all, err := net.Interfaces(); return errors.Join(err, answered("%d", len(all))) }},
		{"talk to itself by TCP", "ok", "", func(scene) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer l.Close()
			c, err := net.Dial("tcp", l.Addr().String())
			if err == nil {
				c.Close()
			}
			return err
		}},
		{"talk to itself by a socket with a path", "ok", "ok", func(s scene) error {
			l, err := net.Listen("unix", "own.sock")
			if err != nil {
				return err
			}
			defer l.Close()
			c, err := net.Dial("unix", "own.sock")
			if err == nil {
				c.Close()
			}
			return err
		}},
	}
	for name, row := range map[string]struct{ family, kind, protocol int }{
		"VSOCK": {unix.AF_VSOCK, unix.SOCK_STREAM, 0}, "packets": {unix.AF_PACKET, unix.SOCK_RAW, 0}, "the kernel's ciphers": {unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		"Bluetooth": {unix.AF_BLUETOOTH, unix.SOCK_RAW, 1}, "keys of IPsec": {unix.AF_KEY, unix.SOCK_RAW, 2}, "XDP": {unix.AF_XDP, unix.SOCK_RAW, 0}, "TIPC": {unix.AF_TIPC, unix.SOCK_STREAM, 0},
		"netlink's events of devices": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT}, "netlink's audit": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT},
		"netlink's firewall": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, "generic netlink": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC},
		"netlink's sockets": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG},
	} {
		all = append(all, probe{"have a socket for " + name, "EAFNOSUPPORT", "EAFNOSUPPORT", func(scene) error { return socket(row.family, row.kind, row.protocol) }})
	}
	return append(all, probe{"have a raw socket", "EPERM", "EPERM", func(scene) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }})
}

// addRoute asks for a route through the loopback device, which changes nothing where it is granted.
func addRoute() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	m := make([]byte, 28)
	binary.NativeEndian.PutUint32(m[0:], uint32(len(m)))
	binary.NativeEndian.PutUint16(m[4:], unix.RTM_NEWROUTE)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	m[16] = unix.AF_INET
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	reply := make([]byte, 256)
	n, _, err := unix.Recvfrom(fd, reply, 0)
	if err != nil || n < 20 {
		return errors.Join(err, said("no answer"))
	}
	if code := int32(binary.NativeEndian.Uint32(reply[16:])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}

func probesOfNamespaces() []probe {
	var all []probe
	for name, flag := range map[string]int{"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "PID": unix.CLONE_NEWPID, "network": unix.CLONE_NEWNET, "IPC": unix.CLONE_NEWIPC,
		"UTS": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME} {
		all = append(all, probe{"unshare the namespace " + name, "EPERM", "EPERM", func(scene) error { return unix.Unshare(flag) }})
	}
	inSpace := func(flags uintptr) error {
		return (&exec.Cmd{Path: "/bin/true", SysProcAttr: &syscall.SysProcAttr{Cloneflags: flags}}).Run()
	}
	return append(all, []probe{
		{"start a process in a user namespace", "EPERM", "EPERM", func(scene) error { return inSpace(unix.CLONE_NEWUSER) }},
		{"start a process in user and mount namespaces", "EPERM", "EPERM", func(scene) error { return inSpace(unix.CLONE_NEWUSER | unix.CLONE_NEWNS) }},
		{"clone by clone3", "ENOSYS", "ENOSYS", func(scene) error { return call(unix.SYS_CLONE3, 0, 0) }},
		{"join a namespace", "EPERM", "EPERM", func(scene) error { return unix.Setns(0, 0) }},
		{"mount a file system", "EPERM", "EPERM", func(s scene) error { return unix.Mount("tmpfs", s.Work, "tmpfs", 0, "") }},
		{"make the root writable", "EPERM", "EPERM", func(scene) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		{"make /etc writable", "EPERM", "EPERM", func(scene) error { return unix.Mount("", "/etc", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		{"unmount what hides the store", "EPERM", "EPERM", func(s scene) error { return unix.Unmount(s.work("store"), unix.MNT_DETACH) }},
		{"unmount what protects the project file", "EPERM", "EPERM", func(s scene) error { return unix.Unmount(s.work("starling.toml"), unix.MNT_DETACH) }},
		{"unmount what protects /proc/sys", "EPERM", "EPERM", func(scene) error { return unix.Unmount("/proc/sys", unix.MNT_DETACH) }},
		{"change its root again", "EPERM", "EPERM", func(scene) error { return unix.PivotRoot(".", ".") }},
		{"chroot", "EPERM", "EPERM", func(scene) error { return unix.Chroot("/tmp") }},
		{"open a file system", "EPERM", "EPERM", func(scene) error { _, err := unix.Fsopen("tmpfs", 0); return err }},
		{"pick a file system", "EPERM", "EPERM", func(scene) error { return call(unix.SYS_FSPICK, 0, text("/"), 0) }},
		{"mount an open file system", "EPERM", "EPERM", func(scene) error { _, err := unix.Fsmount(0, 0, 0); return err }},
		{"copy a mount", "EPERM", "EPERM", func(scene) error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err }},
		{"move a mount", "EPERM", "EPERM", func(scene) error { return unix.MoveMount(unix.AT_FDCWD, "/etc", unix.AT_FDCWD, "/tmp", 0) }},
		{"change the attributes of a mount", "EPERM", "EPERM", func(scene) error {
			return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}},
		{"name the machine", "EPERM", "EPERM", func(scene) error { return unix.Sethostname([]byte("probe")) }},
		{"name the machine's domain", "EPERM", "EPERM", func(scene) error { return unix.Setdomainname([]byte("probe")) }},
		{"open a file by its handle", "EPERM", "EPERM", func(s scene) error {
			h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.Work, 0)
			if err == nil {
				_, err = unix.OpenByHandleAt(unix.AT_FDCWD, h, unix.O_RDONLY)
			}
			return err
		}},
	}...)
}

func probesOfKernel() []probe {
	var all []probe
	for name, row := range map[string][]uintptr{
		"load a program into the kernel": {unix.SYS_BPF, 0, 0, 0}, "count the machine's events": {unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0}, "handle faults of memory": {unix.SYS_USERFAULTFD, 0},
		"read its keyring": {unix.SYS_KEYCTL, 0, 0, 0, 0, 0}, "add a key": {unix.SYS_ADD_KEY, text("user"), text("probe"), text("x"), 1, 0}, "request a key": {unix.SYS_REQUEST_KEY, text("user"), text("probe"), 0, 0},
		"load another kernel": {unix.SYS_KEXEC_LOAD, 0, 0, 0, 0}, "load another kernel from a file": {unix.SYS_KEXEC_FILE_LOAD, 0, 0, 0, 0, 0}, "load a module": {unix.SYS_INIT_MODULE, 0, 0, 0},
		"load a module from a file": {unix.SYS_FINIT_MODULE, 0, 0, 0}, "remove a module": {unix.SYS_DELETE_MODULE, text("probe"), 0}, "restart the machine": {unix.SYS_REBOOT, 0, 0, 0, 0},
		"swap": {unix.SYS_SWAPON, text("/tmp/x"), 0}, "swap no more": {unix.SYS_SWAPOFF, text("/tmp/x")}, "set the time": {unix.SYS_SETTIMEOFDAY, 0, 0}, "set a clock": {unix.SYS_CLOCK_SETTIME, 0, 0},
		"adjust a clock": {unix.SYS_CLOCK_ADJTIME, 0, 0}, "adjust the time": {unix.SYS_ADJTIMEX, 0}, "set quotas": {unix.SYS_QUOTACTL, 0, 0, 0, 0}, "account for processes": {unix.SYS_ACCT, 0},
		"read the kernel's log": {unix.SYS_SYSLOG, 3, 0, 0}, "watch a file system": {unix.SYS_FANOTIFY_INIT, 0, 0}, "hang the terminal up": {unix.SYS_VHANGUP},
	} {
		all = append(all, probe{name, "EPERM", "EPERM", func(scene) error { return call(row[0], row[1:]...) }})
	}
	for name, number := range map[string]uintptr{"set a ring up": unix.SYS_IO_URING_SETUP, "enter a ring": unix.SYS_IO_URING_ENTER, "register with a ring": unix.SYS_IO_URING_REGISTER,
		"open a file in a way that no filter sees": unix.SYS_OPENAT2} {
		all = append(all, probe{name, "ENOSYS", "ENOSYS", func(scene) error { return call(number, 0, 0, 0, 0) }})
	}
	return append(all, probesHere()...)
}

func probesOfRights() []probe {
	status := func(field string) error {
		content, err := os.ReadFile("/proc/self/status")
		_, rest, _ := strings.Cut(string(content), "\n"+field+":\t")
		value, _, _ := strings.Cut(rest, "\n")
		return errors.Join(err, said(value))
	}
	none := "0000000000000000"
	return []probe{
		{"have rights", none, none, func(scene) error { return status("CapEff") }},
		{"have rights at hand", none, none, func(scene) error { return status("CapPrm") }},
		{"inherit rights", none, none, func(scene) error { return status("CapInh") }},
		{"keep rights", none, none, func(scene) error { return status("CapAmb") }},
		{"gain rights", none, "", func(scene) error { return status("CapBnd") }},
		{"gain rights by a program", "1", "1", func(scene) error { return status("NoNewPrivs") }},
		{"be without a filter", "2", "2", func(scene) error { return status("Seccomp") }},
		{"take all rights", "EPERM", "EPERM", func(scene) error {
			h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			d := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
			return unix.Capset(&h, &d[0])
		}},
		{"be another user", "EPERM|EINVAL", "EPERM|EINVAL", func(scene) error { return call(unix.SYS_SETRESUID, 4321, 4321, 4321) }},
		{"be of another group", "EPERM|EINVAL", "EPERM|EINVAL", func(scene) error { return call(unix.SYS_SETRESGID, 4321, 4321, 4321) }},
		{"have other groups", "EPERM", "EPERM", func(scene) error { g := uint32(0); return call(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&g))) }},
		{"make a program that lends its rights", "EPERM", "EPERM", func(s scene) error { return unix.Chmod(s.work("f"), 0o4755) }},
		{"make a file that lends its rights", "EPERM", "EPERM", func(s scene) error {
			_, err := unix.Open(s.work("lends"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
			return err
		}},
		{"make a node that lends its rights", "EPERM", "EPERM", func(s scene) error { return unix.Mknod(s.work("lends"), unix.S_IFREG|0o4755, 0) }},
		{"give a file away", "EPERM|EINVAL", "EPERM|EINVAL", func(s scene) error { return os.Chown(s.work("f"), 4321, -1) }},
		{"come before others", "EPERM|EACCES", "EPERM|EACCES", func(scene) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -5) }},
		{"be scheduled in real time", "EPERM", "EPERM", func(scene) error {
			p := int32(1)
			return call(unix.SYS_SCHED_SETSCHEDULER, 0, 1, uintptr(unsafe.Pointer(&p)))
		}},
		{"leave core dumps", "EPERM", "", func(scene) error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}) }},
	}
}

func probesOfWorkspace() []probe {
	return []probe{
		{"make a file", "ok", "ok", func(s scene) error { return write(s.work("made")) }},
		{"rename a file", "ok", "ok", func(s scene) error { return os.Rename(s.work("made"), s.work("renamed")) }},
		{"change the rights of a file", "ok", "ok", func(s scene) error { return os.Chmod(s.work("renamed"), 0o755) }},
		{"link a file", "ok", "ok", func(s scene) error { return os.Link(s.work("renamed"), s.work("linked2")) }},
		{"make a folder", "ok", "ok", func(s scene) error { return os.MkdirAll(s.work("d/e"), 0o755) }},
		{"move a file between folders", "ok", "ok", func(s scene) error { return os.Rename(s.work("linked2"), s.work("d/e/f")) }},
		{"remove a folder", "ok", "ok", func(s scene) error { return os.RemoveAll(s.work("d")) }},
		{"execute what it made", "ok", "ok", func(s scene) error {
			return errors.Join(os.WriteFile(s.work("script"), []byte("#!/bin/sh\nexit 0\n"), 0o755), exec.Command(s.work("script")).Run())
		}},
		{"make a file in /tmp", "ok", "", func(scene) error { return write("/tmp/probe") }},
		{"move the folder that the workspace is in", "refused|ok", "EACCES", func(s scene) error {
			up := filepath.Dir(s.Work)
			err := os.Rename(up, up+"-moved")
			if err == nil { // in a /tmp that is only its own
				err = os.Rename(up+"-moved", up)
			}
			return err
		}},
		{"read the project file", "ok", "ok", func(s scene) error { return read(s.work("starling.toml")) }},
		{"write to the project file", "EROFS", "", func(s scene) error { return write(s.work("starling.toml")) }},
		{"change the rights of the project file", "EROFS", "", func(s scene) error { return os.Chmod(s.work("starling.toml"), 0o666) }},
		{"remove the project file", "EBUSY", "", func(s scene) error { return unix.Unlink(s.work("starling.toml")) }},
		{"move the project file", "EBUSY", "", func(s scene) error { return unix.Rename(s.work("starling.toml"), s.work("t")) }},
		{"replace the project file", "EBUSY", "", func(s scene) error {
			return errors.Join(write(s.work("t")), unix.Rename(s.work("t"), s.work("starling.toml")))
		}},
		{"exchange the project file", "EBUSY", "", func(s scene) error {
			return unix.Renameat2(unix.AT_FDCWD, s.work("t"), unix.AT_FDCWD, s.work("starling.toml"), unix.RENAME_EXCHANGE)
		}},
		{"write to the project file by another name", "EXDEV", "", func(s scene) error { return unix.Link(s.work("starling.toml"), s.work("other")) }},
		{"write to the project file through /proc", "EROFS", "", func(s scene) error {
			fd, err := unix.Open(s.work("starling.toml"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY)
		}},
		{"see what is in the store", "empty", "", func(s scene) error { return list(s.work("store")) }},
		{"write into the store", "EROFS", "", func(s scene) error { return write(s.work("store/key")) }},
		{"move the store", "EBUSY", "", func(s scene) error { return unix.Rename(s.work("store"), s.work("store2")) }},
		{"replace the store", "EBUSY|ENOTEMPTY|EROFS", "", func(s scene) error {
			return errors.Join(os.Mkdir(s.work("e"), 0o755), unix.Rename(s.work("e"), s.work("store")))
		}},
		{"remove the store", "EBUSY", "", func(s scene) error { return unix.Rmdir(s.work("store")) }},
	}
}

func probesOfRepository() []probe {
	return []probe{
		{"write to git's configuration", "EROFS", "", func(s scene) error { return write(s.work(".git/config")) }},
		{"replace git's configuration", "EBUSY|EXDEV", "", func(s scene) error {
			return errors.Join(write(s.work(".git/config.lock")), unix.Rename(s.work(".git/config.lock"), s.work(".git/config")))
		}},
		{"add a hook", "EROFS", "", func(s scene) error { return write(s.work(".git/hooks/post-commit")) }},
		{"change a hook", "EROFS", "", func(s scene) error { return open(s.work(".git/hooks/pre-commit"), unix.O_WRONLY) }},
		{"make a hook executable", "EROFS", "", func(s scene) error { return os.Chmod(s.work(".git/hooks/pre-commit"), 0o755) }},
		{"move the hooks", "EBUSY", "", func(s scene) error { return unix.Rename(s.work(".git/hooks"), s.work(".git/hooks2")) }},
		{"move git's folder", "EBUSY", "", func(s scene) error { return unix.Rename(s.work(".git"), s.work(".git2")) }},
		{"remove git's folder", "refused", "", func(s scene) error { return os.RemoveAll(s.work(".git")) }},
		{"replace git's folder", "EBUSY|ENOTEMPTY", "", func(s scene) error {
			return errors.Join(os.Mkdir(s.work("g.git"), 0o755), unix.Rename(s.work("g.git"), s.work(".git")))
		}},
		{"write to git's index", "ok", "ok", func(s scene) error { return write(s.work(".git/index")) }},
		{"replace git's index", "ok", "ok", func(s scene) error {
			return errors.Join(write(s.work(".git/index.lock")), unix.Rename(s.work(".git/index.lock"), s.work(".git/index")))
		}},
		// Nothing closes a name that nothing has. It is set aside when the program has ended: see
		// TestProbes.
		{"make the folder where hooks are said to be elsewhere", "ok", "ok", func(s scene) error { return write(s.work(".git/commondir")) }},
	}
}
