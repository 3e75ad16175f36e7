// Package checked remembers the programs of which a check had nothing to say, so that a run which
// is started again does not wait for the check again. What is kept are the names of empty files in
// the user's cache: whoever removes them loses time and nothing else.
package checked

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/contract"
)

// At most most programs are remembered; with one more all but the few that were asked for last go.
const most, few = 512, 384

// Folder is the user's, "" where there is none: nothing is remembered then.
func Folder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Dir(cache)); err != nil {
		return "" // a home that is not there is nobody's to make
	}
	return filepath.Join(cache, "starling", "checked")
}

// Program is all that a check of a program depends on: its text, what is known of its project, and
// the program that checks. The zero Program is not remembered.
type Program struct{ file string }

// Of names a program in a folder. What was clean as one thing, a run or a file of tests, may not be
// so as another, which sees other builtins.
func Of(folder, as string, b *lang.Bundle, known check.Project) Program {
	checker, ok := build()
	if folder == "" || !ok {
		return Program{}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", checker, as, known.Tools)
	for _, a := range known.Agents {
		fmt.Fprintf(h, "%q %q %t\n", a.Name, a.Steers, a.Own)
		for _, c := range []*contract.Contract{a.Contracts.Input, a.Contracts.Output} {
			if c != nil {
				fmt.Fprintf(h, "%q", c.String())
			}
			fmt.Fprintln(h)
		}
	}
	h.Write(b.Encode())
	return Program{filepath.Join(folder, hex.EncodeToString(h.Sum(nil)))}
}

// build tells this program from others: two of one version differ while it is being written.
func build() (string, bool) {
	file, err := os.Executable()
	if err != nil {
		return "", false
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("%s %d %d", file, info.Size(), info.ModTime().UnixNano()), true
}

// Clean says whether a check had nothing to say of it.
func (p Program) Clean() bool {
	if p.file == "" {
		return false
	}
	now := time.Now()
	return os.Chtimes(p.file, now, now) == nil
}

// Keep remembers that a check had nothing to say of it. Where that cannot be written down, it is
// checked again.
func (p Program) Keep() {
	if p.file == "" || os.MkdirAll(filepath.Dir(p.file), 0o700) != nil {
		return
	}
	if f, err := os.OpenFile(p.file, os.O_CREATE, 0o600); err == nil {
		_ = f.Close() // nothing was written
	}
	forget(filepath.Dir(p.file))
}

// forget removes what is too much.
func forget(folder string) {
	files, _ := os.ReadDir(folder) // what cannot be listed stays
	if len(files) <= most {
		return
	}
	used := map[string]time.Time{}
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			used[f.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(files, func(a, b os.DirEntry) int { return used[a.Name()].Compare(used[b.Name()]) })
	for _, f := range files[:len(files)-few] {
		_ = os.Remove(filepath.Join(folder, f.Name())) // the next one tries again
	}
}
