package vm

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// parallelOptions are the arguments of parallel.
type parallelOptions struct {
	branches, over starlark.Value
	limit          int
	wait           starlark.Value
	onError        string
	overlap        string
	isolated       bool
	onConflict     starlark.Value
	grow           bool
}

func (o *parallelOptions) parse(args starlark.Tuple, kwargs []starlark.Tuple) error {
	if len(args) > 2 {
		return fmt.Errorf("got %d positional arguments, want at most 2: branches and over", len(args))
	}
	var limit, over, isolation starlark.Value
	err := starlark.UnpackArgs("", args, kwargs, "branches", &o.branches, "over?", &over, "limit?", &limit, "wait?", &o.wait, "on_error?", &o.onError,
		"overlap?", &o.overlap, "isolation?", &isolation, "on_conflict?", &o.onConflict, "grow?", &o.grow)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), ": "))
	}
	if over != starlark.None {
		o.over = over
	}
	o.limit = math.MaxInt32
	if limit != nil && limit != starlark.None {
		if o.limit, err = starlark.AsInt32(limit); err != nil || o.limit < 1 {
			return fmt.Errorf("for parameter limit: got %s, want an int of at least 1", shown(limit))
		}
	}
	if o.onError != "cancel" && o.onError != "collect" {
		return fmt.Errorf(`for parameter on_error: got %q, want "cancel" or "collect"`, o.onError)
	}
	if err := o.parseIsolation(isolation); err != nil {
		return err
	}
	if o.grow {
		if err := o.checkSource(); err != nil {
			return err
		}
	}
	if !overlapMode(o.overlap) {
		return fmt.Errorf(`for parameter overlap: got %q, want "refuse", "serialize" or "allow"`, o.overlap)
	}
	return nil
}

// parseIsolation reads how branches are kept apart. In trees of their own agents may change the
// same files: what they made is looked at afterwards.
func (o *parallelOptions) parseIsolation(v starlark.Value) error {
	o.isolated = v == starlark.String(effect.IsolationWorktree)
	if v != nil && v != starlark.None && !o.isolated {
		return fmt.Errorf("for parameter isolation: got %s, want %q", shown(v), effect.IsolationWorktree)
	}
	if o.overlap == "" {
		o.overlap = effect.OverlapRefuse
		if o.isolated {
			o.overlap = effect.OverlapAllow
		}
	}
	switch {
	case o.onConflict == nil:
		o.onConflict = starlark.String(conflictGate)
	case !o.isolated:
		return fmt.Errorf("for parameter on_conflict: it only means something with isolation = %q", effect.IsolationWorktree)
	}
	return checkOnConflict(o.onConflict)
}

func overlapMode(s string) bool {
	return s == effect.OverlapRefuse || s == effect.OverlapSerialize || s == effect.OverlapAllow
}

// shown is a value in a message: its text if that is short, or what it is.
func shown(v starlark.Value) string {
	if hasElements(v) {
		return "a " + v.Type()
	}
	return v.String()
}

// goal says how many of n branches must succeed, and in which mode.
func (o *parallelOptions) goal(n int) (need int, mode string, err error) {
	if o.wait == nil || o.wait == starlark.String("all") {
		if o.onError == "collect" {
			return n, "outcomes", nil
		}
		return n, "values", nil
	}
	if o.wait == starlark.String("any") {
		need = 1
	} else if need, err = starlark.AsInt32(o.wait); err != nil || need < 1 {
		return 0, "", fmt.Errorf(`for parameter wait: got %s, want "all", "any" or an int of at least 1`, shown(o.wait))
	}
	if need > n {
		return 0, "", fmt.Errorf("%d branches must succeed, but there are %d", need, n)
	}
	if need > 1 && o.isolated {
		return 0, "", fmt.Errorf(`for parameter wait: got %d, want "all" or "any": which of several that change the workspace are enough, nobody can tell`, need)
	}
	return need, "quorum", nil
}

// branchCalls turns the arguments of parallel into one call (fn, arg, ...) for each branch, and
// their keys if they have any.
func branchCalls(branches, over starlark.Value) (keys starlark.Value, calls starlark.Tuple, err error) {
	if over != nil {
		return callsOver(branches, over)
	}
	switch b := branches.(type) {
	case *starlark.Dict:
		return callsOfDict(b)
	case *starlark.List, starlark.Tuple:
		seq := b.(starlark.Indexable)
		for i := range seq.Len() {
			call, err := branchCall(seq.Index(i), fmt.Sprintf("branch %d", i))
			if err != nil {
				return nil, nil, err
			}
			calls = append(calls, call)
		}
		return starlark.None, calls, nil
	}
	return nil, nil, fmt.Errorf("for parameter branches: got %s, want a list or dict of functions, or a function together with over", branches.Type())
}

func callsOfDict(d *starlark.Dict) (starlark.Value, starlark.Tuple, error) {
	var keys, calls starlark.Tuple
	for _, item := range d.Items() {
		name, ok := starlark.AsString(item[0])
		if !ok {
			return nil, nil, fmt.Errorf("got the key %s, want strings: they name the branches", item[0])
		}
		call, err := branchCall(item[1], "branch "+name)
		if err != nil {
			return nil, nil, err
		}
		keys, calls = append(keys, item[0]), append(calls, call)
	}
	return keys, calls, nil
}

// branchCall checks one branch: a function, or a tuple of a function and its arguments.
func branchCall(v starlark.Value, what string) (starlark.Tuple, error) {
	call, ok := v.(starlark.Tuple)
	if !ok {
		call = starlark.Tuple{v}
	}
	if len(call) == 0 {
		return nil, fmt.Errorf("%s: got an empty tuple, want (fn, arg, ...)", what)
	}
	fn, ok := call[0].(starlark.Callable)
	if !ok {
		return nil, fmt.Errorf("%s: got %s, want a function or a tuple (fn, arg, ...); a call such as f(x) runs before parallel does: write (f, x)", what, call[0].Type())
	}
	if name := capturedLoopVariable(fn); name != "" {
		return nil, fmt.Errorf("%s: this lambda captures the loop variable %s: every branch would see its last value; pass it: (fn, %s), or parallel(fn, over = ...)", what, name, name)
	}
	return call, nil
}

// callsOver makes calls fn(item) or fn(key, value).
func callsOver(fn, over starlark.Value) (keys starlark.Value, calls starlark.Tuple, err error) {
	if _, ok := fn.(starlark.Callable); !ok {
		return nil, nil, fmt.Errorf("for parameter branches: got %s, want a function, because over is given", fn.Type())
	}
	if d, ok := over.(*starlark.Dict); ok {
		var names starlark.Tuple
		for _, item := range d.Items() {
			if _, ok := starlark.AsString(item[0]); !ok {
				return nil, nil, fmt.Errorf("got the key %s in over, want strings: they name the branches", item[0])
			}
			names, calls = append(names, item[0]), append(calls, starlark.Tuple{fn, item[0], item[1]})
		}
		return names, calls, nil
	}
	seq, ok := over.(starlark.Indexable)
	if _, text := over.(starlark.String); !ok || text {
		return nil, nil, fmt.Errorf("for parameter over: got %s, want a list or dict", over.Type())
	}
	for i := range seq.Len() {
		calls = append(calls, starlark.Tuple{fn, seq.Index(i)})
	}
	return starlark.None, calls, nil
}

// capturedLoopVariable is the name of a loop or comprehension variable that a lambda uses, "" if
// there is none.
func capturedLoopVariable(fn starlark.Callable) string {
	if f, ok := fn.(*Function); ok && f.code.Name == "lambda" && len(f.code.LoopVariables) > 0 {
		return f.code.LoopVariables[0]
	}
	return ""
}

// restoreParallel holds the parts of a state that was read against each other.
func restoreParallel(act *activation) error {
	shape := []string{"", "tuple", "list", "int", "int", "string", "string", "", "int", "int", "int", "string"}
	switch {
	case act.isolated():
		shape = append(shape, "string", "list")
	case act.grows():
		shape = append(shape, "tuple")
	}
	if err := act.hasShape(shape...); err != nil {
		return err
	}
	if err := act.restoreSource(); err != nil {
		return err
	}
	if act.phase > 1 {
		return fmt.Errorf("parallel in phase %d", act.phase)
	}
	for _, i := range []int{parallelLimit, parallelNeed, parallelBegun, parallelGood, parallelBad} {
		if n, err := starlark.AsInt32(act.state[i]); err != nil || n < 0 {
			return fmt.Errorf("parallel: value %d is %s", i, act.state[i])
		}
	}
	if err := act.restoreCalls(); err != nil {
		return err
	}
	if err := act.restoreOutcomes(); err != nil {
		return err
	}
	if err := act.restoreChanges(); err != nil {
		return err
	}
	if act.phase == 0 && act.over() {
		return errors.New("parallel: it waits for branches that make no difference")
	}
	return nil
}

// restoreCalls checks the branches: what they are called, what they call and in which mode.
func (act *activation) restoreCalls() error {
	calls := act.state[parallelCalls].(starlark.Tuple)
	for _, v := range calls {
		call, ok := v.(starlark.Tuple)
		if !ok || len(call) == 0 {
			return errors.New("parallel: a branch that is no call")
		}
		if _, ok := call[0].(starlark.Callable); !ok {
			return fmt.Errorf("parallel: a branch that calls a %s", call[0].Type())
		}
	}
	if keys, ok := act.state[parallelKeys].(starlark.Tuple); ok {
		if len(keys) != len(calls) {
			return fmt.Errorf("parallel: %d keys of %d branches", len(keys), len(calls))
		}
		for _, k := range keys {
			if _, ok := k.(starlark.String); !ok {
				return fmt.Errorf("parallel: a key that is a %s", k.Type())
			}
		}
	} else if act.state[parallelKeys] != starlark.None {
		return errors.New("parallel: keys that are none")
	}
	switch act.state[parallelMode].(starlark.String) {
	case "values", "outcomes", "quorum":
	default:
		return fmt.Errorf("parallel: its mode is %s", act.state[parallelMode])
	}
	return nil
}

// restoreChanges checks how branches are kept apart.
func (act *activation) restoreChanges() error {
	if mode := act.text(parallelOverlap); !overlapMode(mode) {
		return fmt.Errorf("parallel: what overlaps is to be %s", mode)
	}
	if !act.isolated() {
		return nil
	}
	changes, want := act.state[parallelChanges].(*starlark.List), act.tuple(parallelCalls).Len()
	if changes.Len() != want || act.text(parallelBase) == "" {
		return fmt.Errorf("parallel: changes of %d branches, want %d", changes.Len(), want)
	}
	for v := range changes.Elements() {
		t, ok := v.(starlark.Tuple)
		if v == starlark.None {
			continue
		}
		if !ok || len(t) != 2 || t[0].Type() != "string" || t[1].Type() != "tuple" {
			return fmt.Errorf("parallel: a change that is a %s", v.Type())
		}
	}
	return nil
}

// restoreOutcomes checks the counts: as many outcomes as have succeeded and failed, and as many in
// motion as may be.
func (act *activation) restoreOutcomes() error {
	outcomes := act.state[parallelOutcomes].(*starlark.List)
	all, begun, limit := len(act.state[parallelCalls].(starlark.Tuple)), act.int(parallelBegun), act.int(parallelLimit)
	good, bad := 0, 0
	for v := range outcomes.Elements() {
		if v == starlark.None {
			continue
		}
		o, ok := v.(*effect.Record)
		switch {
		case !ok || o.RecordType() != effect.OutcomeType:
			return fmt.Errorf("parallel: an outcome that is a %s", v.Type())
		case bool(o.Truth()):
			good++
		default:
			bad++
		}
	}
	running := act.running()
	switch {
	case outcomes.Len() != all || good != act.int(parallelGood) || bad != act.int(parallelBad):
		return errors.New("parallel: the counts are not those of its outcomes")
	case begun > all || limit < 1 || running < 0 || running > limit:
		return errors.New("parallel: it has begun more branches than it may")
	case act.phase == 0 && (running == 0 || begun < all && running < limit):
		return errors.New("parallel: it waits, but not for as many branches as it may")
	}
	e, ok := act.state[parallelError].(*effect.Record)
	if failed := ok && e.RecordType() == effect.ErrorType; !failed && act.state[parallelError] != starlark.None || failed && act.phase == 0 {
		return errors.New("parallel: the error that it raises is none")
	}
	return nil
}
