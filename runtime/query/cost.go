package query

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
)

// CheckBy refuses what no cost can be summed up by; "" is as [CostQuery] has it.
func CheckBy(by string) error {
	groups := []string{runtime.CostByAgent, runtime.CostByBackend, runtime.CostByModel, runtime.CostByDay, runtime.CostByRun, runtime.CostByLabel + "NAME"}
	if name, ok := strings.CutPrefix(by, runtime.CostByLabel); ok {
		if err := effect.CheckLabelName(name); err != nil {
			return runtime.Refusef(runtime.ErrUsage, "cost by %s: %v", by, err)
		}
		return nil
	}
	if by == "" || slices.Contains(groups, by) {
		return nil
	}
	return runtime.Refusef(runtime.ErrUsage, "cost by: got %q, want agent, backend, model, day, run or label.NAME", by).WithHelp("%s", diagnostic.DidYouMean(by, groups))
}

// Cost is what agents have cost.
type Cost struct {
	Schema string    `json:"schema"`
	Run    string    `json:"run,omitempty"`
	By     string    `json:"by"`
	Rows   []CostRow `json:"rows"`
	More   int       `json:"more,omitempty"` // rows beyond the limit, which Total has, too
	Total  CostSum   `json:"total"`

	// Budgets are those of the project: of a day as they stand today and, of one run, that run's.
	Budgets []BudgetUse `json:"budgets,omitempty"`

	// Trimmed are the runs of which the journal's beginning is gone, and from which record on each
	// is counted.
	Trimmed map[string]uint64 `json:"trimmed,omitempty"`
}

// CostRow is the sum of one agent, backend, model, day or run.
type CostRow struct {
	Agent   string `json:"agent,omitempty"`
	Backend string `json:"backend,omitempty"`
	Model   string `json:"model,omitempty"`
	Day     string `json:"day,omitempty"` // YYYY-MM-DD, UTC, of the requests
	Run     string `json:"run,omitempty"`
	Label   string `json:"label,omitempty"` // value of the label; runs that do not have it have none
	Since   uint64 `json:"since,omitempty"` // of a run whose journal was trimmed: from which record on it is counted
	CostSum
}

// Name is what the row sums up.
func (r *CostRow) Name() string { return r.Agent + r.Backend + r.Model + r.Day + r.Run + r.Label }

// CostSum is a sum in the units that people know.
type CostSum struct {
	USD          *float64 `json:"usd"`                   // nil where nobody has told any
	ClaimedUSD   float64  `json:"claimed_usd,omitempty"` // the part of it that is the word of agents' programs
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	Calls        int64    `json:"calls"`
}

// CostQuery says what is to be summed up.
type CostQuery struct {
	Run     string           // only this run; "" for all
	By      string           // "" for the agent of one run, and for the run of all
	Limit   int              // of rows, 0 for all: the newest runs or days, or the first by their names
	Budgets []effect.Ceiling // of the project
	Today   time.Time
}

// spending is what was spent, and which part of its cost is claimed.
type spending struct {
	runtime.Usage
	claimed int64 // millionths of a dollar
}

func (u spending) plus(v spending) spending {
	return spending{u.Plus(v.Usage), u.claimed + v.claimed}
}

func (u spending) sum() CostSum {
	s := CostSum{nil, float64(u.claimed) / 1e6, u.InputTokens, u.OutputTokens, u.Calls}
	if u.MicroUSD > 0 {
		usd := float64(u.MicroUSD) / 1e6
		s.USD = &usd
	}
	return s
}

// costs collects sums.
type costs struct {
	doc     Cost
	budgets runBudgets
	labels  map[string]effect.Labels // of runs
	sums    map[string]spending
	order   []string // of the keys of sums, as they came
	total   spending
}

// CostOf sums up what agents have cost, and what is left of budgets. The engine's index tells, and
// where there is none the journal of each run.
func CostOf(ctx context.Context, e runtime.Engine, q CostQuery) (*Cost, error) {
	if err := CheckBy(q.By); err != nil {
		return nil, err
	}
	all := costs{doc: Cost{Schema: runtime.Schema, By: q.By, Rows: []CostRow{}}, sums: map[string]spending{}, labels: map[string]effect.Labels{}}
	if err := all.run(ctx, e, &q); err != nil {
		return nil, err
	}
	told, err := all.told(ctx, e)
	if err == nil && !told {
		err = all.read(ctx, e)
	}
	if err != nil {
		return nil, err
	}
	d := all.document()
	d.cut(q.Limit)
	d.Budgets, err = budgetsLeft(ctx, e, q, all.budgets)
	return d, err
}

// run finds the run that was asked for, and by what is summed up where nothing was said.
func (all *costs) run(ctx context.Context, e runtime.Engine, q *CostQuery) error {
	d := &all.doc
	if q.Run == "" {
		d.By = cmp.Or(d.By, runtime.CostByRun)
		return nil
	}
	r, err := e.Get(ctx, q.Run)
	if err != nil {
		return err
	}
	d.Run, d.By = r.ID, cmp.Or(d.By, runtime.CostByAgent)
	all.labels[r.ID] = r.Details.Labels
	all.budgets.of(q.Budgets, r.Details.Labels)
	return nil
}

// told has the engine sum up, and tells whether it can.
func (all *costs) told(ctx context.Context, e runtime.Engine) (bool, error) {
	d := &all.doc
	book, err := runtime.Extension[runtime.Spending](e)
	if err != nil {
		return false, nil
	}
	by := []string{d.By}
	if d.Run != "" {
		by = append(by, runtime.CostByAgent, runtime.CostByBackend, runtime.CostByModel) // for its budgets
	}
	bills, err := book.SpentBy(ctx, runtime.SpentQuery{Run: d.Run, By: by})
	if err != nil {
		if kind := runtime.AsRefusal(err).Kind; kind == runtime.ErrUnsupported || kind == runtime.ErrUsage { // an older build does not know the request
			err = nil
		}
		return false, err
	}
	if len(bills.Trimmed) > 0 {
		d.Trimmed = bills.Trimmed
	}
	if err := all.listed(ctx, e); err != nil {
		return false, err
	}
	for i := range bills.Spent {
		u := &bills.Spent[i]
		all.count(all.keyOf(u), spending{u.Usage, u.ClaimedMicroUSD})
		all.budgets.count(u)
	}
	return true, nil
}

// listed has a row for each run, in the order of their list, where runs are what is summed up.
func (all *costs) listed(ctx context.Context, e runtime.Engine) error {
	if all.doc.By != runtime.CostByRun {
		return nil
	}
	if all.doc.Run != "" {
		all.count(all.doc.Run, spending{})
		return nil
	}
	l, err := e.List(ctx, runtime.Query{All: true})
	if err != nil {
		return err
	}
	for i := range l.Runs {
		all.count(l.Runs[i].ID, spending{})
	}
	return nil
}

// read reads the journals of the runs.
func (all *costs) read(ctx context.Context, e runtime.Engine) error {
	if all.doc.Run != "" {
		return all.add(ctx, e, all.doc.Run)
	}
	l, err := e.List(ctx, runtime.Query{All: true})
	if err != nil {
		return err
	}
	for i := range l.Runs {
		all.labels[l.Runs[i].ID] = l.Runs[i].Labels
		if err := all.add(ctx, e, l.Runs[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// add counts the attempts of a run's agents.
func (all *costs) add(ctx context.Context, e runtime.Engine, run string) error {
	steps, since, err := stepsLeft(ctx, e, run)
	if err != nil {
		return err
	}
	if since > 0 {
		if all.doc.Trimmed == nil {
			all.doc.Trimmed = map[string]uint64{}
		}
		all.doc.Trimmed[run] = since
	}
	if all.doc.By == runtime.CostByRun {
		all.count(run, spending{})
	}
	EachTry(steps, func(st *runtime.Step, t *runtime.Try, u runtime.Usage) {
		spent := runtime.Spent{SpentOf: runtime.SpentOf{Agent: st.Agent, Backend: t.Backend, Model: t.Model, Day: t.StartedAt.UTC().Format(time.DateOnly), Run: run}, Usage: u}
		if name, ok := strings.CutPrefix(all.doc.By, runtime.CostByLabel); ok {
			spent.Label = all.labels[run][name]
		}
		if t.Claimed {
			spent.ClaimedMicroUSD = u.MicroUSD
		}
		all.count(all.keyOf(&spent), spending{u, spent.ClaimedMicroUSD})
		all.budgets.count(&spent)
	})
	return nil
}

// keyOf is the key of what a sum counts in.
func (all *costs) keyOf(u *runtime.Spent) string {
	switch all.doc.By {
	case runtime.CostByAgent:
		return u.Agent
	case runtime.CostByBackend:
		return u.Backend
	case runtime.CostByModel:
		return u.Model
	case runtime.CostByDay:
		return u.Day
	case runtime.CostByRun:
		return u.Run
	}
	return u.Label
}

func (all *costs) count(key string, u spending) {
	if _, known := all.sums[key]; !known {
		all.order = append(all.order, key)
	}
	all.sums[key] = all.sums[key].plus(u)
	all.total = all.total.plus(u)
}

// document is all sums, runs in the order of their list.
func (all *costs) document() *Cost {
	d := all.doc
	if d.By != runtime.CostByRun {
		slices.Sort(all.order)
	}
	for _, key := range all.order {
		row := CostRow{CostSum: all.sums[key].sum()}
		switch {
		case strings.HasPrefix(d.By, runtime.CostByLabel):
			row.Label = key
		case d.By == runtime.CostByAgent:
			row.Agent = key
		case d.By == runtime.CostByBackend:
			row.Backend = key
		case d.By == runtime.CostByModel:
			row.Model = key
		case d.By == runtime.CostByDay:
			row.Day = key
		default:
			row.Run, row.Since = key, d.Trimmed[key]
		}
		d.Rows = append(d.Rows, row)
	}
	d.Total = all.total.sum()
	return &d
}

// cut leaves at most so many rows, 0 for all: of days the last ones.
func (d *Cost) cut(limit int) {
	if limit <= 0 || len(d.Rows) <= limit {
		return
	}
	d.More = len(d.Rows) - limit
	if d.By == runtime.CostByDay {
		d.Rows = d.Rows[d.More:]
		return
	}
	d.Rows = d.Rows[:limit]
}

// stepsLeft are the steps of a run or, where its journal was trimmed, those that it still tells of,
// and since which record.
func stepsLeft(ctx context.Context, e runtime.Engine, run string) (steps []runtime.Step, since uint64, err error) {
	steps, err = Steps(ctx, e, run)
	if err == nil || runtime.AsRefusal(err).Kind != runtime.ErrTrimmed {
		return steps, 0, err
	}
	r, err := e.Get(ctx, run)
	if err != nil {
		return nil, 0, err
	}
	steps, err = StepsAfter(ctx, e, run, r.Details.Horizon)
	return steps, r.Details.Horizon + 1, err
}

// BudgetUse is what is used of a budget of the project, and what is left.
type BudgetUse struct {
	Name string `json:"name"`
	Per  string `json:"per"`           // run or day
	Day  string `json:"day,omitempty"` // YYYY-MM-DD, UTC

	Labels effect.Labels `json:"labels,omitempty"` // only of runs that have all of these

	USD    *Share `json:"usd,omitempty"` // of what is bounded
	Tokens *Share `json:"tokens,omitempty"`
	Calls  *Share `json:"calls,omitempty"`
}

// Share is what is used of a bound. Left is 0 where more was used, for what is in flight goes on.
type Share struct {
	Used float64 `json:"used"`
	Of   float64 `json:"of"`
	Left float64 `json:"left"`
}

func share(used, of int64, unit float64) *Share {
	if of == 0 {
		return nil
	}
	return &Share{float64(used) / unit, float64(of) / unit, float64(max(0, of-used)) / unit}
}

// runBudgets is what one run has spent under budgets that each run is held to by itself.
type runBudgets struct {
	budgets []effect.Ceiling
	spent   map[string]runtime.Usage
}

func (b *runBudgets) of(all []effect.Ceiling, labels effect.Labels) {
	b.spent = map[string]runtime.Usage{}
	b.budgets = slices.DeleteFunc(slices.Clone(all), func(c effect.Ceiling) bool { return c.Daily || !c.Holds(labels) })
}

func (b *runBudgets) count(u *runtime.Spent) {
	for _, c := range b.budgets {
		if over, ok := c.Over(u.Agent, []string{u.Backend}, []string{u.Model}); ok && over.Counts(u.Model) {
			b.spent[c.Address] = b.spent[c.Address].Plus(u.Usage)
		}
	}
}

// DailyBudgets is what is left today of those budgets that are for a day.
func DailyBudgets(ctx context.Context, e runtime.Engine, budgets []effect.Ceiling, today time.Time) ([]BudgetUse, error) {
	return budgetsLeft(ctx, e, CostQuery{Budgets: budgets, Today: today}, runBudgets{})
}

// budgetsLeft is what is left of budgets: of each day's today, and of a run's own.
func budgetsLeft(ctx context.Context, e runtime.Engine, q CostQuery, one runBudgets) ([]BudgetUse, error) {
	var list []BudgetUse
	today := q.Today.UTC().Format(time.DateOnly)
	var spent map[string]runtime.Usage
	for _, c := range q.Budgets {
		name := strings.TrimPrefix(c.Address, effect.ProjectBudget)
		use := BudgetUse{Name: name, Per: "run", Labels: c.Labels}
		u := one.spent[c.Address]
		switch {
		case !c.Daily && !slices.ContainsFunc(one.budgets, func(of effect.Ceiling) bool { return of.Address == c.Address }):
			continue
		case c.Daily:
			if spent == nil {
				book, err := runtime.Extension[runtime.Spending](e)
				if err != nil {
					return nil, err
				}
				if spent, err = book.SpentOn(ctx, today); err != nil {
					return nil, err
				}
			}
			use.Per, use.Day, u = "day", today, spent[name]
		}
		use.USD, use.Tokens, use.Calls = share(u.MicroUSD, c.MicroUSD, 1e6), share(u.InputTokens+u.OutputTokens, c.Tokens, 1), share(u.Calls, c.Calls, 1)
		list = append(list, use)
	}
	return list, nil
}
