// Package scaffold is the verbs init and new: they write the first files of a project, and scripts
// of the gallery under names of one's own. They never write over a file.
package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"starling/lang/diagnostic"
	"starling/runtime"
)

// Host is where a verb is called.
type Host struct {
	Stdout io.Writer
	// Ask asks a person at a terminal; nil where there is none.
	Ask func(ctx context.Context, question string) (string, error)
	// Command is how a shell calls this program with arguments.
	Command func(args ...string) string
	// Answer prints a JSON document instead, if that is wanted.
	Answer func(document any) (wanted bool, err error)
}

func (h *Host) say(format string, args ...any) { fmt.Fprintf(h.Stdout, format+"\n", args...) }

// file is one to be written.
type file struct{ name, text string }

// document is what the verbs print with --json.
type document struct {
	Schema string   `json:"schema"`
	Folder string   `json:"folder"`
	Script string   `json:"script"`
	Wrote  []string `json:"wrote"`
	Kept   []string `json:"kept"` // were there, and are as they were
}

// place writes the files that are not there, all of them or none.
func place(folder string, files []file) (d document, err error) {
	d = document{Schema: runtime.Schema, Folder: folder, Wrote: []string{}, Kept: []string{}}
	var made []string
	defer func() {
		if err != nil {
			for _, path := range made {
				os.Remove(path)
			}
		}
	}()
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.name))
		err := write(path, f.text)
		switch {
		case errors.Is(err, fs.ErrExist):
			d.Kept = append(d.Kept, f.name)
		case err != nil:
			return d, runtime.Refusef(runtime.ErrUsage, "cannot write %s: %v", path, runtime.Reason(err))
		default:
			made, d.Wrote = append(made, path), append(d.Wrote, f.name)
		}
	}
	return d, nil
}

// write writes a file that is not there yet.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// pair is a script with its tests, which are only written together: the tests of one are not those
// of another.
func pair(folder string, script, tests file) error {
	for _, f := range []file{script, tests} {
		path := filepath.Join(folder, filepath.FromSlash(f.name))
		if _, err := os.Lstat(path); err == nil {
			return runtime.Refuse(runtime.ErrUsage, "choose another name; nothing was written", "%s is there already", path)
		}
	}
	return nil
}

// scriptName is a name that is good for a script and for the gates and steps of its runs.
var scriptName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// checkName refuses a name that no script can have; it may come with its suffix.
func checkName(verb, given string) (string, error) {
	name := strings.TrimSuffix(given, runtime.ScriptSuffix)
	switch {
	case strings.HasSuffix(name, "_test"):
		return "", runtime.Refuse(runtime.ErrUsage, "the tests are written beside the script", "%s: %q is the name of a file of tests", verb, given)
	case !scriptName.MatchString(name):
		return "", runtime.Refuse(runtime.ErrUsage, "such as triage", "%s: got the name %q, want a letter and then letters, digits, _ and -", verb, given)
	}
	return name, nil
}

// oneOf refuses a word that is none of those that are meant.
func oneOf(flag, word string, words []string) error {
	for _, w := range words {
		if w == word {
			return nil
		}
	}
	return runtime.Refuse(runtime.ErrUsage, diagnostic.Meant(word, words), "%s: got %q, want one of %s", flag, word, strings.Join(words, ", "))
}
