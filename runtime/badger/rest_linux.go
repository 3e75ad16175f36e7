package badger

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Rest gives back the memory in which the system keeps the tables of the stores that this process
// has open, as far as nobody else uses it: they are mapped files, and are read from the disk again
// when they are asked for. It is meant for a process that has nothing to do. Where the kernel
// cannot do it (Linux before 5.4), nothing happens.
func Rest() {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		f := strings.Fields(lines.Text())
		var from, to uintptr
		if len(f) < 6 || filepath.Ext(f[5]) != ".sst" {
			continue
		}
		if _, err := fmt.Sscanf(f[0], "%x-%x", &from, &to); err == nil {
			// It only says what is not needed: where something else is mapped by now, that stays,
			// too.
			_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, from, to-from, unix.MADV_PAGEOUT)
		}
	}
}
