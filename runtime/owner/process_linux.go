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
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	const start = 19
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) <= start {
		return "", false
	}
	return string(fields[start]), true
}
