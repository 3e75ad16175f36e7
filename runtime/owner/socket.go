package owner

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"starling/runtime"
)

// maxSocket is the longest path of a socket. Linux takes 107 bytes, macOS 103.
const maxSocket = 99

// newSocket returns where an owner is to listen, in a directory that it makes if need be. Nobody
// can guess the name: who may not read owner.json, such as a program in a sandbox, does not find
// it.
func newSocket() (string, error) {
	name := rand.Text()[:16] + ".sock"
	var failed error
	for _, dir := range socketDirectories() {
		path := filepath.Join(dir, name)
		if len(path) > maxSocket {
			continue
		}
		err := makePrivate(dir)
		if refusal := (*runtime.Refusal)(nil); err == nil || errors.As(err, &refusal) {
			return path, err
		}
		failed = errors.Join(failed, err)
	}
	return "", fmt.Errorf("there is no place for a socket: %w", failed)
}

// socketDirectories lists where sockets may be, the best first: not every system has a runtime
// directory, and those for temporary files can be too deep.
func socketDirectories() []string {
	var dirs []string
	if base := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) && private(base) == nil {
		dirs = append(dirs, filepath.Join(base, "starling"))
	}
	own := "starling-" + strconv.Itoa(os.Geteuid())
	return append(dirs, filepath.Join(os.TempDir(), own), filepath.Join("/tmp", own))
}

// makePrivate makes a directory that only this user can enter, or checks that it is one.
func makePrivate(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return private(dir)
}

// private refuses a directory that others could have prepared or can enter: in a directory for
// everybody's files its name can be taken by anybody.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	const help = "remove it, or set XDG_RUNTIME_DIR to a directory of your own"
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case !info.IsDir():
		return runtime.Refuse(runtime.ErrOwnerUnreachable, help, "%s: got %s, want a directory for sockets", dir, kindOf(info.Mode()))
	case owner != os.Geteuid():
		return runtime.Refuse(runtime.ErrOwnerUnreachable, help, "%s: it belongs to user %d, want %d", dir, owner, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return runtime.Refuse(runtime.ErrOwnerUnreachable, "run: chmod 700 "+dir, "%s: got mode %04o, want 0700", dir, info.Mode().Perm())
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsRegular():
		return "a file"
	}
	return "mode " + m.String()
}

// listen makes the socket.
func listen(path string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it goes with the record
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
