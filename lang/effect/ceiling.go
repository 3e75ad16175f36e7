package effect

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// Ceiling bounds what agents may spend together: those that are asked below a call of budget, or
// those that a project bounds. A bound of 0 is none.
type Ceiling struct {
	Address  string // of the budget within the run: branch path, "budget", "#n" from the second on; of one of the project, [ProjectBudget] and its name
	MicroUSD int64  // millionths of a dollar
	Tokens   int64  // read and written
	Calls    int64  // requests sent to agents
	Ask      bool   // open a gate when it is reached, where others fail

	Agents []string // counts only for these, by the name that is asked for or the one that serves; nil for all
	Models []string // counts only these, by their names or, with * at the end, by how these begin; nil for all
	Daily  bool     // counts what all runs of the store spend on a day, UTC
	Labels Labels   // only in runs that have all of these; nil for all

	Backends []string // of a request: those of its backends that it bounds; nil for all
}

// ProjectBudget begins the address of a budget of the project. No budget of a script has such a
// one.
const ProjectBudget = "budgets."

// Counts tells whether usage of a model counts. A model that nobody names may be any.
func (c *Ceiling) Counts(model string) bool {
	return model == "" || c.Models == nil || slices.ContainsFunc(c.Models, func(m string) bool {
		begin, wild := strings.CutSuffix(m, "*")
		return m == model || wild && strings.HasPrefix(model, begin)
	})
}

// Holds tells whether the ceiling is over what runs with some labels do.
func (c *Ceiling) Holds(of Labels) bool {
	for name, value := range c.Labels {
		if v, ok := of[name]; !ok || v != value {
			return false
		}
	}
	return true
}

// Bounds tells whether the ceiling bounds what a backend of a request does.
func (c *Ceiling) Bounds(backend string) bool {
	return c.Backends == nil || slices.Contains(c.Backends, backend)
}

// Over is the ceiling as it stands over a request to agent, whose backends have these models, ""
// where nobody says which. ok is false where it bounds none of them.
func (c Ceiling) Over(agent string, backends, models []string) (over Ceiling, ok bool) {
	if c.Agents == nil && c.Models == nil || len(backends) == 0 {
		return c, true
	}
	asked := c.Agents == nil || slices.Contains(c.Agents, agent)
	for i, name := range backends {
		model := ""
		if i < len(models) {
			model = models[i]
		}
		if (asked || slices.Contains(c.Agents, name)) && c.Counts(model) {
			c.Backends = append(c.Backends, name)
		}
	}
	return c, len(c.Backends) > 0
}

// CeilingsPayload is a list of ceilings as journals have it, nil for none.
func CeilingsPayload(list []Ceiling) Payload {
	if len(list) == 0 {
		return nil
	}
	rows := make([]starlark.Value, len(list))
	for i, c := range list {
		row := []starlark.Value{starlark.String(c.Address), starlark.MakeInt64(c.MicroUSD), starlark.MakeInt64(c.Tokens),
			starlark.MakeInt64(c.Calls), starlark.Bool(c.Ask)}
		labelled := len(c.Labels) > 0
		if c.Agents != nil || c.Models != nil || c.Daily || labelled { // others are written as they always were
			row = append(row, textList(c.Agents), textList(c.Models), starlark.Bool(c.Daily), textList(c.Backends))
		}
		if labelled {
			row = append(row, starlark.String(c.Labels.String()))
		}
		rows[i] = starlark.NewList(row)
	}
	return MustEncode(starlark.NewList(rows))
}

// textList is None for nil.
func textList(list []string) starlark.Value {
	if list == nil {
		return starlark.None
	}
	out := make([]starlark.Value, len(list))
	for i, s := range list {
		out[i] = starlark.String(s)
	}
	return starlark.NewList(out)
}

// CeilingsOf reads what [CeilingsPayload] wrote. Rows that it cannot have written are left out.
func CeilingsOf(p Payload) []Ceiling {
	v, err := p.Value()
	rows, ok := v.(*starlark.List)
	if err != nil || !ok {
		return nil
	}
	var list []Ceiling
	for e := range rows.Elements() {
		row, ok := e.(*starlark.List)
		if !ok || row.Len() != 5 && row.Len() != 9 && row.Len() != 10 {
			continue
		}
		number := func(i int) int64 {
			n, _ := row.Index(i).(starlark.Int)
			x, _ := n.Int64()
			return x
		}
		address, _ := starlark.AsString(row.Index(0))
		c := Ceiling{Address: address, MicroUSD: number(1), Tokens: number(2), Calls: number(3), Ask: bool(row.Index(4).Truth())}
		if row.Len() == 10 {
			labels, _ := starlark.AsString(row.Index(9))
			c.Labels = ReadLabels(labels)
		}
		if row.Len() > 5 {
			c.Agents, c.Models, c.Backends = textsIn(row.Index(5)), textsIn(row.Index(6)), textsIn(row.Index(8))
			c.Daily = bool(row.Index(7).Truth())
		}
		list = append(list, c)
	}
	return list
}

func textsIn(v starlark.Value) (list []string) {
	l, _ := v.(*starlark.List)
	if l == nil {
		return nil
	}
	for e := range l.Elements() {
		s, _ := starlark.AsString(e)
		list = append(list, s)
	}
	return list
}
