package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"syscall"

	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Everything that a guard starts carries marks, which all that it starts inherits and nothing can
// take off. By them the owner of a store tells it from its user, whatever became of its parents
// (runtime/api); and by them it cannot get at processes that are not its own: not trace them, not
// read their memory, not signal them.
//
//	no_new_privs          no program gives it the rights of another user
//	a filter of seccomp   that allows all: it has one more than its owner has
//	a domain of Landlock  that handles no files and no network, and keeps its signals in
//	a user namespace      for root, and where Landlock knows no signals: no rights over the machine
//
// They are set in the child and not in a thread of the guard that forks: such a thread would stand
// in the domain of the child, which could then end the guard with it.

// markedStart starts a program with the marks, and says which could not be set, a sentence each. It
// returns when the program is executed; one that cannot be is errExec.
func markedStart(path string, argv []string, attr *os.ProcAttr) (*os.Process, []string, error) {
	m := newMarks(attr.Sys)
	defer m.close()
	if m.namespace == nil {
		return m.start(path, argv, attr)
	}
	marked := *attr
	marked.Sys = m.namespace
	p, lacks, err := m.start(path, argv, &marked)
	if err == nil || errors.Is(err, errExec) || errors.Is(err, syscall.E2BIG) {
		return p, lacks, err
	}
	m.lack("user namespaces are not allowed here (%v): %s", err, m.without)
	return m.start(path, argv, attr)
}

// marks are those of one child.
type marks struct {
	domain    int                  // the ruleset, -1 for none
	namespace *syscall.SysProcAttr // the caller's, and a user namespace; nil where none is needed
	without   string               // what is missing without it
	lacks     []string
}

func (m *marks) lack(format string, arguments ...any) {
	m.lacks = append(m.lacks, fmt.Sprintf(format, arguments...))
}

func newMarks(sys *syscall.SysProcAttr) *marks {
	m := &marks{}
	scope := kernel.RulesetAttr{Scoped: kernel.ScopeSignal}
	var err error
	if m.domain, err = kernel.LandlockCreateRuleset(&scope, 0); err != nil {
		m.domain = -1
	}
	switch {
	case sys.Cloneflags&syscall.CLONE_NEWUSER != 0: // that of its sandbox
	case os.Geteuid() == 0:
		m.without = "what it does as root reaches the whole machine"
		m.namespace = inNamespace(*sys, idRanges("uid_map"), idRanges("gid_map"), true)
	case m.domain < 0:
		m.without = "it can read the memory of other processes of its user"
		m.namespace = inNamespace(*sys, oneID(os.Getuid()), oneID(os.Getgid()), false)
	}
	if m.domain < 0 {
		m.lack("it can signal other processes of its user: " +
			"this kernel has no Landlock that knows signals, as Linux 6.12 and later have")
	}
	return m
}

func inNamespace(
	sys syscall.SysProcAttr, users, groups []syscall.SysProcIDMap, setgroups bool,
) *syscall.SysProcAttr {
	sys.Cloneflags |= syscall.CLONE_NEWUSER
	sys.UidMappings, sys.GidMappings = users, groups
	sys.GidMappingsEnableSetgroups = setgroups
	return &sys
}

func oneID(id int) []syscall.SysProcIDMap {
	return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
}

// idRanges maps the ids that there are here to themselves: in a container they are not all.
func idRanges(name string) (list []syscall.SysProcIDMap) {
	f, err := os.Open("/proc/self/" + name)
	if err != nil {
		return nil // the start in a namespace without ids fails
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m syscall.SysProcIDMap
		if n, _ := fmt.Sscan(lines.Text(), &m.ContainerID, &m.HostID, &m.Size); n == 3 {
			m.HostID = m.ContainerID // the second field is that of the parent namespace
			list = append(list, m)
		}
	}
	return list
}

func (m *marks) start(path string, argv []string, attr *os.ProcAttr) (
	*os.Process, []string, error,
) {
	restoreFileLimit()
	p, failed, err := startForked(path, argv, attr, m.set)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range failed {
		m.lack("it does not carry all marks of a process that was started here: %v", f)
	}
	return p, m.lacks, nil
}

// set adds the calls that set the marks. The filter is one instruction. Kernels before 5.16 take a
// filter for a reason to slow the processor down, unless they are told.
func (m *marks) set(b *birth) {
	b.call("no_new_privs", true, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	if m.domain >= 0 {
		b.call("landlock", true, unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(m.domain), 0)
	}
	allow := &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	filter := &unix.SockFprog{Len: 1, Filter: allow}
	b.call("seccomp", true, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, address(b, filter))
}

func (m *marks) close() {
	if m.domain >= 0 {
		unix.Close(m.domain)
	}
}

// restoreFileLimit sets the limit of open files to what this process was started with: Go raises it
// for itself, and programs that it starts are not to see that. Package syscall knows it and gives
// it back where it forks and where it executes, were it in vain.
func restoreFileLimit() { syscall.Exec("", nil, nil) }
