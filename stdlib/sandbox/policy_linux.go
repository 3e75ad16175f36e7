package sandbox

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// tcpVersion is the first version of Landlock that refuses TCP.
const tcpVersion = 4

// Namespaces adds to the attributes of a process that it gets namespaces of its own, in which it may hide folders and has no network. Where that is not allowed, starting it fails.
func (p Policy) Namespaces(a *syscall.SysProcAttr) {
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS
	if !p.Network {
		a.Cloneflags |= syscall.CLONE_NEWNET
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN} // until Enforce drops them
}

// Enforce confines this process for good and says what of the policy the system cannot enforce. isolated tells that it was started with Namespaces. The caller has locked its
// goroutine to its thread and executes the program next, on that thread. An error means that the process is not as it should be and must not go on.
func (p Policy) Enforce(isolated bool) (lacks []string, err error) {
	if lack := p.hide(isolated); lack != "" {
		lacks = append(lacks, lack)
	}
	if isolated && !p.Network {
		raiseLoopback()
	}
	lack, err := p.restrictFiles()
	if err != nil {
		return nil, err
	}
	if lack != "" {
		lacks = append(lacks, lack)
	}
	if !isolated && !p.Network {
		lacks = append(lacks, restrictTCP())
	}
	return lacks, dropCapabilities()
}

// hide puts an empty folder in the place of the one that is not to be there.
func (p Policy) hide(isolated bool) string {
	if p.Hide == "" {
		return ""
	}
	if _, err := os.Stat(p.Hide); os.IsNotExist(err) {
		return ""
	}
	err := fmt.Errorf("user namespaces are not allowed here")
	if isolated {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	}
	if err == nil {
		err = unix.Mount("tmpfs", p.Hide, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "size=4k,mode=555")
	}
	if err != nil {
		return fmt.Sprintf("%s is not hidden: %v", p.Hide, err)
	}
	return ""
}

// raiseLoopback lets programs talk to themselves, as tests with a server do. Without it they have no network at all.
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

// Lacks says what this kernel cannot enforce by Landlock alone, "" when it can all.
func Lacks() string {
	version, err := kernel.LandlockGetABIVersion()
	switch {
	case err != nil || version < 1:
		return "this kernel has no Landlock: files outside of the workspace are not protected from commands"
	case version < tcpVersion:
		return "this kernel's Landlock does not know TCP: the network is closed only where user namespaces are allowed"
	}
	return ""
}

// restrictFiles is Landlock with all that this kernel knows of it.
func (p Policy) restrictFiles() (lack string, err error) {
	if version, err := kernel.LandlockGetABIVersion(); err != nil || version < 1 {
		return "files outside of the workspace are not protected: this kernel has no Landlock", nil
	}
	rules := append(rulesFor(p.Read, false), rulesFor(append(Devices(), p.Write...), true)...)
	config := landlock.V11.BestEffort()
	if err := config.RestrictPaths(rules...); err != nil {
		return "", fmt.Errorf("landlock: %w", err)
	}
	if err := config.RestrictScoped(); err != nil { // signals and abstract sockets
		return "", fmt.Errorf("landlock: %w", err)
	}
	return "", nil
}

func rulesFor(paths []string, write bool) []landlock.Rule {
	var rules []landlock.Rule
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir() && write:
			rules = append(rules, landlock.RWDirs(path).WithRefer().WithIoctlDev().IgnoreIfMissing())
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

// restrictTCP is what can be done about the network without a namespace.
func restrictTCP() string {
	if version, err := kernel.LandlockGetABIVersion(); err != nil || version < tcpVersion {
		return "the network is open: user namespaces are not allowed here, and this kernel's Landlock does not know TCP"
	}
	if err := landlock.V11.BestEffort().RestrictNet(); err != nil {
		return fmt.Sprintf("the network is open: landlock: %v", err)
	}
	return "of the network only TCP is closed: user namespaces are not allowed here"
}

// dropCapabilities takes from this thread what its namespaces have given it. What is executed next starts without any.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // who may not drop has none to give
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}
