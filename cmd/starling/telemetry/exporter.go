// Package telemetry tells a collector of OpenTelemetry, which [telemetry] of the project names,
// what goes on in a store, without anybody's asking.
//
// Each run that has ended is told as a trace. That it is to be told is a notice of the run, as for
// those who are told by [notify]: it is durable with the end of the run, and told again with
// growing pauses until it has arrived, also by the next owner of the store. The same run has the
// same spans (package trace).
//
// Whoever serves tells metrics, at an interval: how the store stands and what has happened since
// this process began (package metrics), and of the agents of the runs that it has told the
// histograms of the GenAI conventions. Where the collector is away, what it misses is in the next
// report, since all of them count from the beginning.
package telemetry

import (
	"context"
	"errors"
	"maps"
	"time"

	"starling/cmd/starling/build"
	"starling/cmd/starling/otlp"
	"starling/cmd/starling/trace"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/metrics"
	"starling/stdlib/project"
	"starling/stdlib/redact"
	"starling/stdlib/secret"
)

// Exporter tells collectors. It is used concurrently.
type Exporter struct {
	getenv func(name string) (string, bool)
	engine runtime.Engine
	opened chan struct{} // closed when engine is there
	agents *agents
}

// New makes an exporter of this process. getenv has its variables.
func New(getenv func(name string) (string, bool), now func() time.Time) *Exporter {
	return &Exporter{getenv: getenv, opened: make(chan struct{}), agents: newAgents(now())}
}

// Opened gives it the engine of the store that this process owns.
func (x *Exporter) Opened(e runtime.Engine) {
	x.engine = e
	close(x.opened)
}

// Engine is the engine, once there is one.
func (x *Exporter) Engine() runtime.Engine {
	<-x.opened
	return x.engine
}

// owner is in whose name it reads: this process owns the store.
func owner(ctx context.Context) context.Context {
	return runtime.WithCaller(ctx, runtime.Caller{Name: "telemetry", Local: true})
}

// Within is an environment in which runs that have ended are told to it. Everything else is told as
// before.
func (x *Exporter) Within(env *effect.Environment) *effect.Environment {
	own := *env
	own.Handlers = maps.Clone(env.Handlers)
	own.Handlers["notify"] = x.handler(env.Handlers["notify"])
	return &own
}

func (x *Exporter) handler(next *effect.Handler) *effect.Handler {
	return &effect.Handler{Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
		if effect.ViewOf(a.Args).Text("channel") != project.TelemetryChannel {
			return next.Perform(ctx, a)
		}
		err := x.tell(ctx, a)
		if err == nil {
			return effect.Reply{}
		}
		reply := effect.Reply{Err: effect.Errorf(effect.KindEffect, "%v", err), Class: effect.Retryable}
		if failure := (*otlp.Failure)(nil); errors.As(err, &failure) {
			reply.After = failure.After
			if failure.Final {
				reply.Class = effect.Final
			}
		}
		return reply
	}}
}

// tell sends the trace of a run.
func (x *Exporter) tell(ctx context.Context, a *effect.Attempt) error {
	to, shown, err := target(ctx, a)
	if err != nil {
		return err
	}
	select {
	case <-x.opened:
	case <-ctx.Done():
		return ctx.Err()
	}
	run, err := x.engine.Get(owner(ctx), a.Run)
	if err != nil {
		return err
	}
	who, err := x.resource()
	if err != nil {
		return err
	}
	spans, attempts, err := trace.Of(owner(ctx), x.engine, run)
	if err != nil {
		return err
	}
	if err := to.Send(ctx, trace.Document(who, spans)); err != nil {
		return hidden(err, shown)
	}
	x.agents.add(attempts)
	return nil
}

// hidden is an error without what secrets hold, which a collector may repeat.
func hidden(err error, shown *redact.Redactor) error {
	if failure := (*otlp.Failure)(nil); errors.As(err, &failure) {
		failure.Message = shown.Redact(failure.Message)
	}
	return err
}

// resource is who tells.
func (x *Exporter) resource() (otlp.Resource, error) { return resourceOf(x.getenv) }

func resourceOf(getenv func(name string) (string, bool)) (otlp.Resource, error) {
	return otlp.ResourceOf(func(name string) string { v, _ := getenv(name); return v }, build.Version())
}

var errNone = errors.New("there is no [telemetry] in " + project.Name)

// target is the collector of a project. Errors show nothing of what its secrets hold.
func target(ctx context.Context, a *effect.Attempt) (to otlp.Target, shown *redact.Redactor, err error) {
	f, err := project.Parse(a.Settings.ProjectFile, a.Settings.Project)
	if err != nil {
		return to, nil, err
	}
	t := f.Telemetry
	if t == nil {
		return to, nil, errNone
	}
	to = otlp.At(t.Endpoint)
	to.Protocol, to.Timeout = t.Protocol, t.Timeout
	shown = new(redact.Redactor)
	for _, h := range t.Headers {
		value, err := secret.Fill(ctx, a, h.Text, shown)
		if err != nil {
			return to, shown, err
		}
		to.Headers = append(to.Headers, [2]string{h.Key, value})
	}
	return to, shown, nil
}

// Greet sends the collector of a project a document without spans, of which it keeps nothing, and
// says why it did not take it.
func Greet(ctx context.Context, a *effect.Attempt) error {
	to, shown, err := target(ctx, a)
	if err != nil {
		return err
	}
	who, err := resourceOf(a.Env)
	if err != nil {
		return err
	}
	return hidden(to.Send(ctx, trace.Document(who, []otlp.Span{})), shown)
}

// Report tells metrics, now and at the interval of the project as it is now, until ctx ends. It
// returns at once where no collector is named. log is told when they are not taken, and when they
// are again.
func (x *Exporter) Report(ctx context.Context, s *effect.Settings, from *metrics.Reader, log func(format string, args ...any)) {
	f, err := project.Parse(s.ProjectFile, s.Project)
	if err != nil || f.Telemetry == nil {
		return
	}
	a := &effect.Attempt{Settings: s, Env: x.getenv}
	tick := time.NewTicker(f.Telemetry.Interval)
	defer tick.Stop()
	for said := ""; ctx.Err() == nil; {
		now := ""
		if err := x.report(ctx, a, from); err != nil {
			now = err.Error()
		}
		switch {
		case now == said, ctx.Err() != nil:
		case now == "":
			log("telemetry: the collector takes metrics again")
		default:
			log("telemetry: metrics are not taken: %s", now)
		}
		said = now
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// report tells metrics once.
func (x *Exporter) report(ctx context.Context, a *effect.Attempt, from *metrics.Reader) error {
	to, shown, err := target(ctx, a)
	if err != nil {
		return err
	}
	who, err := x.resource()
	if err != nil {
		return err
	}
	families, err := from.Read(owner(ctx))
	if err != nil {
		return err
	}
	now := time.Now()
	list := append(ofFamilies(families, x.agents.began, now), x.agents.metrics(now)...)
	scope := otlp.ScopeMetrics{Scope: otlp.Scope{Name: "starling", Version: build.Version()}, Metrics: list}
	err = to.Send(ctx, &otlp.Metrics{Resources: []otlp.ResourceMetrics{{Resource: who, Scopes: []otlp.ScopeMetrics{scope}}}})
	return hidden(err, shown)
}
