package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/filter"
	"starling/runtime/query"
)

// The tools. Each is one request of the engine; whether the caller may make it is the engine's to
// say.

type defineArgs struct{ Name, Source, Script, Key string }

func (d *Desk) define(ctx context.Context, a defineArgs) (any, error) {
	kept, err := runtime.Extension[runtime.Definitions](d.Engine)
	if err != nil {
		return nil, err
	}
	bundle, err := d.bundle(a.Source, a.Script, a.Name+runtime.ScriptSuffix)
	if err == nil {
		err = lang.Check(bundle, d.Env, check.Project{}).Err()
	}
	if err != nil {
		return nil, err
	}
	made, err := kept.Define(ctx, runtime.DefineRequest{Key: a.Key, Name: a.Name, Bundle: bundle.Encode()})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// bundle is the script that a call means: its text, or a file.
func (d *Desk) bundle(source, path, name string) (*lang.Bundle, error) {
	switch {
	case (source == "") == (path == ""):
		return nil, runtime.Refuse(runtime.ErrUsage, "source is the text of a script, script says where it is", "got both or neither of source and script, want one")
	case source != "":
		return lang.Read(name, text(name, source), d.Library)
	case d.Read == nil:
		return nil, runtime.Refuse(runtime.ErrUsage, "send its text as source", "the files of this machine are out of reach, and so is %s", path)
	}
	return d.Read(path)
}

// text is a source that has one file.
func text(name, source string) lang.Source {
	return func(wanted string) ([]byte, error) {
		if wanted != name {
			return nil, fmt.Errorf("a script that is sent as text has no files beside it")
		}
		return []byte(source), nil
	}
}

type runArgs struct {
	Script, Source, Key, Deadline string
	Overtime                      runtime.OnDeadline
	Inputs                        json.RawMessage
	Labels                        effect.Labels
}

func (d *Desk) run(ctx context.Context, a runArgs) (any, error) {
	r := runtime.StartRequest{Key: a.Key, Inputs: a.Inputs, OnDeadline: a.Overtime, Labels: a.Labels}
	if string(r.Inputs) == "null" {
		r.Inputs = nil
	}
	if a.Deadline != "" {
		timeout, err := lasting("run: deadline", a.Deadline)
		if err != nil {
			return nil, err
		}
		r.Timeout = timeout
	}
	var err error
	if a.Source == "" && runtime.NamesDefinition(a.Script) {
		err = d.defined(ctx, a.Script, &r)
	} else {
		err = d.given(a, &r)
	}
	if err != nil {
		return nil, err
	}
	run, err := d.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return Stand(run), nil
}

// lasting reads a duration that is longer than 0: none at all means a default, which is something
// else.
func lasting(name, text string) (time.Duration, error) {
	within, err := contract.ParseDuration(text)
	if err == nil && within == 0 {
		err = fmt.Errorf("got %q, want a duration longer than 0", text)
	}
	if err != nil {
		return 0, runtime.Refusef(runtime.ErrUsage, "%s: %v", name, err)
	}
	return within, nil
}

func (d *Desk) defined(ctx context.Context, address string, r *runtime.StartRequest) error {
	kept, err := d.newest(ctx, address)
	if err != nil {
		return err
	}
	return d.definition(ctx, kept, r)
}

// newest is what NAME or NAME@VERSION means now.
func (d *Desk) newest(ctx context.Context, address string) (*runtime.Definition, error) {
	kept, err := runtime.Extension[runtime.Definitions](d.Engine)
	if err != nil {
		return nil, err
	}
	found, err := kept.Defined(ctx, address)
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

func (d *Desk) definition(ctx context.Context, kept *runtime.Definition,
	r *runtime.StartRequest) (err error) {
	r.Script = kept.Address()
	r.Bundle, err = d.Engine.Blob(ctx, kept.Bundle)
	return err
}

// scriptOfText is what a script is called that was sent as text.
const scriptOfText = "script.star"

func (d *Desk) given(a runArgs, r *runtime.StartRequest) error {
	bundle, err := d.bundle(a.Source, a.Script, scriptOfText)
	if err == nil {
		err = lang.Check(bundle, d.Env, check.Project{}).Err()
	}
	if err != nil {
		return err
	}
	r.Script, r.Bundle = bundle.Entry().Name, bundle.Encode()
	return nil
}

// Start prepares a request and makes it.
func (d *Desk) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	if err := d.Prepare(&r); err != nil {
		return nil, err
	}
	return d.Engine.Start(ctx, r)
}

type statusArgs struct {
	Run   string
	Steps bool
	Limit int
	After uint64
}

func (d *Desk) status(ctx context.Context, a statusArgs) (any, error) {
	run, err := d.Engine.Get(ctx, a.Run)
	if err != nil {
		return nil, err
	}
	at := Stand(run)
	if !a.Steps {
		return at, nil
	}
	page, err := query.PageOfSteps(ctx, d.Engine, pageOf(run, a.After, a.Limit))
	if err != nil {
		return nil, err
	}
	at.Steps, at.Failed, at.Next, at.Earlier = page.Steps, page.Failed, page.Next, page.Earlier
	at.Progress, err = query.Tracks(ctx, d.Engine, run.ID, run.Details.Horizon)
	return at, err
}

// pageOf asks for the newest steps of a run, or for those behind a page.
func pageOf(run *runtime.Run, after uint64, limit int) runtime.StepQuery {
	return runtime.StepQuery{Run: run.ID, After: max(after, run.Details.Horizon), Limit: limit, Newest: after == 0}
}

type diagramArgs struct {
	Run   string
	Limit int
	After uint64
}

// Drawn is what diagram answers.
type Drawn struct {
	Run     string         `json:"run"`
	Status  runtime.Status `json:"status"`
	Mermaid string         `json:"mermaid"`
	Next    uint64         `json:"next,omitempty"` // the after of the next page, where there are more steps
}

func (d *Desk) diagram(ctx context.Context, a diagramArgs) (any, error) {
	run, err := d.Engine.Get(ctx, a.Run)
	if err != nil {
		return nil, err
	}
	return Draw(ctx, d.Engine, run, a.After, a.Limit)
}

// Draw draws a run as it stands: at most so many of its steps, 0 for all, those behind a record.
func Draw(ctx context.Context, e runtime.Engine, run *runtime.Run, after uint64, limit int) (*Drawn, error) {
	behind := max(after, run.Details.Horizon)
	page, err := query.PageOfSteps(ctx, e, runtime.StepQuery{Run: run.ID, After: behind, Limit: limit})
	if err != nil {
		return nil, err
	}
	page.Earlier = after > 0
	return &Drawn{run.ID, run.Status, query.Diagram(run, page), page.Next}, nil
}

type costArgs struct {
	Run, By string
	Limit   int
}

func (d *Desk) cost(ctx context.Context, a costArgs) (any, error) {
	q := query.CostQuery{Run: a.Run, By: a.By, Limit: a.Limit, Today: d.now()}
	if d.Budgets != nil {
		var err error
		if q.Budgets, err = d.Budgets(); err != nil {
			return nil, err
		}
	}
	return query.CostOf(ctx, d.Engine, q)
}

// DailyBudgets is what is left today of the budgets of the project that are for a day. Those of a
// project that cannot be read are not told of: whoever starts a run is told why.
func (d *Desk) DailyBudgets(ctx context.Context) ([]query.BudgetUse, error) {
	if d.Budgets == nil {
		return nil, nil
	}
	budgets, err := d.Budgets()
	if err != nil {
		return nil, nil
	}
	return query.DailyBudgets(ctx, d.Engine, budgets, d.now())
}

func (d *Desk) now() time.Time {
	if d.Clock == nil {
		return time.Now()
	}
	return d.Clock()
}

type signalArgs struct {
	Run, Gate, Choice, Reason, Message, As, Key string
	Override                                    bool
	Data                                        json.RawMessage
}

// Accepted is what signal answers.
type Accepted struct {
	Status    string         `json:"status"` // "accepted"
	Run       string         `json:"run"`
	Gate      string         `json:"gate,omitempty"`
	Repeated  bool           `json:"repeated,omitempty"` // the key was known: nothing was done twice
	RunStatus runtime.Status `json:"run_status"`
}

func (d *Desk) signal(ctx context.Context, a signalArgs) (any, error) {
	sig := runtime.Signal{Key: a.Key, Kind: runtime.SignalAnswer, Choice: a.Choice, Reason: a.Reason, As: a.As, Override: a.Override}
	sig.Run, sig.Gate = address(a.Run, a.Gate)
	if a.Message != "" {
		sig.Kind, sig.Name = runtime.SignalMessage, a.Message
	}
	if (sig.Gate == "") != (a.Message != "") {
		return nil, runtime.Refuse(runtime.ErrUsage, "inbox lists the open gates", "got both or neither of gate and message, want one")
	}
	if string(a.Data) != "null" {
		sig.Data = a.Data
	}
	receipt, err := d.Send(ctx, sig)
	if err != nil {
		return nil, err
	}
	return Accepted{"accepted", receipt.Run, receipt.Gate, receipt.Repeated, receipt.Status}, nil
}

// address takes RUN/GATE apart where it is given as one.
func address(run, gate string) (string, string) {
	if gate == "" {
		run, gate, _ = strings.Cut(run, "/")
	}
	return run, gate
}

// Send makes a signal. It carries the run that it names, and so brings the variables that this
// declares; a caller who may not see the run brings none.
func (d *Desk) Send(ctx context.Context, sig runtime.Signal) (*runtime.Receipt, error) {
	if r, err := query.DeclaredBy(ctx, d.Engine, sig.Run); sig.Run != "" && err == nil {
		sig.Run, sig.Env = r.Run, d.Values(r.Env)
	}
	return d.Engine.Signal(ctx, sig)
}

type inboxArgs struct {
	Target, Filter, After string
	Limit                 int
}

// Gates is what inbox answers.
type Gates struct {
	Gates []Gate `json:"gates"`
	Next  string `json:"next,omitempty"` // the after of the next page, where there are more
}

func (d *Desk) inbox(ctx context.Context, a inboxArgs) (any, error) {
	f, err := filter.Parse(a.Filter)
	if err != nil {
		return nil, err
	}
	page, err := f.Gates(ctx, d.Engine, runtime.Query{Target: a.Target, Limit: a.Limit, After: a.After}, time.Now())
	if err != nil {
		return nil, err
	}
	return Gates{shown(page.List), page.Next}, nil
}

type cancelArgs struct{ Run, Reason, As, Key string }

func (d *Desk) cancel(ctx context.Context, a cancelArgs) (any, error) {
	receipt, err := d.Engine.Cancel(ctx, runtime.CancelRequest{Key: a.Key, Run: a.Run, Reason: a.Reason, As: a.As})
	if err != nil {
		return nil, err
	}
	return Accepted{Status: "accepted", Run: receipt.Run, Repeated: receipt.Repeated, RunStatus: receipt.Status}, nil
}

type queryArgs struct {
	Resource, Run, Filter, After string
	Limit                        int
}

// Found is what query answers: the list that was asked for, also when it is empty.
type Found struct {
	Runs      []runtime.Summary  `json:"runs,omitzero"`
	Decisions []runtime.Decision `json:"decisions,omitzero"`
	Schedules []runtime.Schedule `json:"schedules,omitzero"`
	Next      string             `json:"next,omitempty"`
}

func (d *Desk) query(ctx context.Context, a queryArgs) (any, error) {
	if a.Resource == "decisions" {
		return d.decisions(ctx, a)
	}
	if a.Resource == "schedules" {
		return d.schedules(ctx, a)
	}
	if a.Run != "" {
		return nil, runtime.Refuse(runtime.ErrUsage, "status tells of one run; or write: run = ID, in filter", "got run, which is for resource decisions")
	}
	f, err := filter.Parse(a.Filter)
	if err != nil {
		return nil, err
	}
	page, err := f.Runs(ctx, d.Engine, runtime.Query{All: true, Limit: a.Limit, After: a.After}, time.Now())
	if err != nil {
		return nil, err
	}
	return Found{Runs: page.List, Next: page.Next}, nil
}

// decisions are those that a filter means.
func (d *Desk) decisions(ctx context.Context, a queryArgs) (any, error) {
	f, err := filter.ParseDecisions(a.Filter)
	if err != nil {
		return nil, err
	}
	page, err := f.Of(ctx, d.Engine, runtime.DecisionQuery{Run: a.Run, Limit: a.Limit, After: a.After}, time.Now())
	if err != nil {
		return nil, err
	}
	return Found{Decisions: page.List, Next: page.Next}, nil
}

type rerunArgs struct {
	Run, From, Only, Key string
	Set                  map[string]string
	AcceptDrift          bool `json:"accept_drift"`
}

func (d *Desk) rerun(ctx context.Context, a rerunArgs) (any, error) {
	if (a.From == "") == (a.Only == "") {
		return nil, runtime.Refuse(runtime.ErrUsage, "status with steps lists them", "got both or neither of from and only, want one")
	}
	again, err := runtime.Extension[runtime.Reruns](d.Engine)
	if err != nil {
		return nil, err
	}
	origin, err := d.Engine.Get(ctx, a.Run)
	if err != nil {
		return nil, err
	}
	r := runtime.ForkRequest{Key: a.Key, Kind: runtime.LineageRerun, Run: origin.ID, Step: a.From, Env: d.Values(origin.Details.Env), AcceptDrift: a.AcceptDrift}
	if a.Only != "" {
		r.Kind, r.Step = runtime.LineageOnly, a.Only
	}
	for _, name := range slices.Sorted(maps.Keys(a.Set)) {
		r.Set = append(r.Set, name+"="+a.Set[name])
	}
	run, err := again.Fork(ctx, r)
	if err != nil {
		return nil, err
	}
	return Stand(run), nil
}
