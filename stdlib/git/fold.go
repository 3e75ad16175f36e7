package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Fold puts what branches made together with the commit that they all began with, and keeps it
// under a name. Where merge is false they have changed different paths, and each path is as its
// branch left it. Where it is true git merges them; what it cannot merge is [ErrConflict].
func (r *Repository) Fold(ctx context.Context, name, began string, sides []string, merge bool) (commit string, err error) {
	return r.once(ctx, name, func() (string, string, []string, error) {
		parents := append([]string{began}, sides...)
		if merge {
			tree, err := r.merged(ctx, began, sides)
			return tree, "What branches made, merged", parents, err
		}
		tree, err := r.joined(ctx, began, sides)
		return tree, "What branches made", parents, err
	})
}

// joined is the tree of a commit with the changes of others, which do not touch each other.
func (r *Repository) joined(ctx context.Context, began string, sides []string) (string, error) {
	var gone, put bytes.Buffer
	for _, side := range sides {
		changes, err := r.changes(ctx, began, side)
		if err != nil {
			return "", err
		}
		for _, c := range changes {
			if c.is == "" {
				fmt.Fprintf(&gone, "0 %s\t%s\x00", c.blob, c.path) // nothing, as many zeros as a name of the repository has digits
			} else {
				fmt.Fprintf(&put, "%s %s\t%s\x00", c.mode, c.blob, c.path)
			}
		}
	}
	return r.withIndex(ctx, nil, func(env []string) (string, error) {
		for _, c := range []call{{args: []string{"read-tree", began}, env: env},
			{args: []string{"update-index", "-z", "--index-info"}, stdin: append(gone.Bytes(), put.Bytes()...), env: env}} {
			if _, err := r.run(ctx, c); err != nil {
				return "", err
			}
		}
		out, err := r.run(ctx, call{args: []string{"write-tree"}, env: env})
		return strings.TrimSpace(out), err
	})
}

// merged is the tree that git makes of a commit and others that began with it, in their order.
// Files that moved are not followed: a change stays at its path.
func (r *Repository) merged(ctx context.Context, began string, sides []string) (string, error) {
	so, tree := began, began+"^{tree}"
	for _, side := range sides {
		out, err := r.run(ctx, call{set: []string{"merge.renames=false", "merge.directoryRenames=false"}, args: []string{"merge-tree", "--write-tree", so, side}, code: 1})
		if err != nil {
			return "", err
		}
		var overlaps string
		switch tree, overlaps, _ = strings.Cut(out, "\n"); {
		case tree == "":
			return "", fmt.Errorf("git merge-tree: it knows no commit %s, or no %s", so, side)
		case overlaps != "":
			return "", ErrConflict
		}
		if so, err = r.commitTree(ctx, tree, "merged", so, side); err != nil {
			return "", err
		}
	}
	return tree, nil
}

// Comparison is how branches differ that have changed the same paths.
type Comparison struct {
	Base    map[string]string // what the paths held when they began; those that were not there are missing
	Patches []string          // of each branch, in those paths
	Merges  bool              // git can merge them: they changed different places
}

// Compare tells how branches that began with one commit differ in some paths.
func (r *Repository) Compare(ctx context.Context, began string, sides, paths []string) (*Comparison, error) {
	c := &Comparison{}
	var err error
	if c.Base, err = r.held(ctx, began, sides, paths); err != nil {
		return nil, err
	}
	for _, side := range sides {
		patch, err := r.Patch(ctx, began, side, paths...)
		if err != nil {
			return nil, err
		}
		c.Patches = append(c.Patches, patch)
	}
	_, err = r.merged(ctx, began, sides)
	if c.Merges = err == nil; errors.Is(err, ErrConflict) {
		err = nil
	}
	return c, err
}

// held is what those of the paths held in a commit that somebody has changed since.
func (r *Repository) held(ctx context.Context, began string, sides, paths []string) (map[string]string, error) {
	asked, blobs := map[string]bool{}, map[string]string{}
	for _, p := range paths {
		asked[p] = true
	}
	var want []string
	for _, side := range sides {
		changes, err := r.changes(ctx, began, side)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if _, blob, there := strings.Cut(c.was, " "); there && asked[c.path] {
				blobs[c.path], want = blob, append(want, blob)
			}
		}
	}
	contents, err := r.contents(ctx, want)
	held := map[string]string{}
	for p, blob := range blobs {
		held[p] = string(contents[blob])
	}
	return held, err
}

// Apply makes the changes that lead from one commit to another in the workspace, and lists their
// paths. A path that holds something else than either, because somebody changed it meanwhile, is
// [ErrMoved]: then nothing is changed. Done again after a crash it does the rest.
func (r *Repository) Apply(ctx context.Context, from, to string) (paths []string, err error) {
	changes, err := r.changes(ctx, from, to)
	if err != nil {
		return nil, err
	}
	changes = r.permitted(changes)
	for _, c := range changes {
		paths = append(paths, c.path)
	}
	left, err := r.left(ctx, changes, paths)
	if err != nil || len(left) == 0 {
		return paths, err
	}
	return paths, r.apply(ctx, left, true)
}

// left are the changes that are still to be made, those first that remove something.
func (r *Repository) left(ctx context.Context, changes []change, paths []string) ([]change, error) {
	entries, err := r.entries(ctx, paths)
	if err != nil {
		return nil, err
	}
	now := map[string]string{}
	for entry := range strings.SplitSeq(string(entries), "\x00") {
		is, p, _ := strings.Cut(entry, "\t")
		now[p] = is
	}
	root, err := os.OpenRoot(r.o.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	going := map[string]bool{}
	for _, c := range changes {
		going[c.path] = c.is == ""
	}
	var gone, put, moved = []change(nil), []change(nil), []string(nil)
	for _, c := range changes {
		switch is := now[c.path]; {
		case is == c.is:
		case is != c.was || c.is != "" && obstructed(root, c.path, going):
			moved = append(moved, c.path)
		case c.is == "":
			gone = append(gone, c)
		default:
			put = append(put, c)
		}
	}
	if len(moved) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrMoved, strings.Join(moved, ", "))
	}
	return append(gone, put...), nil
}

// obstructed tells whether something that is not going away stands where a path, or a folder above
// it, is to be.
func obstructed(root *os.Root, name string, going map[string]bool) bool {
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		if info, err := root.Lstat(up); err == nil && !info.IsDir() && !going[up] {
			return true
		}
	}
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return false
	}
	found := false
	_ = fs.WalkDir(root.FS(), name, func(p string, d fs.DirEntry, err error) error {
		found = found || err != nil || !d.IsDir() && !going[p]
		return nil
	})
	return found
}
