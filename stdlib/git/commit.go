package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// trailer is the line of a commit's message by which a repeated attempt finds it.
const trailer = "Starling-Step"

// Commit commits what has changed at the paths (all below a folder; everything for none), or since a checkpoint, on the branch that is checked out. What else is staged stays staged. It gives
// the commit, "" when nothing has changed. Under a key that has been used, it gives the commit that was made. No hooks are run.
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
	list := call{stdin: []byte(strings.Join(paths, "\x00")), env: append(who, "GIT_LITERAL_PATHSPECS=1")}
	list.args = []string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}
	if _, err := r.patiently(ctx, list); err != nil {
		return "", err
	}
	list.args = []string{"commit", "--quiet", "--only", "--no-verify", "--message", message, "--trailer", trailer + ": " + key, "--pathspec-from-file=-", "--pathspec-file-nul"}
	if _, err := r.patiently(ctx, list); err != nil {
		return "", err
	}
	return r.find(ctx, "HEAD")
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
