package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Attributes of what is mounted. Nothing has set-user-ID programs; devices are bound one by one.
const (
	changeable = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnly   = changeable | unix.MOUNT_ATTR_RDONLY
	device     = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY // which stops no writing to it
)

// clone is a copy of what is mounted at a path and below, with further attributes, and mounted
// nowhere yet. No symbolic link is followed: the path was resolved before, and who changed it since
// is no friend.
func clone(path string, attributes uint64) (fd int, err error) {
	at, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(at)
	const whole = unix.AT_EMPTY_PATH | unix.AT_RECURSIVE
	fd, err = unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|whole)
	if err != nil {
		return -1, fmt.Errorf("binding %s: %w", path, err)
	}
	if err := unix.MountSetattr(fd, "", whole, &unix.MountAttr{Attr_set: attributes}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("binding %s: %w", path, err)
	}
	return fd, nil
}

// attach mounts a clone at a place that exists in the new root, and closes it.
func (r *root) attach(fd int, path string) error {
	defer unix.Close(fd)
	at, err := r.open(path, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(at)
	if err := unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting %s: %w", path, err)
	}
	return nil
}

// open opens a path of the new root without ever leaving it.
func (r *root) open(path string, flags uint64) (fd int, err error) {
	name := strings.TrimPrefix(path, "/")
	if name == "" {
		name = "."
	}
	return unix.Openat2(r.fd, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS})
}

// filesystem mounts a new file system in the new root. options are "key=value" or words.
func (r *root) filesystem(kind, path string, attributes int, options ...string) error {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("%s at %s: %w", kind, path, err)
	}
	defer unix.Close(fs)
	for _, option := range options {
		key, value, given := strings.Cut(option, "=")
		if given {
			err = unix.FsconfigSetString(fs, key, value)
		} else {
			err = unix.FsconfigSetFlag(fs, key)
		}
		if err != nil {
			return fmt.Errorf("%s at %s: %s: %w", kind, path, option, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return fmt.Errorf("%s at %s: %w", kind, path, err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return fmt.Errorf("%s at %s: %w", kind, path, err)
	}
	return r.attach(fd, path)
}

// cover makes a file or folder of the new root empty. What is not there needs no cover.
func (r *root) cover(path string) error {
	fd, err := r.open(path, 0)
	if err != nil {
		return nil
	}
	var info unix.Stat_t
	err = unix.Fstat(fd, &info)
	unix.Close(fd)
	switch {
	case err != nil:
		return err
	case info.Mode&unix.S_IFMT == unix.S_IFDIR:
		return r.filesystem("tmpfs", path, readOnly, "size=4k", "mode=555")
	}
	nothing, err := clone(os.DevNull, device)
	if err != nil {
		return err
	}
	return r.attach(nothing, path)
}

// isAbsent tells that there is nothing to be bound, or nothing that the user may see.
func isAbsent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES)
}
