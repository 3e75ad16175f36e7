package vm_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/lib/json"
	starlarkmath "go.starlark.net/lib/math"
	"go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
)

// referenceDir is where the source of go.starlark.net is, whose tests of the language are run here
// as they are.
func referenceDir(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.starlark.net").Output()
	if err != nil {
		t.Fatalf("go list -m go.starlark.net: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// conformanceFiles are those that the reference runs itself.
var conformanceFiles = []string{
	"assign", "bool", "builtins", "bytes", "control", "dict", "float", "function", "int", "json", "list", "math", "misc", "set", "string", "time", "tuple",
	"recursion", "module", "while", "proto",
}

func TestConformance(t *testing.T) {
	dir := referenceDir(t)
	plain, counting := newTestLibrary(t, dir, false), newTestLibrary(t, dir, false)
	counting.marks = true
	n := 0
	for _, name := range conformanceFiles {
		file := filepath.Join(dir, "starlark", "testdata", name+".star")
		for _, c := range readChunks(t, file) {
			n++
			t.Run(fmt.Sprintf("%s:%d", name, c.line), func(t *testing.T) {
				plain.run(t, c, c.options())
				counting.run(t, c, c.options())
			})
		}
	}
	if n < 89 {
		t.Errorf("ran %d chunks, want 89: the reference has changed its tests", n)
	}
}

// product are the options under which scripts are compiled.
var product = syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// TestLanguage runs our own tests of the language, in the same format, under the options of the
// product.
func TestLanguage(t *testing.T) {
	lib := newTestLibrary(t, referenceDir(t), false)
	files, err := filepath.Glob("../../testdata/lang/*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of the language found: %v", err)
	}
	for _, file := range files {
		for _, c := range readChunks(t, file) {
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(file), c.line), func(t *testing.T) { lib.run(t, c, product) })
		}
	}
}

// testLibrary is what tests can load and use: the modules assert, json, math, proto and time, and
// some Go values.
type testLibrary struct {
	modules     []*compile.Module
	predeclared starlark.StringDict
	report      func(text string) // takes what the test in progress reports
	breaks      bool              // compile with breaks
	marks       bool              // compile with marks
}

func newTestLibrary(t testing.TB, dir string, breaks bool) *testLibrary {
	t.Helper()
	lib := &testLibrary{breaks: breaks}
	lib.predeclared = starlark.StringDict{
		"hasfields": starlark.NewBuiltin("hasfields", newHasFields),
		"fibonacci": &fib{},
		"struct":    starlark.NewBuiltin("struct", starlarkstruct.Make),

		"error":    starlark.NewBuiltin("error", lib.reportError),
		"catch":    starlark.NewBuiltin("catch", catch),
		"matches":  starlark.NewBuiltin("matches", matches),
		"module":   starlark.NewBuiltin("module", starlarkstruct.MakeModule),
		"_freeze":  starlark.NewBuiltin("freeze", freeze),
		"_floateq": starlark.NewBuiltin("floateq", floatsAlmostEqual),
		"_json":    json.Module,
		"_math":    starlarkmath.Module,
		"_time":    time.Module,
		"_proto":   protoModule(t, dir),
	}
	assert, err := os.ReadFile(filepath.Join(dir, "starlarktest", "assert.star"))
	if err != nil {
		t.Fatal(err)
	}
	lib.add(t, "assert.star", string(assert))
	for _, name := range []string{"json", "math", "time", "proto"} {
		lib.add(t, name+".star", name+" = _"+name)
	}
	return lib
}

func (lib *testLibrary) add(t testing.TB, name, text string) {
	t.Helper()
	lib.modules = append(lib.modules, lib.mustCompile(t, name, text))
}

func (lib *testLibrary) mustCompile(t testing.TB, name, text string) *compile.Module {
	t.Helper()
	code, err := lib.compile(name, text, syntax.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func (lib *testLibrary) compile(name, text string, opts syntax.FileOptions) (*compile.Module, error) {
	return compile.Compile(compile.Source{Name: name, Text: []byte(text), Options: opts,
		Predeclared: lib.predeclared.Has, Breaks: lib.breaks, Marks: lib.marks})
}

// run runs one chunk and compares the error it ends with.
func (lib *testLibrary) run(t *testing.T, c chunk, opts syntax.FileOptions) {
	lib.report = func(text string) { t.Error(text) }
	code, err := lib.compile(c.file, c.text, opts)
	if err != nil {
		t.Fatal(err)
	}
	err = exe(append(slices.Clone(lib.modules), code), lib.predeclared)
	line, msg := errorIn(t, c.file, err)
	c.check(t, line, msg)
}

// exe loads modules and runs the last.
func exe(modules []*compile.Module, predeclared starlark.StringDict) error {
	image, err := vm.Load(modules, &effect.Environment{Names: predeclared})
	if err != nil {
		return err
	}
	m, err := image.Start(nil)
	if err != nil {
		return err
	}
	return finish(m)
}

// finish runs a machine that asks nothing to its end. It may use as many calls as the reference.
func finish(m *vm.Machine) error {
	m.SetLimits(vm.Limits{Frames: 100_000})
	return runToEnd(m)
}

// runToEnd runs a machine that asks nothing to its end, within the limits that it has.
func runToEnd(m *vm.Machine) error {
	for {
		stop := m.Run(nothingToAsk)
		switch {
		case stop.Status == vm.Yielded:
			continue
		case stop.Cause() != nil:
			return stop.Cause()
		}
		return nil
	}
}

func nothingToAsk(r *effect.Request) effect.Outcome { panic("nobody asked for " + r.Kind) }

// errorIn finds the innermost frame of an error that is in the file.
func errorIn(t *testing.T, file string, err error) (line int, msg string) {
	if err == nil {
		return 0, ""
	}
	var e *vm.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an error of the script: %v", err)
	}
	for _, fr := range slices.Backward(e.Stack) {
		if fr.Pos.Filename() == file {
			return int(fr.Pos.Line), e.Msg
		}
	}
	t.Fatal(e.Backtrace())
	return 0, ""
}

func (lib *testLibrary) reportError(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	text, _ := starlark.AsString(args[0])
	lib.report(text)
	return starlark.None, nil
}

// catch calls a function and returns the message of its error, or None. Being a Go function that
// calls back, it also tests nested calls.
func catch(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn starlark.Callable
	if err := starlark.UnpackArgs("catch", args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	if _, err := starlark.Call(thread, fn, nil, nil); err != nil {
		return starlark.String(err.Error()), nil
	}
	return starlark.None, nil
}

func matches(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var pattern, text string
	if err := starlark.UnpackArgs("matches", args, kwargs, "pattern", &pattern, "str", &text); err != nil {
		return nil, err
	}
	ok, err := regexp.MatchString(pattern, text)
	return starlark.Bool(ok), err
}

func freeze(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	args[0].Freeze()
	return args[0], nil
}

func floatsAlmostEqual(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, y starlark.Float
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &x, &y); err != nil {
		return nil, err
	}
	diff := max(x, y) - min(x, y)
	return starlark.Bool(diff <= max(x, -x, y, -y)*1e-15), nil
}

// fib is an iterable without end: the Fibonacci numbers.
type fib struct{}

func (*fib) Freeze()                    {}
func (*fib) String() string             { return "fib" }
func (*fib) Type() string               { return "fib" }
func (*fib) Truth() starlark.Bool       { return true }
func (*fib) Hash() (uint32, error)      { return 0, errors.New("fib is unhashable") }
func (*fib) Iterate() starlark.Iterator { return &fibIterator{0, 1} }

type fibIterator struct{ x, y int }

func (it *fibIterator) Next(p *starlark.Value) bool {
	*p = starlark.MakeInt(it.x)
	it.x, it.y = it.y, it.x+it.y
	return true
}
func (*fibIterator) Done() {}

// hasFields is a value whose fields can be set.
type hasFields struct {
	attrs  starlark.StringDict
	frozen bool
}

func newHasFields(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return &hasFields{attrs: make(starlark.StringDict)}, starlark.UnpackArgs(b.Name(), args, kwargs)
}

func (h *hasFields) String() string        { return "hasfields" }
func (h *hasFields) Type() string          { return "hasfields" }
func (h *hasFields) Truth() starlark.Bool  { return true }
func (h *hasFields) Hash() (uint32, error) { return 42, nil }

func (h *hasFields) Freeze() {
	if !h.frozen {
		h.frozen = true
		h.attrs.Freeze()
	}
}

func (h *hasFields) Attr(name string) (starlark.Value, error) { return h.attrs[name], nil }
func (h *hasFields) AttrNames() []string                      { return slices.Sorted(maps.Keys(h.attrs)) }

func (h *hasFields) SetField(name string, v starlark.Value) error {
	if h.frozen {
		return errors.New("cannot set field on a frozen hasfields")
	}
	if strings.HasPrefix(name, "no") {
		return starlark.NoSuchAttrError("no ." + name + " field")
	}
	h.attrs[name] = v
	return nil
}

// Binary makes list + hasfields 42: a list += operand that is not iterable.
func (h *hasFields) Binary(op syntax.Token, y starlark.Value, _ starlark.Side) (starlark.Value, error) {
	if _, ok := y.(*starlark.List); ok && op == syntax.PLUS {
		return starlark.MakeInt(42), nil
	}
	return nil, nil
}
