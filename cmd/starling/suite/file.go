package suite

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// Suffix is what the names of test files end with.
const Suffix = "_test.star"

// File is a file of tests with all that they load and run: pinned, like a run.
type File struct {
	Name     string // as positions in it say
	Tests    []Test // in the order of the file
	bundle   *lang.Bundle
	program  *lang.Bundle // calls one of the tests
	subjects []*Subject
	compiled effect.Cache // what its tests share of their programs

	files, library lang.Source // that it was read from
}

// Test is one function of a file.
type Test struct {
	Name string `json:"test"`
	Line int    `json:"line"`
}

// Read reads a file of tests; accept checks it with all that it loads. The error is that of accept,
// or a diagnostic.List when the file is wrong in another way.
func Read(name string, files, library lang.Source, accept func(*lang.Bundle) error) (*File, error) {
	return read(name, files, library, new(sync.Map), accept)
}

func read(name string, files, library lang.Source, compiled effect.Cache, accept func(*lang.Bundle) error) (*File, error) {
	bundle, err := lang.Read(name, files, library)
	if err != nil {
		return nil, err
	}
	if err := accept(bundle); err != nil {
		return nil, err
	}
	f := &File{Name: bundle.Entry().Name, bundle: bundle, compiled: compiled, files: files, library: library}
	if err := f.find(); err != nil {
		return nil, err
	}
	if err := f.findSubjects(files); err != nil {
		return nil, err
	}
	entry := f.entry()
	f.program, err = lang.Read(entry, func(name string) ([]byte, error) {
		if name == entry {
			return f.source(), nil
		}
		return files(name)
	}, library)
	return f, err
}

// find lists the tests.
func (f *File) find() error {
	m := f.bundle.Entry()
	tree, err := lang.FileOptions().Parse(m.Name, m.Source, 0)
	if err != nil {
		return err
	}
	var wrong diagnostic.List
	known := map[string]bool{}
	for _, stmt := range tree.Stmts {
		def, ok := stmt.(*syntax.DefStmt)
		if !ok || !strings.HasPrefix(def.Name.Name, "test_") {
			continue
		}
		name := def.Name.Name
		switch {
		case known[name]:
			wrong = append(wrong, f.at(def, fmt.Sprintf("two tests are called %s; the first would never run", name)))
		case len(def.Params) > 0:
			wrong = append(wrong, f.at(def, fmt.Sprintf("%s has parameters; a test is called without arguments", name)))
		}
		known[name] = true
		f.Tests = append(f.Tests, Test{name, int(def.Def.Line)})
	}
	return wrong.Err()
}

func (f *File) at(def *syntax.DefStmt, message string) diagnostic.Diagnostic {
	m := f.bundle.Entry()
	text := string(m.Source)
	from := diagnostic.Offset(text, int(def.Name.NamePos.Line), int(def.Name.NamePos.Col))
	return diagnostic.Diagnostic{Kind: "test", Message: message}.At(m.Name, text, from, from+len(def.Name.Name))
}

// entry is the name of the program that calls the tests: beside the file, so that what the file
// names is found from there as well.
func (f *File) entry() string { return f.Name + "!" }

// source is the program that calls the tests. What a test file loads is pure when it is loaded, so
// that no test sees what another has done.
func (f *File) source() []byte {
	var load, table strings.Builder
	for _, t := range f.Tests {
		fmt.Fprintf(&load, ", %q", t.Name)
		fmt.Fprintf(&table, "%q: %s, ", t.Name, t.Name)
	}
	if len(f.Tests) == 0 {
		return []byte("def main(test): pass\n")
	}
	return fmt.Appendf(nil, "load(%q%s)\ndef main(test): return {%s}[test]() and None\n", path.Base(f.Name), load.String(), table.String())
}
