package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// How a whole tree is ended without ever signalling a stranger.
//
// The guard is a child subreaper: when a descendant dies, its children become children of the
// guard, whatever sessions and groups they made for themselves. So wait4 answers ECHILD exactly
// when no descendant is left; no list has to be believed.
//
// Only children of the guard are signalled, never anything deeper. Nobody but the guard can reap
// its child, so until it does the kernel keeps that pid, if only for a zombie. The same holds for
// two kinds of process group: one that such a child leads bears the child's own pid, and one in
// which such a child is a zombie cannot lose it any more. Those groups are signalled whole, which
// also catches a process between two forks; a living child in a group of somebody else is signalled
// alone, since it could leave that group, and the group's number be given away, between the look
// and the signal. What is deeper and in no such group rises to the guard as its parents die, and is
// met in a later sweep.

const openFiles = "/proc/self/fd"

// ownExecutable is this very binary, even after an upgrade has replaced its file: both ends of the
// pipes speak one protocol.
func ownExecutable() (string, error) { return "/proc/self/exe", nil }

// becomeGuardian makes this process the parent of every orphan among its descendants.
func becomeGuardian() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	return os.WriteFile("/proc/self/comm", []byte("starling-guard"), 0) // what ps and top show
}

// childAttributes: a session of its own, and the last resort against SIGKILL of the guard.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// descendants is the tree under this process. Only the goroutine that reaps may use it.
type descendants struct {
	child int          // the one that was started; the rest are adopted
	asked map[int]bool // pids and groups that had their SIGTERM; many programs take a second one for impatience
}

// terminate sends SIGTERM to those that have not had it.
func (d *descendants) terminate() {
	if d.asked == nil {
		d.asked = map[int]bool{}
	}
	d.each(func(p stat, whole bool) {
		if d.asked[p.group] || d.asked[p.pid] {
			return
		}
		d.asked[p.pid] = true
		d.asked[p.group] = d.asked[p.group] || whole
		p.signal(whole, syscall.SIGTERM)
	})
}

// kill sends SIGKILL to all.
func (d *descendants) kill() {
	d.each(func(p stat, whole bool) { p.signal(whole, syscall.SIGKILL) })
}

// each visits the guard's own children, and says of each whether its group may be signalled as a
// whole.
func (d *descendants) each(visit func(p stat, whole bool)) {
	own := syscall.Getpgrp()
	for _, pid := range ownChildren() {
		p, err := readStat(pid)
		if err != nil {
			continue // listed by a thread that ended meanwhile; the next sweep has it
		}
		visit(p, p.group != own && (p.group == p.pid || p.state == 'Z'))
	}
}

func (p stat) signal(whole bool, sig syscall.Signal) {
	pid := p.pid
	if whole {
		pid = -p.group
	}
	syscall.Kill(pid, sig) // it may be gone, or another user's: ECHILD has the last word
}

// reap takes all deaths that have happened without waiting for more. ended is that of the child
// that was started, once.
func (d *descendants) reap() (ended *syscall.WaitStatus, gone bool) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err == syscall.ECHILD:
			return ended, true
		case err != nil || pid == 0:
			return ended, false
		case pid == d.child:
			ended = &ws
			d.child = 0
		}
	}
}

// ownChildren lists the children of this process, zombies included. The kernel keeps a list for
// each thread (CONFIG_PROC_CHILDREN, set by the distributions); without it all of /proc is looked
// through.
func ownChildren() []int {
	var pids []int
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		content, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(content)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	if len(lists) == 0 {
		return childrenOf(os.Getpid())
	}
	return pids
}

// childrenOf looks through all of /proc.
func childrenOf(parent int) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, err := readStat(pid); err == nil && p.parent == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return "signal " + itoa(int(sig)) // real-time signals have none
}
