package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// What agents spend is counted by folding the journal: each request that is sent when its attempt starts, tokens and money when the attempt tells of them while it works and when it has ended,
// which is its last word. So they count however an attempt ends, and the sums after a restart are those before it. A ceiling is looked at before an attempt starts, the innermost first; what is
// in flight is not stopped, and may go beyond it.

// maxUsage bounds what one reply can claim, so that sums of claims stay numbers.
const maxUsage = 1 << 40

// usageOf reads what a backend says: usd, input_tokens and output_tokens. What is no number, or below zero, counts nothing.
func usageOf(v effect.View) runtime.Usage {
	number := func(field string, unit float64) int64 {
		x, _ := starlark.AsFloat(v.Value(field))
		return claimed(x, unit)
	}
	return runtime.Usage{MicroUSD: number("usd", 1e6), InputTokens: number("input_tokens", 1), OutputTokens: number("output_tokens", 1)}
}

// claimed is a claim in units, within what can be.
func claimed(x, unit float64) int64 {
	if !(x > 0) { // NaN is not
		return 0
	}
	return int64(min(math.Round(x*unit), maxUsage))
}

// spend adds to what was spent under each ceiling of a step, as a record says, by a model, "" where
// nobody says by which.
func (s *state) spend(st *step, u runtime.Usage, model string, r *journal.Record) {
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
func (s *state) forgetDays(address string) {
	for key := range s.Spent {
		if strings.HasPrefix(key, address+"/") {
			delete(s.Spent, key)
			delete(s.Raised, key)
		}
	}
}

// ceilings sets those over a request: those of the script and those of the project that bound one of
// its backends.
func (t *turn) ceilings(r *effect.Request) {
	if !agentKind(r.Kind) {
		return
	}
	list := slices.DeleteFunc(slices.Clone(r.Ceilings), func(c effect.Ceiling) bool {
		return strings.HasPrefix(c.Address, effect.ProjectBudget) // of the project that did not serve it
	})
	if t.host.settings != nil {
		list = append(list, t.host.settings.Budgets...)
	}
	r.Ceilings = nil
	if len(list) == 0 {
		return
	}
	args, _ := r.Args.View()
	name := agentName(args)
	for _, c := range list {
		if over, ok := c.Over(name, r.Backends, r.Models); ok {
			r.Ceilings = append(r.Ceilings, over)
		}
	}
}

// eventUsage is the kind of the event by which an attempt tells what it has taken so far, in all: usd, input_tokens, output_tokens.
const eventUsage = "usage"

// used takes what an attempt says that it has taken so far. What it said before is within it.
func (s *state) used(st *step, told effect.View, r *journal.Record) {
	u := usageOf(told)
	s.spend(st, minusUsage(u, st.Used), told.Text("model"), r)
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

// reached tells which of a step's ceilings leaves nothing for another attempt, and the key of what was
// spent under it.
func (t *turn) reached(st *step) (c *effect.Ceiling, key, bound string) {
	for i := range st.Ceilings {
		c := &st.Ceilings[i]
		if !c.Bounds(st.backend()) {
			continue
		}
		key := spentKey(c, t.now)
		u, times := t.s.Spent[key], t.s.Raised[key]+1
		if c.Daily {
			u = u.Plus(t.host.quotas.Others(key, t.s.ID))
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

// halt records that a step's attempt must not start because a ceiling is reached: the step fails, or is held while somebody is asked.
func (t *turn) halt(st *step) bool {
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
	if name := runtime.GateBudget + key; c.Ask && t.s.Gates[name] == nil {
		t.openSystemGate(name, "", fmt.Sprintf("The budget is used up: %s. Retry allows as much again, skip goes on without the replies that wait for it, fail raises an error.", bound))
	}
	return true
}

// overspent takes a record of halt: the step is held, or its outcome is known.
func (s *state) overspent(st *step, v effect.View) {
	s.want(st, false)
	if v.Flag("ask") {
		st.Held = v.Text("budget")
		return
	}
	st.Shut = v.Raw("error")
	s.decided = append(s.decided, st)
}

// holding lists the steps that a ceiling holds, in the order of their requests.
func (s *state) holding(address string) []*step {
	return slices.DeleteFunc(s.inOrder(), func(st *step) bool { return st.Held != address })
}

// raise lets the steps that a ceiling holds go on, under a ceiling that is higher by what it was.
func (s *state) raise(address string) {
	put(&s.Raised, address, s.Raised[address]+1)
	for _, st := range s.holding(address) {
		st.Held = ""
		s.want(st, true)
	}
}

// decideBudget carries out what somebody has said of a ceiling that is reached.
func (t *turn) decideBudget(address, choice string) {
	if choice == "retry" { // apply has let them go on
		return
	}
	for _, st := range t.s.holding(address) {
		if t.s.Steps[st.Step] != st || st.Held != address { // the script has gone on meanwhile
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
func (t *turn) release(st *step) {
	if g := t.s.Gates[runtime.GateBudget+st.Held]; st.Held != "" && g != nil && len(t.s.holding(st.Held)) == 1 {
		t.withdrawGate(g, "")
	}
}

// keepCeilings forgets what was spent under ceilings that no request can be under any more.
func (s *state) keepCeilings(alive []string) {
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

func usagePayload(u runtime.Usage, raised int64) effect.Payload {
	var b effect.Object
	return b.Int("usd", u.MicroUSD).Int("in", u.InputTokens).Int("out", u.OutputTokens).Int("calls", u.Calls).Int("raised", raised).Payload()
}

// spentOf reads what payload wrote.
func (s *state) spentOf(address string, v effect.View) {
	put(&s.Spent, address, keptUsage(v))
	if n := v.Int("raised"); n > 0 {
		put(&s.Raised, address, n)
	}
}

func usedPayload(u runtime.Usage) effect.Payload {
	if u == (runtime.Usage{}) {
		return nil
	}
	return usagePayload(u, 0)
}

func keptUsage(v effect.View) runtime.Usage {
	return runtime.Usage{MicroUSD: v.Int("usd"), InputTokens: v.Int("in"), OutputTokens: v.Int("out"), Calls: v.Int("calls")}
}

// claim is what an event says of the cost of an attempt.
type claim struct {
	USD    float64 `json:"usd"`
	Input  float64 `json:"input_tokens"`
	Output float64 `json:"output_tokens"`

	Model   string `json:"model"`
	Claimed bool   `json:"claimed"`
}

// noteCost takes what was said of the cost of an attempt, nil for nothing.
func noteCost(a *runtime.Try, c *claim) {
	if c == nil {
		return
	}
	a.Usage = &runtime.Usage{MicroUSD: claimed(c.USD, 1e6), InputTokens: claimed(c.Input, 1), OutputTokens: claimed(c.Output, 1)}
	a.Model, a.Claimed = c.Model, c.Claimed
}

// toldIn is what an event of an attempt says of its cost so far, nil if it is about something else.
func toldIn(ev *runtime.Event) *claim {
	var data struct {
		Kind string
		Data *claim
	}
	if !bytes.Contains(ev.Data, []byte(`"`+eventUsage+`"`)) || json.Unmarshal(ev.Data, &data) != nil || data.Kind != eventUsage {
		return nil
	}
	return data.Data
}

// nameIn is the name of an agent as a request has it: a text, or a role.
func nameIn(who json.RawMessage) string {
	var role struct{ Name string }
	if json.Unmarshal(who, &role.Name) != nil {
		_ = json.Unmarshal(who, &role) // an engine's own
	}
	return role.Name
}

// EachTry calls fn with every attempt of the agents that a run has asked, and with what it has taken, the
// request counted; child runs are runs of their own.
func EachTry(steps []runtime.Step, fn func(st *runtime.Step, t *runtime.Try, u runtime.Usage)) {
	for i := range steps {
		st := &steps[i]
		if !agentKind(st.Kind) {
			continue
		}
		for j := range st.Tries {
			u := runtime.Usage{Calls: 1}
			if told := st.Tries[j].Usage; told != nil {
				u = u.Plus(*told)
			}
			fn(st, &st.Tries[j], u)
		}
	}
}
