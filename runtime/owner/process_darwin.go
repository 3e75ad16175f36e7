package owner

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// processStart says when a process started, in microseconds since 1970; false if there is none.
func processStart(pid int) (string, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return "", false
	}
	at := info.Proc.P_starttime
	return strconv.FormatInt(at.Sec*1e6+int64(at.Usec), 10), true
}

// processStopped tells whether a process stands still by SIGSTOP, Ctrl-Z or a debugger.
func processStopped(pid int) bool {
	const stopped = 4 // SSTOP of sys/proc.h
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && info.Proc.P_stat == stopped
}
