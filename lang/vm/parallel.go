package vm

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	conflicts "starling/lang/clash"
	"starling/lang/effect"
)

// parallel(branches, over, limit, wait, on_error, overlap, isolation, on_conflict, grow) runs
// branches as fibers of their own and waits for them. It is the top frame of its fiber from its
// first step to its return, so a fiber has one at most. Its state is
//
//	state[0]  the keys, a tuple of strings, when branches or over is a dict; None for a list
//	state[1]  the calls, a tuple of tuples (fn, arg, ...)
//	state[2]  the Outcomes of the branches, a list with None where there is none yet
//	state[3]  how many may be in motion
//	state[4]  how many must succeed: all of them, or 1 for "any", or a number
//	state[5]  what is asked for: "values" (the first failure cancels the rest and raises), "outcomes" (all are run to their end) or "quorum"
//	state[6]  the path of its branches
//	state[7]  the error to raise, an error record, or None
//	state[8]  how many have begun
//	state[9]  how many have succeeded
//	state[10] how many have failed
//	state[11] what becomes of agents in its branches that would change the same files
//
// and where branches may be added
//
//	state[12] where they are added: see growing.go
//
// and where its branches have a tree each (see isolatedNative)
//
//	state[12] the commit that the trees begin with
//	state[13] what the branches have changed, a list with None for nothing, else a tuple of the commit and a tuple of the paths
//
// and phase 1 means that it is over.
var parallelNative = &Native{
	name:    "parallel",
	start:   startParallel,
	resume:  resumeParallel,
	restore: restoreParallel,
	owned:   1<<parallelOutcomes | 1<<parallelChanges,
}

const (
	parallelKeys = iota
	parallelCalls
	parallelOutcomes
	parallelLimit
	parallelNeed
	parallelMode
	parallelPath
	parallelError
	parallelBegun
	parallelGood
	parallelBad
	parallelOverlap
	parallelSize
)

// parallelSource is where branches are added, where they may be.
const parallelSource = parallelSize

// Where branches have a tree each.
const (
	parallelBase = parallelSize + iota
	parallelChanges
)

func startParallel(c nativeCall, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if err := c.m.mayWait(c.f, "parallel"); err != nil {
		return err
	}
	o := parallelOptions{onError: "cancel"}
	if err := o.parse(args, kwargs); err != nil {
		return fmt.Errorf("parallel: %w", err)
	}
	keys, calls, err := branchCalls(o.branches, o.over)
	if err != nil {
		return fmt.Errorf("parallel: %w", err)
	}
	need, mode, err := o.goal(len(calls))
	if err != nil {
		return fmt.Errorf("parallel: %w", err)
	}
	if err := c.m.roomFor(len(calls)); err != nil {
		return err
	}
	if o.isolated {
		return startIsolated(c, &o, keys, calls, need, mode)
	}
	c.act.state = o.state(keys, calls, need, mode, c.f.step("parallel"), "")
	if o.grow {
		c.act.state = append(c.act.state, o.source())
	}
	if len(calls) == 0 {
		c.act.phase = 1
	}
	return nil
}

// state is that of a parallel that has begun nothing. base is the commit that the trees of its
// branches begin with, "" for none.
func (o *parallelOptions) state(keys starlark.Value, calls starlark.Tuple, need int, mode, path, base string) []starlark.Value {
	zero := starlark.MakeInt(0)
	state := []starlark.Value{
		keys, calls, nothing(len(calls)), starlark.MakeInt(o.limit), starlark.MakeInt(need), starlark.String(mode),
		starlark.String(path), starlark.None, zero, zero, zero, starlark.String(o.overlap),
	}
	if base != "" {
		state = append(state, starlark.String(base), nothing(len(calls)))
	}
	return state
}

// nothing is a list of as many None.
func nothing(n int) *starlark.List {
	list := make([]starlark.Value, n)
	for i := range list {
		list[i] = starlark.None
	}
	return starlark.NewList(list)
}

// resumeParallel begins branches at first, and returns when it is over.
func resumeParallel(c nativeCall, _ starlark.Value) step {
	if c.act.phase == 0 {
		c.m.beginBranches(c.f, c.act)
		return step{wait: true}
	}
	if e, ok := c.act.state[parallelError].(*effect.Record); ok {
		return step{err: again(effect.ErrorOfRecord(e))}
	}
	if c.act.isolated() {
		return step{value: starlark.Tuple{c.act.state[parallelOutcomes], c.act.state[parallelChanges]}}
	}
	return step{value: c.act.collect()}
}

// isolated tells whether the branches have a tree each.
func (act *activation) isolated() bool { return len(act.state) > parallelChanges }

func (act *activation) int(i int) int {
	n, _ := act.state[i].(starlark.Int).Int64()
	return int(n)
}

func (act *activation) add(i, n int) { act.state[i] = starlark.MakeInt(act.int(i) + n) }

// beginBranches starts branches until as many as may be are in motion. They run when their turn
// comes.
func (m *Machine) beginBranches(f *fiber, act *activation) {
	calls, path := act.tuple(parallelCalls), act.text(parallelPath)
	for {
		begun := act.int(parallelBegun)
		if begun == len(calls) || act.running() >= act.int(parallelLimit) {
			return
		}
		call := calls[begun].(starlark.Tuple)
		child := m.newFiber(call[0], call[1:], nil)
		child.parent, child.index = f, begun
		child.depth = f.depth + len(f.frames)
		child.branch = join(path, act.segment(begun))
		act.add(parallelBegun, 1)
		m.enqueue(child)
	}
}

// running counts the branches that have begun and not ended.
func (act *activation) running() int {
	return act.int(parallelBegun) - act.int(parallelGood) - act.int(parallelBad)
}

// segment is the last part of a branch's path: its key or its index.
func (act *activation) segment(i int) string {
	if keys, ok := act.state[parallelKeys].(starlark.Tuple); ok {
		key, _ := starlark.AsString(keys[i])
		return segment(key)
	}
	return fmt.Sprint(i)
}

// branchEnded takes what a branch came to and decides what follows. A limit or a cancellation is
// not the branch's alone: it passes through.
func (m *Machine) branchEnded(child *fiber, v starlark.Value, e *Error) {
	f := child.parent
	act := f.frames[len(f.frames)-1].act
	var change starlark.Value = starlark.None
	if act.isolated() && e == nil {
		v, change = unpacked(v)
	}
	outcome := m.branchOutcome(v, e)
	if e != nil && !m.untold {
		m.emit(Emission{Kind: BranchFailed, Step: child.branch, Outcome: effect.Outcome{Err: e.Effect()}})
	}
	_ = act.state[parallelOutcomes].(*starlark.List).SetIndex(child.index, outcome) // nobody else has it: cannot fail
	clash := false
	if outcome.Truth() {
		act.add(parallelGood, 1)
		clash = act.changed(child.index, change)
	} else {
		act.add(parallelBad, 1)
	}
	switch {
	case e != nil && !e.Kind.Catchable():
		act.state[parallelError] = e.Effect().Record()
	case !act.over() && !clash:
		m.beginBranches(f, act)
		return
	}
	m.endBranches(f, act)
}

// endBranches lets a parallel return: what of its branches is still in motion makes no difference.
func (m *Machine) endBranches(f *fiber, act *activation) {
	act.phase = 1
	m.dropBranches(f)
	m.enqueue(f)
}

// changed notes what a branch has changed, and tells whether another has changed some of it too:
// then the rest is stopped.
func (act *activation) changed(i int, change starlark.Value) (clash bool) {
	if change == starlark.None {
		return false
	}
	changes := act.state[parallelChanges].(*starlark.List)
	for j := range changes.Len() {
		clash = clash || len(conflicts.Shared(change, changes.Index(j))) > 0
	}
	_ = changes.SetIndex(i, change) // nobody else has it: cannot fail
	return clash
}

// branchOutcome is the Outcome of a branch: it has succeeded when it returned. Whoever has asked
// for a failure as a value, by on_error = "return" or attempt, has dealt with it.
func (m *Machine) branchOutcome(v starlark.Value, e *Error) *effect.Record {
	if e != nil {
		return newOutcome("error", starlark.None, e.Effect().Record())
	}
	if r, ok := v.(*effect.Record); ok && m.strict && !bool(r.Truth()) {
		if r.IsResult() || r.RecordType() == effect.OutcomeType {
			return newOutcome("error", v, r.Field("error"))
		}
	}
	return newOutcome("ok", v, starlark.None)
}

// over tells whether the goal is reached or out of reach, and leaves the error to raise in the
// latter case.
func (act *activation) over() bool {
	all := act.state[parallelOutcomes].(*starlark.List).Len()
	good, bad, need := act.int(parallelGood), act.int(parallelBad), act.int(parallelNeed)
	switch act.state[parallelMode].(starlark.String) {
	case "outcomes":
		return good+bad == all
	case "values":
		if bad > 0 {
			act.state[parallelError] = act.failures()[0].Record()
			return true
		}
		return good == all
	}
	if all-bad < need {
		act.state[parallelError] = act.outOfReach(need, all).Record()
		return true
	}
	return good >= need
}

// failures lists the errors of the branches that have failed.
func (act *activation) failures() []*effect.Error {
	var list []*effect.Error
	outcomes := act.state[parallelOutcomes].(*starlark.List)
	for i := range outcomes.Len() {
		o, ok := outcomes.Index(i).(*effect.Record)
		if !ok || bool(o.Truth()) {
			continue
		}
		if e, ok := o.Field("error").(*effect.Record); ok && e.RecordType() == effect.ErrorType {
			list = append(list, effect.ErrorOfRecord(e))
			continue
		}
		list = append(list, effect.Errorf(effect.KindScript, "branch %s returned a %s that is not ok", act.segment(i), o.Field("value").Type()))
	}
	return list
}

// outOfReach is the error of a quorum that cannot be reached any more, with all errors attached.
func (act *activation) outOfReach(need, all int) *effect.Error {
	failures := act.failures()
	records := make([]starlark.Value, len(failures))
	for i, e := range failures {
		records[i] = e.Record()
	}
	e := effect.Errorf(effect.KindScript, "parallel: %d of %d branches must succeed, but %d have failed: %s", need, all, len(failures), messages(failures))
	e.Data, _ = effect.Encode(starlark.NewList(records)) // nil where there is too much of them
	return e
}

// messages joins the first messages of a list of errors.
func messages(list []*effect.Error) string {
	const shown = 3
	var texts []string
	for _, e := range list[:min(len(list), shown)] {
		texts = append(texts, e.Message)
	}
	if len(list) > shown {
		texts = append(texts, "...")
	}
	return strings.Join(texts, "; ")
}

// collect makes the result, in the shape of the input. Branches that did not come to an end were
// cancelled.
func (act *activation) collect() starlark.Value {
	outcomes := act.state[parallelOutcomes].(*starlark.List)
	values := make([]starlark.Value, outcomes.Len())
	for i := range values {
		o, ok := outcomes.Index(i).(*effect.Record)
		switch {
		case !ok:
			values[i] = newOutcome("cancelled", starlark.None, starlark.None)
		case act.state[parallelMode] == starlark.String("values"):
			values[i] = o.Field("value")
		default:
			values[i] = o
		}
	}
	keys, ok := act.state[parallelKeys].(starlark.Tuple)
	if !ok {
		return starlark.NewList(values)
	}
	dict := starlark.NewDict(len(keys))
	for i, k := range keys {
		_ = dict.SetKey(k, values[i]) // strings are hashable
	}
	return dict
}

// dropBranches cancels the branches of a fiber where they wait: no more of their code runs, their
// locks are released, their writes stay.
func (m *Machine) dropBranches(f *fiber) {
	for _, child := range m.fibers {
		if child.parent == f && child.state != ended {
			m.drop(child)
		}
	}
}

// drop ends a fiber before its time, innermost frame first.
func (m *Machine) drop(f *fiber) {
	for len(f.frames) > 0 {
		m.abandon(f)
	}
	m.retire(f)
}

// beside says of the calls of parallel that a fiber is below, the innermost first, what they say of
// agents that change the same files, where they say anything, and how many branches they have.
func (f *fiber) beside() (list []effect.Overlap, among []int) {
	for ; f.parent != nil; f = f.parent {
		act := f.parent.frames[len(f.parent.frames)-1].act
		among = append(among, len(act.tuple(parallelCalls)))
		if mode, _ := starlark.AsString(act.state[parallelOverlap]); mode != effect.OverlapRefuse {
			list = append(list, effect.Overlap{Branch: f.branch, Mode: mode})
		}
	}
	return list, among
}
