package project

import (
	"fmt"
	"math"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// Budget is one [budgets.NAME]: what agents may spend, whoever asks them. A bound of 0 is none; one
// is given at least.
type Budget struct {
	Name   string
	USD    float64
	Tokens int64 // read and written
	Calls  int64
	Daily  bool          // all runs of the store together on a day, UTC; else each run by itself
	Agents []string      // only these, by the name that is asked for or the one that serves; nil for all
	Models []string      // only these, by name, or with * at the end by how the name begins; nil for all
	Labels effect.Labels // only in runs that have all of these; nil for all
	Ask    bool          // a gate is opened when it is used up, else steps fail
}

// Ceilings are the budgets as runs are held to them.
func (f *File) Ceilings() []effect.Ceiling {
	var list []effect.Ceiling
	for _, b := range f.Budgets {
		list = append(list, effect.Ceiling{Address: effect.ProjectBudget + b.Name,
			MicroUSD: int64(math.Round(b.USD * 1e6)), Tokens: b.Tokens, Calls: b.Calls, Ask: b.Ask,
			Agents: b.Agents, Models: b.Models, Daily: b.Daily, Labels: b.Labels})
	}
	return list
}

func (r *reader) budget(name string, t table) Budget {
	if err := effect.CheckName(name); err != nil {
		r.complain(t.path, diagnostic.Diagnostic{Message: err.Error()})
	}
	r.onlyKeys(t, "usd", "tokens", "calls", "per", "agents", "models", "labels", "on_reached")
	b := Budget{Name: name, USD: r.usd(t), Tokens: r.bound(t, "tokens", 1), Calls: r.bound(t, "calls", 1),
		Agents: r.strings(t, "agents"), Models: r.strings(t, "models")}
	per, _ := r.oneOf(t, "per", "run", "run", "day")
	reached, _ := r.oneOf(t, "on_reached", "fail", "fail", "gate")
	b.Daily, b.Ask = per == "day", reached == "gate"
	_, usd := t.values["usd"]
	_, tokens := t.values["tokens"]
	_, calls := t.values["calls"]
	if !usd && !tokens && !calls {
		r.complain(t.path, diagnostic.Diagnostic{Message: "a budget that bounds nothing",
			Hint: "write usd = 20, tokens = 100000 or calls = 50"})
	}
	r.notEmpty(t, "agents", b.Agents, "the name of an agent")
	for i, model := range b.Models {
		r.model(t.element("models", i), model)
	}
	b.Labels = r.labels(t, "labels")
	for _, key := range []string{"agents", "models", "labels"} {
		if list, given := t.values[key].([]any); given && len(list) == 0 {
			r.refuse(t.at(key), "no name", fmt.Sprintf("%s, or nothing for all", key), "")
		}
	}
	return b
}

// labels reads a list of labels, as the command line has them.
func (r *reader) labels(t table, key string) effect.Labels {
	list := r.strings(t, key)
	labels, err := effect.ParseLabels(list)
	if err != nil {
		r.complain(t.at(key), diagnostic.Diagnostic{Message: err.Error()})
	}
	return labels
}

// usd reads an amount of at least a millionth of a dollar; 0 where it was left out.
func (r *reader) usd(t table) float64 {
	v, given := t.values["usd"]
	n, ok := v.(float64)
	if whole, isInt := v.(int64); isInt {
		n, ok = float64(whole), true
	}
	if given && (!ok || !(n >= 1e-6 && n <= 1e9)) {
		r.refuse(t.at("usd"), show(v), "US dollars above 0", "")
		return 0
	}
	return n
}
