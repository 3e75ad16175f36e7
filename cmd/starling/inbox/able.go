package inbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// Able tells whether the view can be drawn, and somebody is there to look: both files are the
// terminal of a job in the foreground, and what the environment says of it does not speak against
// it. NO_COLOR does not: the view then has no colours.
func Able(in, out *os.File, getenv func(string) (string, bool)) bool {
	if ci, _ := getenv("CI"); ci != "" {
		return false
	}
	if kind, _ := getenv("TERM"); kind == "dumb" || kind == "" {
		return false
	}
	for _, f := range []*os.File{in, out} {
		front, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
		if err != nil || front != unix.Getpgrp() {
			return false
		}
	}
	return true
}
