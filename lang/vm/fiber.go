package vm

import (
	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// fiber is one thread of a machine: a branch of the script. Everything it holds is plain data, so
// that it can be written down:
//
//	regs    one contiguous stack of registers; each Starlark frame sees a window of it
//	frames  the calls in progress, outermost first; frames[0] is always the root activation, to which the fiber's result returns
//	iters   the open iterators of all frames, outermost first; each holds the lock on what it iterates over
//
// What of regs is alive follows from the code: for the top frame compile.Function.Before(pc), for a
// frame that waits for a call Across(pc). How many iterators a frame has open follows too:
// IterDepth(pc), or native.iters. Neither is stored in a snapshot.
type fiber struct {
	id     int            // in order of creation within the run, from 0; never used again
	branch string         // path of the branch, "" for the root
	parent *fiber         // whose parallel waits for this one, nil for the root
	index  int            // which branch of that parallel this is
	depth  int            // frames of the fibers that wait for this one, for the depth limit
	names  map[string]int // how many steps of each name the branch has begun

	regs   []starlark.Value // nil is an unset variable
	frames []frame
	iters  []iteration

	state fiberState
	steps int64 // charged since the last outcome
}

// fiberState says what a fiber does while it does not run.
type fiberState uint8

const (
	ready   fiberState = iota // in the run queue
	waiting                   // its top frame is an activation that waits
	ended                     // its frames are gone; its parent has, or will take, the result
)

// frame is one call in progress. Exactly one of fn and act is set.
type frame struct {
	fn    *Function   // the Starlark function
	act   *activation // anything else: a native, a wait, the border to a Go caller
	base  int         // where its window of registers begins
	pc    int         // the instruction to execute, or the call that is in progress; -1 while arguments are bound
	iters int         // number of the fiber's iterators that are older than this frame
}

// window is the frame's registers.
func (f *fiber) window(fr *frame) []starlark.Value {
	return f.regs[fr.base : fr.base+fr.fn.code.NumRegisters]
}

// activation is a frame that is not Starlark code. All that it knows between two steps is in these
// fields.
type activation struct {
	kind   activationKind
	native *Native           // of a native frame
	callee starlark.Callable // of a border: the Go function whose call is in progress
	phase  int               // where the activation stands; its own numbering
	state  []starlark.Value  // what it remembers; of a root: the function to call, its arguments (a tuple), its named arguments (a dict)
	wait   *wait             // of a wait
}

type activationKind uint8

const (
	rootFrame   activationKind = iota // bottom of a fiber: phase 0 is about to make the first call, a value returned to it ends the fiber
	borderFrame                       // a Go function below called back into Starlark: nothing above can wait
	nativeFrame                       // a resumable native
	waitFrame                         // a request whose outcome is awaited
)

// wait is what a frame that waits for a step knows. Callbacks that handle the step's events run,
// and may wait themselves, above it; the frame itself goes on only when it is on top.
type wait struct {
	step    string
	onEvent starlark.Callable // runs for each event, nil if nobody listens
	events  []effect.Payload  // events that came and were not yet handed to onEvent
	outcome *effect.Outcome   // what the step came to, queued behind the events
}

// iteration is an open iterator: what it iterates over, and how far it came. Locks are held by
// guard.
type iteration struct {
	source starlark.Value
	guard  starlark.Iterator // nil for what cannot change: tuples and ranges
	kind   iterationKind
	pos    int // elements taken
	length int // elements there are, where the kind knows

	list  *starlark.List
	tuple starlark.Tuple
	start int64 // of a range
	step  int64
}

type iterationKind uint8

const (
	overOther iterationKind = iota // dict, set, string.elems, host values: guard itself steps
	overList
	overTuple
	overRange
	overForever // forever(): 0, 1, 2, ... without end
)

// pushFrame begins a call of fn whose arguments are already the first registers of the window at
// base.
func (f *fiber) pushFrame(fn *Function, base int) *frame {
	f.frames = append(f.frames, frame{fn: fn, base: base, iters: len(f.iters)})
	f.reserve(base + fn.code.NumRegisters)
	return &f.frames[len(f.frames)-1]
}

// pushActivation begins a frame that is not Starlark code. Its window is what lies above that of
// its caller.
func (f *fiber) pushActivation(act *activation) *frame {
	f.frames = append(f.frames, frame{act: act, base: f.ceiling(), iters: len(f.iters)})
	return &f.frames[len(f.frames)-1]
}

// ceiling is the first register above all windows.
func (f *fiber) ceiling() int {
	if len(f.frames) == 0 {
		return 0
	}
	top := &f.frames[len(f.frames)-1]
	if top.fn == nil {
		return top.base
	}
	return top.base + top.fn.code.NumRegisters
}

// reserve makes room for n registers. The stack starts small: a machine may have thousands of
// fibers.
func (f *fiber) reserve(n int) {
	if n <= len(f.regs) {
		return
	}
	regs := make([]starlark.Value, max(n, 2*len(f.regs), 32))
	copy(regs, f.regs)
	f.regs = regs
}

// popFrame ends the top frame: iterators that it left open are closed, which unlocks what they
// iterate over.
func (f *fiber) popFrame() {
	n := len(f.frames) - 1
	f.closeIterators(f.frames[n].iters)
	f.frames[n] = frame{}
	f.frames = f.frames[:n]
}

func (f *fiber) closeIterators(keep int) {
	for len(f.iters) > keep {
		f.popIterator()
	}
}
