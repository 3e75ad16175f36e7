package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"starling/runtime"
	"starling/runtime/query"
)

// GET /metrics is for Prometheus, in its text format 0.0.4, as its page "Exposition formats" has
// it. Gauges are what the store has now, and cost what goes on there. Counters begin at 0 when the
// engine is opened, as those of every process do.

// typeMetrics is the content type of the format.
const typeMetrics = "text/plain; version=0.0.4; charset=utf-8"

// page of metrics, as it is written.
type metrics struct{ strings.Builder }

// family begins the samples of one metric.
func (m *metrics) family(name, kind, help string) {
	fmt.Fprintf(m, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// labelEscapes are those of the format in the value of a label.
var labelEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)

// sample writes a value, with a label if it has one.
func (m *metrics) sample(name, label, of string, value float64) {
	if label != "" {
		name += "{" + label + `="` + labelEscapes.Replace(strings.ToValidUTF8(of, "\uFFFD")) + `"}`
	}
	m.WriteString(name + " " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// metrics answers who may read. What only some may see is not in it.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) error {
	m := new(metrics)
	for _, write := range []func(context.Context, *metrics) error{s.runMetrics, s.waitMetrics, s.budgetMetrics} {
		if err := write(r.Context(), m); err != nil {
			return err
		}
	}
	s.countMetrics(m)
	s.processMetrics(m)
	return s.budget.answer(w, typeMetrics, []byte(m.String()))
}

// runMetrics are those of the runs that have not ended.
func (s *server) runMetrics(ctx context.Context, m *metrics) error {
	states := map[runtime.Status]int{}
	for _, status := range runtime.Statuses() {
		if !status.Ended() {
			states[status] = 0
		}
	}
	carried, overdue := 0, 0
	err := s.eachPage(ctx, runtime.Query{}, func(l *runtime.Listing) {
		for _, r := range l.Runs {
			states[r.Status]++
			if r.Carried {
				carried++
			}
			if r.Overdue {
				overdue++
			}
		}
	})
	if err != nil {
		return err
	}
	m.family("starling_runs", "gauge", "Runs that have not ended.")
	for _, status := range slices.Sorted(maps.Keys(states)) {
		m.sample("starling_runs", "status", string(status), float64(states[status]))
	}
	m.family("starling_runs_carried", "gauge", "Runs that have not ended and that a process drives.")
	m.sample("starling_runs_carried", "", "", float64(carried))
	m.family("starling_runs_overdue", "gauge", "Runs with a timer that has passed and that nobody drives.")
	m.sample("starling_runs_overdue", "", "", float64(overdue))
	return nil
}

// readAtOnce is how many runs and gates are read at once.
const readAtOnce = 1000

// eachPage reads a list a page at a time.
func (s *server) eachPage(ctx context.Context, q runtime.Query, take func(*runtime.Listing)) error {
	for q.Limit = readAtOnce; ; {
		l, err := s.options.Desk.Engine.List(ctx, q)
		if err != nil {
			return err
		}
		take(l)
		if q.After = l.Next; q.After == "" {
			return nil
		}
	}
}

// waitMetrics are those of what people and programs have to do.
func (s *server) waitMetrics(ctx context.Context, m *metrics) error {
	gates, oldest := 0, time.Time{}
	err := s.eachPage(ctx, runtime.Query{Gates: true}, func(l *runtime.Listing) {
		if gates == 0 && len(l.Gates) > 0 {
			oldest = l.Gates[0].OpenedAt
		}
		gates += len(l.Gates)
	})
	if err != nil {
		return err
	}
	m.family("starling_gates", "gauge", "Gates that are open.")
	m.sample("starling_gates", "", "", float64(gates))
	if gates > 0 {
		m.family("starling_gate_oldest_timestamp_seconds", "gauge", "When the oldest open gate was opened.")
		m.sample("starling_gate_oldest_timestamp_seconds", "", "", seconds(oldest))
	}
	work, err := s.options.Desk.Engine.List(ctx, runtime.Query{Work: true})
	if err != nil {
		return err
	}
	m.family("starling_work", "gauge", "Work that agents come for.")
	m.sample("starling_work", "", "", float64(len(work.Work)))
	queues, err := s.options.Desk.Engine.List(ctx, runtime.Query{Queues: true})
	if err != nil || len(queues.Queues) == 0 {
		return err
	}
	m.family("starling_queue_items", "gauge", "Items of a queue that anybody may take.")
	for _, q := range queues.Queues {
		m.sample("starling_queue_items", "queue", q.Queue, float64(q.Waiting))
	}
	m.family("starling_queue_parked_items", "gauge", "Items of a queue that were put aside.")
	for _, q := range queues.Queues {
		m.sample("starling_queue_parked_items", "queue", q.Queue, float64(q.Parked))
	}
	return nil
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// budgetMetrics are those of the project's budgets of a day.
func (s *server) budgetMetrics(ctx context.Context, m *metrics) error {
	all, err := s.options.Desk.DailyBudgets(ctx)
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
		var used, bound []func()
		for i := range all {
			if share := of.share(&all[i]); share != nil {
				used = append(used, func() { m.sample("starling_budget_used_"+of.unit, "budget", all[i].Name, share.Used) })
				bound = append(bound, func() { m.sample("starling_budget_limit_"+of.unit, "budget", all[i].Name, share.Of) })
			}
		}
		if len(used) == 0 {
			continue
		}
		m.family("starling_budget_used_"+of.unit, "gauge", "Used today (UTC) of a budget of the project, "+of.help+".")
		for _, write := range used {
			write()
		}
		m.family("starling_budget_limit_"+of.unit, "gauge", "Bound of a budget of the project for a day, "+of.help+".")
		for _, write := range bound {
			write()
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

// countMetrics are what the engine has counted. A counter that is there is there from the start.
func (s *server) countMetrics(m *metrics) {
	counting, ok := s.options.Desk.Engine.(runtime.Counting)
	if !ok {
		return
	}
	counted := counting.Counted()
	for what, c := range counters {
		m.family(c.name, "counter", c.help)
		if c.label == "" && !slices.ContainsFunc(counted, func(n runtime.Count) bool { return int(n.What) == what }) {
			m.sample(c.name, "", "", 0)
		}
		for _, n := range counted {
			if int(n.What) == what {
				m.sample(c.name, c.label, n.Of, n.Value)
			}
		}
	}
}

// processMetrics are those of this process, by the names that Prometheus' clients give them.
func (s *server) processMetrics(m *metrics) {
	var memory goruntime.MemStats
	goruntime.ReadMemStats(&memory)
	m.family("starling_build_info", "gauge", "1, with the version of the program.")
	m.sample("starling_build_info", "version", s.options.Build, 1)
	m.family("process_start_time_seconds", "gauge", "When this server began to serve.")
	m.sample("process_start_time_seconds", "", "", seconds(s.began))
	m.family("go_goroutines", "gauge", "Goroutines that exist.")
	m.sample("go_goroutines", "", "", float64(goruntime.NumGoroutine()))
	m.family("go_memstats_heap_alloc_bytes", "gauge", "Bytes of the heap in use.")
	m.sample("go_memstats_heap_alloc_bytes", "", "", float64(memory.HeapAlloc))
}
