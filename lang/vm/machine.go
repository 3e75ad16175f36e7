package vm

import (
	"go.starlark.net/starlark"
)

// Limits bound what a run may use. Zero means the default.
type Limits struct {
	Frames int // depth of calls, counted along a fiber and the fibers waiting for it; 256
}

// DefaultFrames is the depth of calls that a run may reach unless its limits say otherwise.
const DefaultFrames = 256

// machineKey is the thread-local key under which Go functions that call back find the machine.
const machineKey = "starling.machine"

// slice is the number of steps after which the dispatch loop looks up from its work.
const sliceSteps = 1 << 20

// Machine is one run of an image: its fibers and all they hold. It is used by one goroutine at a time.
type Machine struct {
	image  *Image
	thread *starlark.Thread
	limits Limits

	current *fiber
	callee  starlark.Callable // the Go function whose call is in progress, for backtraces

	fuel       int64 // steps left in this portion
	frameLimit int

	named []keyword         // scratch for the named arguments of a call
	arg   [1]starlark.Value // scratch for a call by a native
}

func newMachine(limits Limits) *Machine {
	if limits.Frames == 0 {
		limits.Frames = DefaultFrames
	}
	m := &Machine{limits: limits, frameLimit: limits.Frames + 1, fuel: sliceSteps} // a fiber's first frame is its root
	m.thread = &starlark.Thread{}
	m.thread.SetLocal(machineKey, m)
	return m
}

func (m *Machine) newFiber(parent *fiber) *fiber {
	f := &fiber{parent: parent}
	f.pushActivation(&activation{kind: rootFrame})
	return f
}

// callTop runs a function without arguments on a fiber of its own.
func (m *Machine) callTop(fn *Function) (starlark.Value, error) {
	f := m.newFiber(nil)
	m.current = f
	if _, sig, err := m.enter(f, fn, 0, nil, nil); sig == sigError {
		return nil, m.errorHere(f, err)
	}
	return m.run(f, 1)
}

// refuel begins a new portion of steps.
func (m *Machine) refuel(*fiber) (signal, error) {
	m.fuel = sliceSteps
	return sigReturn, nil
}

// Options are what a run is started with.
type Options struct {
	Limits Limits
}

// Stop says why a slice ended.
type Stop struct {
	Err   error
	Value starlark.Value
}

// Start begins a run.
func (img *Image) Start(opts Options) *Machine {
	m := newMachine(opts.Limits)
	m.image = img
	return m
}

// Run runs.
func (m *Machine) Run() Stop {
	mod := m.image.main
	v, err := m.callTop(newFunction(mod, mod.code.Functions[0], nil, nil))
	return Stop{err, v}
}

// Globals returns the global variables of the script that are set.
func (m *Machine) Globals() starlark.StringDict { return m.image.main.Globals() }
