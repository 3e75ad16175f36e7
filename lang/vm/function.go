package vm

import (
	"fmt"
	"sync/atomic"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/compile"
)

// Function is a Starlark function: code, the module it belongs to, the defaults of its parameters
// and the cells it captured. Only machines make them. It is safe for concurrent calls once frozen.
type Function struct {
	code     *compile.Function
	module   *Module
	defaults []starlark.Value // of the last parameters; nil for a mandatory keyword-only one
	free     []*cell
	direct   int // number of positional arguments that need no binding, -1 if any do
}

// Module is a loaded file: its code, and the variables that its functions share.
type Module struct {
	code    *compile.Module
	consts  []starlark.Value // code.Constants with the predeclared values filled in
	globals []starlark.Value // nil is an unset variable
	loads   []loaded         // one for each load statement
	args    *starlark.Dict   // what args means in a script without main, nil in any other
	index   int              // position in the image
	reached []atomic.Uint32  // how often each of code.Marks was
}

// loaded is what a load statement binds, or why it cannot.
type loaded struct {
	values []starlark.Value
	err    error
}

func newFunction(m *Module, code *compile.Function, defaults []starlark.Value, free []*cell) *Function {
	fn := &Function{code: code, module: m, defaults: defaults, free: free, direct: -1}
	if code.Simple() {
		fn.direct = code.NumParams
	}
	return fn
}

// Name is the name of the def, or "lambda".
func (fn *Function) Name() string { return fn.code.Name }

// Position is where the def or lambda stands.
func (fn *Function) Position() syntax.Position {
	return syntax.MakePosition(&fn.code.Module.Name, fn.code.Line, fn.code.Col)
}

// Globals returns the global variables that are set.
func (m *Module) Globals() starlark.StringDict { return set(m.code.Globals, m.globals) }

// set are the variables that are set, by name.
func set(names []compile.Binding, values []starlark.Value) starlark.StringDict {
	dict := make(starlark.StringDict, len(values))
	for i, v := range values {
		if v != nil {
			dict[names[i].Name] = v
		}
	}
	return dict
}

func (fn *Function) String() string { return fmt.Sprintf("<function %s>", fn.Name()) }

// Type is "function".
func (*Function) Type() string { return "function" }

// Truth is true.
func (*Function) Truth() starlark.Bool { return true }

// Hash is by name.
func (fn *Function) Hash() (uint32, error) { return starlark.String(fn.Name()).Hash() }

// Freeze freezes the defaults and what the captured cells hold, but not the module's globals.
func (fn *Function) Freeze() {
	for _, v := range fn.defaults {
		if v != nil {
			v.Freeze()
		}
	}
	for _, c := range fn.free {
		if c != nil { // one that is being read from a snapshot has none yet
			c.Freeze()
		}
	}
}

// cell is a variable that nested functions share. It is a Value so that registers can hold it;
// scripts never see one.
type cell struct {
	v      starlark.Value
	frozen bool // what it held when it was first frozen has been frozen: functions refer to themselves through their cells
}

func (c *cell) String() string        { return "cell" }
func (c *cell) Type() string          { return "cell" }
func (c *cell) Truth() starlark.Bool  { return true }
func (c *cell) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: cell") }
func (c *cell) Freeze() {
	if c.frozen {
		return
	}
	c.frozen = true
	if c.v != nil {
		c.v.Freeze()
	}
}
