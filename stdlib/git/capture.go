package git

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// state is what is kept of a repository: a commit whose tree has the files, the index as it is, and
// the tree of what the index holds.
type state struct {
	Commit string `json:"-"`    // that keeps it
	Files  string `json:"-"`    // tree of the files
	Rules  string `json:"-"`    // tree of the files .gitignore that are not tracked, of which some may ignore themselves
	Index  string `json:"-"`    // blob of the index, "" when there was none
	Branch string `json:"head"` // what HEAD stood for, "" when it was detached
	Head   string `json:"commit"`
}

const (
	checkpoints = "refs/starling/checkpoints/"
	undone      = "refs/starling/undone/"
)

// Checkpoint keeps index, files and HEAD under a name. Under a name that has been used, it has been
// done.
func (r *Repository) Checkpoint(ctx context.Context, name string) error {
	if err := r.unfinished(); err != nil {
		return err
	}
	_, err := r.capture(ctx, checkpoints+name)
	return err
}

// unfinished refuses a repository whose index alone does not say where it is.
func (r *Repository) unfinished() error {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
			return fmt.Errorf("%w (%s)", ErrUnfinished, name)
		}
	}
	return nil
}

// capture keeps everything under a reference, unless that is there.
func (r *Repository) capture(ctx context.Context, ref string) (*state, error) {
	found, err := r.read(ctx, ref+"^{commit}", ref+"^{tree}", "HEAD^{commit}")
	if err != nil {
		return nil, err
	}
	if found[0] != nil && found[1] != nil {
		return stateOf(ref, found[0], found[1])
	}
	head := ""
	if found[2] != nil {
		head = found[2].id
	}
	s, tree, err := r.snapshot(ctx, head)
	if err != nil {
		return nil, err
	}
	message, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if s.Commit, err = r.commitTree(ctx, tree, string(message), s.Head); err != nil {
		return nil, err
	}
	_, err = r.git(ctx, "update-ref", "--no-deref", ref, s.Commit)
	return s, err
}

// branch is what HEAD stands for, "" when it is detached.
func (r *Repository) branch(ctx context.Context) (string, error) {
	p, err := r.shell.private(ctx, r)
	if err != nil {
		return "", err
	}
	head := strings.TrimSpace(string(p.head))
	if name, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok && name != ".invalid" { // see gitformat-reftable(5)
		return "refs/heads/" + name, nil
	}
	out, err := r.run(ctx, call{args: []string{"symbolic-ref", "--quiet", "HEAD"}, code: 1})
	return strings.TrimSpace(out), err
}

func (r *Repository) snapshot(ctx context.Context, head string) (*state, string, error) {
	branch, err := r.branch(ctx)
	if err != nil {
		return nil, "", err
	}
	s := &state{Branch: branch, Head: head}
	index, err := os.ReadFile(filepath.Join(r.dir, "index"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	var entries strings.Builder
	if err == nil {
		if s.Index, err = r.keep(ctx, index); err != nil {
			return nil, "", err
		}
		staged, err := r.staged(ctx, index)
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintf(&entries, "100644 blob %s\tindex\x00%s", s.Index, staged)
	}
	if s.Files, err = r.tree(ctx, files, index); err != nil {
		return nil, "", err
	}
	if s.Rules, err = r.tree(ctx, rules, index); err != nil {
		return nil, "", err
	}
	fmt.Fprintf(&entries, "040000 tree %s\tfiles\x00040000 tree %s\trules\x00", s.Files, s.Rules)
	tree, err := r.run(ctx, call{args: []string{"mktree", "-z"}, stdin: []byte(entries.String())})
	return s, strings.TrimSpace(tree), err
}

// staged keeps what an index names, which git would collect otherwise: the tree of what is staged
// and, in the middle of a merge, one of what is not merged. It gives their entries.
func (r *Repository) staged(ctx context.Context, index []byte) (entries string, err error) {
	_, err = r.withIndex(ctx, index, func(env []string) (string, error) {
		tree, unwritten := r.subtree(ctx, "staged", call{args: []string{"write-tree"}, env: env})
		if unwritten == nil {
			entries = tree
			return "", nil
		}
		list, err := r.run(ctx, call{args: []string{"ls-files", "-z", "--unmerged"}, env: env})
		var gone, blobs strings.Builder
		for line := range strings.SplitSeq(list, "\x00") {
			what, path, _ := strings.Cut(line, "\t")
			f := strings.Fields(what) // mode, object, stage
			if len(f) != 3 {
				continue
			}
			fmt.Fprintf(&gone, "0 %s\t%s\x00", strings.Repeat("0", len(f[1])), path)
			if f[0] != "160000" { // a submodule is not in this repository
				fmt.Fprintf(&blobs, "100644 blob %s\t%d\x00", f[1], blobs.Len())
			}
		}
		if err == nil && gone.Len() == 0 {
			err = unwritten
		}
		if err == nil {
			entries, err = r.subtree(ctx, "unmerged", call{args: []string{"mktree", "-z"}, stdin: []byte(blobs.String())})
		}
		if err == nil {
			_, err = r.run(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(gone.String()), env: env})
		}
		if err != nil {
			return "", err
		}
		tree, err = r.subtree(ctx, "staged", call{args: []string{"write-tree"}, env: env})
		entries += tree
		return "", err
	})
	return entries, err
}

// subtree is the entry of a tree that a command makes.
func (r *Repository) subtree(ctx context.Context, name string, c call) (string, error) {
	tree, err := r.run(ctx, c)
	return fmt.Sprintf("040000 tree %s\t%s\x00", strings.TrimSpace(tree), name), err
}

// load reads what was kept.
func (r *Repository) load(ctx context.Context, ref string) (*state, error) {
	found, err := r.read(ctx, ref+"^{commit}", ref+"^{tree}")
	if err != nil {
		return nil, err
	}
	if found[0] == nil || found[1] == nil {
		return nil, ErrNoCheckpoint
	}
	return stateOf(ref, found[0], found[1])
}

func stateOf(ref string, commit, tree *object) (*state, error) {
	s := &state{Commit: commit.id}
	if err := json.Unmarshal(commit.message(), s); err != nil {
		return nil, fmt.Errorf("%s is no checkpoint: %w", ref, err)
	}
	held := tree.entries()
	s.Files, s.Rules, s.Index = held["files"], held["rules"], held["index"]
	return s, nil
}

// withIndex lets git work with a copy of an index: nothing is locked and nothing of the real one
// changes.
func (r *Repository) withIndex(ctx context.Context, index []byte, fn func(env []string) (string, error)) (string, error) {
	path, err := r.shell.place(ctx, "index")
	if err != nil {
		return "", err
	}
	defer os.Remove(path)
	if len(index) > 0 { // an empty file is no index
		if err := os.WriteFile(path, index, 0o600); err != nil {
			return "", err
		}
	}
	return fn([]string{"GIT_INDEX_FILE=" + path})
}

// listing is the arguments of ls-files that list some of the files.
type listing string

const (
	files listing = "--cached --others --exclude-standard --deduplicate" // all that are not ignored
	rules listing = "--others -- :(glob)**/.gitignore"                   // what says so, ignored or not
)

// tree makes a tree of files, seen with an index, byte for byte.
func (r *Repository) tree(ctx context.Context, of listing, index []byte) (string, error) {
	list, err := r.withIndex(ctx, index, func(env []string) (string, error) {
		return r.run(ctx, call{args: append([]string{"ls-files", "-z"}, strings.Fields(string(of))...), env: env})
	})
	if err != nil {
		return "", err
	}
	entries, err := r.entries(ctx, strings.Split(list, "\x00"))
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return r.emptyTree(ctx)
	}
	return r.withIndex(ctx, nil, func(env []string) (string, error) {
		if _, err := r.run(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: entries, env: env}); err != nil {
			return "", err
		}
		out, err := r.run(ctx, call{args: []string{"write-tree"}, env: env})
		return strings.TrimSpace(out), err
	})
}

// entry is a file or link of a tree that is made.
type entry struct {
	mode, path string
	from       string // the file that holds what it holds
}

// entries writes the contents of files and links and says what they are, in the form of
// update-index.
func (r *Repository) entries(ctx context.Context, names []string) ([]byte, error) {
	root, err := os.OpenRoot(r.o.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folders := map[string]bool{".": true}
	var list []entry
	for _, path := range names {
		if path == "" || strings.HasSuffix(path, "/") || r.inStore(path) {
			continue
		}
		info, err := look(root, folders, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // removed, or a folder above it is something else now
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			from, err := r.target(ctx, root, path, len(list))
			if err != nil {
				return nil, err
			}
			list = append(list, entry{"120000", path, from})
		case info.Mode().IsRegular():
			from := "./" + path // else a name that begins with a quote would be taken for a quoted one
			if strings.Contains(path, "\n") {
				if from, err = r.copied(ctx, root, path, len(list)); err != nil {
					return nil, err
				}
			}
			list = append(list, entry{fileMode(info.Mode()), path, from})
		}
	}
	blobs, err := r.blobs(ctx, list)
	var out bytes.Buffer
	for i, blob := range blobs {
		fmt.Fprintf(&out, "%s %s\t%s\x00", list[i].mode, blob, list[i].path)
	}
	return out.Bytes(), err
}

// target makes a file of where a link leads, so that all contents are written by one command.
func (r *Repository) target(ctx context.Context, root *os.Root, path string, n int) (file string, err error) {
	text, err := root.Readlink(path)
	if err == nil {
		file, err = r.shell.place(ctx, fmt.Sprint("link-", n))
	}
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	return file, err
}

// copied makes a copy of a file whose name git could not be told: it reads one on each line.
func (r *Repository) copied(ctx context.Context, root *os.Root, path string, n int) (string, error) {
	file, err := r.shell.place(ctx, fmt.Sprint("file-", n))
	if err != nil {
		return "", err
	}
	from, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return "", err
	}
	defer from.Close()
	return file, writeFrom(file, from)
}

// writeFrom writes a file, which only its owner can read, with what there is to read.
func writeFrom(file string, from io.Reader) error {
	to, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// look is Lstat of a path whose folders are folders, not links to some. It remembers those that it
// has seen.
func look(root *os.Root, folders map[string]bool, name string) (fs.FileInfo, error) {
	if up := path.Dir(name); !folders[up] {
		info, err := look(root, folders, up)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fs.ErrNotExist
		}
		folders[up] = true
	}
	return root.Lstat(name)
}

func fileMode(m fs.FileMode) string {
	if m&0o100 != 0 {
		return "100755"
	}
	return "100644"
}

// blobs writes the contents of entries.
func (r *Repository) blobs(ctx context.Context, list []entry) ([]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var from strings.Builder
	for _, e := range list {
		from.WriteString(e.from + "\n")
	}
	out, err := r.run(ctx, call{args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}, stdin: []byte(from.String())})
	blobs := strings.Fields(out)
	if err == nil && len(blobs) != len(list) {
		err = fmt.Errorf("git hash-object: %d objects for %d files", len(blobs), len(list))
	}
	if err != nil {
		return nil, err
	}
	return blobs, nil
}

// inStore tells whether a path lies in the store, or among the trees of branches. Where namespaces
// are allowed git does not even see the store.
func (r *Repository) inStore(path string) bool {
	return below(r.o.Workspace, r.o.Store, path) || r.o.Trees != "" && below(r.o.Workspace, filepath.Dir(r.o.Trees), path)
}

// below tells whether a path of the workspace lies in a folder; "" is none.
func below(workspace, folder, path string) bool {
	rel, err := filepath.Rel(workspace, folder)
	return folder != "" && err == nil && (path == rel || strings.HasPrefix(path, rel+"/"))
}
