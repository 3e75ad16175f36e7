package owner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// holderOf is the pid of the process that holds the lock of a store, 0 where it cannot be told. The
// kernel says so in /proc/locks, and not a file that anybody could write; proc_locks(5).
func holderOf(dir string) int {
	info, err := os.Stat(filepath.Join(dir, lockName))
	if err != nil {
		return 0
	}
	of := info.Sys().(*syscall.Stat_t)
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(of.Dev), unix.Minor(of.Dev), of.Ino)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(locks)) {
		f := strings.Fields(line) // those that wait have "->" in the second place
		if len(f) == 8 && f[1] == "FLOCK" && f[5] == file {
			pid, _ := strconv.Atoi(f[4])
			return pid
		}
	}
	return 0
}

// signalHolder sends signals to the process that holds the lock of a store, and to no other, and
// returns its pid.
func signalHolder(dir string, signals ...syscall.Signal) (int, error) {
	pid := holderOf(dir)
	if pid <= 1 {
		return 0, fmt.Errorf("this system does not say which process holds it")
	}
	held, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return pid, err
	}
	defer unix.Close(held)
	if holderOf(dir) != pid { // what is held is the process that has the lock now
		return 0, fmt.Errorf("process %d does not hold it any more", pid)
	}
	for _, s := range signals {
		if err := unix.PidfdSendSignal(held, s, nil, 0); err != nil {
			return pid, err
		}
	}
	return pid, nil
}
