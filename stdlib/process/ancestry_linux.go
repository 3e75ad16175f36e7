package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// AttemptOf says for which attempt a process works: it follows the parents of pid up to a guard
// that holds a lock file in dir, the nearest if guards are nested. It answers false for a process
// that is under no such guard, and for one that is gone.
//
// A recycled pid is never believed. A lock file names its guard by pid, start time and boot, and a
// guard that is alive holds its lock. On the way up each parent is read between two readings of its
// child that agree: as long as the child names it, it has not been given away. Only pid itself is
// taken on trust; who got it from a socket's peer credentials holds that connection open.
//
// It tells who is who among processes that are honest: one that runs as the same user can write a
// lock file of its own, or remove one. An owner knows its own guards by [Guards].
func AttemptOf(pid int, dir string) (Attempt, bool, error) {
	holders, err := readHolders(dir)
	if err != nil || len(holders) == 0 {
		return Attempt{}, false, err
	}
	boot := bootID()
	return nearest(pid, func(p stat) (Attempt, bool) {
		a, ok := holders[identity{p.pid, p.start, boot}]
		return a, ok
	})
}

// Of says for which attempt a process works, as [AttemptOf] does, from what is in memory.
func (g *Guards) Of(pid int) (Attempt, bool, error) {
	return nearest(pid, func(p stat) (Attempt, bool) { return g.attempt(p.pid, p.start) })
}

// nearest asks about a process and its parents, until there is an answer.
func nearest(pid int, ask func(stat) (Attempt, bool)) (Attempt, bool, error) {
	p, err := readStat(pid)
	for err == nil && p.pid > 0 {
		if a, ok := ask(p); ok {
			return a, true, nil
		}
		p, err = parentOf(p)
	}
	if isGone(err) {
		err = nil
	}
	return Attempt{}, false, err
}

// startOf says when a process was started, 0 for one that is gone.
func startOf(pid int) uint64 {
	p, _ := readStat(pid)
	return p.start
}

// parentOf reads the parent of a process. The zero stat stands above init.
func parentOf(p stat) (stat, error) {
	for p.parent != 0 {
		parent, parentErr := readStat(p.parent)
		again, err := readStat(p.pid)
		if err != nil {
			return stat{}, err
		}
		if again.start != p.start {
			return stat{}, fs.ErrNotExist
		}
		if again.parent == p.parent {
			return parent, parentErr
		}
		p = again // it was handed to another parent meanwhile
	}
	return stat{}, nil
}

// isGone: a process may end before the open or between it and the read.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// ownIdentity is what this process writes into a lock file.
func ownIdentity() identity {
	p, err := readStat(os.Getpid())
	if err != nil {
		return identity{} // no /proc: names nobody, and AttemptOf could not look either
	}
	return identity{p.pid, p.start, bootID()}
}

func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// stat is what is used of /proc/PID/stat; proc_pid_stat(5).
type stat struct {
	pid    int
	state  byte // 'Z' is a zombie
	parent int
	group  int
	start  uint64 // clock ticks since boot
}

func readStat(pid int) (stat, error) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	p, ok := parseStat(string(content))
	if !ok {
		return stat{}, fmt.Errorf("process: /proc/%d/stat: got %q, want the fields of proc_pid_stat(5)", pid, content)
	}
	return p, nil
}

// parseStat counts fields from behind the last parenthesis: the second field is a name that may
// hold spaces and parentheses.
func parseStat(content string) (p stat, ok bool) {
	const state, parent, group, start = 0, 1, 2, 19 // of what follows the name
	open, end := strings.IndexByte(content, '('), strings.LastIndexByte(content, ')')
	if open < 1 || end < open {
		return p, false
	}
	fields := strings.Fields(content[end+1:])
	if len(fields) <= start {
		return p, false
	}
	numbers := []struct {
		text string
		into *int
	}{{strings.TrimSpace(content[:open]), &p.pid}, {fields[parent], &p.parent}, {fields[group], &p.group}}
	for _, n := range numbers {
		value, err := strconv.Atoi(n.text)
		if err != nil {
			return p, false
		}
		*n.into = value
	}
	p.state = fields[state][0]
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	p.start = ticks
	return p, err == nil
}
