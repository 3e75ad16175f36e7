package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"starling/stdlib/jail"
)

// What git does not see may still decide what tests say: a module that a runner loads, a program in
// node_modules, bytecode that is older than its source. These files are kept beside the
// checkpoints, in the store and not in the repository, which is pushed to others: keys are often
// among them.
//
//	ignored/NAME.json       what there was at a checkpoint: a [manifest]
//	ignored/objects/SUM     what the files held, by the SHA-256 of it
//	ignored/undone/NAME/    what was taken away, at the paths where it was

const (
	maxKeptFile  = 16 << 20  // bytes of a file that is kept
	maxKeptFiles = 512 << 20 // bytes of all of them
	maxSummed    = 64 << 20  // bytes of a file that is read to see whether it has changed
	keptFor      = 30 * 24 * time.Hour
)

// cacheTag marks a folder whose content can be made again; see bford.info/cachedir.
const cacheTag = "CACHEDIR.TAG"

// manifest is what there was that git did not see.
type manifest struct {
	Files map[string]unseen `json:"files"`
	Seen  []string          `json:"seen"`          // the paths that git saw
	Git   bool              `json:"git,omitempty"` // it has what decides in repositories; those of older versions have not
}

// unseen is one file, or a link.
type unseen struct {
	Sum   string      `json:"sum"` // of what it holds, or of where it leads
	Mode  fs.FileMode `json:"mode"`
	Time  int64       `json:"time"` // when it was changed, in nanoseconds since 1970
	Kept  bool        `json:"kept,omitempty"`
	Cache bool        `json:"cache,omitempty"` // it lies below a cacheTag
}

func (u unseen) same(v unseen) bool { return u.Sum == v.Sum && u.Mode == v.Mode }

func (r *Repository) ignoredPlace(parts ...string) string {
	return filepath.Join(append([]string{cmp.Or(r.o.Store, r.common), "ignored"}, parts...)...)
}

// KeepIgnored keeps the files that git does not see under the name of a checkpoint. Under a name
// that has been used, it has been done. What is larger than 16 MiB, is more than 512 MiB together
// or can be made again is only looked at.
func (r *Repository) KeepIgnored(ctx context.Context, name string) error {
	file := r.ignoredPlace(name + ".json")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	if err := os.MkdirAll(r.ignoredPlace("objects"), 0o700); err != nil {
		return err
	}
	if err := r.forgetIgnored(time.Now().Add(-keptFor)); err != nil {
		return err
	}
	m, err := r.unseen(ctx, nil)
	if err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = replaceFile(file, text)
	}
	return err
}

// replaceFile writes a file of the store, whole or not at all.
func replaceFile(name string, content []byte) error {
	made := fmt.Sprintf("%s.%d.tmp", name, os.Getpid())
	err := os.WriteFile(made, content, 0o600)
	if err == nil {
		err = os.Rename(made, name)
	}
	return err
}

// unseen looks at all files of the workspace that git does not see, and keeps them unless it is
// told what there was. Those that decide what runs may do are none of them: nobody restores those.
func (r *Repository) unseen(ctx context.Context, was *manifest) (*manifest, error) {
	keep := was == nil
	seen, err := r.Files(ctx)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.o.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	m := &manifest{Files: map[string]unseen{}, Seen: seen, Git: keep || was.Git}
	room, caches := int64(maxKeptFiles), map[string]bool{}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // gone meanwhile, or a folder that nobody can read
		case name == ".":
			return nil
		}
		right := r.o.Rights.Check(name)
		// No folder within a repository is gone into, so this is the folder of one itself.
		within := m.Git && strings.Contains(name, "/") && errors.Is(right, jail.ErrRepository)
		switch {
		case within && d.IsDir():
			m.Files[name] = unseen{Mode: fs.ModeDir}
			if !keep && was.Files[name].Mode != fs.ModeDir {
				return fs.SkipDir // it is taken away as a whole
			}
			return cmp.Or(r.decisiveIn(root, name, "", m.Files, keep, &room), fs.SkipDir)
		case within:
			u, err := r.unseenFile(root, name, keep, &room)
			if err == nil {
				m.Files[name] = u
			}
			return unlessAbsent(err)
		case r.inStore(name) || right != nil:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			_, err := root.Lstat(path.Join(name, cacheTag))
			caches[name] = caches[path.Dir(name)] || err == nil
			return nil
		}
		if _, is := slices.BinarySearch(seen, name); is || !d.Type().IsRegular() && d.Type() != fs.ModeSymlink {
			return nil
		}
		u, err := r.unseenFile(root, name, keep && !caches[path.Dir(name)], &room)
		if err == nil {
			u.Cache = caches[path.Dir(name)]
			m.Files[name] = u
		}
		return unlessAbsent(err)
	})
	if err == nil && m.Git {
		err = r.decisive(m.Files, keep, &room)
	}
	return m, err
}

// unseenFile looks at a file, and keeps what it holds where there is room.
func (r *Repository) unseenFile(root *os.Root, name string, keep bool, room *int64) (unseen, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return unseen{}, err
	}
	u := unseen{Mode: info.Mode(), Time: info.ModTime().UnixNano()}
	var content []byte
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		if err != nil {
			return u, err
		}
		content = []byte(target)
	case !info.Mode().IsRegular(): // a pipe, whose end nobody may see
		u.Sum = info.Mode().Type().String()
		return u, nil
	case info.Size() > maxSummed:
		u.Sum = fmt.Sprint(info.Size(), " ", u.Time)
		return u, nil
	default:
		if content, err = root.ReadFile(name); errors.Is(err, fs.ErrPermission) {
			u.Sum = "unreadable"
			return u, nil
		} else if err != nil {
			return u, err
		}
	}
	sum := sha256.Sum256(content)
	u.Sum = hex.EncodeToString(sum[:])
	if !keep || len(content) > maxKeptFile || int64(len(content)) > *room {
		return u, nil
	}
	*room -= int64(len(content))
	u.Kept = true
	object := r.ignoredPlace("objects", u.Sum)
	if _, err := os.Stat(object); err == nil {
		return u, nil
	}
	return u, replaceFile(object, content)
}

// RestoreIgnored makes what git does not see what it was at a checkpoint that has kept it: what is
// new is taken away, what was changed or removed is put back. That holds of what decides in the
// repository as well (".git/hooks/pre-commit"), and of repositories within the workspace. It gives
// the paths of these, and those that it cannot put back, for they were not kept. What there was is
// kept in the store, under a name. Files that match one of the patterns to spare stay as they are,
// and so does what git sees now.
func (r *Repository) RestoreIgnored(ctx context.Context, checkpoint, name string, spare []string) (restored, left []string, err error) {
	was, err := readManifest(r.ignoredPlace(checkpoint + ".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w that has kept what git ignores", ErrNoCheckpoint)
	}
	if err != nil {
		return nil, nil, err
	}
	now, err := r.unseen(ctx, was)
	if err != nil {
		return nil, nil, err
	}
	taken, put, left := was.against(now, spare)
	work, err := os.OpenRoot(r.o.Workspace)
	if err != nil {
		return nil, nil, err
	}
	defer work.Close()
	git, err := os.OpenRoot(r.common)
	if err != nil {
		return nil, nil, err
	}
	defer git.Close()
	where := func(p string) (root *os.Root, below string) {
		if inGit, is := strings.CutPrefix(p, repositoryPrefix); is {
			return git, inGit
		}
		return work, p
	}
	for _, p := range taken {
		root, below := where(p)
		if now.Files[p].Cache {
			err = drop(root, below)
		} else {
			err = r.takeAway(root, below, r.ignoredPlace("undone", name, filepath.FromSlash(p)))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for _, p := range put {
		root, below := where(p)
		if err := r.putBack(root, below, was.Files[p]); err != nil {
			return nil, nil, err
		}
	}
	restored = append(taken, put...)
	slices.Sort(restored)
	slices.Sort(left)
	return slices.Compact(restored), left, nil
}

// against says what is to be taken away and what put back, so that things are as they were, and for
// what it is too late. A file that git saw, and sees no more, is gone for everybody who compares.
func (m *manifest) against(now *manifest, spare []string) (taken, put, left []string) {
	spared := func(p string) bool {
		return slices.ContainsFunc(spare, func(pattern string) bool { return jail.Match(pattern, p) })
	}
	for p, is := range now.Files {
		was, had := m.Files[p]
		_, saw := slices.BinarySearch(m.Seen, p)
		switch {
		case spared(p) || had && was.same(is) || !had && saw:
		case had && !was.Kept && !was.Cache:
			left = append(left, p)
		default:
			taken = append(taken, p)
			if was.Kept {
				put = append(put, p)
			}
		}
	}
	for p, was := range m.Files {
		_, has := now.Files[p]
		_, sees := slices.BinarySearch(now.Seen, p)
		switch {
		case has || sees || spared(p) || was.Cache:
		case was.Kept:
			put = append(put, p)
		default:
			left = append(left, p)
		}
	}
	return taken, put, left
}

// takeAway moves a file, or a folder, to where what was undone is kept, by a copy: nothing that is
// swapped for a link meanwhile leads elsewhere.
func (r *Repository) takeAway(root *os.Root, name, kept string) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		folder, err := fs.Sub(root.FS(), name)
		if err == nil {
			err = os.RemoveAll(kept)
		}
		if err == nil {
			err = os.CopyFS(kept, folder)
		}
		if err == nil || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) { // a device is not kept
			err = root.RemoveAll(name)
		}
		return errors.Join(err, drop(root, name))
	}
	if target, err := root.Readlink(name); err == nil {
		if err := errors.Join(unlessAbsent(os.Remove(kept)), os.Symlink(target, kept)); err != nil {
			return err
		}
		return drop(root, name)
	}
	from, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // of a pipe nobody may write
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer from.Close()
		var info fs.FileInfo
		if info, err = from.Stat(); err == nil && info.Mode().IsRegular() {
			err = writeFrom(kept, from)
		}
	} else if errors.Is(err, syscall.ENXIO) { // a socket, or such a device
		err = nil
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) { // what nobody can read is nothing to keep
		return err
	}
	return drop(root, name)
}

// putBack makes a file what it was, with its permissions and its time, at once.
func (r *Repository) putBack(root *os.Root, name string, u unseen) error {
	content, err := os.ReadFile(r.ignoredPlace("objects", u.Sum))
	if err == nil {
		err = makeWay(root, name)
	}
	if err != nil {
		return err
	}
	made := path.Join(path.Dir(name), ".starling-"+u.Sum)
	if err := unlessAbsent(root.Remove(made)); err != nil {
		return err
	}
	if u.Mode&fs.ModeSymlink != 0 {
		err = root.Symlink(string(content), made)
	} else {
		err = r.writeAs(root, made, content, u)
	}
	if err != nil {
		return err
	}
	return root.Rename(made, name)
}

func (r *Repository) writeAs(root *os.Root, name string, content []byte, u unseen) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	changed := time.Unix(0, u.Time)
	return errors.Join(err, f.Chmod(u.Mode.Perm()), f.Close(), root.Chtimes(name, changed, changed))
}

// forgetIgnored removes what was kept before a time, and what nothing names any more.
func (r *Repository) forgetIgnored(before time.Time) error {
	gone := false
	for _, pattern := range []string{"undone/*", "*.json"} {
		kept, _ := filepath.Glob(filepath.Join(escaped(r.ignoredPlace()), filepath.FromSlash(pattern)))
		for _, file := range kept {
			if info, err := os.Stat(file); err != nil || !info.ModTime().Before(before) {
				continue
			}
			gone = true
			if err := os.RemoveAll(file); err != nil {
				return err
			}
		}
	}
	if !gone {
		return nil
	}
	needed, err := r.neededIgnored()
	if err != nil {
		return err
	}
	objects, err := os.ReadDir(r.ignoredPlace("objects"))
	for _, o := range objects {
		if !needed[o.Name()] {
			err = errors.Join(err, unlessAbsent(os.Remove(r.ignoredPlace("objects", o.Name()))))
		}
	}
	return err
}

// neededIgnored names the objects that checkpoints need.
func (r *Repository) neededIgnored() (map[string]bool, error) {
	needed := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(escaped(r.ignoredPlace()), "*.json"))
	for _, file := range files {
		m, err := readManifest(file)
		if err != nil {
			return nil, err
		}
		for _, u := range m.Files {
			needed[u.Sum] = true
		}
	}
	return needed, nil
}

func readManifest(file string) (*manifest, error) {
	m := new(manifest)
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	return m, err
}
