// Package mend makes the edits in scripts of which check is certain, as long as what is said of
// them afterwards is less. See [Scripts].
package mend

import (
	"bytes"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"starling/cmd/starling/sources"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// Texts are files by their path, as they would be.
type Texts map[string][]byte

// Said is what is said of scripts, whose diagnostics name files from a folder.
type Said struct {
	Folder string
	List   diagnostic.List
}

// Check says what is wrong with scripts, if these files were as they are there.
type Check func(Texts) ([]Said, error)

// The bounds of the work: rounds of edits that make others possible, and edits that are tried by
// themselves where all together do not make the scripts better.
const (
	maxRounds = 10
	maxTries  = 50
)

// Scripts are the texts that scripts have when everything is mended that can be, and what is still
// said of them. Each round makes all edits there are. It counts only if what they are for is no
// longer said and nothing new is, save what a mistake that kept a file from compiling has hidden.
func Scripts(check Check) (Texts, []Said, error) {
	texts := Texts{}
	said, err := check(texts)
	for range maxRounds {
		if err != nil {
			break
		}
		edits := editsOf(said)
		next, after, cleaner := texts, said, false
		if len(edits) > 0 {
			next, after, cleaner, err = try(check, texts, said, edits)
		}
		if err == nil && !cleaner && len(edits) > 1 {
			next, after, cleaner, err = severally(check, texts, said, edits)
		}
		if err != nil || !cleaner {
			break
		}
		texts, said = next, after
	}
	return texts, said, err
}

// edit is one in a file, and for what.
type edit struct {
	path string
	diagnostic.Edit
	about finding
}

// finding is a diagnostic, whatever its line. But a parser, that of contracts too, says what it
// stumbles on first, and then the same of another place.
type finding struct {
	path, kind, message, got string
	line, col                int
}

func (s Said) finding(d diagnostic.Diagnostic) finding {
	f := finding{path: filepath.Join(s.Folder, filepath.FromSlash(d.File)), kind: d.Kind, message: d.Message, got: d.Got}
	if d.Kind == "syntax" || d.Kind == "contract" {
		f.line, f.col = d.Line, d.Col
	}
	return f
}

// editsOf are the edits that diagnostics have for scripts of one's own.
func editsOf(said []Said) []edit {
	var list []edit
	seen := map[edit]bool{}
	for _, s := range said {
		for _, d := range s.List {
			e := edit{s.finding(d).path, d.Fix, s.finding(d)}
			if d.Fix != (diagnostic.Edit{}) && strings.HasSuffix(d.File, runtime.ScriptSuffix) && !strings.HasPrefix(d.File, "@") && !seen[e] {
				seen[e] = true
				list = append(list, e)
			}
		}
	}
	return list
}

// try makes edits and tells whether the scripts are better for them.
func try(check Check, texts Texts, said []Said, edits []edit) (Texts, []Said, bool, error) {
	next, made, err := apply(texts, edits)
	if err != nil || len(made) == 0 {
		return texts, said, false, err
	}
	after, err := check(next)
	if err != nil {
		return texts, said, false, err
	}
	return next, after, cleaner(said, after, made), nil
}

// severally tries each edit by itself, and then those together that are good.
func severally(check Check, texts Texts, said []Said, edits []edit) (Texts, []Said, bool, error) {
	var good []edit
	for _, e := range edits[:min(len(edits), maxTries)] {
		_, _, better, err := try(check, texts, said, []edit{e})
		if err != nil {
			return texts, said, false, err
		}
		if better {
			good = append(good, e)
		}
	}
	next, after, better, err := try(check, texts, said, good)
	if err == nil && !better && len(good) > 1 {
		next, after, better, err = try(check, texts, said, good[:1])
	}
	return next, after, better, err
}

// apply makes edits, and says which: not those that reach into one another.
func apply(texts Texts, edits []edit) (Texts, []edit, error) {
	next, made := maps.Clone(texts), []edit(nil)
	byPath := map[string][]diagnostic.Edit{}
	for _, e := range edits {
		byPath[e.path] = append(byPath[e.path], e.Edit)
	}
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		source, err := texts.read(path)
		if err != nil {
			return nil, nil, err
		}
		text, done := diagnostic.Apply(string(source), byPath[path])
		for _, e := range edits {
			if e.path == path && slices.Contains(done, e.Edit) {
				made = append(made, e)
			}
		}
		next[path] = []byte(text)
	}
	return next, made, nil
}

func (t Texts) read(path string) ([]byte, error) {
	if text, ok := t[path]; ok {
		return text, nil
	}
	text, err := sources.Read(path)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "cannot read %s: %v", path, runtime.Reason(err))
	}
	return text, nil
}

// cleaner tells whether what edits are about is said less often behind them, and nothing more often
// that they may have done. What a mistake has hidden is no fault of theirs.
func cleaner(before, after []Said, made []edit) bool {
	was, is := counts(before), counts(after)
	for _, e := range made {
		if is[e.about] >= was[e.about] {
			return false
		}
	}
	for f, n := range is {
		stage := depth(f.kind)
		hidden := above(stage, is) < above(stage, was) || above(stage-1, is) <= above(stage-1, was)
		if n > was[f] && (caused(f.kind) || stage > 0 && !hidden) {
			return false
		}
	}
	return true
}

func counts(said []Said) map[finding]int {
	n := map[finding]int{}
	for _, s := range said {
		for _, d := range s.List {
			n[s.finding(d)]++
		}
	}
	return n
}

// depth is how early the stage finds a mistake, each of which hides what later ones would find: the
// parser 2, the compiler 1, check 0.
func depth(kind string) int {
	switch kind {
	case "syntax":
		return 2
	case "name", "undefined", "limit", "missing_module":
		return 1
	}
	return 0
}

// above is how many mistakes there are of earlier stages.
func above(stage int, counts map[finding]int) int {
	n := 0
	for f, times := range counts {
		if depth(f.kind) > stage {
			n += times
		}
	}
	return n
}

// caused tells whether an edit can be why there is such a finding: a lambda in a loop, a call whose
// result nobody takes any more.
func caused(kind string) bool {
	return slices.Contains([]string{"captured_variable", "overlap", "unread_choice", "unread_reply"}, kind)
}

// changed are the files that are other than on the disk: their paths, and how they were.
func (t Texts) changed() (paths []string, old Texts, err error) {
	old = Texts{}
	for _, path := range slices.Sorted(maps.Keys(t)) {
		if old[path], err = (Texts{}).read(path); err != nil {
			return nil, nil, err
		}
		if !bytes.Equal(old[path], t[path]) {
			paths = append(paths, path)
		}
	}
	return paths, old, nil
}

// Diff writes what would change, under the names that files have from a folder.
func (t Texts) Diff(out io.Writer, folder string) error {
	paths, old, err := t.changed()
	for _, path := range paths {
		name := nameFrom(folder, path)
		if _, err := io.WriteString(out, udiff.Unified(name, name, string(old[path]), string(t[path]))); err != nil {
			return err
		}
	}
	return err
}

// Write writes the files that change, and tells their names from a folder.
func (t Texts) Write(folder string, notice func(format string, args ...any)) error {
	paths, _, err := t.changed()
	for _, path := range paths {
		if err := sources.Replace(path, t[path]); err != nil {
			return err
		}
		notice("mended %s", nameFrom(folder, path))
	}
	return err
}

func nameFrom(folder, path string) string {
	if name, err := filepath.Rel(folder, path); err == nil {
		return filepath.ToSlash(name)
	}
	return path
}
