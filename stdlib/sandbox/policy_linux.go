package sandbox

import (
	"fmt"
	"net"
	"os"
	"strings"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Versions of Landlock that began to know something.
const (
	moveVersion  = 2 // files between folders
	tcpVersion   = 4
	scopeVersion = 6 // signals and abstract sockets
	udpVersion   = 10
)

// landlockVersion is that of this kernel, 0 without Landlock.
func landlockVersion() int {
	version, err := kernel.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// Outcome is what came of enforcing a policy.
type Outcome struct {
	Lacks []string // what of it the system cannot enforce, a sentence each
	Env   []string // variables, "NAME=value", that the program is to have beside its own
}

// Enforce confines this process and all its threads for good. It was started with the attributes of
// the isolation, in the folder that the program is to work in, and starts or executes it next. An
// error means that the process is not as it should be and must not go on; it is ErrUnavailable
// where the system is to blame and another isolation may do.
func (p Policy) Enforce(i Isolation) (Outcome, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Lacks: lacksOf(p, i)}
	if i != Bare {
		r, err := enterRoot(p, i)
		if err != nil {
			return Outcome{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		o.Lacks, o.Env = append(o.Lacks, r.lacks...), r.env
		if !p.Network {
			raiseLoopback()
		}
		if err := os.Chdir(dir); err != nil {
			return Outcome{}, fmt.Errorf("its folder is not there for it: %w", err)
		}
	}
	if len(o.Lacks) > 0 && !p.Partial {
		return Outcome{}, fmt.Errorf("%w: %s", ErrUnavailable, strings.Join(o.Lacks, "; "))
	}
	if err := p.restrict(i); err != nil {
		return Outcome{}, err
	}
	if err := dropCapabilities(); err != nil {
		return Outcome{}, err
	}
	return o, enforceFilter(filter(i == Own))
}

// lacksOf says what an isolation lacks on this kernel.
func lacksOf(p Policy, i Isolation) []string {
	var lacks []string
	version := landlockVersion()
	say := func(when bool, what string) {
		if when {
			lacks = append(lacks, what)
		}
	}
	say(i != Own, "processes outside can be seen")
	say(i != Own && version < scopeVersion, "processes outside can be signalled")
	say(i != Bare && p.Network && version < scopeVersion, "abstract sockets of the machine can be reached: Landlock knows them from Linux 6.12 on")
	say(i != Bare && version < 1, "FIFOs in folders that can be read can be written to: this kernel has no Landlock")
	if i != Bare {
		return lacks
	}
	say(version < 1, "files outside of the workspace are not protected: this kernel has no Landlock")
	say(version < scopeVersion, "abstract sockets of the machine can be reached")
	say(true, "rights, owners, times and attributes of files outside can be changed, and sockets that have a path can be reached")
	say(true, "shared memory and message queues are the machine's")
	for _, path := range append(p.Hide, p.Protect...) {
		if _, err := os.Lstat(path); err == nil {
			say(true, path+" is neither hidden nor protected")
		}
	}
	say(!p.Network && version < tcpVersion, "the network is open")
	say(!p.Network && version >= tcpVersion && version < udpVersion, "of the network only TCP is closed")
	return lacks
}

// raiseLoopback lets programs talk to themselves, as tests with a server do. Without it they have
// no network at all.
func raiseLoopback() {
	if _, err := net.InterfaceByName("lo"); err != nil {
		return
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(s)
	if r, err := unix.NewIfreq("lo"); err == nil {
		r.SetUint16(unix.IFF_UP)
		unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
	}
}

// restrict is Landlock with all that this kernel knows of it, in one layer; what it does not is
// among the lacks. A second layer that handles no files would keep files from being moved between
// folders.
func (p Policy) restrict(i Isolation) error {
	config := landlock.V11
	read, write := []string{"/"}, append(ownDevices(), "/tmp", "/dev/shm", "/dev/pts")
	switch i {
	case Own:
		write = append(write, "/proc")
	case Bare:
		read, write = append(p.Read, "/proc"), append(ownDevices(), "/dev/shm")
	}
	if i != Bare || p.Network {
		config.HandledAccessNet = 0
	}
	write = append(write, p.Write...)
	for _, c := range p.Caches {
		if i != Bare {
			write = append(write, c.Folder)
		}
	}
	if err := config.BestEffort().Restrict(append(rulesFor(read, false), rulesFor(write, true)...)...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

// ownDevices are the devices that every program may write.
func ownDevices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

func rulesFor(paths []string, write bool) []landlock.Rule {
	folder := func(path string) landlock.Rule {
		return landlock.RWDirs(path).WithRefer().WithIoctlDev().IgnoreIfMissing()
	}
	if landlockVersion() < moveVersion { // a right that it does not know would make it do nothing at all
		folder = func(path string) landlock.Rule { return landlock.RWDirs(path).IgnoreIfMissing() }
	}
	var rules []landlock.Rule
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir() && write:
			rules = append(rules, folder(path))
		case info.IsDir():
			rules = append(rules, landlock.RODirs(path).IgnoreIfMissing())
		case write:
			rules = append(rules, landlock.RWFiles(path).WithIoctlDev().IgnoreIfMissing())
		default:
			rules = append(rules, landlock.ROFiles(path).IgnoreIfMissing())
		}
	}
	return rules
}

// dropCapabilities takes from all threads what their namespaces have given them, and core dumps,
// which the kernel hands to a program of the machine. What this thread starts next has none and can
// gain none.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // who may not drop has none to give
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData // without which there are no ambient ones either
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return fmt.Errorf("dropping capabilities: %w", errno)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("core dumps: %w", err)
	}
	return nil
}
