package vm

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/compile"
	"starling/lang/effect"
)

// Limits bound what a run may use. Zero means the default.
type Limits struct {
	Frames   int   // depth of calls, counted along a fiber and the fibers waiting for it
	Branches int   // that exist at once
	Steps    int64 // steps of one fiber since its last outcome
	Memory   int64 // bytes of what is alive, by the machine's own count

	// Shared says that values which others read meanwhile can be within the script's reach.
	// Counting then gives nothing back.
	Shared bool

	// Lend, unless it is nil, is asked before the machine may hold more than it was lent: most
	// bytes at the most, while held counts how many there are, which takes as long as there are
	// many. It gives how many more there may be until it is asked again, and may wait until there
	// is room for them. What the machine does does not depend on the answer.
	Lend func(most int64, held func() int64) (more int64)
}

// FreeLoan is how many bytes a machine holds without asking [Limits.Lend].
const FreeLoan = 64 << 10

// The defaults of Limits.
const (
	DefaultFrames   = 256
	DefaultBranches = 10_000
	DefaultSteps    = 1_000_000_000
	DefaultMemory   = 1 << 30
)

// A slice ends after so many steps, or so many bytes given out.
const (
	sliceSteps = 1 << 20
	sliceBytes = 64 << 10
)

// machineKey is the thread-local key under which Go functions that call back find the machine.
const machineKey = "starling.machine"

// Machine is one run of an image: its fibers and all they hold. It is used by one goroutine at a
// time.
//
// A host starts it, runs it to its stop, makes durable what the stop gives out, performs it, and
// comes back with outcomes and events:
//
//	m, err := image.Start(inputs)
//	stop := m.Run(answer)     // Done, Failed, Waiting, Yielded or Idle
//	m.Settle(step, outcome)   // or m.Event(step, event)
//	stop = m.Run(answer)
type Machine struct {
	image   *Image
	limits  Limits
	main    *Module   // the script's module; of a session the newest chunk's
	modules []*Module // those that are the run's own, not the image's; a module's index counts the image's first
	session *session  // nil if it is none

	fibers []*fiber                   // in order of creation; between slices all are alive
	queue  []*fiber                   // ready, first in, first out
	nextID int                        // of the next fiber
	opened map[string]*effect.Outcome // steps with a handle, nil until settled
	steps  uint64                     // charged in all, up to the last account

	early  bool // it charges and counts as machines of effect.BehaviourUnbounded did
	strict bool // what a branch returns can fail it, as it did under effect.BehaviourReturnedFails
	untold bool // it is as under effect.BehaviourBranchesUntold
	sizes  *sizes
	shares bool // Limits.Shared

	cutFrom int64 // bytes of texts out of which others may have been cut since texts were last parted

	tally   int64 // bytes made since the last count of what is alive, and what was alive then
	ceiling int64 // tally at which the next count is due
	lease   int64 // tally up to which there is room among all runs
	mark    int64 // the lesser of the two: the dispatch loop looks up from its work there

	// Derived from the fibers.
	waits map[string][]*fiber // who waits for a step, in the order in which they began to

	// Of the slice in progress.
	running   bool // false while a module is being loaded, or a function called by Go outside of a run
	answer    func(*effect.Request) effect.Outcome
	emissions []Emission
	emitted   int   // their size, roughly
	fuel      int64 // steps until the dispatch loop looks up from its work
	portion   int64 // fuel at the last account
	spent     int64 // steps of this slice, up to the last account
	retired   int   // fibers that have ended and are still listed
	yielded   bool
	ended     *Stop // how the run, or the chunk, has ended

	thread     *starlark.Thread
	current    *fiber
	callee     starlark.Callable // the Go function whose call is in progress, for backtraces
	frameLimit int
	named      []keyword         // scratch for the named arguments of a call
	arg        [1]starlark.Value // scratch for a call by a native, and for formatting
	buf        []byte            // scratch for formatted text
	refused    error             // why a direct method did not make its result

	watched string              // the branch whose failure is looked at, "" for none
	failing starlark.StringDict // what it could see when it failed, nil while it has not
	pause   func() bool         // asked at each Break whether the slice ends there, which it cannot while a Go function calls back. Tests set it
}

// newMachine makes a machine that behaves as its image's environment says, as the newest does
// without an image.
func newMachine(img *Image) *Machine {
	m := &Machine{image: img, opened: make(map[string]*effect.Outcome), waits: make(map[string][]*fiber)}
	m.SetLimits(Limits{})
	m.behaves(img)
	m.thread = &starlark.Thread{}
	m.thread.SetLocal(machineKey, m)
	return m
}

// behaviour is the number of the builtins' behaviour, 0 for the newest.
func (m *Machine) behaviour() uint32 {
	if m.image == nil {
		return 0
	}
	return m.image.env.Behaviour
}

// behaves sets what has changed since earlier behaviours.
func (m *Machine) behaves(img *Image) {
	m.early, m.strict, m.untold, m.sizes = false, false, false, &realSizes
	if img == nil || img.env.Behaviour == 0 {
		return
	}
	m.strict = img.env.Behaviour <= effect.BehaviourReturnedFails
	m.untold = img.env.Behaviour <= effect.BehaviourBranchesUntold
	if img.env.Behaviour == effect.BehaviourUnbounded {
		m.early, m.sizes = true, &earlySizes
	}
}

// SetLimits bounds the run, from its start on or from where it was restored. Limits are not part of
// a snapshot: the host has them with the run's settings.
func (m *Machine) SetLimits(l Limits) {
	l.Frames, l.Branches = cmp.Or(l.Frames, DefaultFrames), cmp.Or(l.Branches, DefaultBranches)
	l.Steps, l.Memory = cmp.Or(l.Steps, DefaultSteps), cmp.Or(l.Memory, DefaultMemory)
	m.shares, m.limits = l.Shared, l
	if m.tally == 0 {
		m.ceiling = l.Memory
	}
	m.ceiling = min(m.ceiling, l.Memory+l.Memory/8) // as recount would; what was restored may stem from wider limits
	m.lease = math.MaxInt64
	if l.Lend != nil {
		m.lease = FreeLoan
	}
	m.mark = min(m.ceiling, m.lease)
	m.frameLimit = l.Frames + 1 // a fiber's first frame is its root
}

// Start makes a machine that stands before the first instruction of the script: of main with the
// inputs as named arguments or, for a script without main, of its top level, which sees them as
// args. Nothing runs yet.
func (img *Image) Start(inputs *starlark.Dict) (*Machine, error) {
	m := newMachine(img)
	if inputs == nil {
		inputs = new(starlark.Dict)
	}
	if img.main.code.HasMain {
		main, ok := img.main.global("main").(starlark.Callable)
		if !ok {
			return nil, fmt.Errorf("%s: main is not a function when the top level has ended", img.main.code.Name)
		}
		m.main = img.main
		m.enqueue(m.newFiber(main, nil, inputs))
		return m, nil
	}
	mod, err := img.instance(inputs)
	if err != nil {
		return nil, err
	}
	mod.index = len(img.modules)
	m.main, m.modules = mod, []*Module{mod}
	m.enqueue(m.newFiber(mod.top(), nil, nil))
	return m, nil
}

// newFiber makes a fiber that will call fn.
func (m *Machine) newFiber(fn starlark.Value, args starlark.Tuple, named *starlark.Dict) *fiber {
	f := &fiber{id: m.nextID, state: waiting}
	m.nextID++
	if named == nil {
		named = new(starlark.Dict)
	}
	f.pushActivation(&activation{kind: rootFrame, state: []starlark.Value{fn, args, named}})
	m.fibers = append(m.fibers, f)
	return f
}

// Run lets the machine go on until every fiber waits, the script or chunk has ended, or the slice
// is over. answer is asked for the outcome of each request of class Answer, during the slice; with
// nil such a request fails.
func (m *Machine) Run(answer func(*effect.Request) effect.Outcome) Stop {
	m.running, m.answer, m.emissions, m.emitted, m.spent, m.yielded = true, answer, nil, 0, 0, false
	for len(m.queue) > 0 && m.ended == nil && !m.yielded {
		m.turn()
	}
	m.sweep()
	stop := Stop{Status: Waiting}
	switch {
	case m.ended != nil:
		stop = *m.ended
	case m.yielded:
		stop.Status = Yielded
	case m.session != nil && len(m.fibers) == 0:
		stop = Stop{Status: Idle, Value: starlark.None}
	}
	stop.Emissions, m.emissions = m.emissions, nil
	m.running, m.answer = false, nil
	if m.session != nil {
		m.ended = nil
	}
	return stop
}

// turn runs the first fiber of the queue to its next stop.
func (m *Machine) turn() {
	f := m.queue[0]
	if f.state == ended { // dropped while it was ready
		m.queue = m.queue[1:]
		return
	}
	m.current = f
	m.refill(f)
	v, sig, err := m.run(f, 1)
	m.account(f)
	if sig == sigYield {
		m.yielded = true
		return // it stays first in the queue
	}
	m.queue = m.queue[1:]
	if sig == sigWait {
		f.state = waiting
		m.grow(f)
		return
	}
	f.popFrame()
	m.retire(f)
	e, _ := err.(*Error)
	if f.parent != nil {
		if m.grow(f) {
			m.branchEnded(f, v, e)
		}
		return
	}
	m.end(v, e)
}

// end notes how the script, or the chunk of a session, has ended.
func (m *Machine) end(v starlark.Value, e *Error) {
	m.ended = &Stop{Status: Done, Value: v}
	if e != nil {
		m.ended = &Stop{Status: Failed, Err: e.Effect(), cause: e}
	}
	if m.session != nil {
		m.ended.Status = Idle
		m.session.keep(m.ended.Value)
	}
}

// enqueue makes a fiber ready, at the end of the queue.
func (m *Machine) enqueue(f *fiber) {
	if f.state == waiting {
		f.state = ready
		m.queue = append(m.queue, f)
	}
}

// retire notes that a fiber has ended. Fibers that have are forgotten now and then, and before the
// slice ends.
func (m *Machine) retire(f *fiber) {
	f.state = ended
	if m.retired++; m.retired > len(m.fibers)/2+100 {
		m.sweep()
	}
}

func (m *Machine) sweep() {
	if m.retired == 0 {
		return
	}
	gone := func(f *fiber) bool { return f.state == ended }
	m.fibers = slices.DeleteFunc(slices.Clone(m.fibers), gone) // a copy: somebody may be walking the old one
	m.queue = slices.DeleteFunc(slices.Clone(m.queue), gone)
	m.retired = 0
}

// alive counts the fibers that have not ended.
func (m *Machine) alive() int { return len(m.fibers) - m.retired }

// Runnable tells whether the last slice has yielded, or something came in since: there is more to
// do than to wait.
func (m *Machine) Runnable() bool { return len(m.queue) > 0 }

// Globals returns the global variables of the script, or of the session, that are set.
func (m *Machine) Globals() starlark.StringDict {
	if m.session != nil {
		return set(m.session.names, m.session.globals)
	}
	return m.main.Globals()
}

// Steps is the number of steps charged since the start.
func (m *Machine) Steps() uint64 { return m.steps }

// Interrupt ends the chunk of a session where it stands, with an error of kind cancelled. What it
// waits for is withdrawn, and no more of its code runs.
func (m *Machine) Interrupt() Stop {
	m.emissions, m.emitted = nil, 0
	for _, f := range m.fibers {
		if f.parent == nil && f.state != ended {
			m.drop(f)
		}
	}
	m.sweep()
	stop := Stop{Status: Idle, Err: effect.Errorf(effect.KindCancelled, "interrupted"), Emissions: m.emissions}
	m.emissions, m.ended = nil, nil
	return stop
}

// Append gives a session its next chunk: modules that it loads, unless the session has them already
// as they are, and the chunk itself last. Its top level runs next. An error, such as that the last
// chunk has not ended, means that nothing was appended.
func (m *Machine) Append(modules []*compile.Module) error {
	if m.session == nil {
		m.session = newSession(m)
	}
	return m.session.append(m, modules)
}
