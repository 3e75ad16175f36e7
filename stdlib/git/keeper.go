package git

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"starling/stdlib/process"
)

// Keeper keeps the shell of a request for the next one. Most requests are a few commands of git,
// which take less than the guard, the sandbox and the shell that they run in. The zero value keeps
// none yet. It may be used by many goroutines; a shell serves one request at a time.
//
// A kept shell is as good as a new one, or it is ended: it is given to who wants the same of the
// same folders and configurations, and only what a request left in it is gone. It has a lock of its
// own in place of that of a step, since it outlives the step: after a crash the next shell of any
// step waits until it is gone. One that may run filters is not kept, for these are programs of
// others.
type Keeper struct {
	mu    sync.Mutex // protects what is below
	kept  *session   // nil for none
	timer *time.Timer
}

// idle is how long a shell is kept that nobody uses.
const idle = 3 * time.Second

// making is what a shell was made from.
type making struct {
	spec  process.Spec
	files map[string]fs.FileInfo // nil for one that was not there
}

// lockOfKept is the lock of a shell that is kept, beside those of steps.
const lockOfKept = "workspace"

// keeps tells whether a shell of these options may be kept.
func (o *Options) keeps() bool { return o.Keeper != nil && len(o.Filters) == 0 }

// madeFrom notes what a shell is about to be made from.
func (r *Repository) madeFrom(spec process.Spec) making {
	m := making{spec: spec, files: map[string]fs.FileInfo{}}
	policy := *spec.Sandbox // whose lists grow
	m.spec.Sandbox = &policy
	m.note(slices.Concat(policy.Read, policy.Write, policy.Hide,
		[]string{filepath.Join(r.common, "config"), "/etc/gitconfig"})...)
	return m
}

// note remembers how files are now, unless it has been said how they were.
func (m making) note(paths ...string) {
	for _, p := range paths {
		if _, noted := m.files[p]; !noted {
			m.files[p], _ = os.Stat(p)
		}
	}
}

// serves tells whether a shell that was made from m is one that would be made from want.
func (m making) serves(want making) bool {
	a, b := m.spec, want.spec
	if a.Dir != b.Dir || !slices.Equal(a.Env, b.Env) || !reflect.DeepEqual(a.Sandbox, b.Sandbox) {
		return false
	}
	for path, was := range m.files {
		if is, _ := os.Stat(path); !unchanged(was, is) {
			return false
		}
	}
	return true
}

// unchanged tells whether a path leads to what it led to: the same folder, or the same file with
// the same content.
func unchanged(was, is fs.FileInfo) bool {
	if was == nil || is == nil {
		return was == is
	}
	return os.SameFile(was, is) &&
		(was.IsDir() || was.Size() == is.Size() && was.ModTime().Equal(is.ModTime()))
}

// take gives the shell that is kept if it serves, and ends it if it does not.
func (k *Keeper) take(want making) *session {
	k.mu.Lock()
	kept := k.kept
	k.kept = nil
	k.mu.Unlock()
	if kept == nil || kept.made.serves(want) && kept.whole() {
		return kept
	}
	kept.end()
	return nil
}

// keep keeps a shell that has served.
func (k *Keeper) keep(shell *session) {
	k.mu.Lock()
	other := k.kept
	k.kept = shell
	if k.timer != nil {
		k.timer.Stop()
	}
	k.timer = time.AfterFunc(idle, func() { k.drop(shell) })
	k.mu.Unlock()
	if other != nil {
		other.end()
	}
}

// drop ends a shell that is still kept.
func (k *Keeper) drop(shell *session) {
	k.mu.Lock()
	if shell == nil || k.kept != shell {
		k.mu.Unlock()
		return
	}
	k.kept = nil
	k.mu.Unlock()
	shell.end()
}

// Close returns when the shell that is kept is gone. The Keeper may be used again.
func (k *Keeper) Close() {
	k.mu.Lock()
	shell := k.kept
	k.mu.Unlock()
	k.drop(shell)
}

// clean removes what a request has left in the folders of a session.
func (n *session) clean() error {
	for _, p := range n.private {
		if err := os.RemoveAll(p.dir); err != nil {
			return err
		}
	}
	clear(n.private)
	left, err := os.ReadDir(n.folder)
	for _, e := range left {
		if fd, bad := strconv.Atoi(e.Name()); err == nil && (bad != nil || fd >= len(n.files)) {
			err = os.RemoveAll(filepath.Join(n.folder, e.Name()))
		}
	}
	return err
}

// whole tells whether a session still answers, and its files are where its commands look for them.
func (n *session) whole() bool {
	for i, f := range n.files {
		ours, err := f.Stat()
		if err != nil {
			return false
		}
		named, err := os.Lstat(filepath.Join(n.folder, strconv.Itoa(i)))
		if err != nil || !os.SameFile(ours, named) {
			return false
		}
	}
	if _, err := os.Stat(n.apart); err != nil {
		return false
	}
	n.tell("echo")
	select {
	case <-n.codes:
		return true
	case <-n.ended:
		return false
	}
}

// startKept starts the child of a shell that outlives ctx, which can only keep it from starting.
func startKept(ctx context.Context, spec process.Spec) (*process.Child, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	child, err := process.Start(life, spec)
	if !stop() && err == nil { // it was ended as it began
		child.Stop()
		child.Wait()
		return nil, ctx.Err()
	}
	return child, err
}
