package project

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"starling/lang/effect"
	"starling/stdlib/jail"
)

// Rights are the paths of a workspace that no script changes, under the settings of a run: those
// that always decide, the files that commands of the project name, and what it protects beside. A
// project that cannot be read has no commands; nothing runs under it.
func Rights(s *effect.Settings) jail.Rights {
	if s == nil || s.ProjectFile == "" {
		return jail.Rights{}
	}
	f, err := Parse(s.ProjectFile, s.Project)
	if err != nil {
		return jail.Rights{}
	}
	return jail.NewRights(f.Named(filepath.Dir(s.ProjectFile)), f.Protected)
}

// Named lists the files within a folder, that of the project, which decide what its commands do:
// programs with a slash, arguments that may be files, those of secrets, the fake. Paths are
// relative to the folder, cleaned, with slashes, sorted. Whether there are such files nobody has
// looked. What these files load in their turn is not known.
func (f *File) Named(folder string) []string {
	var commands [][]string
	for _, a := range f.Agents {
		commands = append(commands, a.Command)
	}
	for _, t := range f.Tools {
		commands = append(commands, t.Command)
	}
	for _, n := range f.Notify {
		commands = append(commands, n.Command)
	}
	words := []string{f.Fake}
	for _, s := range f.Secrets {
		commands = append(commands, s.Command)
		words = append(words, s.File)
	}
	for _, program := range f.Shell.Allow {
		commands = append(commands, []string{program})
	}
	for _, c := range commands {
		words = append(words, mayBeFiles(c)...)
	}
	var list []string
	for _, w := range words {
		if name, ok := inside(folder, w); ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// mayBeFiles are the words of a command that may be paths: the program, if it is not looked up, the
// first argument that is no option, which is what an interpreter executes, and what looks like the
// name of a file, also behind the "=" of an option.
func mayBeFiles(command []string) (words []string) {
	first := true
	for i, w := range command {
		option := strings.HasPrefix(w, "-")
		if _, value, ok := strings.Cut(w, "="); ok && option {
			w, option = value, false
		} else if i > 0 && !option && first {
			first = false
			words = append(words, w)
			continue
		}
		looks := strings.ContainsAny(w, "/.") && !strings.ContainsAny(w, "=:")
		if !option && looks && (i > 0 || strings.Contains(w, "/")) {
			words = append(words, w)
		}
	}
	return words
}

// inside is a path relative to a folder, false where it is not below it.
func inside(folder, word string) (string, bool) {
	if path.IsAbs(word) {
		rel, err := filepath.Rel(folder, word)
		if err != nil {
			return "", false
		}
		word = filepath.ToSlash(rel)
	}
	name := path.Clean(word)
	outside := name == "." || name == ".." || strings.HasPrefix(name, "../")
	return name, word != "" && !outside && !strings.ContainsAny(name, "\n\x00")
}
