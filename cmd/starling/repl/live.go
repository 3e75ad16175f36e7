package repl

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"starling/cmd/starling/plain"
	"starling/cmd/starling/progress"
	"starling/runtime"
	"starling/runtime/query"
)

// Live shows on a terminal, in one line, what is in motion while a statement runs, and a receipt of
// each agent when it has ended: how long it took and what it has cost. All other events are lines,
// as everywhere.
type Live struct {
	Out   io.Writer // the terminal itself
	Width func() int

	mu      sync.Mutex // guards what follows
	lines   *progress.Progress
	line    bytes.Buffer // of the event that is shown
	steps   []*moving
	tries   []runtime.Event // of the attempts of steps in motion
	shown   bool            // the line stands there
	ticking chan struct{}
	turn    int
}

// moving is a step in motion.
type moving struct {
	step  string
	since time.Time
}

// Show takes an event.
func (l *Live) Show(ev runtime.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lineOf(ev)
	switch ev.Type {
	case "attempt.started":
		if l.begin(ev) {
			line = ""
		}
	case "attempt.ended":
		l.tries = append(l.tries, ev)
	case "step.settled":
		line += l.receipt(ev.Step)
		l.end(ev.Step)
	case "step.withdrawn":
		l.end(ev.Step)
	case "gate.opened", chunkEnded:
		l.steps, l.tries = nil, nil
	}
	l.clear()
	if line != "" {
		fmt.Fprintln(l.Out, plain.Text(line))
	}
	l.draw()
	l.tick()
}

// lineOf is the line of an event, "" for none.
func (l *Live) lineOf(ev runtime.Event) string {
	if l.lines == nil {
		l.lines = progress.New(&l.line)
	}
	l.line.Reset()
	l.lines.Show(ev)
	return strings.TrimSuffix(l.line.String(), "\n")
}

// begin notes that a step is in motion, and tells whether it was not before.
func (l *Live) begin(ev runtime.Event) bool {
	if slices.ContainsFunc(l.steps, func(m *moving) bool { return m.step == ev.Step }) {
		return false
	}
	l.steps = append(l.steps, &moving{step: ev.Step, since: ev.Time})
	l.tries = append(l.tries, ev)
	return true
}

func (l *Live) end(step string) {
	l.steps = slices.DeleteFunc(l.steps, func(m *moving) bool { return m.step == step })
}

// receipt is what the agent of a step has used.
func (l *Live) receipt(step string) string {
	list := query.NewStepList(nil)
	list.Add(&runtime.Event{Type: "step.requested", Step: step})
	for i := range l.tries {
		if l.tries[i].Step == step {
			list.Add(&l.tries[i])
		}
	}
	var used runtime.Usage
	query.EachTry(list.Steps, func(_ *runtime.Step, _ *runtime.Try, u runtime.Usage) { used = used.Plus(u) })
	text := ""
	if n := used.InputTokens + used.OutputTokens; n > 0 {
		text += fmt.Sprintf(" · %d tokens", n)
	}
	if used.MicroUSD > 0 {
		text += " · $" + runtime.Dollars(used.MicroUSD)
	}
	return text
}

// draw writes the line of what is in motion.
func (l *Live) draw() {
	if len(l.steps) == 0 {
		return
	}
	l.turn++
	text := string([]rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[l.turn%10])
	for _, m := range l.steps {
		text += fmt.Sprintf(" %s %ds", m.step, int(time.Since(m.since).Seconds()))
	}
	if runes := []rune(text); len(runes) >= l.Width() {
		text = string(runes[:max(1, l.Width()-2)]) + "…"
	}
	fmt.Fprint(l.Out, plain.Text(text))
	l.shown = true
}

// clear takes the line away.
func (l *Live) clear() {
	if l.shown {
		fmt.Fprint(l.Out, "\r"+strings.Repeat(" ", max(0, l.Width()-1))+"\r")
		l.shown = false
	}
}

// tick has the line drawn again now and then as long as something is in motion.
func (l *Live) tick() {
	switch {
	case len(l.steps) > 0 && l.ticking == nil:
		l.ticking = make(chan struct{})
		go l.redraw(l.ticking)
	case len(l.steps) == 0 && l.ticking != nil:
		close(l.ticking)
		l.ticking = nil
	}
}

func (l *Live) redraw(done chan struct{}) {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			l.mu.Lock()
			if l.ticking == done {
				l.clear()
				l.draw()
			}
			l.mu.Unlock()
		case <-done:
			return
		}
	}
}

// Stop takes the line away for good.
func (l *Live) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = nil
	l.clear()
	l.tick()
}
