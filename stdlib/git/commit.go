package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// trailer is the line of a commit's message by which a repeated attempt finds it.
const trailer = "Starling-Step"

// Commit commits what has changed at the paths (all below a folder; everything for none), or since
// a checkpoint, on the branch that is checked out. What else is staged stays staged. It gives the
// commit, "" when nothing has changed, or nothing that git would commit. Under a key that has been
// used, it gives the commit that was made. No hooks are run.
func (r *Repository) Commit(ctx context.Context, key, message, since string, paths []string) (string, error) {
	if done, err := r.committed(ctx, key); err != nil || done != "" {
		return done, err
	}
	if err := r.unfinished(); err != nil {
		return "", err
	}
	if len(paths) == 0 {
		_, changed, err := r.Diff(ctx, since)
		if err != nil || len(changed) == 0 {
			return "", err
		}
		paths = changed
	}
	who, err := r.identity(ctx)
	if err != nil {
		return "", err
	}
	working, err := r.beginCommit(key)
	if err != nil {
		return "", err
	}
	commit, err := r.commitPaths(ctx, key, message, append(who, "GIT_LITERAL_PATHSPECS=1"), paths)
	if ctx.Err() == nil { // else git was killed, and the next attempt is to know
		err = errors.Join(err, os.Remove(working))
	}
	return commit, err
}

// commitPaths stages the paths and commits them.
func (r *Repository) commitPaths(ctx context.Context, key, message string, env, paths []string) (string, error) {
	if err := r.stage(ctx, paths); err != nil {
		return "", err
	}
	list := call{stdin: []byte(strings.Join(paths, "\x00")), env: env}
	if something, err := r.stagedAt(ctx, paths); err != nil || !something {
		return "", err
	}
	list.args = []string{"commit", "--quiet", "--only", "--no-verify", "--message", message, "--trailer", trailer + ": " + key, "--pathspec-from-file=-", "--pathspec-file-nul"}
	if _, err := r.patiently(ctx, list); err != nil {
		return "", err
	}
	return r.find(ctx, "HEAD")
}

// stage puts what is at the paths or below into the index, as git add does, which would run a git
// in each submodule, under its configuration.
func (r *Repository) stage(ctx context.Context, paths []string) error {
	args := append([]string{"ls-files", "-z"}, strings.Fields(string(files))...)
	list, err := r.git(ctx, args...)
	if err != nil {
		return err
	}
	found := make([]bool, len(paths))
	var names []string
	for name := range strings.SplitSeq(list, "\x00") {
		if name == "" || strings.HasSuffix(name, "/") { // a repository inside this one
			continue
		}
		wanted := false
		for i, p := range paths {
			if at(p, name) {
				found[i], wanted = true, true
			}
		}
		if wanted {
			names = append(names, name)
		}
	}
	for i, p := range paths {
		if !found[i] && path.Clean(p) != "." {
			return fmt.Errorf("%s: there is nothing to commit, or git ignores it", p)
		}
	}
	if err := r.checkFilters(ctx, names); err != nil {
		return err
	}
	args = []string{"update-index", "--add", "--remove", "--replace", "-z", "--stdin"}
	_, err = r.patiently(ctx, call{args: args, stdin: []byte(strings.Join(names, "\x00"))})
	return err
}

// at tells whether a file is at a path, or below it.
func at(p, name string) bool {
	p = path.Clean(p)
	return p == "." || name == p || strings.HasPrefix(name, p+"/")
}

// checkFilters refuses files that the user's git would send through a filter which is not run here:
// what is committed would not be what it seems, such as a large file in place of a pointer to it,
// or plain text in place of a cipher. A filter that nothing defines is none.
func (r *Repository) checkFilters(ctx context.Context, names []string) error {
	defined := r.shell.now.config.filters
	if len(defined) == 0 && len(r.o.Filters) == 0 {
		return nil
	}
	out, err := r.run(ctx, call{args: []string{"check-attr", "-z", "--stdin", "filter"},
		stdin: []byte(strings.Join(names, "\x00"))})
	for f := strings.Split(out, "\x00"); err == nil && len(f) > 3; f = f[3:] {
		name, filter := f[0], f[2]
		run, known := defined[filter]
		switch named := slices.Contains(r.o.Filters, filter); {
		case run, !known && !named:
		case named:
			err = fmt.Errorf("%w: %s through %q, which your own configuration of git does not define",
				ErrFilter, name, filter)
		default:
			err = fmt.Errorf("%w: %s through %q; name it in filters under [git] in starling.toml",
				ErrFilter, name, filter)
		}
	}
	return err
}

// stagedAt tells whether something is staged at the paths or below: files that differ in bytes may
// be the same to git, which converts the ends of their lines.
func (r *Repository) stagedAt(ctx context.Context, paths []string) (bool, error) {
	last, err := r.filesOf(ctx, "")
	if err != nil {
		return false, err
	}
	staged, err := r.git(ctx, "diff-index", "--cached", "--name-only", "-z", "--no-renames", last)
	for name := range strings.SplitSeq(staged, "\x00") {
		for _, p := range paths {
			if name != "" && at(p, name) {
				return true, err
			}
		}
	}
	return false, err
}

// lockWithin is how long after it was begun a commit takes git's lock at the latest.
const lockWithin = 10 * time.Second

// beginCommit notes in a file which step is about to commit, and since when. Where the note of an
// earlier attempt of the same step is there, that was killed, and git with it: a lock of the index
// from just then is that git's, which nobody else will ever remove. Every other lock is somebody's.
func (r *Repository) beginCommit(key string) (note string, err error) {
	note = filepath.Join(r.dir, "starling-commit")
	if by, err := os.ReadFile(note); err == nil && string(by) == key {
		lock := filepath.Join(r.dir, "index.lock")
		began, failed := os.Stat(note)
		held, none := os.Stat(lock)
		if failed == nil && none == nil && !held.ModTime().Before(began.ModTime()) && held.ModTime().Sub(began.ModTime()) <= lockWithin {
			if err := os.Remove(lock); err != nil {
				return "", err
			}
		}
		_ = os.Remove(note) // so that the next one is not older than it says
	}
	return note, os.WriteFile(note, []byte(key), 0o600)
}

// committed finds the commit of a key among the newest.
func (r *Repository) committed(ctx context.Context, key string) (string, error) {
	head, err := r.find(ctx, "HEAD")
	if err != nil || head == "" {
		return "", err
	}
	out, err := r.git(ctx, "log", "-n", "1000", "--format=%H %(trailers:key="+trailer+",valueonly,separator=%x20)", head)
	for line := range strings.Lines(out) {
		if commit, steps, _ := strings.Cut(strings.TrimSpace(line), " "); steps == key {
			return commit, err
		}
	}
	return "", err
}

// identity is the user's own, or ours where git knows of none.
func (r *Repository) identity(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, call{args: []string{"var", "GIT_COMMITTER_IDENT"}, code: 128})
	if err != nil || out != "" {
		return nil, err
	}
	return []string{"GIT_AUTHOR_NAME=Starling", "GIT_AUTHOR_EMAIL=starling@localhost", "GIT_COMMITTER_NAME=Starling", "GIT_COMMITTER_EMAIL=starling@localhost"}, nil
}

// patiently waits for somebody else's git for a while.
func (r *Repository) patiently(ctx context.Context, c call) (string, error) {
	ticks := time.NewTicker(lockLook)
	defer ticks.Stop()
	for began := time.Now(); ; {
		out, err := r.run(ctx, c)
		if !errors.Is(err, ErrBusy) {
			return out, err
		}
		if time.Since(began) > lockPatience {
			return "", fmt.Errorf("%w; if no git is running, remove that file", err)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-ticks.C:
		}
	}
}
