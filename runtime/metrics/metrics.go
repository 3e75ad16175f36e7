// Package metrics says how a store stands and what has happened in it, as numbers for monitoring:
// what Prometheus is shown at /metrics, and what a collector is told.
//
// Gauges are what the store has now. Counters begin at 0 when the engine is opened, as those of
// every process do. What only some may see is not in them.
package metrics

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"starling/runtime"
	"starling/runtime/query"
	"starling/runtime/tool"
)

// Kind is what the samples of a family are.
type Kind string

// The kinds.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
)

// Family is one metric.
type Family struct {
	Name    string // as Prometheus has it, such as "starling_runs_ended_total"
	Kind    Kind
	Help    string
	Samples []Sample
}

// Sample is one value of a family.
type Sample struct {
	Label, Of string // "" for a family without labels
	Value     float64
}

// Reader reads the metrics of an engine. It is used concurrently.
type Reader struct {
	Desk *tool.Desk

	mu    sync.Mutex // held while the store is read: others wait, and have the same
	until time.Time
	kept  []Family
}

// What reading takes goes with what the store holds. What took long is not read again before many
// times as long have passed, so that those who ask often take a part of a processor and no more.
const (
	longRead   = 50 * time.Millisecond
	restFactor = 20
)

// Read gives the families, those without samples among them, to who may read.
func (r *Reader) Read(ctx context.Context) ([]Family, error) {
	if refused := runtime.CallerOf(ctx).Lacks(runtime.CanRead, "read metrics"); refused != nil {
		return nil, refused
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	begin := time.Now()
	if begin.After(r.until) {
		kept, err := r.stands(ctx)
		if err != nil {
			return nil, err
		}
		r.kept = kept
		if took := time.Since(begin); took >= longRead {
			r.until = begin.Add(restFactor * took)
		}
	}
	return slices.Concat(r.kept, r.counted()), nil
}

// stands are the gauges.
func (r *Reader) stands(ctx context.Context) ([]Family, error) {
	g := &gatherer{desk: r.Desk}
	for _, read := range []func(context.Context) error{g.runs, g.waits, g.budgets} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	return g.list, nil
}

// gatherer gathers the gauges.
type gatherer struct {
	desk *tool.Desk
	list []Family

	gates int // that are open in the runs
}

// family begins the samples of one gauge.
func (g *gatherer) family(name, help string) {
	g.list = append(g.list, Family{Name: name, Kind: Gauge, Help: help})
}

// sample adds a value to the family that was begun last.
func (g *gatherer) sample(label, of string, value float64) {
	f := &g.list[len(g.list)-1]
	f.Samples = append(f.Samples, Sample{label, of, value})
}

// runs are those of the runs that have not ended.
func (g *gatherer) runs(ctx context.Context) error {
	states := map[runtime.Status]int{}
	for _, status := range runtime.Statuses() {
		if !status.Ended() {
			states[status] = 0
		}
	}
	now, err := g.standing(ctx)
	if err != nil {
		return err
	}
	maps.Copy(states, now.Status)
	g.family("starling_runs", "Runs that have not ended.")
	for _, status := range slices.Sorted(maps.Keys(states)) {
		g.sample("status", string(status), float64(states[status]))
	}
	g.family("starling_runs_carried", "Runs that have not ended and that a process drives.")
	g.sample("", "", float64(now.Carried))
	g.family("starling_runs_overdue", "Runs with a timer that has passed and that nobody drives.")
	g.sample("", "", float64(now.Overdue))
	g.gates = now.Gates
	return nil
}

// standing counts the runs that have not ended, and their gates: the engine keeps count, or all are
// listed.
func (g *gatherer) standing(ctx context.Context) (*runtime.Standing, error) {
	if census, ok := g.desk.Engine.(runtime.Census); ok {
		return census.Standing(ctx)
	}
	now := &runtime.Standing{Status: map[runtime.Status]int{}}
	err := g.eachPage(ctx, runtime.Query{}, func(l *runtime.Listing) {
		for _, r := range l.Runs {
			now.Status[r.Status]++
			now.Gates += r.Gates
			if r.Carried {
				now.Carried++
			}
			if r.Overdue {
				now.Overdue++
			}
		}
	})
	return now, err
}

// readAtOnce is how many runs and gates are read at once.
const readAtOnce = 1000

// eachPage reads a list a page at a time.
func (g *gatherer) eachPage(ctx context.Context, q runtime.Query, take func(*runtime.Listing)) error {
	for q.Limit = readAtOnce; ; {
		l, err := g.desk.Engine.List(ctx, q)
		if err != nil {
			return err
		}
		take(l)
		if q.After = l.Next; q.After == "" {
			return nil
		}
	}
}

// waits are those of what people and programs have to do.
func (g *gatherer) waits(ctx context.Context) error {
	oldest, err := g.desk.Engine.List(ctx, runtime.Query{Gates: true, Limit: 1})
	if err != nil {
		return err
	}
	g.family("starling_gates", "Gates that are open.")
	g.sample("", "", float64(g.gates))
	if len(oldest.Gates) > 0 {
		g.family("starling_gate_oldest_timestamp_seconds", "When the oldest open gate was opened.")
		g.sample("", "", seconds(oldest.Gates[0].OpenedAt))
	}
	work, err := g.desk.Engine.List(ctx, runtime.Query{Work: true})
	if err != nil {
		return err
	}
	g.family("starling_work", "Work that agents come for.")
	g.sample("", "", float64(len(work.Work)))
	queues, err := g.desk.Engine.List(ctx, runtime.Query{Queues: true})
	if err != nil || len(queues.Queues) == 0 {
		return err
	}
	g.family("starling_queue_items", "Items of a queue that anybody may take.")
	for _, q := range queues.Queues {
		g.sample("queue", q.Queue, float64(q.Waiting))
	}
	g.family("starling_queue_parked_items", "Items of a queue that were put aside.")
	for _, q := range queues.Queues {
		g.sample("queue", q.Queue, float64(q.Parked))
	}
	return nil
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// budgets are those of the project's budgets of a day.
func (g *gatherer) budgets(ctx context.Context) error {
	all, err := g.desk.DailyBudgets(ctx)
	if err != nil {
		return err
	}
	for _, of := range []struct {
		unit, help string
		share      func(*query.BudgetUse) *query.Share
	}{
		{"dollars", "in US dollars", func(b *query.BudgetUse) *query.Share { return b.USD }},
		{"tokens", "in tokens", func(b *query.BudgetUse) *query.Share { return b.Tokens }},
		{"calls", "in requests", func(b *query.BudgetUse) *query.Share { return b.Calls }},
	} {
		used := Family{Name: "starling_budget_used_" + of.unit, Kind: Gauge, Help: "Used today (UTC) of a budget of the project, " + of.help + "."}
		bound := Family{Name: "starling_budget_limit_" + of.unit, Kind: Gauge, Help: "Bound of a budget of the project for a day, " + of.help + "."}
		for i := range all {
			if share := of.share(&all[i]); share != nil {
				used.Samples = append(used.Samples, Sample{"budget", all[i].Name, share.Used})
				bound.Samples = append(bound.Samples, Sample{"budget", all[i].Name, share.Of})
			}
		}
		if len(used.Samples) > 0 {
			g.list = append(g.list, used, bound)
		}
	}
	return nil
}

// counters are the families of what the engine counts, in the order of their numbers.
var counters = [...]struct{ name, label, help string }{
	runtime.CountStarts:    {"starling_runs_started_total", "", "Runs that were started."},
	runtime.CountEnds:      {"starling_runs_ended_total", "status", "Runs that have ended."},
	runtime.CountGates:     {"starling_gates_opened_total", "", "Gates that were opened."},
	runtime.CountDecisions: {"starling_gates_decided_total", "via", "Gates that were decided, by how: signal, override, fallback, auto."},
	runtime.CountAttempts:  {"starling_attempts_total", "class", "Attempts of steps that have ended, by how."},
	runtime.CountInput:     {"starling_agent_input_tokens_total", "backend", "Tokens that agents have read, as their backends tell at the end of an attempt."},
	runtime.CountOutput:    {"starling_agent_output_tokens_total", "backend", "Tokens that agents have written, as their backends tell at the end of an attempt."},
	runtime.CountDollars:   {"starling_agent_cost_dollars_total", "backend", "What agents have cost in US dollars, as told or by the price table at the end of an attempt."},
}

// counted are the counters. One that is there is there from the start.
func (r *Reader) counted() (list []Family) {
	counting, ok := r.Desk.Engine.(runtime.Counting)
	if !ok {
		return nil
	}
	counted := counting.Counted()
	for what, c := range counters {
		f := Family{Name: c.name, Kind: Counter, Help: c.help}
		for _, n := range counted {
			if int(n.What) == what {
				f.Samples = append(f.Samples, Sample{c.label, n.Of, n.Value})
			}
		}
		if c.label == "" && len(f.Samples) == 0 {
			f.Samples = []Sample{{}}
		}
		list = append(list, f)
	}
	return list
}
