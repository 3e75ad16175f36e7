package vm

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"go.starlark.net/starlark"

	"starling/lang/compile"
	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// Image is a program ready to run: its modules linked to an environment, the pure top levels run
// and frozen. It is immutable and shared by all runs of the program and by goroutines.
type Image struct {
	env     *effect.Environment
	modules []*Module
	main    *Module
	byName  map[string]*Module

	permanents *permanents
	identity   [16]byte // what snapshots say of the program
	encoders   sync.Pool
}

// Load links modules, given in order of dependency with the script last, and runs the top level of
// each library module, and of the script if it has a main. Effects in these are errors. What they
// made is frozen.
func Load(modules []*compile.Module, env *effect.Environment) (*Image, error) {
	img := &Image{env: env, byName: make(map[string]*Module), permanents: newPermanents(env)}
	for i, code := range modules {
		m, err := img.link(code, img.byName, new(starlark.Dict))
		if err != nil {
			return nil, err
		}
		m.index = i
		img.modules = append(img.modules, m)
		img.main = m
		if i < len(modules)-1 || code.HasMain {
			if err := m.initialize(img); err != nil {
				return nil, err
			}
			img.permanents.freeze(m.globals)
			img.permanents.number(i, m.globals)
		}
		img.byName[code.Name] = m
	}
	img.identify()
	return img, nil
}

// instance makes the module of a script without main for one run: the globals are its own.
func (img *Image) instance(inputs *starlark.Dict) (*Module, error) {
	mod, err := img.link(img.main.code, img.byName, inputs)
	if err == nil {
		mod.args = inputs
	}
	return mod, err
}

// setArgs replaces what args means in the module of a script without main.
func (mod *Module) setArgs(args *starlark.Dict) {
	for _, n := range mod.code.Names {
		if v, ok := mod.consts[n.Const].(*starlark.Dict); ok && n.Name == argsName && v == mod.args {
			mod.consts[n.Const] = args
		}
	}
	mod.args = args
}

// Loading a module happens wherever its program is needed: it may use less than a run.
const (
	loadSteps  = 50_000_000
	loadMemory = 256 << 20
)

// initialize runs the top level of a module that is shared by all runs.
func (mod *Module) initialize(img *Image) error {
	m := newMachine(nil)
	m.behaves(img)
	m.SetLimits(Limits{Steps: loadSteps, Memory: loadMemory, Shared: true})
	m.main = mod
	if !m.early {
		m.modules = []*Module{mod} // its globals count
	}
	m.enqueue(m.newFiber(mod.top(), nil, nil))
	for m.ended == nil {
		m.turn()
	}
	if m.ended.cause != nil {
		return m.ended.cause
	}
	return nil
}

// top is the module's top level as a function.
func (mod *Module) top() *Function { return newFunction(mod, mod.code.Functions[0], nil, nil) }

// global returns a global variable by name, nil if it is not set.
func (mod *Module) global(name string) starlark.Value { return mod.Globals()[name] }

// argsName is the predeclared name under which a script without main finds its inputs.
const argsName = "args"

// link makes a module of code: constants filled in, loads resolved among the modules given by name,
// globals unset. inputs is what args means, if the script has none of its own.
func (img *Image) link(code *compile.Module, byName map[string]*Module, inputs *starlark.Dict) (*Module, error) {
	m := &Module{code: code, consts: code.Constants, globals: make([]starlark.Value, len(code.Globals))}
	if len(code.Names) > 0 {
		m.consts = append([]starlark.Value(nil), code.Constants...)
	}
	for _, n := range code.Names {
		v := universe[n.Name]
		if !n.Universal {
			v = img.env.Names[n.Name]
		}
		if v == nil && n.Name == argsName && inputs != nil {
			v = inputs
		}
		if v == nil {
			return nil, fmt.Errorf("%s uses the name %s, which this environment does not have", code.Name, n.Name)
		}
		m.consts[n.Const] = v
	}
	if len(code.Marks) > 0 {
		m.reached = img.counters(code)
	}
	for _, l := range code.Loads {
		m.loads = append(m.loads, resolve(l, byName))
	}
	return m, nil
}

// counters are those of a module's marks. Where nobody asks for them they are the module's own.
func (img *Image) counters(code *compile.Module) []atomic.Uint32 {
	if img.env.Reached == nil {
		return make([]atomic.Uint32, len(code.Marks))
	}
	return img.env.Reached(code.Name, len(code.Marks))
}

// resolve finds the values of a load statement. A failure is raised when the statement is executed.
func resolve(l compile.LoadStmt, byName map[string]*Module) loaded {
	from := byName[l.Module]
	if from == nil {
		return loaded{err: fmt.Errorf("cannot load %s: no such module", l.Path)}
	}
	values := make([]starlark.Value, len(l.Names))
	globals := from.Globals()
	for i, name := range slices.Backward(l.Names) { // of several that are missing go.starlark.net names the last
		v, ok := globals[name]
		if !ok {
			return loaded{err: noSuchName(name, l.Path, globals)}
		}
		values[i] = v
	}
	return loaded{values: values}
}

func noSuchName(name, module string, globals starlark.StringDict) error {
	if near, ok := diagnostic.Nearest(name, globals.Keys()); ok {
		return fmt.Errorf("load: name %s not found in module %s (did you mean %s?)", name, module, near)
	}
	return fmt.Errorf("load: name %s not found in module %s", name, module)
}

// load copies the values of load statement n to dst.
func (mod *Module) load(n uint16, dst []starlark.Value) error {
	l := &mod.loads[n]
	copy(dst, l.values)
	return l.err
}

// makeFunction makes function number n of its defaults and cells, which lie in that order in
// window.
func (mod *Module) makeFunction(n uint16, window []starlark.Value) *Function {
	code := mod.code.Functions[n]
	var defaults []starlark.Value
	if code.NumDefaults > 0 {
		defaults = append(defaults, window[:code.NumDefaults]...)
	}
	var free []*cell
	for i := range code.Free {
		free = append(free, window[code.NumDefaults+i].(*cell))
	}
	return newFunction(mod, code, defaults, free)
}
