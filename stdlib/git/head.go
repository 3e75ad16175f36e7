package git

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// Head tells which commit a folder's repository stands at, in hexadecimal, "" where that cannot be
// told: no repository, no commit yet, references in a format of later. It only reads git's files,
// and runs no git: it is asked for at every start of a run.
func Head(folder string) string {
	r, err := Open(Options{Workspace: folder})
	for err != nil {
		up := filepath.Dir(folder)
		if up == folder {
			return ""
		}
		folder = up
		r, err = Open(Options{Workspace: folder})
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "HEAD"))
	if err != nil {
		return ""
	}
	name, symbolic := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: ")
	if !symbolic {
		return commitID(name)
	}
	return r.reference(name)
}

// reference reads a branch: from a file of its own, else from those that git has packed.
func (r *Repository) reference(name string) string {
	if text, err := os.ReadFile(filepath.Join(r.common, filepath.FromSlash(name))); err == nil {
		return commitID(strings.TrimSpace(string(text)))
	}
	packed, err := os.ReadFile(filepath.Join(r.common, "packed-refs"))
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(packed)); lines.Scan(); {
		if id, found := strings.CutSuffix(lines.Text(), " "+name); found {
			return commitID(id)
		}
	}
	return ""
}

// isCommit tells the name of a commit from that of a checkpoint.
func isCommit(name string) bool { return commitID(name) != "" }

// commitID is a text that is the name of an object, "" for any other.
func commitID(text string) string {
	if len(text) < 40 || strings.Trim(text, "0123456789abcdef") != "" {
		return ""
	}
	return text
}
