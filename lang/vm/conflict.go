package vm

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/clash"
	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// What can become of branches that changed the same paths.
const (
	conflictGate       = "gate"       // somebody decides
	conflictMerge      = "merge"      // git merges them, if they changed different places
	conflictSequential = "sequential" // the first stands, and the others work again on top of it, one after the other
	conflictFail       = "fail"       // an error is raised
	conflictPick       = "pick-"      // and a label: that one stands, and what the others made is left out
)

// conflictGateName is the name of the gate at which it is decided.
const conflictGateName = "conflict"

// checkOnConflict tells why a value cannot say what becomes of a conflict.
func checkOnConflict(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.Callable:
		return nil
	case starlark.String:
		if v == conflictGate || v == conflictMerge || v == conflictSequential || v == conflictFail {
			return nil
		}
	}
	return fmt.Errorf(`for parameter on_conflict: got %s, want "gate", "merge", "sequential", "fail" or a function of the conflict`, shown(v))
}

// compared has the conflict decided, now that it is known how the sides differ.
func (c nativeCall) compared(result starlark.Value) step {
	conflict, ok := result.(*starlark.Dict)
	if !ok {
		return step{err: fmt.Errorf("parallel: workspace gave a %s for a conflict", result.Type())}
	}
	merges, _, _ := conflict.Get(starlark.String("merges"))
	paths, _, _ := conflict.Get(starlark.String("files"))
	c.act.state[isolatedConflict] = starlark.Tuple{starlark.Bool(merges == starlark.True), starlark.String(clash.Listed(paths))}
	c.act.phase = isolatedDeciding
	names, described := c.act.options()
	_ = conflict.SetKey(starlark.String("options"), starlark.NewList(names)) // it is fresh
	switch how := c.act.state[isolatedOnConflict].(type) {
	case starlark.String:
		if how == conflictFail || how == conflictSequential || how == conflictMerge && merges == starlark.True {
			return c.decided(how)
		}
		return c.ask(conflict, described)
	default:
		return step{fn: how, args: starlark.Tuple{conflict}}
	}
}

// options are what can be decided, as a list and as options of a gate.
func (act *activation) options() (names []starlark.Value, described *starlark.Dict) {
	described = new(starlark.Dict)
	add := func(name, meaning string) {
		names = append(names, starlark.String(name))
		_ = described.SetKey(starlark.String(name), starlark.String(meaning)) // a fresh dict, and strings
	}
	sides := act.tuple(isolatedSides)
	if act.tuple(isolatedConflict)[0] == starlark.True {
		add(conflictMerge, "take all: they changed different places")
	}
	add(conflictSequential, fmt.Sprintf("%s stands; the others work again on top of it, one after the other", act.label(asInt(sides[0]))))
	for _, v := range sides {
		add(act.pick(asInt(v)), fmt.Sprintf("%s stands; what the others made is left out", act.label(asInt(v))))
	}
	add(conflictFail, "give up: nothing is changed in the workspace")
	return names, described
}

// pick is the option that one branch stands. A key that cannot be part of a name has its index
// there, and a dash where that is another's key.
func (act *activation) pick(i int) string {
	name := conflictPick + act.label(i)
	if effect.CheckName(name) == nil {
		return name
	}
	name = fmt.Sprint(conflictPick, i)
	for slices.Contains(act.tuple(parallelKeys), starlark.Value(starlark.String(strings.TrimPrefix(name, conflictPick)))) { // only keys can be no names
		name += "-"
	}
	return name
}

// ask opens the gate.
func (c nativeCall) ask(conflict, options *starlark.Dict) step {
	gate, ok := c.m.image.env.Lookup("gate")
	if !ok {
		return step{err: fmt.Errorf("parallel: there are no gates here; say with on_conflict what is to become of branches that change the same files")}
	}
	prompt := fmt.Sprintf("Branches of a parallel have changed the same files: %s. What is to be done?", c.act.tuple(isolatedConflict)[1].(starlark.String).GoString())
	return step{fn: gate, args: starlark.Tuple{starlark.String(conflictGateName)}, named: []keyword{
		{Name: "prompt", Value: starlark.String(prompt)}, {Name: "options", Value: options}, {Name: "data", Value: conflict}}}
}

// decided does what was decided: by the gate, which gives a Decision, or by a function, which may
// give one too.
func (c nativeCall) decided(v starlark.Value) step {
	if d, ok := v.(*effect.Record); ok && d.RecordType() == effect.DecisionType {
		v = d.Field("choice")
	}
	names, _ := c.act.options()
	if !slices.Contains(names, v) {
		return step{err: c.act.noOption(v, names)}
	}
	act, sides, choice := c.act, c.act.tuple(isolatedSides), string(v.(starlark.String))
	stands := func(int) bool { return true }
	switch choice {
	case conflictMerge:
	case conflictFail:
		return step{err: effect.Errorf(effect.KindRefused, "parallel: branches have changed the same files: %s", act.tuple(isolatedConflict)[1].(starlark.String).GoString())}
	case conflictSequential:
		stands = func(n int) bool { return n == asInt(sides[0]) }
		act.again(sides[1:])
	default:
		stands = func(n int) bool { return act.pick(n) == choice }
	}
	var made starlark.Tuple
	for _, m := range act.tuple(isolatedMade) {
		if n := m.(starlark.Tuple)[0]; !act.isSide(n) || stands(asInt(n)) {
			made = append(made, m)
		}
	}
	act.state[isolatedMade] = made
	return c.fold(choice == conflictMerge)
}

func (act *activation) noOption(v starlark.Value, names []starlark.Value) error {
	var options []string
	for _, n := range names {
		options = append(options, n.(starlark.String).GoString())
	}
	got, _ := starlark.AsString(v)
	err := fmt.Errorf("parallel: on_conflict gave %s, want one of %s", shown(v), strings.Join(options, ", "))
	if hint := diagnostic.DidYouMean(got, options); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return err
}

// again has branches begin anew, each in a round of its own.
func (act *activation) again(branches starlark.Tuple) {
	var rounds starlark.Tuple
	for _, n := range branches {
		_ = act.state[parallelOutcomes].(*starlark.List).SetIndex(asInt(n), starlark.None) // nobody else has it: cannot fail
		rounds = append(rounds, starlark.Tuple{n})
	}
	act.state[isolatedRounds] = append(rounds, act.tuple(isolatedRounds)...)
}
