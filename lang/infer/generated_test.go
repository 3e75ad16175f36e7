package infer_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/infer"
	"starling/lang/langtest"
	"starling/lang/vm"
)

var (
	programs = flag.Int("programs", 1500, "how many generated programs to infer the types of, and to run")
	first    = flag.Uint64("first", 0, "seed of the first generated program; 0 takes one from the clock")
)

// TestGeneratedPrograms runs programs of which types say that something in them fails for certain:
// what is said to fail is wrapped in a call that tells whether it has not. One that has not is made
// small before it is shown.
//
//	go test ./lang/infer -run TestGeneratedPrograms -first 42 -programs 1
//	nice go test ./lang/infer -run TestGeneratedPrograms -first 1 -programs 100000 -timeout 0
func TestGeneratedPrograms(t *testing.T) {
	seed := cmp.Or(*first, uint64(time.Now().UnixNano()))
	said, judged := 0, 0
	for i := range uint64(*programs) {
		p := langtest.Generate(langtest.Seed(seed + i))
		n, wrong := refuted(p)
		if n > 0 {
			said += n
			judged++
		}
		if wrong != "" {
			small := langtest.Reduce(p, func(q langtest.Program) bool { _, wrong := refuted(q); return wrong != "" })
			_, wrong = refuted(small)
			t.Errorf("seed %d: it is said to fail, and does not:\n%s\n%s", seed+i, small, wrong)
		}
	}
	t.Logf("seed %d: %d programs, of which %d are said to fail at %d places", seed, *programs, judged, said)
	if *programs >= 1000 && said == 0 {
		t.Errorf("of %d programs none is said to fail: nothing is tried", *programs)
	}
}

// refuted gives how many findings a program has, and one that its run refutes.
func refuted(p langtest.Program) (n int, wrong string) {
	names := world(nil)
	files, err := parsed(p, names)
	if err != nil {
		return 0, ""
	}
	result := infer.Files(files, &effect.Environment{Names: names})
	var list []infer.Finding
	for _, f := range result.Findings {
		if f.Diagnostic.Severity == diagnostic.Error && f.Node != nil {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return 0, ""
	}
	passed := map[int]bool{}
	_ = run(wrapped(p, files, list), world(passed)) // however it ends
	for i, f := range list {
		if passed[i] {
			return len(list), fmt.Sprintf("%s:%d:%d: %s", f.File.Name, f.Start.Line, f.Start.Col, f.Diagnostic.Error())
		}
	}
	return len(list), ""
}

// parsed are the files of a program, as infer wants them.
func parsed(p langtest.Program, names starlark.StringDict) ([]*infer.File, error) {
	var files []*infer.File
	loads := map[string]*infer.File{}
	for _, f := range []struct{ name, text string }{{langtest.LibraryName, p.Library}, {langtest.ScriptName, p.Script}} {
		if f.name == langtest.LibraryName && f.text == "" {
			continue
		}
		tree, err := p.Options.Parse(f.name, f.text, 0)
		if err != nil {
			return nil, err
		}
		if err := resolve.File(tree, names.Has, starlark.Universe.Has); err != nil {
			return nil, err
		}
		file := &infer.File{Name: f.name, Source: f.text, Tree: tree, Loads: loads, Pure: f.name == langtest.LibraryName}
		files = append(files, file)
		loads = map[string]*infer.File{langtest.LibraryName: file}
	}
	return files, nil
}

// wrapped is the program in which what is said to fail tells when it does not.
func wrapped(p langtest.Program, files []*infer.File, list []infer.Finding) langtest.Program {
	for _, file := range files {
		var edits []edit
		for i, f := range list {
			if f.File == file {
				edits = append(edits, edits_(file, f, i)...)
			}
		}
		text := apply(file.Source, edits)
		if file.Name == langtest.LibraryName {
			p.Library = text
		} else {
			p.Script = text
		}
	}
	return p
}

// edit puts a text into another.
type edit struct {
	at    int
	text  string
	close bool // it ends something: it stands before what begins at the same place
	size  int
}

func apply(source string, edits []edit) string {
	slices.SortStableFunc(edits, func(x, y edit) int {
		if c := cmp.Compare(x.at, y.at); c != 0 {
			return c
		}
		if x.close != y.close {
			if x.close {
				return -1
			}
			return 1
		}
		if x.close {
			return cmp.Compare(x.size, y.size) // the inner one ends first
		}
		return cmp.Compare(y.size, x.size)
	})
	var b strings.Builder
	last := 0
	for _, e := range edits {
		b.WriteString(source[last:e.at])
		b.WriteString(e.text)
		last = e.at
	}
	b.WriteString(source[last:])
	return b.String()
}

func edits_(file *infer.File, f infer.Finding, i int) []edit {
	start, end := f.Node.Span()
	from := diagnostic.Offset(file.Source, int(start.Line), int(start.Col))
	to := diagnostic.Offset(file.Source, int(end.Line), int(end.Col))
	if e, ok := f.Node.(syntax.Expr); ok && !target(file.Tree, e) {
		name := "passed"
		if f.Looped {
			name = "looped"
		}
		return []edit{{at: from, text: fmt.Sprintf("%s(%d, ", name, i), size: to - from}, {at: to, text: ")", close: true, size: to - from}}
	}
	return nil
}

// target tells whether an expression stands on a left side, where it cannot be wrapped.
func target(tree *syntax.File, e syntax.Expr) bool {
	found := false
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			found = found || within(e, n.LHS)
		case *syntax.ForStmt:
			found = found || within(e, n.Vars)
		case *syntax.ForClause:
			found = found || within(e, n.Vars)
		}
		return !found
	})
	return found
}

func within(e, outer syntax.Expr) bool {
	found := false
	syntax.Walk(outer, func(n syntax.Node) bool {
		found = found || n == syntax.Node(e)
		return !found
	})
	return found
}

// bounds are what a program may use. Only the machine bounds memory: with go.starlark.net, which
// bounds steps alone, a program took 22 GB by multiplying lists.
var bounds = vm.Limits{Frames: 10_000, Steps: 200_000, Memory: 64 << 20}

// run runs a program on the machine, whatever becomes of it.
func run(p langtest.Program, names starlark.StringDict) error {
	var modules []*compile.Module
	for _, src := range []compile.Source{{Name: langtest.LibraryName, Text: []byte(p.Library)}, {Name: langtest.ScriptName, Text: []byte(p.Script)}} {
		src.Options, src.Predeclared = p.Options, names.Has
		if src.Name == langtest.LibraryName && p.Library == "" {
			continue
		}
		m, err := compile.Compile(src)
		if err != nil {
			return err
		}
		modules = append(modules, m)
	}
	image, err := vm.Load(modules, &effect.Environment{Names: names})
	if err != nil {
		return err
	}
	m, err := image.Start(nil)
	if err != nil {
		return err
	}
	m.SetLimits(bounds)
	for {
		stop := m.Run(func(r *effect.Request) effect.Outcome { panic("nobody asks for " + r.Kind) })
		if stop.Status != vm.Yielded {
			return stop.Cause()
		}
	}
}

// world are the names that generated programs have, and those that tell what has not failed.
func world(passed map[int]bool) starlark.StringDict {
	tell := func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		n, _ := starlark.AsInt32(args[0])
		if _, iterable := args[1].(starlark.Iterable); b.Name() == "passed" || iterable {
			passed[n] = true
		}
		return args[1], nil
	}
	names := starlark.StringDict{
		"struct":    starlark.NewBuiltin("struct", starlarkstruct.Make),
		"apply":     starlark.NewBuiltin("apply", applied),
		"trace":     starlark.NewBuiltin("trace", traced),
		"freeze":    starlark.NewBuiltin("freeze", frozen),
		"hasfields": starlark.NewBuiltin("hasfields", withFields),
		"passed":    starlark.NewBuiltin("passed", tell),
		"looped":    starlark.NewBuiltin("looped", tell),
	}
	referenceNames(names)
	return names
}

func applied(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 0 {
		return nil, errors.New("apply: want a function")
	}
	return starlark.Call(thread, args[0], args[1:], kwargs)
}

func traced(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 {
		return nil, errors.New("trace: want a function")
	}
	v, err := starlark.Call(thread, args[0], nil, nil)
	if err != nil {
		return starlark.String(err.Error()), nil
	}
	return v, nil
}

func frozen(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 {
		return nil, errors.New("freeze: want a value")
	}
	args[0].Freeze()
	return args[0], nil
}

// fields is a value whose fields can be set.
type fields struct {
	starlark.Value
	has starlark.StringDict
}

func withFields(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return &fields{starlark.None, starlark.StringDict{}}, nil
}

func (f *fields) Type() string        { return "hasfields" }
func (f *fields) AttrNames() []string { return f.has.Keys() }

func (f *fields) Attr(name string) (starlark.Value, error) { return f.has[name], nil }

func (f *fields) SetField(name string, v starlark.Value) error {
	f.has[name] = v
	return nil
}

// A finding that is wrong is found out: what is wrapped tells that it has not failed, within a
// function and before the program is stopped by a bound.
func TestWrongFindingIsRefuted(t *testing.T) {
	names := world(nil)
	p := langtest.Program{Script: "def f(x):\n    return x + 1\n\ny = f(2)\nz = [[0] * (1 << 20) for _ in range(1 << 10)]\n"}
	files, err := parsed(p, names)
	if err != nil {
		t.Fatal(err)
	}
	sum := files[0].Tree.Stmts[0].(*syntax.DefStmt).Body[0].(*syntax.ReturnStmt).Result
	passed := map[int]bool{}
	err = run(wrapped(p, files, []infer.Finding{{File: files[0], Node: sum}}), world(passed))
	if !passed[0] {
		t.Errorf("the sum has not failed, and nothing tells: %v", err)
	}
	if err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("got %v, want the error of a script that is stopped by a limit", err)
	}
}
