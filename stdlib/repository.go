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
	"starling/stdlib/redact"
	"starling/stdlib/secret"
)

// maxPatch is how many bytes of a patch scripts see.
const maxPatch = 256 << 10

// workspaceHandler performs requests of kind "workspace", one at a time: two that change a
// repository at once would wait for each other's locks. The shell of one is kept for the next.
func workspaceHandler(trees *trees, keeper *git.Keeper) *effect.Handler {
	turn := make(chan struct{}, 1)
	return &effect.Handler{
		Workspace: true,
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
			return performWorkspace(ctx, a, keeper)
		},
	}
}

func performWorkspace(ctx context.Context, a *effect.Attempt, keeper *git.Keeper) effect.Reply {
	args := effect.ViewOf(a.Args)
	if args.Text("do") == "head" { // also where there is no repository
		if head := git.Head(a.Settings.Workspace); head != "" {
			return effect.Reply{Value: starlark.String(head)}
		}
		return effect.Reply{Value: starlark.None}
	}
	serve := workspaceWork[args.Text("do")]
	if serve == nil {
		return repositoryFailed(ctx, a, errors.New("this build does not know this operation"))
	}
	o := gitOptions(a)
	o.Keeper = keeper
	r, err := git.Open(o)
	if err != nil {
		return repositoryFailed(ctx, a, err)
	}
	defer r.Close()
	w := &repositoryRequest{Repository: r, attempt: a, args: args, hide: hiddenInFiles(a), blobs: map[string][]byte{}}
	v, err := serve(ctx, w)
	if err == nil {
		_, err = effect.Encode(v)
	}
	if err != nil {
		return repositoryFailed(ctx, a, err)
	}
	return effect.Reply{Value: v, Blobs: w.blobs}
}

// repositoryRequest is a request and the repository as it is seen from where the call stands.
type repositoryRequest struct {
	*git.Repository
	attempt *effect.Attempt
	args    effect.View
	hide    *redact.Redactor  // in what is shown of files
	blobs   map[string][]byte // artifacts of the step
}

// workspaceWork serves what scripts ask for, and what the machine does for isolated branches.
var workspaceWork = map[string]func(context.Context, *repositoryRequest) (starlark.Value, error){
	"checkpoint":       keepCheckpoint,
	"rollback":         rollBack,
	"restore_ignored":  restoreIgnored,
	"diff":             diffWorkspace,
	"commit":           commitWorkspace,
	effect.TreeFork:    forkTrees,
	effect.TreeOpen:    openTree,
	effect.TreeClose:   closeTree,
	effect.TreeCompare: compareTrees,
	effect.TreeFold:    foldTrees,
	effect.TreeApply:   applyTrees,
	effect.TreeDrop:    dropTrees,
}

// name is the same for every attempt of a step, and another one for every step.
func (w *repositoryRequest) name() string {
	sum := sha256.Sum256([]byte(w.attempt.Key))
	return hex.EncodeToString(sum[:12])
}

func keepCheckpoint(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	err := w.Checkpoint(ctx, w.name())
	if err == nil && w.args.Flag("ignored") {
		err = w.KeepIgnored(ctx, w.name())
	}
	return starlark.String(w.name()), err
}

func restoreIgnored(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	files, left, err := w.RestoreIgnored(ctx, w.args.Text("checkpoint"), w.name(), w.args.Texts("spare"))
	return dictOf([]string{"files", "left"}, textList(w.shown(files)), textList(w.shown(left))), err
}

func rollBack(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	if w.args.Has("paths") {
		patch, paths, err := w.Restore(ctx, w.args.Text("checkpoint"), w.name(), w.attempt.Number, w.args.Texts("paths"))
		return w.changed("undone.patch", patch, paths), err
	}
	patch, paths, err := w.Rollback(ctx, w.args.Text("checkpoint"), w.name(), w.attempt.Number)
	return w.changed("undone.patch", patch, paths), err
}

func diffWorkspace(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	patch, paths, err := w.Diff(ctx, w.args.Text("since"))
	return w.changed("diff.patch", patch, paths), err
}

func commitWorkspace(ctx context.Context, w *repositoryRequest) (starlark.Value, error) {
	commit, err := w.Commit(ctx, w.attempt.Key, w.args.Text("message"), w.args.Text("since"), w.args.Texts("paths"))
	if commit == "" {
		return starlark.None, err
	}
	return starlark.String(commit), err
}

func gitOptions(a *effect.Attempt) git.Options {
	o := git.Options{Workspace: a.Settings.Workspace, Store: a.Store, Trees: a.Trees, Lock: a.Lock(),
		Attempt: process.Attempt{Run: a.Run, Step: a.Step, Attempt: a.Number},
		Rights:  project.Rights(a.Settings), Host: a,
		Warn: func(text string) {
			var data effect.Object
			said, _ := data.Text("text", text).Payload().Value()
			a.Emit("warning", said)
		}}
	if f, err := project.Parse(a.Settings.ProjectFile, a.Settings.Project); err == nil {
		o.Filters = f.Filters
	}
	return o
}

// hiddenInFiles is what hides the keys that the project declares. No file is given them, but
// somebody may have put one there. A script of others would learn here what it is not given, by
// what is hidden.
func hiddenInFiles(a *effect.Attempt) *redact.Redactor {
	if a.Settings.Grant != "" {
		return nil
	}
	return secret.Keys(a, a.Settings.Env)
}

// changed is the dict of what has changed, and leaves the whole patch as an artifact.
func (w *repositoryRequest) changed(artifact, patch string, paths []string) starlark.Value {
	patch = w.hide.Redact(patch)
	w.blobs[artifact] = []byte(patch)
	text := strings.ToValidUTF8(patch[:min(len(patch), maxPatch)], "\uFFFD")
	return dictOf([]string{"files", "patch", "truncated"}, textList(w.shown(paths)), starlark.String(text), starlark.Bool(len(patch) > maxPatch))
}

// shown are paths as scripts see them.
func (w *repositoryRequest) shown(paths []string) []string {
	for i, p := range paths {
		paths[i] = strings.ToValidUTF8(w.hide.Redact(p), "\uFFFD")
	}
	return paths
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
	case errors.Is(err, git.ErrFilter):
		reason = "filter"
	case errors.Is(err, git.ErrMoved):
		reason = "moved"
	case errors.Is(err, git.ErrNoTree):
		reason = "no_tree"
	case errors.Is(err, errNotOwned):
		kind, reason = effect.KindRefused, "not_owned"
	}
	var o effect.Object
	e := effect.Errorf(kind, "workspace.%s: %s", effect.ViewOf(a.Args).Text("do"), hiddenInFiles(a).Redact(err.Error()))
	e.Data = o.Text("reason", reason).Payload()
	return effect.Reply{Err: e}
}
