package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/schedule"
)

const (
	scheduleMark = "\x00schedule/" // begins the start keys of scheduled runs, which nobody else may use
	scheduleGap  = 30 * time.Second
)

func scheduleWrite(r *schedule.Row) runtime.Write {
	text, _ := json.Marshal(r) // plain data
	return runtime.Write{Key: scheduleKey(r.Name), Value: text}
}

func scheduleKey(name string) []byte { return []byte(journal.PrefixSchedule + name) }

// schedule reads a row, nil where there is none.
func (r *reader) schedule(name string) (*schedule.Row, error) {
	v, err := r.store.Get(scheduleKey(name))
	if errors.Is(err, runtime.ErrNoKey) {
		return nil, nil
	}
	row := new(schedule.Row)
	if err == nil {
		err = json.Unmarshal(v, row)
	}
	return row, err
}

// Scheduled lists schedules.
func (r *reader) Scheduled(ctx context.Context, q runtime.ScheduleQuery) ([]runtime.Schedule, error) {
	if err := need(ctx, runtime.CanRead, "see schedules"); err != nil {
		return nil, err
	}
	list := []runtime.Schedule{}
	err := journal.Scan(r.store, journal.PrefixSchedule, func(name string, v []byte) error {
		if q.Name != "" && q.Name != name {
			return nil
		}
		row := new(schedule.Row)
		if err := json.Unmarshal(v, row); err != nil {
			return fmt.Errorf("%w: the schedule %s: %v", runtime.ErrDamaged, name, err)
		}
		s, err := row.Shown(q.Next)
		if err == nil {
			list = append(list, *s)
		}
		return err
	})
	if err == nil && q.Name != "" && len(list) == 0 {
		err = unknownSchedule(q.Name)
	}
	return list, err
}

func unknownSchedule(name string) error {
	return runtime.Refusef(runtime.ErrUnknownSchedule, "no schedule %q", name).
		WithHelp("list them with: starling schedule ls").WithCall("query with resource schedules lists them")
}

// Schedule makes a schedule.
func (e *Local) Schedule(ctx context.Context, r runtime.ScheduleRequest) (*runtime.Schedule, error) {
	if err := need(ctx, runtime.CanRun, "schedule runs"); err != nil {
		return nil, err
	}
	r.Overlap, r.CatchUp = cmp.Or(r.Overlap, runtime.OverlapSkip), cmp.Or(r.CatchUp, runtime.CatchUpLast)
	by, now := runtime.CallerOf(ctx).Name, e.now()
	if err := e.checkSchedule(schedule.New(r, by, now, nil)); err != nil {
		return nil, err
	}
	return e.reschedule(ctx, r.Name, func(old *schedule.Row) (*schedule.Row, error) { return schedule.New(r, by, now, old), nil })
}

// checkSchedule refuses what could not be started.
func (e *Local) checkSchedule(row *schedule.Row) error {
	if err := cmp.Or(effect.CheckName(row.Name), row.Check()); err != nil {
		return runtime.Refusef(runtime.ErrUsage, "schedule: %v", err)
	}
	r, err := e.scheduledStart(row, row.At)
	if err == nil {
		_, _, err = e.programs.accept(&r)
	}
	return err
}

// scheduledStart is the request of the run for a time.
func (e *Local) scheduledStart(row *schedule.Row, at time.Time) (r runtime.StartRequest, err error) {
	found, err := e.definitions(row.Script)
	if err != nil {
		return r, err
	}
	r = runtime.StartRequest{Key: scheduleMark + row.Name + "/" + strconv.FormatInt(at.UnixNano(), 10), Script: found[0].Address(), Inputs: row.Inputs, Labels: row.Labels}
	if r.Bundle, err = e.blob(found[0].Bundle); err != nil || row.TimeInput == "" {
		return r, err
	}
	inputs := map[string]json.RawMessage{}
	if len(row.Inputs) > 0 {
		if err := json.Unmarshal(row.Inputs, &inputs); err != nil {
			return r, runtime.Refusef(runtime.ErrBadInput, "inputs: want an object: %v", err)
		}
	}
	inputs[row.TimeInput], _ = json.Marshal(at.Format(time.RFC3339))
	r.Inputs, err = json.Marshal(inputs)
	return r, err
}

// Reschedule does something to a schedule.
func (e *Local) Reschedule(ctx context.Context, c runtime.ScheduleChange) (*runtime.Schedule, error) {
	if err := need(ctx, runtime.CanRun, "change schedules"); err != nil {
		return nil, err
	}
	return e.reschedule(ctx, c.Name, func(row *schedule.Row) (*schedule.Row, error) {
		if row == nil {
			return nil, unknownSchedule(c.Name)
		}
		return row, row.Change(c, e.now())
	})
}

// scheduleFor is effect.Attempt.Schedule: what a run asks for is asked for by whoever started it,
// at the top.
func (e *Local) scheduleFor(ctx context.Context, run string, args effect.View) (starlark.Value, *effect.Error) {
	var v starlark.Value
	c, err := e.schedules.caller(outside{e}.Starter(run))
	if err == nil {
		v, err = schedule.Serve(runtime.WithCaller(ctx, c), e, args)
	}
	if err != nil {
		return nil, effect.Errorf(effect.KindRefused, "%v", err)
	}
	return v, nil
}

// reschedule changes a row and has it go on.
func (e *Local) reschedule(ctx context.Context, name string, change func(*schedule.Row) (*schedule.Row, error)) (*runtime.Schedule, error) {
	release := e.hold(journal.PrefixSchedule + name)
	defer release()
	row, err := e.schedule(name)
	if err != nil {
		return nil, err
	}
	if c := runtime.CallerOf(ctx); row != nil && row.By != c.Name && !c.May(runtime.CanAdmin) {
		return nil, runtime.Refusef(runtime.ErrDenied, "%s may not change the schedule %s, which %s has made", c, name, row.By)
	}
	row, err = change(row)
	if err != nil && !errors.Is(err, schedule.ErrRemoved) {
		return nil, err
	}
	w := scheduleWrite(row)
	if err != nil {
		w = runtime.Write{Key: scheduleKey(name)}
	}
	if err := e.commit(ctx, &runtime.Batch{Writes: []runtime.Write{w}}); err != nil {
		return nil, err
	}
	e.schedules.turn(name)
	return row.Shown(1)
}

// schedules starts runs at their times. It is used concurrently.
type schedules struct {
	e      *Local
	alarms *alarms

	mu      sync.Mutex // guards what follows
	on      bool
	lookup  func(name string) (string, bool)
	running map[string]string // runs that the next one waits for, with their schedules
}

// begin has schedules fire from now on.
func (s *schedules) begin(lookup func(name string) (string, bool)) error {
	s.mu.Lock()
	s.on, s.lookup, s.running = true, lookup, map[string]string{}
	s.mu.Unlock()
	var names []string
	err := journal.ScanEach(s.e.store, journal.PrefixSchedule, func(name string, _ []byte, _ error) error {
		names = append(names, name)
		return nil
	})
	for _, name := range names {
		s.turn(name)
	}
	return err
}

// turn lets a schedule do what is due. It does not wait for it.
func (s *schedules) turn(name string) {
	s.mu.Lock()
	on := s.on
	s.mu.Unlock()
	if !on || s.e.leaving.Load() || !s.e.enter() {
		return
	}
	go func() {
		defer s.e.exit()
		defer s.e.hold(journal.PrefixSchedule + name)()
		if err := s.goOn(name); err != nil && s.e.ctx.Err() == nil && !s.e.leaving.Load() {
			s.e.log("the schedule %s: %v", name, err)
			s.alarms.set(name, s.e.now().Add(scheduleGap))
		}
	}()
}

// ended lets a schedule go on that waited for a run.
func (s *schedules) ended(run string) {
	s.mu.Lock()
	name, waits := s.running[run]
	delete(s.running, run)
	s.mu.Unlock()
	if waits {
		s.turn(name)
	}
}

// goOn settles what has come, begins what may, and sets the alarm for the next time. Its caller
// holds the schedule.
func (s *schedules) goOn(name string) error {
	row, err := s.e.schedule(name)
	if err != nil || row == nil {
		s.alarms.set(name, time.Time{})
		return err
	}
	if row.Paused {
		s.alarms.set(name, time.Time{})
		return nil
	}
	was := scheduleWrite(row)
	if err := s.settle(row); err != nil {
		return err
	}
	if now := scheduleWrite(row); string(now.Value) != string(was.Value) {
		if err := s.e.commit(s.e.ctx, &runtime.Batch{Writes: []runtime.Write{now}}); err != nil {
			return err
		}
	}
	t, err := row.Times()
	if err != nil {
		return err
	}
	next := t.Next(row.Settled)
	if !next.IsZero() {
		next = t.Due(next)
	}
	s.alarms.set(name, next)
	return nil
}

func (s *schedules) settle(row *schedule.Row) error {
	if _, err := s.busy(row); err != nil {
		return err
	}
	if err := row.Arrive(s.e.now()); err != nil {
		return err
	}
	for len(row.Pending) > 0 {
		busy, err := s.busy(row)
		if err != nil {
			return err
		}
		if busy && row.Overlap != runtime.OverlapAllow {
			return s.yield(row)
		}
		if err := s.start(row, row.Pending[0]); err != nil {
			return err
		}
		row.Pending = row.Pending[1:]
		if err := s.e.commit(s.e.ctx, &runtime.Batch{Writes: []runtime.Write{scheduleWrite(row)}}); err != nil {
			return err
		}
	}
	return nil
}

// busy tells whether the run that the next one waits for has not ended. Then its end is waited for.
func (s *schedules) busy(row *schedule.Row) (bool, error) {
	if row.Running == "" {
		return false, nil
	}
	s.mu.Lock()
	s.running[row.Running] = row.Name
	s.mu.Unlock()
	sum, err := s.e.summary(row.Running)
	if err != nil && runtime.AsRefusal(err).Kind != runtime.ErrUnknownRun {
		return false, err
	}
	if err == nil && !sum.Status.Ended() && sum.Status != runtime.Damaged {
		return true, nil
	}
	s.mu.Lock()
	delete(s.running, row.Running)
	s.mu.Unlock()
	row.Running = ""
	return false, nil
}

// yield has the run at work make room, where it is to.
func (s *schedules) yield(row *schedule.Row) error {
	if row.Overlap != runtime.OverlapCancel {
		return nil
	}
	ctx := runtime.WithCaller(s.e.ctx, runtime.Caller{Name: "schedule:" + row.Name, Local: true})
	_, err := s.e.Cancel(ctx, runtime.CancelRequest{Run: row.Running, Reason: "its schedule starts the next run"})
	if err != nil && runtime.AsRefusal(err).Kind == runtime.ErrClosed {
		err = nil // it has ended meanwhile, which is waited for
	}
	return err
}

// start begins the run for a time, or notes why it is refused. It fails where that is not known.
func (s *schedules) start(row *schedule.Row, at time.Time) error {
	id, err := s.started(row, at)
	refused := (*runtime.Refusal)(nil)
	switch {
	case err == nil:
		row.Started++
		row.Running = id
	case errors.As(err, &refused) && refused.Kind != runtime.ErrInternal && s.e.stalled() == nil && s.e.ctx.Err() == nil:
		row.Refused++
	default:
		return err
	}
	row.Last = &runtime.ScheduleRun{For: at, At: s.e.now(), Run: id}
	if refused != nil {
		row.Last.Refused = refused.Message
		s.e.log("the schedule %s: the run for %s is refused: %v", row.Name, at.Format(time.RFC3339), refused)
	}
	return nil
}

// started starts the run for a time, or finds the one that was started before a crash.
func (s *schedules) started(row *schedule.Row, at time.Time) (string, error) {
	caller, err := s.caller(row.By)
	if err != nil {
		return "", err
	}
	r, err := s.e.scheduledStart(row, at)
	if err != nil {
		return "", err
	}
	ctx := runtime.WithCaller(s.e.ctx, caller)
	v, err := s.e.store.Get([]byte(journal.PrefixStartKey + r.Key))
	var k journal.Keyed
	switch {
	case err == nil:
		if err := json.Unmarshal(v, &k); err != nil {
			return "", err
		}
		return k.Run, s.e.resumeOne(ctx, k.Run, variables{lookup: s.lookup})
	case !errors.Is(err, runtime.ErrNoKey):
		return "", err
	}
	if err := s.e.bound(ctx, &r); err != nil {
		return "", err
	}
	r.Env = s.values(r.Settings.Env)
	return s.e.create(ctx, r, "", 0, nil)
}

// values are variables of whoever carries all runs.
func (s *schedules) values(names []string) map[string]string {
	env := map[string]string{}
	for _, name := range names {
		if s.lookup == nil {
			break
		}
		if v, ok := s.lookup(name); ok {
			env[name] = v
		}
	}
	return env
}

// caller is in whose name a schedule starts runs: that of who made it, with no more rights than
// starting takes, so that the project must be one that is trusted. A token that was revoked, or may
// not start runs any more, starts none.
func (s *schedules) caller(by string) (runtime.Caller, error) {
	c := runtime.Caller{Name: by, Can: runtime.CanRun | runtime.CanRead}
	if strings.Contains(by, ":") { // a user of the machine
		return c, nil
	}
	row, err := s.e.token(by)
	if err != nil {
		return c, err
	}
	if row == nil || !slices.Contains(row.Can, runtime.CanRun.Names()[0]) {
		return c, runtime.Refusef(runtime.ErrDenied, "%s, who has made the schedule, may not start runs any more", by)
	}
	return c, nil
}

// Schedule is refused.
func (*readOnly) Schedule(context.Context, runtime.ScheduleRequest) (*runtime.Schedule, error) {
	return nil, errReadOnly
}

// Reschedule is refused.
func (*readOnly) Reschedule(context.Context, runtime.ScheduleChange) (*runtime.Schedule, error) {
	return nil, errReadOnly
}

var _, _ runtime.Schedules = (*Local)(nil), (*readOnly)(nil)
