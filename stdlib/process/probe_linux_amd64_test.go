package process_test

import "golang.org/x/sys/unix"

// probesHere are of calls that this architecture has.
func probesHere() []probe {
	var all []probe
	for name, row := range map[string][]uintptr{
		"have all ports": {unix.SYS_IOPL, 3}, "have ports": {unix.SYS_IOPERM, 0, 1, 1}, "set its descriptors of segments": {unix.SYS_MODIFY_LDT, 0, 0, 0}, "load a library the old way": {unix.SYS_USELIB, 0},
	} {
		all = append(all, probe{name, "EPERM", "EPERM", func(scene) error { return call(row[0], row[1:]...) }})
	}
	const x32 = 0x40000000
	return append(all,
		probe{"call by the numbers of x32", "ENOSYS", "ENOSYS", func(scene) error { return call(x32 + unix.SYS_GETPID) }},
		probe{"mount by the numbers of x32", "ENOSYS", "ENOSYS", func(scene) error { return call(x32+unix.SYS_MOUNT, 0, 0, 0, 0, 0) }})
}
