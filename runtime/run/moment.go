package run

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// Bounds of what a look tells of one value.
const (
	maxBrief = 400 // bytes of the text of a variable
	maxKeys  = 200
)

// moment is a run as it stood when its journal, which may have been cut, ended.
type moment struct {
	host *Host
	past *replayer
	now  time.Time
}

// Look executes a run again up to a moment. It gives the variables there and what statements over
// them come to. first is the run as it was started.
func Look(h *Host, first *State, records []journal.Record, r runtime.LookRequest, now time.Time) (*runtime.Sight, error) {
	r.Run = first.ID
	var c *Cut
	var unknown error
	if r.At != "" {
		if c, unknown = CutAt(first.ID, records, r.At, now); unknown != nil {
			c = cutAtFailure(first.ID, records, r.At, now)
		}
	}
	if c != nil {
		r.At, records = c.Step, c.asFork(first)
	}
	past := &replayer{h: h, s: NewState(h.Run), records: records, now: now}
	if unknown != nil {
		past.watched = r.At
	}
	if err := past.rehearse(); err != nil {
		return nil, Diverged(err)
	}
	if unknown != nil {
		if found, err := past.finds(r.At); err != nil {
			return nil, Diverged(err)
		} else if !found {
			return nil, unknown
		}
	}
	s, err := (&moment{h, past, now}).look(r)
	if unknown != nil && err == nil {
		s.Branch, s.At = s.At, ""
	}
	return s, err
}

// cutAtFailure cuts a journal before a branch has failed, nil where it has not.
func cutAtFailure(run string, records []journal.Record, branch string, now time.Time) *Cut {
	for i := range records {
		if records[i].Type == journal.BranchFailed && records[i].Step == journal.Within(branch) {
			c := cutBefore(run, records, i, now)
			c.Step = branch
			return c
		}
	}
	return nil
}

// finds tells whether a branch goes on, or has failed where the journal was cut for that. The
// machine may have to work some more until it does.
func (r *replayer) finds(branch string) (bool, error) {
	for {
		goesOn, failed := r.m.Has(branch)
		if failed || !r.cut() || !r.m.Runnable() {
			return failed || goesOn, nil
		}
		if err := r.slice(); err != nil {
			return false, err
		}
	}
}

// asFork are the records as those of a fork, whose machine says more than they hold.
func (c *Cut) asFork(first *State) []journal.Record {
	for i := range c.Records {
		c.Records[i].Seq = uint64(i) + 1
	}
	l := &runtime.Lineage{Kind: runtime.LineageFork, Run: first.ID, Step: c.Step, Seq: c.At, Copied: uint64(len(c.Records))}
	c.Records[0].Data = first.Descend(l, first.Inputs, c.Deadline, "")
	return c.Records
}

// look gives the variables and what statements over them come to.
func (m *moment) look(r runtime.LookRequest) (*runtime.Sight, error) {
	variables := m.past.m.Variables(r.At)
	s := &runtime.Sight{Schema: runtime.Schema, Run: r.Run, At: r.At, Variables: []runtime.Variable{}}
	for _, name := range variables.Keys() {
		v := described(variables[name], maxBrief)
		v.Name, v.Fields, v.Keys = name, nil, nil
		s.Variables = append(s.Variables, v)
	}
	machine := m.host.Program.Image.Over(variables)
	limits := m.host.Limits()
	limits.Steps = cmp.Or(r.Steps, limits.Steps)
	machine.SetLimits(limits)
	for _, chunk := range r.Chunks {
		if err := m.execute(machine, chunk, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// execute runs one statement to its end.
func (m *moment) execute(machine *vm.Machine, chunk []byte, s *runtime.Sight) error {
	s.Value, s.Error, s.Printed = nil, nil, nil
	code, err := m.host.compileChunk(machine, chunk)
	if err != nil {
		return CheckFailed(err)
	}
	stop := vm.Stop{Status: vm.Idle}
	if err := m.host.appendChunk(machine, code); err != nil {
		stop.Err = scriptError(err)
	} else {
		stop = m.run(machine, s)
	}
	if e := stop.Err; e != nil {
		s.Error = &runtime.RunError{Kind: string(e.Kind), Message: e.Message, Where: e.Where, Backtrace: e.Backtrace}
	} else if stop.Value != nil && stop.Value != starlark.None {
		v := described(stop.Value, maxShown)
		s.Value = &v
	}
	return nil
}

// run runs a machine until its statement has ended. What it asks of the world is refused.
func (m *moment) run(machine *vm.Machine, s *runtime.Sight) vm.Stop {
	answer := (&Turn{State: m.past.s, Host: m.host, Now: m.now}).answer
	for {
		stop := machine.Run(answer)
		for i := range stop.Emissions {
			m.emitted(machine, &stop.Emissions[i], s)
		}
		if stop.Status == vm.Idle {
			return stop
		}
		if !machine.Runnable() { // a listener of events, which do not come
			return machine.Interrupt()
		}
	}
}

// emitted takes what a statement says or asks.
func (m *moment) emitted(machine *vm.Machine, e *vm.Emission, s *runtime.Sight) {
	switch {
	case e.Kind == vm.Said && e.Request.Kind == "print":
		if args, err := e.Request.Args.View(); err == nil {
			s.Printed = append(s.Printed, args.Text("text"))
		}
	case e.Kind == vm.Requested:
		machine.Settle(e.Step, effect.Outcome{Err: effect.Errorf(effect.KindRefused, "%s: nothing is asked of the world here, where a moment is only looked at; go on from it in a fork", e.Request.Kind)})
	}
}

// described is a value as people see it.
func described(v starlark.Value, most int) runtime.Variable {
	d := runtime.Variable{Type: v.Type(), Text: v.String()}
	if len(d.Text) > most {
		d.Text = strings.ToValidUTF8(d.Text[:most], "") + "..."
	}
	if a, ok := v.(starlark.HasAttrs); ok {
		d.Fields = slices.Sorted(slices.Values(a.AttrNames()))
	}
	if dict, ok := v.(*starlark.Dict); ok {
		for k := range dict.Entries() {
			if name, ok := starlark.AsString(k); ok && len(d.Keys) < maxKeys {
				d.Keys = append(d.Keys, name)
			}
		}
	}
	if fn, ok := v.(*vm.Function); ok {
		d.Params, d.Doc, d.Where = fn.Params(), fn.Doc(), fn.Position().String()
	}
	return d
}
