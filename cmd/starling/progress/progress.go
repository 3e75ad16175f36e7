// Package progress writes the events of a run as lines for people: what was asked, what came of it,
// what the script says.
package progress

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"starling/runtime"
	"starling/runtime/query"
)

// Progress writes events. One event is one line at most; what only a machine needs is left out. It
// is used by one goroutine at a time.
type Progress struct {
	w     io.Writer
	asked map[string]time.Time // when each open step was requested
	last  string               // of the step that was settled last: why it has failed
}

// New is a progress that writes to w, a line in one Write.
func New(w io.Writer) *Progress { return &Progress{w: w, asked: map[string]time.Time{}} }

// Show writes the line of an event, if it has one.
func (p *Progress) Show(ev runtime.Event) {
	if line, ok := p.line(ev); ok {
		fmt.Fprintln(p.w, line)
	}
}

func (p *Progress) line(ev runtime.Event) (string, bool) {
	d := detailsOf(ev.Data)
	switch ev.Type {
	case "step.requested":
		p.asked[ev.Step] = ev.Time
	case "attempt.started":
		return p.started(ev, d), true
	case "attempt.ended":
		return p.attemptEnded(ev, d)
	case "attempt.refused":
		return p.named(ev) + ": a late reply was refused", true
	case "step.settled":
		return p.settled(ev), true
	case "branch.failed":
		return p.branchFailed(&ev)
	case "gate.opened":
		return p.opened(ev, d), true
	case "gate.escalated":
		return p.named(ev) + ": passed on, for " + d.text("target"), true
	case "gate.decided":
		return p.named(ev) + ": " + Decided(&ev), true
	case "gate.withdrawn":
		return p.named(ev) + ": withdrawn", true
	case "signal.refused":
		return cmp.Or(p.named(ev), ev.Run) + ": a signal was refused: " + d.text("message"), true
	case "agent.event":
		return p.named(ev) + ": warning: " + d.sub("data").text("text"), d.text("kind") == "warning"
	case "output.print":
		return d.text("text"), true
	case "output.log":
		return cmp.Or(d.text("level"), "info") + ": " + d.text("message") + d.fields("fields"), true
	case "output.emit":
		return "emit: " + d.text("kind") + d.fields("fields"), true
	}
	return "", false
}

// named is the step that an event is of.
func (*Progress) named(ev runtime.Event) string { return query.Name(ev.Step) }

func (p *Progress) started(ev runtime.Event, d details) string {
	if n := d.number("attempt"); n > 1 {
		return fmt.Sprintf("%s: attempt %d", p.named(ev), n)
	}
	return p.named(ev) + ": started"
}

// attemptEnded tells of attempts that will be followed by another, at once or after a pause; the
// last one's end is the step's.
func (p *Progress) attemptEnded(ev runtime.Event, d details) (string, bool) {
	why := cmp.Or(d.sub("error").text("message"), d.text("reason"))
	if again, _ := d["again"].(bool); !again && d.text("class") != "retryable" || why == "" {
		return "", false
	}
	return p.named(ev) + ": will try again: " + strings.TrimPrefix(why, ev.Step+": "), true
}

func (p *Progress) settled(ev runtime.Event) string {
	took := ""
	asked, known := p.asked[ev.Step]
	if spent := ev.Time.Sub(asked).Round(100 * time.Millisecond); known && spent > 0 {
		took = fmt.Sprintf(" (%v)", spent)
	}
	delete(p.asked, ev.Step)
	end := query.Settled(&ev)
	p.last = end.Text
	if end.Status == query.StatusFailed {
		return p.named(ev) + ": " + end.Text + took
	}
	line := p.named(ev) + ": " + cmp.Or(end.Kind, end.Status)
	if end.Text != "" {
		line += ": " + end.Text
	}
	return line + took
}

// branchFailed tells of a branch that ended with an error of its own. The error of a step, which it
// ends with most often, was told.
func (p *Progress) branchFailed(ev *runtime.Event) (string, bool) {
	end := query.BranchEnd(ev)
	return query.Name(ev.Branch) + ": failed: " + end.Why(), end.Message != p.last
}

func (p *Progress) opened(ev runtime.Event, d details) string {
	line := p.named(ev) + ": open"
	if target := firstAsked(d.sub("args")); target != "" {
		line += ", for " + target
	}
	if strings.HasPrefix(ev.Step, "!permission:") { // the run does not rest, so that nobody else says how to answer
		line += fmt.Sprintf(": %s; starling approve '%s/%s', or reject", d.sub("args").text("prompt"), ev.Run, ev.Step)
	}
	return line
}

// firstAsked is whom a gate asks when it opens, "" for anybody.
func firstAsked(args details) string {
	if levels, _ := args["escalate"].([]any); len(levels) > 0 {
		pair, _ := levels[0].([]any)
		if len(pair) > 0 {
			target, _ := pair[0].(string)
			return target
		}
	}
	return args.text("target")
}

// Decided says how a gate was decided, by whom and why.
func Decided(ev *runtime.Event) string {
	d := detailsOf(ev.Data)
	by := d.text("by")
	if sub := d.sub("decision"); len(sub) > 0 {
		d = sub
	}
	if d.text("via") == "auto" {
		return "nobody decided in time"
	}
	line := cmp.Or(d.text("choice"), "answered")
	if who := cmp.Or(d.text("by"), by); who != "" {
		line += " by " + who
	}
	if via := d.text("via"); via != "" && via != "signal" {
		line += " (" + via + ")"
	}
	if reason := d.text("reason"); reason != "" {
		line += ": " + reason
	}
	return line
}

// details are the data of an event, read leniently: another build may have written it.
type details map[string]any

func detailsOf(data json.RawMessage) details {
	var d details
	json.Unmarshal(data, &d)
	return d
}

func (d details) text(k string) string {
	s, _ := d[k].(string)
	return s
}

func (d details) number(k string) int {
	n, _ := d[k].(float64)
	return int(n)
}

func (d details) sub(k string) details {
	m, _ := d[k].(map[string]any)
	return m
}

// fields writes the members of an object as " k=v k=v", sorted by name.
func (d details) fields(k string) string {
	var b strings.Builder
	m := d.sub(k)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		text, _ := json.Marshal(m[name]) // it was JSON
		fmt.Fprintf(&b, " %s=%s", name, strings.Trim(string(text), `"`))
	}
	return b.String()
}

// LineWriter puts a prefix before every line and keeps lines of several writers whole: each Write
// is one line.
type LineWriter struct {
	Mu     *sync.Mutex // shared by the writers
	To     io.Writer
	Prefix string
}

// Write writes one line.
func (l LineWriter) Write(line []byte) (int, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	_, err := l.To.Write(append([]byte(l.Prefix), line...))
	return len(line), err
}
