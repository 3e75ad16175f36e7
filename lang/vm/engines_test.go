package vm_test

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/langtest"
	"starling/lang/vm"
)

// Programs that are compared are run twice: by go.starlark.net and by the machine. All that is
// known to differ is in differences.

// report is everything a program shows: what it printed, the graph of its globals, and its error
// with the stack.
type report struct {
	prints  strings.Builder
	globals string
	err     string
	limited bool // the program has gone over a limit, which the engines do not share
}

func (r *report) String() string {
	return fmt.Sprintf("prints:\n%s\nglobals:\n%s\nerror: %s", r.prints.String(), r.globals, r.err)
}

// predeclared are the names of a program that is compared.
func (r *report) predeclared() starlark.StringDict {
	return starlark.StringDict{
		"print":     starlark.NewBuiltin("print", r.print),
		"struct":    starlark.NewBuiltin("struct", starlarkstruct.Make),
		"catch":     starlark.NewBuiltin("catch", catch),
		"apply":     starlark.NewBuiltin("apply", applyGo),
		"trace":     starlark.NewBuiltin("trace", r.trace),
		"freeze":    starlark.NewBuiltin("freeze", r.freeze),
		"hasfields": starlark.NewBuiltin("hasfields", newHasFields),
		"fibonacci": &fib{},
	}
}

func (r *report) print(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	fmt.Fprintln(&r.prints, args)
	return starlark.None, nil
}

// applyGo calls a function from Go and passes its error on.
func applyGo(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 0 {
		return nil, errors.New("apply: want a function")
	}
	return starlark.Call(thread, args[0], args[1:], kwargs)
}

// trace calls a function and returns its result, or its error with the backtrace.
func (r *report) trace(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn starlark.Callable
	if err := starlark.UnpackArgs("trace", args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	v, err := starlark.Call(thread, fn, nil, nil)
	switch _, scripted := fn.(interface{ Position() syntax.Position }); {
	case err == nil:
		return v, nil
	case scripted:
		return starlark.String(r.errorText(err)), nil
	}
	return starlark.String(err.Error()), nil // Go calls Go: there are no frames of a script in between
}

// errorText is an error with its backtrace.
func (r *report) errorText(err error) string {
	var ours *vm.Error
	if errors.As(err, &ours) {
		r.limited = r.limited || ours.Kind == effect.KindLimit
		return ours.Backtrace()
	}
	var theirs *starlark.EvalError
	if !errors.As(err, &theirs) {
		return err.Error()
	}
	if strings.HasPrefix(theirs.Msg, "cannot load "+langtest.LibraryName) {
		return r.errorText(errors.Unwrap(theirs.Unwrap())) // the machine has run the library before the script began
	}
	return theirs.Backtrace()
}

// referenceSteps is how many instructions a program may take on go.starlark.net. Programs that end
// on the machine within generatedLimits take fewer.
const referenceSteps = 20_000_000

// onReference runs a program on go.starlark.net.
func onReference(p langtest.Program) *report {
	r := new(report)
	thread := &starlark.Thread{Load: func(*starlark.Thread, string) (starlark.StringDict, error) {
		globals, err := r.runReference(new(starlark.Thread), langtest.LibraryName, p.Library, p.Options)
		if err == nil {
			r.freezeAll(globals)
		}
		return globals, err
	}}
	globals, err := r.runReference(thread, langtest.ScriptName, p.Script, p.Options)
	r.finish(globals, err)
	return r
}

// runReference runs one file, whose globals stay as they are at its end.
func (r *report) runReference(thread *starlark.Thread, name, text string, options syntax.FileOptions) (starlark.StringDict, error) {
	thread.SetMaxExecutionSteps(referenceSteps)
	_, program, err := starlark.SourceProgramOptions(&options, name, text, r.predeclared().Has)
	if err != nil {
		return nil, err
	}
	return program.Init(thread, r.predeclared())
}

// generatedLimits bound what a generated program may use.
var generatedLimits = vm.Limits{Frames: 100_000, Steps: 50_000, Memory: 4 << 20}

// onMachine runs a program on ours.
func onMachine(p langtest.Program, limits vm.Limits) *report {
	r := new(report)
	globals, err := r.runMachine(p, limits)
	r.finish(globals, err)
	return r
}

func (r *report) runMachine(p langtest.Program, limits vm.Limits) (starlark.StringDict, error) {
	names := r.predeclared()
	script, err := compile.Compile(compile.Source{Name: langtest.ScriptName, Text: []byte(p.Script), Options: p.Options, Predeclared: names.Has})
	if err != nil {
		return nil, err
	}
	modules := []*compile.Module{script}
	if len(script.Loads) > 0 {
		library, err := compile.Compile(compile.Source{Name: langtest.LibraryName, Text: []byte(p.Library), Options: p.Options, Predeclared: names.Has})
		if err != nil {
			return nil, err
		}
		modules = []*compile.Module{library, script}
	}
	image, err := vm.Load(modules, &effect.Environment{Names: names})
	if err != nil {
		return nil, err
	}
	m, err := image.Start(nil)
	if err != nil {
		return nil, err
	}
	m.SetLimits(limits)
	err = runToEnd(m)
	return m.Globals(), err
}

func (r *report) finish(globals starlark.StringDict, err error) {
	r.globals = drawGraph(globals)
	if err != nil {
		r.err = r.errorText(err)
	}
}
