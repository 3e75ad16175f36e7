package git

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Git executes what a repository names, for whoever calls it there next: hooks, and the programs in
// its settings. Rules of what is ignored decide what git sees. None of that is in a commit, so it
// is kept with what git does not see, and so are repositories that are made within the workspace,
// which hide what lies in them.

// repositoryPrefix stands in paths for the folder of the repository, wherever that is.
const repositoryPrefix = ".git/"

// decisiveNames are what decides in a folder of git's; see gitrepository-layout(5).
var decisiveNames = []string{"config", "config.worktree", "commondir", "gitdir", "hooks", "info"}

// decisive looks at what decides in the repository, in those of its submodules and, where the
// workspace is a linked tree, in what git has of that.
func (r *Repository) decisive(files map[string]unseen, keep bool, room *int64) error {
	root, err := os.OpenRoot(r.common)
	if err != nil {
		return err
	}
	defer root.Close()
	folders := modules(root.FS(), ".")
	if own, err := filepath.Rel(r.common, r.dir); err == nil && own != "." && filepath.IsLocal(own) {
		folders = append(folders, filepath.ToSlash(own))
	}
	for _, folder := range folders {
		if err := r.decisiveIn(root, folder, repositoryPrefix, files, keep, room); err != nil {
			return err
		}
	}
	return nil
}

// decisiveIn looks at what decides in a folder of git's, below a root.
func (r *Repository) decisiveIn(root *os.Root, folder, prefix string, files map[string]unseen, keep bool, room *int64) error {
	note := func(name string, d fs.FileMode) error {
		if !d.IsRegular() && d.Type() != fs.ModeSymlink {
			return nil
		}
		u, err := r.unseenFile(root, name, keep, room)
		if err == nil {
			files[prefix+name] = u
		}
		return unlessAbsent(err)
	}
	for _, name := range decisiveNames {
		name = path.Join(folder, name)
		info, err := root.Lstat(name)
		switch {
		case err != nil:
			err = unlessAbsent(err)
		case !info.IsDir():
			err = note(name, info.Mode())
		default:
			err = fs.WalkDir(root.FS(), name, func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || strings.HasSuffix(name, ".sample") {
					return nil // gone meanwhile, a folder that nobody can read, or nothing that git runs
				}
				return note(name, d.Type())
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// modules are a folder of git's and those of the submodules in it, whose names may have slashes.
func modules(files fs.FS, folder string) []string {
	list := []string{folder}
	below := path.Join(folder, "modules")
	_ = fs.WalkDir(files, below, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == below {
			return nil
		}
		if _, err := fs.Lstat(files, path.Join(name, "HEAD")); err != nil {
			return nil
		}
		list = append(list, modules(files, name)...)
		return fs.SkipDir
	})
	return list
}
