package connect

import (
	"context"

	"starling/cmd/starling/place"
	"starling/lang"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib/project"
)

// Further is an engine that is not in every program.
type Further struct {
	// Open gives the ways to the runs of a server.
	Open func(Reach) Connector
	// Worker carries the runs of a server until ctx ends, or does the work of the agents of a
	// queue. ready is told when it has begun.
	Worker func(ctx context.Context, r Reach, queue string, ready func()) error
	// Examine looks whether runs can be carried at a server, and says what is missing.
	Examine func(context.Context, Reach) error
	// Lacks says what a script needs that the engine does not have.
	Lacks func(*lang.Program) diagnostic.List
}

// Reach is what a further engine is given.
type Reach struct {
	Server   project.Engine
	Contents string // address of the database in which what is too large for the server lies, "" for none
	Env      *effect.Environment
	Getenv   func(name string) (value string, ok bool)
	Log      func(format string, args ...any)
}

// Connector gives the ways to the runs of the server that [engine] names. A program without the
// engine refuses them, and names the one that has it.
func (f *Further) Connector(r Reach) Connector {
	if f == nil {
		return Refused{Err: notHere()}
	}
	return f.Open(r)
}

func notHere() *runtime.Refusal {
	return runtime.Refuse(runtime.ErrUnsupported, "starling-temporal is the same command line with it: go -C runtime/temporal build ./cmd/starling-temporal",
		"%s: [engine] names a Temporal server, and this program has no Temporal", place.ProjectFile)
}

// Look says what keeps runs from being carried at the server that [engine] names, nil for nothing.
func (f *Further) Look(ctx context.Context, r Reach) error {
	if f == nil {
		return notHere()
	}
	return f.Examine(ctx, r)
}

// Check finds what a script needs that the engine of its project does not have, if this program has
// that engine. What does not compile is left to others.
func (f *Further) Check(p *place.Place, b *lang.Bundle, env *effect.Environment) diagnostic.List {
	if f == nil || p.Engine.Temporal == "" {
		return nil
	}
	program, err := lang.Compile(b, env)
	if err != nil {
		return nil
	}
	return f.Lacks(program)
}

// Work carries the runs of the server that a project names, until ctx ends, or does the work of the
// agents of a queue.
func (f *Further) Work(ctx context.Context, p *place.Place, r Reach, queue string) error {
	if p.Err != nil {
		return p.Err
	}
	if p.Engine.Temporal == "" {
		return runtime.Refuse(runtime.ErrUsage, `write [engine] and temporal = "HOST:PORT"`, "%s names no server whose runs could be carried", place.ProjectFile)
	}
	err := f.Worker(ctx, r, queue, func() {
		if queue != "" {
			r.Log("working for the queue %q of %s", queue, p.Name())
		} else {
			r.Log("carrying the runs of %s", p.Name())
		}
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}
