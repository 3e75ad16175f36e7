package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// root is a new root while it is being made. Everything is resolved within it and follows no
// symbolic link: what it holds of the workspace may have been arranged by somebody.
type root struct {
	fd    int
	own   map[uint64]bool // devices of the file systems that are its own: only in these anything is made
	plan  plan
	lacks []string
	env   []string

	hidden []string // files of caches that hold keys
}

// base is where the new root is mounted until it is the root. Nothing of the old one is needed
// there.
const base = "/proc"

// enterRoot makes the root that a policy describes and enters it, in the namespaces of an
// isolation.
func enterRoot(p Policy, i Isolation) (*root, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("setting its mounts apart: %w", err)
	}
	old := unix.Umask(0)
	defer unix.Umask(old)
	r := &root{fd: -1, own: map[uint64]bool{}, plan: planOf(p)}
	oldProc := -1
	if i == Shared {
		fd, err := clone("/proc", readOnly)
		if err != nil {
			return nil, err
		}
		oldProc = fd
	}
	for _, step := range []func() error{
		r.begin, r.makeDevices, r.bind, r.link, func() error { return r.overlay(p) }, func() error { return r.mountProc(oldProc) },
		r.pivot, r.coverProc, func() error { return r.settle(p) }, r.finish,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// begin mounts the empty root, with a /tmp that is empty as well.
func (r *root) begin() error {
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m"); err != nil {
		return fmt.Errorf("a root of its own: %w", err)
	}
	var err error
	if r.fd, err = unix.Open(base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("a root of its own: %w", err)
	}
	return r.temporary("/", "/tmp", "/dev/shm")
}

// temporary mounts a file system in memory at each path; the root is there.
func (r *root) temporary(paths ...string) error {
	for _, path := range paths {
		if path != "/" {
			if err := r.makeFolder(path); err != nil {
				return err
			}
			if err := r.filesystem("tmpfs", path, changeable, "mode=1777", "size=25%"); err != nil {
				return err
			}
		}
		var info unix.Stat_t
		fd, err := r.open(path, 0)
		if err == nil {
			err = unix.Fstat(fd, &info)
			unix.Close(fd)
		}
		if err != nil {
			return err
		}
		r.own[info.Dev] = true
	}
	return nil
}

// makeDevices makes /dev: what every program may use, and terminals that nobody else has.
func (r *root) makeDevices() error {
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := r.bindOne("/dev/"+name, device); err != nil {
			return err
		}
	}
	if err := r.makeFolder("/dev/pts"); err != nil {
		return err
	}
	if err := r.filesystem("devpts", "/dev/pts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "newinstance", "ptmxmode=0666", "mode=0620"); err != nil {
		return err
	}
	for name, target := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := r.makeLink("/dev/"+name, target); err != nil {
			return err
		}
	}
	return nil
}

func (r *root) bind() error {
	for _, path := range parentsFirst(r.plan.binds) {
		above := r.plan.holder(filepath.Dir(path))
		if above != "" && r.plan.binds[above] == r.plan.binds[path] {
			continue // it is there as it is to be
		}
		if err := r.bindOne(path, r.plan.binds[path]); err != nil && !isAbsent(err) {
			return err
		}
	}
	return r.makeFolder("/run")
}

// bindOne mounts a path of the machine at the same path.
func (r *root) bindOne(path string, attributes uint64) error {
	fd, err := clone(path, attributes)
	if err != nil {
		return err
	}
	var info unix.Stat_t
	if err = unix.Fstat(fd, &info); err == nil {
		err = r.makePoint(path, info.Mode&unix.S_IFMT == unix.S_IFDIR)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	return r.attach(fd, path)
}

// makePoint makes what something can be mounted at, unless it is there.
func (r *root) makePoint(path string, folder bool) error {
	if folder {
		return r.makeFolder(path)
	}
	dir, err := r.parent(path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, filepath.Base(path), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
	if err == nil {
		unix.Close(fd)
	}
	return r.made(path, err)
}

// makeFolder makes a folder and those above it.
func (r *root) makeFolder(path string) error {
	dir, err := r.parent(path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return r.made(path, unix.Mkdirat(dir, filepath.Base(path), 0o755))
}

func (r *root) makeLink(path, target string) error {
	dir, err := r.parent(path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return r.made(path, unix.Symlinkat(target, dir, filepath.Base(path)))
}

func (r *root) made(path string, err error) error {
	if err == nil || errors.Is(err, unix.EEXIST) {
		return nil
	}
	return fmt.Errorf("making %s: %w", path, err)
}

// errForeign is a file system that belongs to the machine: nothing is made there.
var errForeign = errors.New("it is not there")

// parent opens the folder that a path is in, and makes it where it is not there.
func (r *root) parent(path string) (fd int, err error) {
	up := filepath.Dir(path)
	fd, err = r.open(up, unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) && up != "/" {
		if err = r.makeFolder(up); err == nil {
			fd, err = r.open(up, unix.O_DIRECTORY)
		}
	}
	if err != nil {
		return -1, fmt.Errorf("making %s: %w", path, err)
	}
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if there, err := r.open(path, 0); err == nil {
		unix.Close(there)
	} else if !r.own[info.Dev] {
		unix.Close(fd)
		return -1, fmt.Errorf("making %s: %w", path, errForeign)
	}
	return fd, nil
}

// link makes the symbolic links of the plan that lie in no folder of the machine.
func (r *root) link() error {
	for _, path := range parentsFirst(r.plan.links) {
		if err := r.makeLink(path, r.plan.links[path]); err != nil && !errors.Is(err, errForeign) && !errors.Is(err, unix.ELOOP) {
			return err
		}
	}
	return nil
}

// overlay puts the caches there; one that cannot be had is left out.
func (r *root) overlay(p Policy) error {
	for i, c := range p.Caches {
		real, ok := r.plan.resolve(c.Folder)
		if !ok || p.Scratch == "" || strings.ContainsAny(real+p.Scratch, `,:\`) {
			continue
		}
		upper := filepath.Join(p.Scratch, ".caches", strconv.Itoa(i), "upper")
		work := filepath.Join(filepath.Dir(upper), "work")
		if errors.Join(os.MkdirAll(upper, 0o700), os.MkdirAll(work, 0o700)) != nil || r.makeFolder(real) != nil {
			continue
		}
		if err := r.filesystem("overlay", real, changeable, "lowerdir="+real, "upperdir="+upper, "workdir="+work, "userxattr"); err != nil {
			continue
		}
		if c.Variable != "" {
			r.env = append(r.env, c.Variable+"="+c.Folder)
			for _, name := range secretNames() {
				r.hidden = append(r.hidden, filepath.Join(real, name))
			}
		}
		for _, path := range parentsFirst(r.plan.binds) {
			if path == real || !within(path, real) {
				continue
			}
			if err := r.bindOne(path, r.plan.binds[path]); err != nil {
				return err
			}
		}
	}
	return nil
}

// mountProc mounts /proc: of the own processes, or the old one.
func (r *root) mountProc(old int) error {
	if err := r.makeFolder("/proc"); err != nil {
		return err
	}
	if old >= 0 {
		return r.attach(old, "/proc")
	}
	return r.filesystem("proc", "/proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

// pivot makes the new root the only one.
func (r *root) pivot() error {
	for _, err := range []error{unix.Chdir(base), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), unix.Chdir("/")} {
		if err != nil {
			return fmt.Errorf("entering its root: %w", err)
		}
	}
	return nil
}

// coverProc takes from /proc what sets or tells of the machine. To the kernel who runs as its
// administrator owns the settings, whatever namespaces are between.
func (r *root) coverProc() error {
	for _, path := range []string{"/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/sysrq-trigger", "/proc/mtrr"} {
		fd, err := clone(path, readOnly)
		if isAbsent(err) {
			continue
		}
		if err == nil {
			err = r.attach(fd, path)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"keys", "key-users", "kallsyms", "timer_list", "timer_stats", "sched_debug", "kcore", "kmsg", "latency_stats", "acpi", "asound", "scsi", "config.gz", "slabinfo",
		"pagetypeinfo", "vmallocinfo", "kpageflags", "kpagecount", "kpagecgroup"} {
		if err := r.cover("/proc/" + name); err != nil {
			return err
		}
	}
	return nil
}

// settle hides and protects what lies in folders that may be changed.
func (r *root) settle(p Policy) error {
	for _, path := range append(systemSecrets(), p.Hide...) {
		if err := r.pin(path); err != nil {
			return err
		}
		if err := r.cover(path); err != nil {
			return err
		}
	}
	for _, path := range r.hidden {
		if err := r.cover(path); err != nil {
			return err
		}
	}
	pinned := map[string]bool{}
	for _, path := range p.Protect {
		if pinned[path] {
			continue
		}
		pinned[path] = true
		if err := r.protect(path); err != nil {
			return err
		}
	}
	return nil
}

// protect makes a path read-only. What is a mount cannot be moved, replaced or removed either.
func (r *root) protect(path string) error {
	holder := r.plan.holder(path)
	if holder == "" || r.plan.binds[holder]&unix.MOUNT_ATTR_RDONLY != 0 {
		return nil
	}
	if err := r.pin(path); err != nil {
		return err
	}
	fd, err := clone(path, readOnly)
	switch {
	case errors.Is(err, unix.ELOOP):
		r.lacks = append(r.lacks, path+" is reached by a symbolic link and can be changed")
		return nil
	case isAbsent(err):
		return nil
	case err != nil:
		return err
	}
	return r.attach(fd, path)
}

// pin makes the folders above a path mounts, as far as they may be changed: otherwise who cannot
// change the path moves the folder that it is in, and makes another one.
func (r *root) pin(path string) error {
	holder := r.plan.holder(path)
	if holder == "" || r.plan.binds[holder]&unix.MOUNT_ATTR_RDONLY != 0 {
		return nil
	}
	for at := holder; at != filepath.Dir(path) && at != path; {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, strings.TrimSuffix(at, "/")+"/"), "/")
		at = filepath.Join(at, name)
		fd, err := clone(at, changeable)
		if isAbsent(err) || errors.Is(err, unix.ELOOP) {
			return nil
		}
		if err == nil {
			err = r.attach(fd, at)
		}
		if err != nil {
			return err
		}
		r.plan.binds[at] = changeable
	}
	return nil
}

// finish closes the root itself to changes.
func (r *root) finish() error {
	unix.Close(r.fd)
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: readOnly}); err != nil {
		return fmt.Errorf("closing its root: %w", err)
	}
	return nil
}
