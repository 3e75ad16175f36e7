package stdlib

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/git"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// maxPatch is how many bytes of a patch scripts see.
const maxPatch = 256 << 10

// workspaceHandler performs requests of kind "workspace", one at a time: two that change a repository at once would wait for each other's locks.
func workspaceHandler(trees *trees) *effect.Handler {
	turn := make(chan struct{}, 1)
	return &effect.Handler{
		Resolve: func(s *effect.Settings, r *effect.Request) *effect.Error {
			args, err := r.Args.View()
			if err != nil {
				return effect.Errorf(effect.KindRefused, "workspace: %v", err)
			}
			if do := args.Text("do"); do == "diff" || do == "head" {
				return grantedFiles(s, project.ReadFiles)
			}
			return grantedFiles(s, project.WriteFiles)
		},
		Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
			if !trees.leave(ctx, a) {
				return repositoryFailed(ctx, a, ctx.Err())
			}
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
			case <-ctx.Done():
				return repositoryFailed(ctx, a, ctx.Err())
			}
			return performWorkspace(ctx, a)
		},
	}
}

func performWorkspace(ctx context.Context, a *effect.Attempt) effect.Reply {
	if effect.ViewOf(a.Args).Text("do") == "head" {
		if head := git.Head(a.Settings.Workspace); head != "" {
			return effect.Reply{Value: starlark.String(head)}
		}
		return effect.Reply{Value: starlark.None}
	}
	r, err := git.Open(gitOptions(a))
	if err != nil {
		return repositoryFailed(ctx, a, err)
	}
	defer r.Close()
	args := effect.ViewOf(a.Args)
	if serve := treeWork[args.Text("do")]; serve != nil {
		w := &treeRequest{Repository: r, attempt: a, args: args, blobs: map[string][]byte{}}
		v, err := serve(ctx, w)
		if err != nil {
			return repositoryFailed(ctx, a, err)
		}
		return effect.Reply{Value: v, Blobs: w.blobs}
	}
	sum := sha256.Sum256([]byte(a.Key))
	name := hex.EncodeToString(sum[:12]) // the same for every attempt, and another one for every step
	var v starlark.Value = starlark.None
	blobs := map[string][]byte{}
	switch args.Text("do") {
	case "checkpoint":
		err = r.Checkpoint(ctx, name)
		v = starlark.String(name)
	case "rollback":
		var patch string
		var paths []string
		patch, paths, err = r.Rollback(ctx, args.Text("checkpoint"), name, a.Number)
		v, blobs["undone.patch"] = changed(patch, paths), []byte(patch)
	case "diff":
		var patch string
		var paths []string
		patch, paths, err = r.Diff(ctx, args.Text("since"))
		v, blobs["diff.patch"] = changed(patch, paths), []byte(patch)
	case "commit":
		var commit string
		commit, err = r.Commit(ctx, a.Key, args.Text("message"), args.Text("since"), args.Texts("paths"))
		if commit != "" {
			v = starlark.String(commit)
		}
	default:
		err = errors.New("this build does not know this operation")
	}
	if err == nil {
		_, err = effect.Encode(v)
	}
	if err != nil {
		return repositoryFailed(ctx, a, err)
	}
	return effect.Reply{Value: v, Blobs: blobs}
}

func gitOptions(a *effect.Attempt) git.Options {
	return git.Options{Workspace: a.Settings.Workspace, Store: a.Store, Trees: a.Trees, Lock: a.Lock, Attempt: process.Attempt{Run: a.Run, Step: a.Step, Attempt: a.Number}}
}

// changed is the dict of what has changed.
func changed(patch string, paths []string) starlark.Value {
	text := strings.ToValidUTF8(patch[:min(len(patch), maxPatch)], "\uFFFD")
	for i, p := range paths {
		paths[i] = strings.ToValidUTF8(p, "\uFFFD")
	}
	return dictOf([]string{"files", "patch", "truncated"}, textList(paths), starlark.String(text), starlark.Bool(len(patch) > maxPatch))
}

// dictOf makes a dict with these keys and values.
func dictOf(keys []string, values ...starlark.Value) *starlark.Dict {
	d := starlark.NewDict(len(keys))
	for i, key := range keys {
		if err := d.SetKey(starlark.String(key), values[i]); err != nil {
			panic("stdlib: " + err.Error()) // a fresh dict with keys that are strings
		}
	}
	return d
}

// repositoryFailed says, for scripts that decide on it, why in error.data.reason.
func repositoryFailed(ctx context.Context, a *effect.Attempt, err error) effect.Reply {
	kind, reason := effect.KindEffect, ""
	switch {
	case ctx.Err() != nil:
		kind = effect.KindCancelled
	case errors.Is(err, git.ErrBusy):
		reason = "busy"
	case errors.Is(err, git.ErrUnfinished):
		reason = "unfinished"
	case errors.Is(err, git.ErrNoRepository):
		reason = "no_repository"
	case errors.Is(err, git.ErrNoCheckpoint):
		reason = "no_checkpoint"
	case errors.Is(err, git.ErrMoved):
		reason = "moved"
	case errors.Is(err, git.ErrNoTree):
		reason = "no_tree"
	case errors.Is(err, errNotOwned):
		kind, reason = effect.KindRefused, "not_owned"
	}
	var o effect.Object
	e := effect.Errorf(kind, "workspace.%s: %v", effect.ViewOf(a.Args).Text("do"), err)
	e.Data = o.Text("reason", reason).Payload()
	return effect.Reply{Err: e}
}
