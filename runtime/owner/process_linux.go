package owner

import (
	"bytes"
	"fmt"
	"os"
)

// processStart says when a process started, in clock ticks since boot; false if there is none. See
// proc_pid_stat(5): the time is the 20th field behind the name, which is in parentheses and may
// itself hold any.
func processStart(pid int) (string, bool) {
	const start = 19
	fields := processStat(pid)
	if len(fields) <= start {
		return "", false
	}
	return string(fields[start]), true
}

// processStopped tells whether a process stands still by SIGSTOP, Ctrl-Z or a debugger.
func processStopped(pid int) bool {
	fields := processStat(pid)
	return len(fields) > 0 && bytes.ContainsAny(fields[0], "Tt")
}

// processStat is what is behind the name of a process, nil if there is none.
func processStat(pid int) [][]byte {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
}
