package lang

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// Source reads a file by its slash-separated name. It gives fs.ErrNotExist, perhaps wrapped, for a
// file that is not there, or a [diagnostic.Absent] if it knows what there is instead. Names are
// clean and relative, but a Source must see to symbolic links itself.
type Source func(name string) ([]byte, error)

// Read reads the script entry and all that it needs. files serves names relative to the root that
// no load may leave; library serves the names below "@std/", without that prefix, and may be nil.
//
// A name in `load` is relative to the file that loads. A literal script of `run` that names a file
// is relative to the folder of the entry, wherever the call stands, since a name that is computed
// can only be that; see [NamesFile]. Errors are a diagnostic.List: everything that could not be
// read or parsed, a load cycle, a limit. Names are not resolved: [Compile] and [Check] do that.
func Read(entry string, files, library Source) (*Bundle, error) {
	r := reader{files: files, library: library, modules: map[string]*Module{}}
	name, err := moduleName("", entry)
	if err != nil {
		return nil, diagnostic.List{{Kind: "missing_module", File: entry, Message: "cannot read the script: " + err.Error()}}
	}
	m := r.module(name, func(err error) diagnostic.Diagnostic {
		return diagnostic.Diagnostic{Kind: "missing_module", File: entry, Message: "cannot read the script: " + err.Error(), Hint: hintOf(err, entry)}
	})
	for len(r.waiting) > 0 && m != nil {
		wanted := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.child(wanted, name)
	}
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return newBundle(m), nil
}

// Reading goes on after a mistake, so that one look at the diagnostics shows all files that are
// missing or do not parse. A module is marked as known before it is read: meeting it again on the
// way down is a load cycle, and a file that could not be had is reported once, at the first place
// that asks for it. Loads are followed as they are found; child scripts wait until their parent's
// program is complete, because they may go in circles, which loads may not.

// reader reads modules depth first along loads, and child scripts after the script that names them.
type reader struct {
	files, library Source
	modules        map[string]*Module // nil while a module is being read, or when it could not be
	loading        []string           // the chain of loads that led here, outermost first
	waiting        []childName
	size           int
	problems       diagnostic.List
}

// childName is a literal first argument of run.
type childName struct {
	in      *Module
	literal *syntax.Literal
}

// refusal makes the diagnostic for a module that cannot be had, at the place that asks for it.
type refusal func(err error) diagnostic.Diagnostic

// hintOf is what an error says to try, of a file that somebody wrote the name of.
func hintOf(err error, written string) string {
	var absent *diagnostic.Absent
	var loop cycle
	switch {
	case errors.As(err, &absent):
		return absent.Meant(written)
	case errors.As(err, &loop) && len(loop) > 2:
		return "move what both files need into a third one, which loads neither"
	}
	return ""
}

// cycle is the error of a module that comes to load itself: the modules on the way, itself at both
// ends.
type cycle []string

func (c cycle) Error() string { return "load cycle: " + strings.Join(c, " -> ") }

// module reads a module and what it loads. It returns nil and notes a problem if it cannot be had;
// the problem of one file is noted once, where it is first asked for.
func (r *reader) module(name string, refuse refusal) *Module {
	if m, known := r.modules[name]; known {
		if slices.Contains(r.loading, name) {
			r.problems = append(r.problems, refuse(r.chain(name)))
		}
		return m
	}
	r.modules[name] = nil
	source, err := r.read(name)
	if err != nil {
		r.problems = append(r.problems, refuse(err))
		return nil
	}
	m := &Module{Name: name, Source: source, Hash: sha256.Sum256(source)}
	r.loading = append(r.loading, name)
	r.follow(m)
	r.loading = r.loading[:len(r.loading)-1]
	r.modules[name] = m
	return m
}

// chain is how the module that is being loaded comes to load itself.
func (r *reader) chain(name string) cycle {
	from := slices.Index(r.loading, name)
	return append(slices.Clone(r.loading[from:]), name)
}

func (r *reader) read(name string) ([]byte, error) {
	if len(r.modules) > MaxModules {
		return nil, fmt.Errorf("too many files, want at most %d", MaxModules)
	}
	source, err := r.open(name)
	r.size += len(source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		var absent *diagnostic.Absent
		if !errors.As(err, &absent) {
			absent = &diagnostic.Absent{}
		}
		return nil, &diagnostic.Absent{Name: name, Beside: absent.Beside}
	case err != nil:
		return nil, err
	case len(source) > MaxSource:
		return nil, fmt.Errorf("%s has %d bytes, want at most %d", name, len(source), MaxSource)
	case r.size > MaxBundle:
		return nil, fmt.Errorf("the files have more than %d bytes together", MaxBundle)
	}
	return source, nil
}

func (r *reader) open(name string) ([]byte, error) {
	rest, std := strings.CutPrefix(name, library)
	switch {
	case !std:
		return r.files(name)
	case r.library == nil:
		return nil, fs.ErrNotExist
	}
	return r.library(rest)
}

// follow parses a module for what it loads and runs.
func (r *reader) follow(m *Module) {
	f, err := parse(m)
	if err != nil {
		var list diagnostic.List
		errors.As(err, &list)
		r.problems = append(r.problems, list...)
		return
	}
	m.parsed.Store(f)
	for _, s := range f.Stmts {
		if l, ok := s.(*syntax.LoadStmt); ok {
			r.load(m, l)
		}
	}
	if !bytes.Contains(m.Source, []byte("run")) {
		return // it names no child, and need not be resolved
	}
	for _, literal := range runLiterals(f) {
		if !NamesFile(literal.Value.(string)) {
			continue
		}
		r.waiting = append(r.waiting, childName{m, literal})
	}
}

func (r *reader) load(m *Module, l *syntax.LoadStmt) {
	refuse := m.refusal("missing_module", "cannot load", l.Module)
	name, err := moduleName(m.Name, l.ModuleName())
	if err != nil {
		r.problems = append(r.problems, refuse(err))
		return
	}
	if loaded := r.module(name, refuse); loaded != nil && !slices.Contains(m.loads, loaded) {
		m.loads = append(m.loads, loaded)
	}
}

func (r *reader) child(wanted childName, entry string) {
	refuse := wanted.in.refusal("missing_script", "cannot run", wanted.literal)
	name, err := moduleName(entry, wanted.literal.Value.(string))
	if err != nil {
		r.problems = append(r.problems, refuse(err))
		return
	}
	if m := r.module(name, refuse); m != nil && !slices.Contains(wanted.in.runs, m) {
		wanted.in.runs = append(wanted.in.runs, m)
	}
}

func (m *Module) refusal(kind, what string, at *syntax.Literal) refusal {
	return func(err error) diagnostic.Diagnostic {
		d := m.problem(kind, at.TokenPos, len([]rune(at.Raw)), fmt.Sprintf("%s %q: %v", what, at.Value, err))
		d.Hint = hintOf(err, at.Value.(string))
		return d
	}
}

// runLiterals lists the literal scripts of all calls of the builtin run. It resolves the file as if
// every name were predeclared, so as to leave out calls of a run that the file defines itself; a
// file with other mistakes is left to the compiler.
func runLiterals(f *syntax.File) []*syntax.Literal {
	if resolve.File(f, anything, nothing) != nil {
		return nil
	}
	var literals []*syntax.Literal
	syntax.Walk(f, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && isPredeclared(call.Fn, "run") {
			if l := scriptArgument(call); l != nil {
				literals = append(literals, l)
			}
		}
		return true
	})
	return literals
}

// NamesFile tells whether a word that stands for a script names a file: it ends with ".star" or has
// a slash. Any other is the name under which a script was defined. The look alone decides, so that
// no file that comes or goes changes what a script means. The empty word counts as a file, one that
// there cannot be.
func NamesFile(script string) bool {
	return script == "" || strings.Contains(script, "/") || strings.HasSuffix(script, ".star")
}

// scriptArgument is the literal string passed as the parameter script of run, or nil.
func scriptArgument(call *syntax.CallExpr) *syntax.Literal {
	for i, arg := range call.Args {
		if named, ok := arg.(*syntax.BinaryExpr); ok && named.Op == syntax.EQ {
			if named.X.(*syntax.Ident).Name != "script" {
				continue
			}
			arg = named.Y
		} else if i > 0 {
			continue
		}
		if l, ok := arg.(*syntax.Literal); ok && l.Token == syntax.STRING {
			return l
		}
	}
	return nil
}
