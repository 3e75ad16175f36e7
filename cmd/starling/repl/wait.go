package repl

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A session executes one statement at a time. One whose gate was left open is in progress until
// somebody answers; the prompt is back nevertheless. What looks works there, and ":answer" puts the
// gate before the user again. What has been answered elsewhere is seen with the next line.

// ask puts the first gate that the statement has opened before the user, unless the statement went
// on meanwhile: a gate need not be waited for.
func (l *Loop) ask(ctx context.Context) error {
	if err := l.watch(ctx, false); err != nil || len(l.gates) == 0 {
		return err
	}
	gate := l.gates[0]
	l.gates = l.gates[1:]
	return l.answer(ctx, gate)
}

// park leaves a gate open and gives the prompt back, where somebody sits at a terminal: whoever
// writes into a pipe does not know what becomes of the next lines.
func (l *Loop) park(gate string) error {
	if l.Width == nil {
		return errLeft
	}
	l.left = append(l.left, gate)
	l.say("statement %d waits; %s", len(l.history), l.howToAnswer(gate))
	return nil
}

func (l *Loop) howToAnswer(gate string) string {
	return fmt.Sprintf(":answer puts %s to you, and it is in the inbox as %s/%s", gate, l.Run, gate)
}

// busy tells that a statement has to wait for the one in progress.
func (l *Loop) busy() error {
	return l.usage(fmt.Sprintf("statement %d waits for %s", len(l.history), strings.Join(l.left, ", ")),
		":answer puts it to you; :interrupt ends the statement, and what it waits for is withdrawn")
}

// tellOpen says what a statement that has ended did not wait for.
func (l *Loop) tellOpen(gates []string) {
	for _, g := range gates {
		l.say("%s stays open; %s", g, l.howToAnswer(g))
	}
}

// answerAgain puts an open gate of the session before the user.
func (l *Loop) answerAgain(ctx context.Context, name string) error {
	r, err := l.Engine.Get(ctx, l.Run)
	if err != nil {
		return err
	}
	for _, g := range r.Gates {
		if name == "" || g.Gate == name {
			l.left = slices.DeleteFunc(l.left, func(other string) bool { return other == g.Gate })
			return l.answer(ctx, g.Gate)
		}
	}
	if name != "" {
		return l.usage("no gate "+name+" is open in this session", "")
	}
	return l.usage("no gate is open in this session", "")
}

// interruptNow ends the statement that waits.
func (l *Loop) interruptNow(ctx context.Context, _ string) error {
	if !l.open {
		return l.usage("no statement waits", "")
	}
	l.left = nil
	return l.interrupt(ctx, l.Run)
}
