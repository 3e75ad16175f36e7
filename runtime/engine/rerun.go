package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

var _ runtime.Reruns = (*Local)(nil)

// whole reads the whole journal of a run.
func (r *reader) whole(run string) ([]journal.Record, error) {
	var all []journal.Record
	err := r.journal(run, 0, func(rec *journal.Record) error {
		all = append(all, *rec)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = r.missing(run, 1)
	}
	if err == nil && all[0].Type != journal.RunStarted {
		err = fmt.Errorf("%w: the journal of run %s does not begin with its start", runtime.ErrDamaged, run)
	}
	return all, err
}

// original is a run that is executed again: its whole journal, and the program that it began with.
type original struct {
	run     string
	journal []journal.Record
	saved   saved
	first   *run.State // as it was started
	host    *run.Host
}

// original reads a run that is to be executed again.
func (p *programs) original(r *reader, address string) (o *original, err error) {
	o = new(original)
	if o.run, err = r.resolveRun(address); err != nil {
		return nil, err
	}
	if o.journal, err = r.whole(o.run); err != nil {
		return nil, err
	}
	o.saved = saved{run: o.run, state: run.NewState(o.run), tail: o.journal}
	o.first = o.saved.first()
	o.host, err = p.host(r, o.first)
	return o, err
}

// replay executes a run again.
func (p *programs) replay(r *reader, address string, now time.Time) (*runtime.Replayed, error) {
	o, err := p.original(r, address)
	if err != nil {
		return nil, err
	}
	if _, err := run.Rehearse(o.host, o.journal, now, true); err != nil {
		return nil, run.Diverged(err)
	}
	return run.Replayed(o.host, o.saved.fold(), o.journal), nil
}

// Replay executes a run again.
func (e *Local) Replay(ctx context.Context, r runtime.ReplayRequest) (*runtime.Replayed, error) {
	if err := need(ctx, runtime.CanRead, "replay runs"); err != nil {
		return nil, err
	}
	return e.programs.replay(&e.reader, r.Run, e.now())
}

// Look looks into a run at one of its moments.
func (e *Local) Look(ctx context.Context, r runtime.LookRequest) (*runtime.Sight, error) {
	if err := need(ctx, runtime.CanRun|runtime.CanSeeHidden, "look into runs"); err != nil {
		return nil, err
	}
	o, err := e.programs.original(&e.reader, r.Run)
	if err != nil {
		return nil, err
	}
	return run.Look(o.host, o.first, o.journal, r, e.now())
}

// Fork makes a new run of another.
func (e *Local) Fork(ctx context.Context, r runtime.ForkRequest) (*runtime.Run, error) {
	want, doing := runtime.CanRun, "make runs of others"
	if r.Kind != runtime.LineageFork && len(r.Set) > 0 {
		want, doing = want|runtime.CanAdmin, "perform a step in another way" // which may be another program or host
	}
	if err := need(ctx, want, doing); err != nil {
		return nil, err
	}
	if r.Key != "" {
		if err := checkStartKey(r.Key); err != nil {
			return nil, err
		}
		defer e.hold(journal.PrefixStartKey + r.Key)()
		id, err := e.startedBy(r.Key, digestOfFork(r))
		if err == nil && id != "" {
			err = e.resumeOne(ctx, id, variables{env: r.Env})
		}
		if err != nil || id != "" {
			return e.orGet(ctx, id, err)
		}
	}
	e.keeping.RLock()
	defer e.keeping.RUnlock()
	id, err := e.fork(ctx, r)
	return e.orGet(ctx, id, err)
}

func (e *Local) orGet(ctx context.Context, id string, err error) (*runtime.Run, error) {
	if err != nil {
		return nil, err
	}
	return e.get(id, runtime.CallerOf(ctx).Audience())
}

func digestOfFork(r runtime.ForkRequest) string {
	text, _ := json.Marshal([]any{"fork", r.Kind, r.Run, r.Step, r.Set}) // plain strings
	return journal.HashOf(text)
}

// fork cuts the journal, replays what is left of it, and adopts it under a new id.
func (e *Local) fork(ctx context.Context, r runtime.ForkRequest) (string, error) {
	o, err := e.programs.original(&e.reader, r.Run)
	if err != nil {
		return "", err
	}
	now := e.now()
	c, err := run.CutAt(o.run, o.journal, r.Step, now)
	if err != nil {
		return "", err
	}
	if o.first.Session && r.Kind == runtime.LineageOnly {
		return "", runtime.Refusef(runtime.ErrUsage, "run %s is a session: what follows a step is typed anew", o.run).WithHelp("cut it: starling fork %s@%s", o.run, r.Step)
	}
	if err := rooted(o.journal, c); err != nil {
		return "", err
	}
	head, err := e.drifted(r, o.host.Settings, o.first)
	if err != nil {
		return "", err
	}
	id := newRunID(e.opts.Random)
	e.hosted(o.host).Run = id
	records := c.Records
	if r.Kind == runtime.LineageOnly {
		records = append(records, run.ReusedRecords(o.journal, c.At, c.Step)...)
	}
	l := &runtime.Lineage{Kind: r.Kind, Run: o.run, Step: c.Step, Seq: c.At, Copied: uint64(len(records)), Head: head}
	inputs, err := setInputs(&r, l, c, o.host, o.first)
	if err != nil {
		return "", err
	}
	records[0] = journal.Record{Time: now, Type: journal.RunStarted, Data: o.first.Descend(l, inputs, c.Deadline, runtime.CallerOf(ctx).Name)}
	numbers := numbersOf(records)
	if _, err := run.Rehearse(o.host, number(records), now, false); err != nil {
		return "", run.Diverged(run.InOrigin(err, o.run, numbers))
	}
	return id, e.adoptFork(ctx, r, id, records)
}

func numbersOf(records []journal.Record) []uint64 {
	numbers := make([]uint64, len(records))
	for i := range records {
		numbers[i] = records[i].Seq
	}
	return numbers
}

// adoptFork makes the fork durable and lets it go.
func (e *Local) adoptFork(ctx context.Context, r runtime.ForkRequest, id string, records []journal.Record) error {
	var rows []runtime.Write
	if r.Key != "" {
		text, _ := json.Marshal(journal.Keyed{Digest: digestOfFork(r), Run: id}) // plain data
		rows = append(rows, runtime.Write{Key: []byte(journal.PrefixStartKey + r.Key), Value: text})
	}
	e.carry(id, variables{env: r.Env}, false)
	err := e.adopt(ctx, []adopted{{id: id, records: records, rows: rows}})
	if err != nil {
		e.uncarry(id)
		return err
	}
	return e.send(ctx, id, event{in: run.Forked{}})
}

// setInputs reads what the new run has set otherwise: its inputs, or arguments of its first step,
// which its lineage then has.
func setInputs(r *runtime.ForkRequest, l *runtime.Lineage, c *run.Cut, h *run.Host, first *run.State) (inputs effect.Payload, err error) {
	switch r.Kind {
	case runtime.LineageFork:
		return otherInputs(h.Program.Code, first.Inputs, r.Set)
	case runtime.LineageRerun, runtime.LineageOnly:
		l.Changed, err = otherArguments(c, r.Set)
		return first.Inputs, err
	}
	return nil, runtime.Refusef(runtime.ErrUsage, "got the kind %q, want fork, rerun or only", r.Kind)
}

// otherInputs are the inputs of a run with some of them set otherwise.
func otherInputs(p *lang.Program, inputs effect.Payload, set []string) (effect.Payload, error) {
	if len(set) == 0 {
		return inputs, nil
	}
	args, err := parseSet(set)
	if err != nil {
		return nil, err
	}
	v, err := inputs.Value()
	if err != nil {
		return nil, err
	}
	object, err := contract.ToJSON(v)
	if err != nil {
		return nil, err
	}
	bound, err := p.BindInputs(object, args)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrBadInput, "%v", err).WithData(err)
	}
	return effect.Encode(bound)
}

func parseSet(set []string) ([]lang.Arg, error) {
	args := make([]lang.Arg, len(set))
	for i, text := range set {
		var err error
		if args[i], err = lang.ParseArg(text); err != nil {
			return nil, runtime.Refusef(runtime.ErrUsage, "got %q, want NAME=TEXT or NAME:=JSON", text)
		}
	}
	return args, nil
}

// drifted tells of a run that is made of another the commit at which the workspace stands now, ""
// where that is the one the other run began at. What was done before was done with what was there
// then: unless whoever asks accepts that, it is refused.
func (e *Local) drifted(r runtime.ForkRequest, set *effect.Settings, first *run.State) (string, error) {
	began := set.Head
	if l := first.Lineage; l != nil && l.Head != "" {
		began = l.Head
	}
	if began == "" || e.opts.Head == nil {
		return "", nil
	}
	now := e.opts.Head(set.Workspace)
	switch {
	case now == began || now == "":
		return "", nil
	case !r.AcceptDrift:
		return "", runtime.Refusef(runtime.ErrDrifted, "run %s began at commit %.12s; %s stands at %.12s now, and what was done before %q may not hold there", first.ID, began, set.Workspace, now, r.Step).
			WithHelp("add --accept-drift, or check out the commit").WithCall("add accept_drift, or have somebody check out the commit").WithData(map[string]string{"began": began, "now": now})
	}
	return now, nil
}

// argument is one that a rerun may set otherwise.
type argument struct {
	name string
	read func(text string) (v starlark.Value, want string) // nil for a text that is not what is wanted
}

// settable are those that say how a call is done and not what it asks.
var settable = []argument{
	{"backend", backendArgument},
	{"timeout", timeoutArgument},
	{"retries", countArgument},
	{"reasks", countArgument},
}

// otherArguments reads what a rerun sets for its step, nil for nothing.
func otherArguments(c *run.Cut, set []string) (effect.Payload, error) {
	args, err := parseSet(set)
	if err != nil || len(args) == 0 {
		return nil, err
	}
	kind := c.Request.Text("kind")
	if !journal.AgentKind(kind) {
		return nil, runtime.Refusef(runtime.ErrUsage, "step %q is of the kind %s: nothing of it can be set", c.Step, kind).
			WithHelp("--set is for agents and handoffs: %s", settableNames()).WithCall("set is for agents and handoffs: %s", settableNames())
	}
	d := starlark.NewDict(len(args))
	for _, a := range args {
		i := slices.IndexFunc(settable, func(s argument) bool { return s.name == a.Name })
		if i < 0 {
			return nil, runtime.Refusef(runtime.ErrUsage, "step %q: %s cannot be set; want one of %s", c.Step, a.Name, settableNames())
		}
		v, want := settable[i].read(a.Text)
		if v == nil {
			return nil, runtime.Refusef(runtime.ErrUsage, "step %q: %s: got %s, want %s", c.Step, a.Name, strconv.Quote(a.Text), want)
		}
		_ = d.SetKey(starlark.String(a.Name), v) // a fresh dict and a string key
	}
	return effect.Encode(d)
}

func settableNames() string {
	names := make([]string, len(settable))
	for i, s := range settable {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}

func backendArgument(text string) (starlark.Value, string) {
	if effect.CheckName(text) != nil {
		return nil, "the name of an agent"
	}
	return starlark.String(text), ""
}

func timeoutArgument(text string) (starlark.Value, string) {
	if d, err := contract.ParseDuration(text); err != nil || d <= 0 {
		return nil, `a duration above zero such as "5m"`
	}
	return starlark.String(text), ""
}

func countArgument(text string) (starlark.Value, string) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 100 {
		return nil, "a number from 0 to 100"
	}
	return starlark.MakeInt(n), ""
}
