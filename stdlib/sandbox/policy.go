// Package sandbox confines a process before it becomes another program: what that program and all that it starts may read, write and talk to. It takes no
// rights and no daemon: Landlock for files, namespaces of the user's own for the network and for what is not to be there at all.
//
// A process that was started with [Namespaces] calls [Policy.Enforce] and then executes the program; see stdlib/process, which does both.
//
// # What is enforced
//
//	files     Linux 5.13 with Landlock: what no rule names cannot be opened, and nothing be mounted, traced or changed in rights.
//	network   where user namespaces are allowed: a network of its own with nothing but loopback. Otherwise Landlock from Linux 6.7 refuses TCP, and UDP stays open.
//	hidden    where user namespaces are allowed: an empty folder stands in its place.
//
// What could not be enforced, Enforce says. On other systems it is nothing of all that.
//
// # Limits
//
// Before Landlock's ninth version, sockets in the file system that the user may open can still be connected to, such as that of a container daemon. Metadata (names, sizes, times) of all files can be
// read. Time, memory and processes are not bounded here.
package sandbox

// Policy says what a program may do. Paths are absolute; those that do not exist are left out.
type Policy struct {
	Read    []string `json:"read,omitempty"`    // files and folders to read and execute
	Write   []string `json:"write,omitempty"`   // files and folders to read, execute and change
	Hide    string   `json:"hide,omitempty"`    // a folder that is not there for it, "" for none
	Network bool     `json:"network,omitempty"` // it may use the network
}

// System are the files that programs need to run at all: themselves, their libraries and what is set for the machine.
func System() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc", "/sys", "/run/systemd/resolve", "/dev"}
}

// Devices are the files that every program may write.
func Devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}
}
