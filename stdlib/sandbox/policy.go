// Package sandbox confines a process before it becomes another program: what that program and all
// that it starts may see, read, write and talk to. It takes no rights and no daemon.
//
// A process that was started with the attributes of an [Isolation] calls [Policy.Enforce] and then
// starts or becomes the program; see stdlib/process, which does both.
//
// # What is enforced
//
// In [Own], which is the whole sandbox and needs Linux 5.13 with user namespaces:
//
//	root       a root of its own, with what the policy names and nothing else: what is not there can
//	           be neither read nor connected to. All of it but Write, /tmp and /dev/shm is read-only,
//	           so that rights, owners, times and attributes cannot be changed either.
//	/dev       the harmless devices, and terminals and shared memory of its own.
//	/proc      of its own processes, with what sets or tells of the machine read-only or empty.
//	processes  namespaces of PID, IPC, UTS and control groups: nobody outside is seen, signalled,
//	           limited, traced or shares memory. The first process ends all others with itself.
//	network    without Network a namespace with nothing but a loopback device.
//	rights     none, none to gain, and a filter of system calls that refuses what no tool needs: see
//	           filter_linux.go.
//	Landlock   above all of this: signals, sockets without a path and FIFOs that lead out.
//
// [Shared] lacks the PID namespace, [Bare] has nothing but Landlock and the filter. What could not
// be enforced, Enforce says. On other systems it is nothing of all that.
//
// # Limits
//
// With Network the machine's network is there, and so are services on its loopback device. A socket
// in a folder that Read or Write names can be connected to. Time, memory and processes are not
// bounded here. Namespaces cannot be nested inside: a browser or an agent with a sandbox of its own
// has to be told to do without.
package sandbox

import "errors"

// ErrUnavailable is a sandbox that this system cannot give.
var ErrUnavailable = errors.New("the sandbox cannot be had here")

// Policy says what a program may do. Paths are absolute; those that do not exist are left out.
type Policy struct {
	Read  []string `json:"read,omitempty"`  // files and folders to read and execute
	Write []string `json:"write,omitempty"` // files and folders to read, execute and change

	// Protect are files and folders within Write that can be read but not changed, moved or
	// replaced. One that does not exist can be made, and is taken away when the program has ended:
	// see stdlib/process.
	Protect []string `json:"protect,omitempty"`
	Hide    []string `json:"hide,omitempty"`   // folders and files that are empty for it
	Caches  []Cache  `json:"caches,omitempty"` // which it may change for itself
	// Scratch is a folder in Write, on a disk, for what is changed of Caches. "" is no caches.
	Scratch string `json:"scratch,omitempty"`
	Network bool   `json:"network,omitempty"` // it may use the network

	// Partial goes on with as much as this system has. Otherwise Enforce fails with ErrUnavailable
	// where anything is lacking.
	Partial bool `json:"partial,omitempty"`
}

// Cache is a folder of the user that fills as tools work. What Write names in it is the user's all
// the same. The program reads what is there; what it writes is gone with it, so that nobody's next
// build is made of it. Where that cannot be done, the folder is not there and the variable not set.
type Cache struct {
	Variable string `json:"variable"` // by which the tools find the folder; "" is none
	Folder   string `json:"folder"`
}

// Isolation is how far a process is set apart when it starts.
type Isolation int

// The isolations, the strongest first.
const (
	Own    Isolation = iota // in namespaces of every kind; it is the first process of its own
	Shared                  // in all but a namespace of PIDs, for containers that cover parts of /proc
	Bare                    // in none
)

// Isolations are those that a policy can be tried with, the best first.
func (p Policy) Isolations() []Isolation {
	if p.Partial {
		return []Isolation{Own, Shared, Bare}
	}
	return []Isolation{Own}
}

// System are the files that programs need to run at all: themselves, their libraries and what is
// set for the machine. No folder is among them that services keep sockets in.
func System() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt",
		"/nix/store", "/nix/var/nix/profiles", "/run/current-system",
		"/sys/devices/system/cpu", "/sys/devices/system/node",
	}
}

// systemSecrets are files among those of System that only the administrator may read, who may be
// the one that the sandbox is made for.
func systemSecrets() []string {
	return []string{
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
		"/etc/ssh", "/etc/ssl/private", "/etc/docker", "/etc/kubernetes", "/etc/wireguard",
	}
}
