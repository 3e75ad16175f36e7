package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// What agents spend is counted by folding the journal: each request that is sent when its attempt
// starts, tokens and money when the attempt tells of them while it works and when it has ended,
// which is its last word. So they count however an attempt ends, and the sums after a restart are
// those before it. A ceiling is looked at before an attempt starts, the innermost first; what is in
// flight is not stopped, and may go beyond it.

// usageOf reads what a backend says: usd, input_tokens and output_tokens. What is no number, or
// below zero, counts nothing.
func usageOf(v effect.View) runtime.Usage {
	number := func(field string, unit float64) int64 {
		x, _ := starlark.AsFloat(v.Value(field))
		return journal.Claimed(x, unit)
	}
	return runtime.Usage{MicroUSD: number("usd", 1e6), InputTokens: number("input_tokens", 1), OutputTokens: number("output_tokens", 1)}
}

// spend adds to what was spent under each ceiling of a step, as a record says, by a model, "" where
// nobody says by which.
func (s *State) spend(st *Step, u runtime.Usage, model string, r *journal.Record) {
	for i := range st.Ceilings {
		c := &st.Ceilings[i]
		if !c.Bounds(st.backend()) || !c.Counts(model) {
			continue
		}
		if c.Daily && s.Lineage != nil && r.Seq <= s.Lineage.Copied {
			continue // the run that it was made of has spent it
		}
		key := spentKey(c, r.Time)
		if _, known := s.Spent[key]; c.Daily && !known {
			s.forgetDays(c.Address)
		}
		put(&s.Spent, key, s.Spent[key].Plus(u))
	}
}

// spentKey names what is counted under a ceiling: of a daily one, the day.
func spentKey(c *effect.Ceiling, at time.Time) string {
	if !c.Daily {
		return c.Address
	}
	return c.Address + "/" + at.UTC().Format(time.DateOnly)
}

// forgetDays forgets what was spent on earlier days under a daily ceiling.
func (s *State) forgetDays(address string) {
	for key := range s.Spent {
		if strings.HasPrefix(key, address+"/") {
			delete(s.Spent, key)
			delete(s.Raised, key)
		}
	}
}

// ceilings sets those over a request: those of the script and those of the project that bound one
// of its backends.
func (t *Turn) ceilings(r *effect.Request) {
	if !journal.AgentKind(r.Kind) {
		return
	}
	list := slices.DeleteFunc(slices.Clone(r.Ceilings), func(c effect.Ceiling) bool {
		return strings.HasPrefix(c.Address, effect.ProjectBudget) // of the project that did not serve it
	})
	if t.Host.Settings != nil {
		list = append(list, t.Host.Settings.Budgets...)
	}
	r.Ceilings = nil
	if len(list) == 0 {
		return
	}
	args, _ := r.Args.View()
	name, labels := journal.AgentName(args), effect.ReadLabels(t.State.Labels)
	for _, c := range list {
		if !c.Holds(labels) {
			continue
		}
		if over, ok := c.Over(name, r.Backends, r.Models); ok {
			r.Ceilings = append(r.Ceilings, over)
		}
	}
}

// used takes what an attempt says that it has taken so far. What it said before is within it.
func (s *State) used(st *Step, told effect.View, r *journal.Record) {
	u := usageOf(told)
	s.spend(st, u.Minus(st.Used), told.Text("model"), r)
	st.Used = u
}

// usageValue is the usage as a Result has it.
func usageValue(u runtime.Usage) starlark.Value {
	d := new(starlark.Dict)
	set := func(key string, v starlark.Value) { _ = d.SetKey(starlark.String(key), v) } // a fresh dict and a string key
	if u.InputTokens+u.OutputTokens > 0 {
		set("input_tokens", starlark.MakeInt64(u.InputTokens))
		set("output_tokens", starlark.MakeInt64(u.OutputTokens))
	}
	if u.MicroUSD > 0 {
		set("usd", starlark.Float(float64(u.MicroUSD)/1e6))
	}
	return d
}

// reached tells which of a step's ceilings leaves nothing for another attempt, and the key of what
// was spent under it.
func (t *Turn) reached(st *Step) (c *effect.Ceiling, key, bound string) {
	for i := range st.Ceilings {
		c := &st.Ceilings[i]
		if !c.Bounds(st.backend()) {
			continue
		}
		key := spentKey(c, t.Now)
		u, times := t.State.Spent[key], t.State.Raised[key]+1
		if c.Daily {
			u = u.Plus(t.Host.Quotas.Others(key, t.State.ID))
		}
		switch {
		case c.Calls > 0 && u.Calls >= c.Calls*times:
			return c, key, fmt.Sprintf("%d of %d calls", u.Calls, c.Calls*times)
		case c.Tokens > 0 && u.InputTokens+u.OutputTokens >= c.Tokens*times:
			return c, key, fmt.Sprintf("%d of %d tokens", u.InputTokens+u.OutputTokens, c.Tokens*times)
		case c.MicroUSD > 0 && u.MicroUSD >= c.MicroUSD*times:
			return c, key, fmt.Sprintf("%s of %s USD", runtime.Dollars(u.MicroUSD), runtime.Dollars(c.MicroUSD*times))
		}
	}
	return nil, "", ""
}

// halt records that a step's attempt must not start because a ceiling is reached: the step fails,
// or is held while somebody is asked.
func (t *Turn) halt(st *Step) bool {
	c, key, bound := t.reached(st)
	if c == nil {
		return false
	}
	if c.Daily {
		bound += "; the next day begins at 00:00 UTC"
	}
	err := effect.Errorf(effect.KindBudget, "%s: the budget %q is used up: %s", st.Step, key, bound)
	var o effect.Object
	t.record(journal.AttemptSkipped, st.Step, o.Text("budget", key).Flag("ask", c.Ask).Raw("error", err.Payload()).Payload())
	if name := runtime.GateBudget + key; c.Ask && t.State.Gates[name] == nil {
		t.openSystemGate(name, "", fmt.Sprintf("The budget is used up: %s. Retry allows as much again, skip goes on without the replies that wait for it, fail raises an error.", bound))
	}
	return true
}

// overspent takes a record of halt: the step is held, or its outcome is known.
func (s *State) overspent(st *Step, v effect.View) {
	s.want(st, false)
	if v.Flag("ask") {
		st.Held = v.Text("budget")
		return
	}
	st.Shut = v.Raw("error")
	s.Decided = append(s.Decided, st)
}

// holding lists the steps that a ceiling holds, in the order of their requests.
func (s *State) holding(address string) []*Step {
	return slices.DeleteFunc(s.InOrder(), func(st *Step) bool { return st.Held != address })
}

// raise lets the steps that a ceiling holds go on, under a ceiling that is higher by what it was.
func (s *State) raise(address string) {
	put(&s.Raised, address, s.Raised[address]+1)
	for _, st := range s.holding(address) {
		st.Held = ""
		s.want(st, true)
	}
}

// decideBudget carries out what somebody has said of a ceiling that is reached.
func (t *Turn) decideBudget(address, choice string) {
	if choice == "retry" { // apply has let them go on
		return
	}
	for _, st := range t.State.holding(address) {
		if t.State.Steps[st.Step] != st || st.Held != address { // the script has gone on meanwhile
			continue
		}
		err := effect.Errorf(effect.KindBudget, "%s: the budget %q is used up", st.Step, address)
		if choice == "skip" {
			t.settle(st, encoded(st, result(st, nil, err)))
			continue
		}
		t.settle(st, failure(st, err, nil))
	}
}

// release withdraws the gate of a ceiling when the last step that it holds is dropped.
func (t *Turn) release(st *Step) {
	if g := t.State.Gates[runtime.GateBudget+st.Held]; st.Held != "" && g != nil && len(t.State.holding(st.Held)) == 1 {
		t.withdrawGate(g, "")
	}
}

// KeepCeilings forgets what was spent under ceilings that no request can be under any more.
func (s *State) KeepCeilings(alive []string) {
	if len(s.Spent) == 0 {
		return
	}
	for _, st := range s.Steps {
		for _, c := range st.Ceilings {
			alive = append(alive, c.Address)
		}
	}
	for address := range s.Spent {
		if !slices.Contains(alive, address) && !strings.HasPrefix(address, effect.ProjectBudget) {
			delete(s.Spent, address)
			delete(s.Raised, address)
		}
	}
}

// spentOf reads what payload wrote.
func (s *State) spentOf(address string, v effect.View) {
	put(&s.Spent, address, journal.UsageOf(v))
	if n := v.Int("raised"); n > 0 {
		put(&s.Raised, address, n)
	}
}

func usedPayload(u runtime.Usage) effect.Payload {
	if u == (runtime.Usage{}) {
		return nil
	}
	return journal.UsagePayload(u, 0)
}

// spentDaily is all that a run has spent under daily budgets, by their keys, nil for nothing.
func (s *State) spentDaily() (spent map[string]runtime.Usage) {
	for key, u := range s.Spent {
		if _, day := journal.CutDay(key); day != "" {
			put(&spent, key, u)
		}
	}
	return spent
}
