package vm

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// parallel(grow = True) begins what is added to its branches, or to what it calls its function
// over, while it runs. It looks when a fiber below it waits or ends: nothing else runs in between,
// so what it finds follows from the script alone. Its further state is a tuple of the dict or list,
// and of the function to call over it, None without one.

// source is where branches are added.
func (o *parallelOptions) source() starlark.Value {
	if o.over != nil {
		return starlark.Tuple{o.over, o.branches}
	}
	return starlark.Tuple{o.branches, starlark.None}
}

// checkSource tells why nothing can be added.
func (o *parallelOptions) checkSource() error {
	if o.isolated {
		return fmt.Errorf("for parameter grow: with isolation = %q no branch can be added", effect.IsolationWorktree)
	}
	switch v := o.source().(starlark.Tuple)[0].(type) {
	case *starlark.List, *starlark.Dict:
		return nil
	default:
		return fmt.Errorf("for parameter grow: got branches in a %s, want a list or dict, to which they can add", v.Type())
	}
}

// grows tells whether branches may be added.
func (act *activation) grows() bool { return len(act.state) == parallelSource+1 }

// grow begins what was added to the parallels that a fiber is below, and tells whether the one that
// has begun it goes on.
func (m *Machine) grow(f *fiber) (goesOn bool) {
	for p := f.parent; p != nil; p = p.parent {
		act := p.frames[len(p.frames)-1].act
		if !act.grows() {
			continue
		}
		if err := m.enlarge(act); err != nil {
			act.state[parallelError] = m.errorIn(p, "parallel", err).Effect().Record()
			m.endBranches(p, act)
			continue
		}
		m.beginBranches(p, act)
	}
	return f.parent == nil || f.parent.state == waiting
}

// enlarge takes in what was added to the branches of a parallel.
func (m *Machine) enlarge(act *activation) error {
	source, old := act.tuple(parallelSource), act.tuple(parallelCalls)
	branches, over := source[0], starlark.Value(nil)
	if source[1] != starlark.None {
		branches, over = source[1], source[0]
	}
	switch n := starlark.Len(source[0]); {
	case n == len(old):
		return nil
	case n < len(old):
		return errors.New("parallel: a branch was taken away: while it runs they may only be added")
	}
	keys, calls, err := branchCalls(branches, over)
	if err != nil {
		return fmt.Errorf("parallel: %w", err)
	}
	if err := m.roomFor(len(calls) - act.int(parallelBegun)); err != nil {
		return err
	}
	if old, ok := act.state[parallelKeys].(starlark.Tuple); ok {
		for i, key := range old {
			if keys.(starlark.Tuple)[i] != key {
				return fmt.Errorf("parallel: the branch %s was taken away: while it runs they may only be added", key)
			}
		}
	}
	calls = append(old[:len(old):len(old)], calls[len(old):]...)
	outcomes := act.state[parallelOutcomes].(*starlark.List)
	for range len(calls) - len(old) {
		_ = outcomes.Append(starlark.None) // nobody else has it: cannot fail
	}
	act.state[parallelKeys], act.state[parallelCalls] = keys, calls
	if act.state[parallelMode] != starlark.String("quorum") {
		act.state[parallelNeed] = starlark.MakeInt(len(calls))
	}
	return nil
}

// roomFor refuses more branches than may be.
func (m *Machine) roomFor(more int) error {
	n, most := m.alive()-1+more, m.limits.Branches // the script itself is none
	if m.untold {
		most--
	}
	if n <= most {
		return nil
	}
	return effect.Errorf(effect.KindLimit, "parallel: %d branches would be running at once, the limit is %d", n, m.limits.Branches)
}

// restoreSource checks where branches are added.
func (act *activation) restoreSource() error {
	if !act.grows() {
		return nil
	}
	source := act.tuple(parallelSource)
	if len(source) != 2 {
		return fmt.Errorf("parallel: it grows by %d values", len(source))
	}
	_, list := source[0].(*starlark.List)
	_, dict := source[0].(*starlark.Dict)
	_, calls := source[1].(starlark.Callable)
	_, keyed := act.state[parallelKeys].(starlark.Tuple)
	if !list && !dict || !calls && source[1] != starlark.None || keyed != dict {
		return fmt.Errorf("parallel: it grows by a %s and a %s", source[0].Type(), source[1].Type())
	}
	return nil
}
