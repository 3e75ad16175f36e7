package repl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"starling/runtime"
)

// A gate that a statement opens is put before whoever sits here: one line answers it, a choice and then perhaps the reason, or JSON in a free form. The
// end of the input, and an empty line, leave it open; it is in the inbox like any other.

// answer asks for the answer of an open gate until one is accepted. A gate that is decided elsewhere or gone meanwhile needs none.
func (l *Loop) answer(ctx context.Context, name string) error {
	for {
		g, err := l.gate(ctx, name)
		if g == nil || err != nil {
			return err
		}
		line, err := l.Lines.Line(ctx, l.ask(*g))
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, ErrAborted), err == nil && strings.TrimSpace(line) == "":
			return errLeft
		case err != nil:
			return err
		}
		err = l.send(ctx, *g, strings.TrimSpace(line))
		var refused *runtime.Refusal
		if !errors.As(err, &refused) {
			return err
		}
		l.refused(refused)
	}
}

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

// ask shows a gate and gives the prompt for its answer.
func (l *Loop) ask(g runtime.Gate) string {
	who := ""
	if g.Target != "" {
		who = " for " + g.Target
	}
	fmt.Fprintf(l.Err, "%s%s: %s\n", g.Gate, who, g.Prompt)
	if len(g.Data) > 0 && string(g.Data) != "null" {
		fmt.Fprintf(l.Err, "  %s\n", g.Data)
	}
	if len(g.Options) == 0 {
		return "JSON> "
	}
	names := make([]string, len(g.Options))
	for i, o := range g.Options {
		names[i] = o.Name
	}
	return strings.Join(names, "/") + "> "
}

// send gives the answer. Whoever sits at the session answers in the name that the gate asks for.
func (l *Loop) send(ctx context.Context, g runtime.Gate, line string) error {
	s := runtime.Signal{Key: l.Key(), Kind: runtime.SignalAnswer, Run: l.Run, Gate: g.Gate, As: g.Target, Env: l.Env}
	if len(g.Options) > 0 {
		s.Choice, s.Reason, _ = strings.Cut(line, " ")
	} else if s.Data = json.RawMessage(line); !json.Valid(s.Data) {
		return runtime.Refuse(runtime.ErrBadPayload, `a text needs its quotes: "yes"`, "got %s, want JSON", line)
	}
	_, err := l.Engine.Signal(ctx, s)
	return err
}
