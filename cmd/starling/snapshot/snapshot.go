// Package snapshot keeps beside a file of tests what its tests have once given to assert.snapshot:
// x_test.snap beside x_test.star, for people to review with the rest of a change.
//
// The file is a txtar archive, sorted by name:
//
//	-- test_plan/1.json --   a value, as JSON over several lines
//	-- test_plan/mail.txt -- a text that such an archive can hold, and a line feed
//
// A value counts as what it is in JSON, so that the order of keys in a dict changes nothing.
package snapshot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"golang.org/x/tools/txtar"

	"starling/lang/contract"
	"starling/runtime/wholefile"
	"starling/stdlib"
)

// Suffix is what the names of files of snapshots end with.
const Suffix = ".snap"

// Mode says what becomes of a value that is not what was kept.
type Mode int

const (
	Compare Mode = iota // it is an error
	Add                 // it is an error, unless nothing was kept
	Update              // it is kept from now on
)

// Written is what a play of tests has changed in a file, or would change, by TEST/NAME, sorted.
type Written struct {
	Added    []string `json:"added,omitempty"`
	Updated  []string `json:"updated,omitempty"`
	Removed  []string `json:"removed,omitempty"`
	Obsolete []string `json:"obsolete,omitempty"` // no test takes them any more
}

// IsZero tells whether there is nothing to say.
func (w Written) IsZero() bool {
	return len(w.Added)+len(w.Updated)+len(w.Removed)+len(w.Obsolete) == 0
}

// Lines are what is said of it.
func (w Written) Lines() (lines []string) {
	for _, of := range []struct {
		what  string
		names []string
	}{{"kept new", w.Added}, {"kept again", w.Updated}, {"removed", w.Removed}, {"obsolete, --update removes", w.Obsolete}} {
		if len(of.names) > 0 {
			lines = append(lines, fmt.Sprintf("snapshots %s: %s", of.what, strings.Join(of.names, ", ")))
		}
	}
	return lines
}

// File is the snapshots of one file of tests. Its methods may be called concurrently.
type File struct {
	path string
	mode Mode

	mu      sync.Mutex // guards what follows
	kept    map[string]kept
	taken   map[string]bool
	written Written
}

// kept is one snapshot as it stands in the file.
type kept struct {
	form string // .json or .txt
	text []byte
}

// Read reads the snapshots of a file of tests. Where there are none the file need not exist.
func Read(tests string, mode Mode) (*File, error) {
	f := &File{path: Beside(tests), mode: mode, kept: map[string]kept{}, taken: map[string]bool{}}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	for _, file := range txtar.Parse(text).Files {
		form := filepath.Ext(file.Name)
		f.kept[strings.TrimSuffix(file.Name, form)] = kept{form, file.Data}
	}
	return f, nil
}

// Beside is where the snapshots of a file of tests lie.
func Beside(tests string) string { return strings.TrimSuffix(tests, filepath.Ext(tests)) + Suffix }

// headOf is what a file of snapshots begins with.
func headOf(path string) string {
	return "What " + strings.TrimSuffix(filepath.Base(path), Suffix) + ".star has given to assert.snapshot"
}

// Stray tells whether a file of snapshots has lost its tests. Files of other programs whose names
// end alike have not.
func Stray(path string) bool {
	tests := strings.TrimSuffix(path, Suffix) + ".star"
	if _, err := os.Stat(tests); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	head := headOf(path)
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin, err := bufio.NewReader(f).Peek(len(head))
	return err == nil && string(begin) == head
}

// Take compares a value with what was kept of it, or keeps it, as the mode says.
func (f *File) Take(test, name string, got starlark.Value) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = test + "/" + name
	f.taken[name] = true
	was, known := f.kept[name]
	switch err := f.compare(name, got); {
	case err == nil || f.mode == Compare || f.mode == Add && known:
		return err
	case !known:
		f.written.Added = append(f.written.Added, name)
	}
	now, err := encode(got)
	if err != nil {
		return err
	}
	if known && (was.form != now.form || !bytes.Equal(was.text, now.text)) && !slices.Contains(f.written.Added, name) {
		f.written.Updated = append(f.written.Updated, name)
	}
	f.kept[name] = now
	return nil
}

// Compare compares a value with what was kept of it, whatever the mode.
func (f *File) Compare(test, name string, got starlark.Value) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.compare(test+"/"+name, got)
}

func (f *File) compare(name string, got starlark.Value) error {
	was, known := f.kept[name]
	if !known {
		return fmt.Errorf("%s has no snapshot %s; starling test --update writes it", filepath.Base(f.path), name)
	}
	want, err := was.value()
	if err != nil {
		return fmt.Errorf("the snapshot %s in %s is broken: %w; starling test --update writes it again", name, filepath.Base(f.path), err)
	}
	text, err := contract.ToJSON(got)
	if err != nil {
		return err
	}
	if got, err = contract.FromJSON(text); err != nil {
		return err
	}
	if equal, err := starlark.Equal(got, want); err != nil || equal {
		return err
	}
	return fmt.Errorf("%s is not as %s has it, and --update would keep it: %w", name, filepath.Base(f.path), stdlib.Difference(got, want))
}

// Conclude finds the snapshots that no test has taken, of those for which whole says that their
// test would have, and writes the file if it has changed. They are removed where the mode is
// Update.
func (f *File) Conclude(whole func(test string) bool) (Written, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.kept {
		if test, _, _ := strings.Cut(name, "/"); f.taken[name] || !whole(test) {
			continue
		}
		if f.mode != Update {
			f.written.Obsolete = append(f.written.Obsolete, name)
			continue
		}
		delete(f.kept, name)
		f.written.Removed = append(f.written.Removed, name)
	}
	w := f.written
	for _, list := range [][]string{w.Added, w.Updated, w.Removed, w.Obsolete} {
		slices.Sort(list)
	}
	if len(w.Added)+len(w.Updated)+len(w.Removed) == 0 {
		return w, nil
	}
	return w, f.write()
}

func (f *File) write() error {
	if len(f.kept) == 0 {
		return os.Remove(f.path)
	}
	a := &txtar.Archive{Comment: []byte(headOf(f.path) + ". starling test --update writes it.\n")}
	for name, k := range f.kept {
		a.Files = append(a.Files, txtar.File{Name: name + k.form, Data: k.text})
	}
	slices.SortFunc(a.Files, func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
	return wholefile.Replace(f.path, func(w io.Writer) error {
		if file, ok := w.(*os.File); ok {
			if err := file.Chmod(f.rights()); err != nil {
				return err
			}
		}
		_, err := w.Write(txtar.Format(a))
		return err
	})
}

// rights are those that the file has, or any file that an author writes.
func (f *File) rights() fs.FileMode {
	if info, err := os.Stat(f.path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

// encode is a value as it is kept.
func encode(v starlark.Value) (kept, error) {
	if text, ok := starlark.AsString(v); ok {
		if k := (kept{".txt", []byte(text + "\n")}); k.holds() {
			return k, nil
		}
	}
	line, err := contract.ToJSON(v)
	if err != nil {
		return kept{}, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, line, "", "  "); err != nil {
		return kept{}, err
	}
	b.WriteByte('\n')
	return kept{".json", b.Bytes()}, nil
}

// holds tells whether an archive gives a text back as it was.
func (k kept) holds() bool {
	odd := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == utf8.RuneError || r == 0x7f }
	if bytes.ContainsFunc(k.text, odd) {
		return false
	}
	a := txtar.Parse(txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "x", Data: k.text}}}))
	return len(a.Files) == 1 && bytes.Equal(a.Files[0].Data, k.text)
}

// value is what was kept.
func (k kept) value() (starlark.Value, error) {
	switch k.form {
	case ".txt":
		return starlark.String(bytes.TrimSuffix(k.text, []byte("\n"))), nil
	case ".json":
		return contract.FromJSON(k.text)
	}
	return nil, fmt.Errorf("its name ends with %q, want .json or .txt", k.form)
}
