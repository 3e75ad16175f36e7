package repl

import (
	"context"
	"errors"
	"fmt"
	"io"

	"starling/cmd/starling/form"
	"starling/runtime"
)

// A gate that a statement opens is put before whoever sits here, and answered as [form.Form] says.
// An empty line leaves it open, and the end of the input leaves the session; it is in the inbox
// like any other. A line that is dropped ends the statement.

// answer asks for the answer of an open gate until one is accepted. A gate that is decided
// elsewhere or gone meanwhile needs none.
func (l *Loop) answer(ctx context.Context, name string) error {
	f := form.Form{Line: l.Lines.Line, Say: l.say}
	for {
		g, err := l.gate(ctx, name)
		if g == nil || err != nil {
			return err
		}
		l.show(*g)
		sig, err := f.Answer(ctx, *g)
		switch {
		case errors.Is(err, ErrAborted):
			return l.interruptGate(ctx)
		case errors.Is(err, io.EOF):
			return errLeft
		case errors.Is(err, form.ErrLeft):
			return l.park(name)
		case err != nil:
			return err
		}
		err = l.send(ctx, *g, sig)
		var refused *runtime.Refusal
		if !errors.As(err, &refused) {
			return err
		}
		l.refused(refused)
	}
}

// interruptGate ends the statement that waits at a gate. It may have ended meanwhile, and an owner
// of an earlier build does not do it: there the gate is left open.
func (l *Loop) interruptGate(ctx context.Context) error {
	err := l.interrupt(ctx, l.Run)
	var refused *runtime.Refusal
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Kind == runtime.ErrUsage:
		return errLeft
	}
	return nil
}

func (l *Loop) say(text string, args ...any) { fmt.Fprintf(l.Err, text+"\n", args...) }

// gate finds an open gate, nil if it is not open any more.
func (l *Loop) gate(ctx context.Context, name string) (*runtime.Gate, error) {
	r, err := l.Engine.Get(ctx, l.Run)
	if err != nil {
		return nil, err
	}
	for _, g := range r.Gates {
		if g.Gate == name {
			return &g, nil
		}
	}
	return nil, nil
}

// show shows what is asked.
func (l *Loop) show(g runtime.Gate) {
	who := ""
	if g.Target != "" {
		who = " for " + g.Target
	}
	l.say("%s%s: %s", g.Gate, who, g.Prompt)
	if len(g.Data) > 0 && string(g.Data) != "null" {
		l.say("  %s", g.Data)
	}
}

// send gives the answer. Whoever sits at the session answers in the name that the gate asks for.
func (l *Loop) send(ctx context.Context, g runtime.Gate, s runtime.Signal) error {
	s.Key, s.Run, s.Gate, s.As, s.Env = l.Key(), l.Run, g.Gate, g.Target, l.Env
	_, err := l.Engine.Signal(ctx, s)
	return err
}
