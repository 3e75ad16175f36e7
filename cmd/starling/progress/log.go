package progress

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"starling/cmd/starling/table"
	"starling/lang/contract"
	"starling/runtime"
	"starling/runtime/query"
)

// Wanted says which events of a run are.
type Wanted struct {
	After uint64   // those behind the record with this number
	Step  string   // those of a step, of what is below it, or of any step of that name; "" for all
	Types []string // those of types, or of all that begin so: gate; none for all
	Since string   // those of the last while, or since a time; "" for all
}

// Filter tells of each event whether it is.
func (q *Wanted) Filter(now time.Time) (func(ev *runtime.Event) bool, error) {
	from := time.Time{}
	if q.Since != "" {
		d, err := contract.ParseDuration(q.Since)
		from = now.Add(-d)
		if err != nil {
			from, err = time.Parse(time.RFC3339, q.Since)
		}
		if err != nil {
			return nil, fmt.Errorf("--since: got %q, want a duration such as 10m, or a time such as 2026-11-21T15:04:05Z", q.Since)
		}
	}
	return func(ev *runtime.Event) bool {
		at := cmp.Or(ev.Step, ev.Branch)
		return (q.Step == "" || ofStep(at, q.Step) || ofStep(query.Name(at), q.Step)) && !ev.Time.Before(from) &&
			(len(q.Types) == 0 || slices.ContainsFunc(q.Types, func(t string) bool { return ev.Type == t || strings.HasPrefix(ev.Type, t+".") }))
	}, nil
}

// ofStep tells whether an address is that of a step, lies below it, or ends with it.
func ofStep(address, step string) bool {
	return address == step || strings.HasPrefix(address, step+"/") || strings.HasSuffix(address, "/"+step)
}

// Log writes every event of a run as a line for people at a terminal: when, where, what. It belongs
// to one goroutine.
type Log struct {
	paper table.Paper
	to    io.Writer // takes escape sequences as they are
	words *Progress
}

// NewLog is a log on a paper.
func NewLog(p table.Paper, to io.Writer) *Log { return &Log{p, to, New(io.Discard)} }

// Show writes the line of an event.
func (l *Log) Show(ev runtime.Event) error {
	_, err := io.WriteString(l.to, l.paper.Line(table.Dim(l.paper.Clock(ev.Time)), table.Bold(query.Name(cmp.Or(ev.Step, ev.Branch))), l.what(&ev))+"\n")
	return err
}

// what says what has happened, in the words of a run that is watched; else as the journal has it.
func (l *Log) what(ev *runtime.Event) table.Cell {
	if ev.Type == "agent.event" {
		if said := Said(ev); said != "" {
			return table.Cell{Text: said}
		}
	}
	line, ok := l.words.line(*ev)
	if words := strings.TrimPrefix(line, query.Name(cmp.Or(ev.Step, ev.Branch))+": "); ok && words != "" {
		return l.coloured(ev, words)
	}
	if words := told(ev); words != "" {
		return l.coloured(ev, words)
	}
	text := ev.Type
	if data := string(ev.Data); data != "" && data != "{}" && data != "null" {
		text += "  " + data
	}
	if strings.HasPrefix(ev.Type, "run.") {
		return l.coloured(ev, text)
	}
	return table.Dim(text)
}

// told says what whoever watches a run is not told: how it began, what a step asks for, how an
// attempt ended. It is "" for all else.
func told(ev *runtime.Event) string {
	d := detailsOf(ev.Data)
	switch ev.Type {
	case "run.started":
		return oneLine("started by " + d.text("by") + d.fields("inputs"))
	case "step.requested":
		return oneLine("asks for " + d.text("kind") + about(d.sub("args")))
	case "attempt.ended":
		words := fmt.Sprintf("attempt %d: %s", d.number("attempt"), d.text("class"))
		if served := d.text("backend"); served != "" {
			words += " by " + served
		}
		return oneLine(words)
	case "run.suspended":
		var gates []string
		for gate := range d.sub("gates") {
			gates = append(gates, query.Name(gate))
		}
		slices.Sort(gates)
		if len(gates) > 0 {
			return oneLine("suspended: waits for " + strings.Join(gates, ", "))
		}
	}
	return ""
}

// about is what a request is about, of the arguments that say it best.
func about(args details) (words string) {
	for _, name := range []string{"who", "script", "method", "url", "path", "command", "task", "prompt"} {
		if text := args.text(name); text != "" {
			words += " " + text
		}
	}
	return words
}

// coloured gives the end of something the colour of its state.
func (l *Log) coloured(ev *runtime.Event, words string) table.Cell {
	state := ""
	switch first, _, _ := strings.Cut(words, " "); {
	case strings.HasPrefix(ev.Type, "run."):
		state = strings.TrimPrefix(ev.Type, "run.")
		if state == "started" || state == "resumed" || state == "pinned" || state == "moved" {
			state = "running"
		}
	case ev.Type == "step.settled" && first == "ok", ev.Type == "gate.decided":
		state = "ok"
	case ev.Type == "step.settled", ev.Type == "branch.failed", ev.Type == "signal.refused", ev.Type == "attempt.refused":
		state = "failed"
	case ev.Type == "gate.opened", ev.Type == "attempt.ended":
		state = "waiting"
	case ev.Type == "attempt.started":
		state = "running"
	default:
		return table.Cell{Text: words}
	}
	cell := l.paper.State(state)
	cell.Text = words
	return cell
}
