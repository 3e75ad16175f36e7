package vm

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/clash"
	"starling/lang/effect"
)

// parallel(isolation = "worktree") is a native below the parallel that runs its branches. It forks
// the workspace, lets rounds of branches work each in a tree of its own, puts together what they
// have made, and applies all of it at the end, so that nothing of a call that fails is in the
// workspace. Usually there is one round. When a branch has changed a path that another of its round
// has changed too, the round is over: what becomes of the two is decided, and what was not done, or
// is to be done again, is a round of its own on top of what is there then. The first values of its
// state are those of a parallel, then
//
//	state[6]  what becomes of agents in its branches that would change the same files
//	state[7]  what decides on a conflict: "gate", "merge", "sequential", "fail" or a function
//	state[8]  the commit that all began with
//	state[9]  the commit that holds what was made so far
//	state[10] the rounds that are to come, a tuple of tuples of ints: the branches
//	state[11] what the branches of the last round have made, a tuple of tuples (branch, commit)
//	state[12] those of them that changed the same paths, a tuple of ints
//	state[13] what is to be decided, a tuple: whether git can merge them, and the paths
//	state[14] the path of the last round
//	state[15] the error to raise, an error record, or None
//
// and its phase says which call is in progress.
var isolatedNative = &Native{
	name:    "parallel",
	start:   refuseIsolated,
	resume:  resumeIsolated,
	restore: restoreIsolated,
	unwound: unwoundIsolated,
	owned:   1 << parallelOutcomes,
}

// isolatedName is the stable name of isolatedNative. The blank keeps it apart from what an
// environment can name.
const isolatedName = "parallel isolated"

const (
	isolatedOverlap = parallelMode + 1 + iota
	isolatedOnConflict
	isolatedBegan
	isolatedHead
	isolatedRounds
	isolatedMade
	isolatedSides
	isolatedConflict
	isolatedPath
	isolatedError
	isolatedSize
)

// The phases.
const (
	isolatedForking = 1 + iota
	isolatedWorking
	isolatedComparing
	isolatedDeciding
	isolatedFolding
	isolatedApplying
	isolatedFailed   // what is left of the trees is to be dropped
	isolatedDropping // it is
	isolatedRaising
)

// refuseIsolated refuses a call as a function: no script has it as a value.
func refuseIsolated(nativeCall, starlark.Tuple, []starlark.Tuple) error {
	return errors.New("parallel: isolation is no function")
}

// startIsolated makes a call of parallel one with isolation.
func startIsolated(c nativeCall, o *parallelOptions, keys starlark.Value, calls starlark.Tuple, need int, mode string) error {
	all := make(starlark.Tuple, len(calls))
	for i := range all {
		all[i] = starlark.MakeInt(i)
	}
	none := starlark.Tuple{}
	frame, _ := c.m.image.permanents.named(isolatedName) // Go lets no variable depend on itself, as this one would through parallel
	c.act.native = frame.(*Native)
	c.act.state = []starlark.Value{keys, calls, nothing(len(calls)), starlark.MakeInt(o.limit), starlark.MakeInt(need), starlark.String(mode), starlark.String(o.overlap), o.onConflict,
		starlark.String(""), starlark.String(""), starlark.Tuple{all}, none, none, none, starlark.String(""), starlark.None}
	return nil
}

func resumeIsolated(c nativeCall, result starlark.Value) step {
	act := c.act
	switch act.phase {
	case 0:
		if len(act.tuple(parallelCalls)) == 0 {
			return step{value: act.collect()}
		}
		act.phase = isolatedForking
		return c.tree(effect.TreeFork, &effect.Object{})
	case isolatedForking, isolatedFolding:
		head, ok := result.(starlark.String)
		if !ok || head == "" {
			return step{err: fmt.Errorf("parallel: workspace gave a %s for a commit", result.Type())}
		}
		if act.state[isolatedHead] = head; act.phase == isolatedForking {
			act.state[isolatedBegan] = head
		}
		return c.round()
	case isolatedWorking:
		return c.worked(result)
	case isolatedComparing:
		return c.compared(result)
	case isolatedDeciding:
		return c.decided(result)
	case isolatedApplying:
		return step{value: act.collect()}
	case isolatedFailed:
		act.phase = isolatedDropping
		return c.tree(effect.TreeDrop, act.leftover())
	}
	act.phase = isolatedRaising
	e, _ := act.state[isolatedError].(*effect.Record)
	return step{err: again(effect.ErrorOfRecord(e))}
}

// tree asks for something to be done where the call stands.
func (c nativeCall) tree(do string, args *effect.Object) step {
	s := treeStep(do, args)
	s.request.Tree = c.f.tree()
	return s
}

// treeStep asks for something to be done for the trees of branches.
func treeStep(do string, args *effect.Object) step {
	return step{request: &effect.Request{Class: effect.Waiting, Kind: effect.KindWorkspace, Name: effect.KindWorkspace + "." + do, Args: args.Text("do", do).Payload(),
		Policy: effect.Policy{Idempotent: true, OnUncertain: effect.Retry}}}
}

// round begins the next round of branches, or applies what all have made.
func (c nativeCall) round() step {
	act := c.act
	rounds := act.tuple(isolatedRounds)
	if len(rounds) == 0 {
		if act.state[isolatedHead] == act.state[isolatedBegan] {
			return step{value: act.collect()}
		}
		act.phase = isolatedApplying
		return c.tree(effect.TreeApply, new(effect.Object).Text("began", act.text(isolatedBegan)).Text("head", act.text(isolatedHead)))
	}
	act.phase = isolatedWorking
	act.state[isolatedPath] = starlark.String(c.f.step("parallel"))
	var names, calls starlark.Tuple
	for _, i := range rounds[0].(starlark.Tuple) {
		call := act.tuple(parallelCalls)[asInt(i)].(starlark.Tuple)
		calls = append(calls, starlark.Tuple{treeNative, act.state[isolatedHead], call[0], call[1:]})
		names = append(names, starlark.String(act.label(asInt(i))))
	}
	p := &parallelOptions{limit: act.int(parallelLimit), overlap: act.text(isolatedOverlap)}
	return step{enter: &activation{kind: nativeFrame, native: parallelNative,
		state: p.state(names, calls, min(act.int(parallelNeed), len(calls)), act.text(parallelMode), act.text(isolatedPath), act.text(isolatedHead))}}
}

// label is what a branch is called: its key, or its index.
func (act *activation) label(i int) string {
	if keys, ok := act.state[parallelKeys].(starlark.Tuple); ok {
		key, _ := starlark.AsString(keys[i])
		return key
	}
	return fmt.Sprint(i)
}

// worked takes what the branches of a round came to: their outcomes, and what they made.
func (c nativeCall) worked(result starlark.Value) step {
	act, rounds := c.act, c.act.tuple(isolatedRounds)
	round, rounds := rounds[0].(starlark.Tuple), rounds[1:]
	outcomes, changes, ok := roundEnd(result, len(round))
	if !ok {
		return step{err: fmt.Errorf("parallel: a round of branches gave a %s", result.Type())}
	}
	sides, paths := clash.Between(changes)
	var made, rest, clash starlark.Tuple
	settled := true
	for i, n := range round {
		o := outcomes.Index(i)
		_ = act.state[parallelOutcomes].(*starlark.List).SetIndex(asInt(n), o) // nobody else has it: cannot fail
		if change, ok := changes.Index(i).(starlark.Tuple); ok {
			made = append(made, starlark.Tuple{n, change[0]})
		}
		if o == starlark.None {
			rest = append(rest, n)
		}
		if slices.Contains(sides, i) {
			clash = append(clash, n)
		}
		settled = settled && o != starlark.None && bool(o.Truth())
	}
	act.state[isolatedMade], act.state[isolatedSides] = made, clash
	if len(clash) > 0 && len(rest) > 0 {
		rounds = append(starlark.Tuple{rest}, rounds...)
	}
	act.state[isolatedRounds] = rounds
	switch {
	case len(clash) > 0:
		act.phase = isolatedComparing
		return c.tree(effect.TreeCompare, act.leftover().Raw("sides", act.sidesMade()).Texts("paths", paths))
	case len(made) == 0 && settled:
		return c.round()
	}
	return c.fold(false)
}

// roundEnd takes apart what a parallel of n isolated branches has returned.
func roundEnd(v starlark.Value, n int) (outcomes, changes *starlark.List, ok bool) {
	t, _ := v.(starlark.Tuple)
	if len(t) != 2 {
		return nil, nil, false
	}
	outcomes, ok = t[0].(*starlark.List)
	changes, isList := t[1].(*starlark.List)
	return outcomes, changes, ok && isList && outcomes.Len() == n && changes.Len() == n
}

// isSide tells whether a branch is one of those that changed the same paths.
func (act *activation) isSide(branch starlark.Value) bool {
	return slices.ContainsFunc(act.tuple(isolatedSides), func(side starlark.Value) bool { return asInt(side) == asInt(branch) })
}

// sidesMade says what each of those has made that changed the same paths, by its label.
func (act *activation) sidesMade() effect.Payload {
	var o effect.Object
	for _, v := range act.tuple(isolatedMade) {
		if m := v.(starlark.Tuple); act.isSide(m[0]) {
			commit, _ := starlark.AsString(m[1])
			o.Text(act.label(asInt(m[0])), commit)
		}
	}
	return o.Payload()
}

// fold puts together what the branches of the round have made, and drops the trees that are left of
// it.
func (c nativeCall) fold(merge bool) step {
	var commits []string
	for _, m := range c.act.tuple(isolatedMade) {
		commit, _ := starlark.AsString(m.(starlark.Tuple)[1])
		commits = append(commits, commit)
	}
	c.act.phase = isolatedFolding
	return c.tree(effect.TreeFold, c.act.leftover().Texts("sides", commits).Flag("merge", merge))
}

// leftover says whose trees are to be dropped.
func (act *activation) leftover() *effect.Object {
	return new(effect.Object).Text("began", act.text(isolatedHead)).Text("path", act.text(isolatedPath))
}

// unwoundIsolated lets an error pass only when the trees are gone.
func unwoundIsolated(act *activation, e *Error) bool {
	switch {
	case act.phase <= isolatedForking || act.phase == isolatedRaising || !e.Kind.Catchable():
		return false
	case act.phase == isolatedDropping: // what was to be raised counts; the trees go with the run
		act.phase = isolatedRaising
		return true
	}
	act.state[isolatedError] = e.Effect().Record()
	act.phase = isolatedFailed
	return true
}

// restoreIsolated holds the parts of a state that was read against each other.
func restoreIsolated(act *activation) error {
	if err := act.hasShape("", "tuple", "list", "int", "int", "string", "string", "", "string", "string", "tuple", "tuple", "tuple", "tuple", "string", ""); err != nil {
		return err
	}
	if err := act.restoreCalls(); err != nil {
		return err
	}
	all := len(act.tuple(parallelCalls))
	if act.phase < isolatedForking || act.phase >= isolatedRaising || act.phase == isolatedFailed || act.state[parallelOutcomes].(*starlark.List).Len() != all {
		return fmt.Errorf("isolation in phase %d, of %d branches", act.phase, all)
	}
	for v := range act.state[parallelOutcomes].(*starlark.List).Elements() {
		if o, ok := v.(*effect.Record); v != starlark.None && (!ok || o.RecordType() != effect.OutcomeType) {
			return fmt.Errorf("isolation: an outcome that is a %s", v.Type())
		}
	}
	if act.int(parallelLimit) < 1 || act.int(parallelNeed) < 1 {
		return errors.New("isolation: it may begin no branch")
	}
	if !overlapMode(act.text(isolatedOverlap)) {
		return fmt.Errorf("isolation: what overlaps is to be %s", act.text(isolatedOverlap))
	}
	if err := checkOnConflict(act.state[isolatedOnConflict]); err != nil {
		return err
	}
	e, ok := act.state[isolatedError].(*effect.Record)
	if failed := ok && e.RecordType() == effect.ErrorType; failed != (act.phase == isolatedDropping) || !failed && act.state[isolatedError] != starlark.None {
		return errors.New("isolation: the error that it raises is none")
	}
	return act.restoreRounds(all)
}

// restoreRounds checks that branches are meant wherever some are named, and that there is a round
// where one is in progress.
func (act *activation) restoreRounds(all int) error {
	isBranch := func(v starlark.Value) bool {
		n, err := starlark.AsInt32(v)
		_, isInt := v.(starlark.Int)
		return isInt && err == nil && n >= 0 && n < all
	}
	for _, v := range act.tuple(isolatedRounds) {
		round, ok := v.(starlark.Tuple)
		if !ok || len(round) == 0 || slices.ContainsFunc(round, func(v starlark.Value) bool { return !isBranch(v) }) {
			return errors.New("isolation: a round that is none")
		}
	}
	for _, v := range act.tuple(isolatedMade) {
		made, ok := v.(starlark.Tuple)
		if !ok || len(made) != 2 || !isBranch(made[0]) || made[1].Type() != "string" {
			return errors.New("isolation: something was made by nobody")
		}
	}
	if slices.ContainsFunc(act.tuple(isolatedSides), func(v starlark.Value) bool { return !isBranch(v) }) {
		return errors.New("isolation: a side that is no branch")
	}
	conflict := act.tuple(isolatedConflict)
	if act.phase == isolatedDeciding && (len(conflict) != 2 || conflict[0].Type() != "bool" || conflict[1].Type() != "string") {
		return errors.New("isolation: nothing is to be decided")
	}
	if act.phase == isolatedWorking && len(act.tuple(isolatedRounds)) == 0 {
		return errors.New("isolation: a round that is no round")
	}
	if act.phase >= isolatedComparing && act.phase <= isolatedDeciding && len(act.tuple(isolatedSides)) < 2 {
		return errors.New("isolation: a conflict of nobody with nobody")
	}
	return nil
}

func (act *activation) tuple(i int) starlark.Tuple { return act.state[i].(starlark.Tuple) }

func (act *activation) text(i int) string {
	s, _ := starlark.AsString(act.state[i])
	return s
}

// asInt is the number of a branch.
func asInt(v starlark.Value) int {
	n, _ := v.(starlark.Int).Int64()
	return int(n)
}
