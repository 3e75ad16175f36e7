package effect

import (
	"strings"
	"sync/atomic"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// Environment is everything that scripts see and all who serve it, in one value: cmd builds it and
// passes it to compiler, checker, machine, documentation and runtime. It is immutable once built
// and shared by goroutines.
type Environment struct {
	// Names are the predeclared names: *Builtin, *starlark.Builtin, *starlarkstruct.Module and
	// constants.
	Names starlark.StringDict
	// OfTests are further names, of files of tests where they give agents. Nil where there are
	// none.
	OfTests starlark.StringDict
	// Handlers serve the requests by kind.
	Handlers map[string]*Handler
	// Tidy removes the trees of branches of runs that have ended from a folder that has a folder
	// for each run, once nobody is at work there. A folder that is not there is tidy. Nil where
	// nobody makes trees.
	Tidy func(folder string, ended func(run string) bool) error
	// Rest ends what handlers keep for the next request, and returns when it is gone. Whoever has
	// no further requests calls it; there may be some after it all the same. Nil where nothing is
	// kept.
	Rest func()
	// Codecs write down the values of foreign types; their order is part of the snapshots' format.
	Codecs []Codec
	// Docs is what there is to say beside what the builtins say of themselves, in the form of
	// starling/lang/doc: of modules and constants, and examples.
	Docs string
	// Behaviour moves when a builtin's result, an error that scripts can see, what work costs or
	// what a machine says changes. A run is recorded with it and keeps it: see [Environment.At].
	Behaviour uint32
	// Since is the earliest behaviour whose runs go on under it; 0 where no earlier ones do. A run
	// of another one is refused.
	Since uint32
	// Reached has programs count which of their statements and ways are reached: it gives the
	// counters of a module, one for each of its n marks, the same ones whenever it is asked. It is
	// called concurrently. Nil, which costs nothing, for programs that count nothing.
	Reached func(module string, n int) []atomic.Uint32
	// Compiled keeps the code of modules for programs that have some in common. Nil, which keeps
	// none, where few are compiled.
	Compiled Cache
}

// Cache keeps what was made by what it was made from, as [sync.Map] does. It is used concurrently.
type Cache interface {
	Load(key any) (value any, ok bool)
	Store(key, value any)
}

// BehaviourUnbounded is the one whose machine did not charge all that a script can make it do, and
// counted equal texts once only after a restore. A machine of any other number charges and counts
// as [starling/lang/vm] says, one of number 0, which tests have, too.
const BehaviourUnbounded = 1

// BehaviourReturnedFails is the last one whose parallel took a branch that returned a Result or an
// Outcome which is not ok for one that has failed. Later a branch fails only when it raises.
const BehaviourReturnedFails = 2

// BehaviourToollessResult is the last one whose Results have no field tools.
const BehaviourToollessResult = 3

// BehaviourLoadsForgotten is the last one in whose sessions a chunk loads names for itself alone.
// Later they are globals of the session.
const BehaviourLoadsForgotten = 4

// BehaviourValuesForgotten is the last one whose sessions forget what chunks come to, and load a
// file once only. Later there are _, _1 and Out, and a file that has changed is loaded anew.
const BehaviourValuesForgotten = 5

// BehaviourBranchesUntold is the last one whose machine does not tell of a branch that has failed,
// and counts the script itself among the branches that may exist at once.
const BehaviourBranchesUntold = 6

// Keeps tells whether a run that was recorded with a behaviour goes on.
func (e *Environment) Keeps(behaviour uint32) bool {
	return behaviour == e.Behaviour || e.Since > 0 && e.Since <= behaviour && behaviour < e.Behaviour
}

// At is the environment as it was under an earlier behaviour, for runs that began under it.
func (e *Environment) At(behaviour uint32) *Environment {
	if behaviour == e.Behaviour {
		return e
	}
	then := *e
	then.Behaviour = behaviour
	return &then
}

// Lookup finds a predeclared value by the stable name that snapshots store: "http", "http.get",
// "memory.vars.get", "len".
func (e *Environment) Lookup(name string) (starlark.Value, bool) {
	if v, ok := lookup(e.Names, name); ok {
		return v, true
	}
	v, ok := starlark.Universe[name]
	return v, ok
}

// lookup finds a name, also one in a module, or in a module of a module.
func lookup(names starlark.StringDict, name string) (starlark.Value, bool) {
	first, rest, dotted := strings.Cut(name, ".")
	v, ok := names[first]
	if !dotted {
		return v, ok
	}
	if m, ok := v.(*starlarkstruct.Module); ok {
		return lookup(m.Members, rest)
	}
	return nil, false
}

// Codec lets a snapshot hold values of a Go type that the machine does not know. A value is made
// again from its parts, so it may contain itself only through lists, dicts and functions.
type Codec struct {
	Type  string // Type() of the values it is for
	Parts func(v starlark.Value) ([]starlark.Value, error)
	Make  func(parts []starlark.Value) (starlark.Value, error)
}
