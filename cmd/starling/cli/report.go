package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"starling/cmd/starling/connect"
	"starling/runtime"
	"starling/runtime/query"
)

// document is a run as run, resume and wait print it: without what show adds.
func (c *call) document(r *runtime.Run) *runtime.Run {
	d := *r
	d.Details = nil
	c.withAnswers(d.Gates)
	return &d
}

// report tells how a run stands when a command leaves it: its output is the result, everything else
// goes to people, and the exit code says which it was. err is why the command leaves early, nil
// when the run had rested; an interrupted command has the run as it was last seen for its document.
func (c *call) report(r *runtime.Run, s connect.Session, err error) error {
	if err != nil {
		c.left(r, s)
		if interrupted := (interruption{}); c.json && errors.As(err, &interrupted) {
			err = errors.Join(err, c.answerJSON(c.document(r)))
		}
		return err
	}
	if c.json {
		if err := c.answerJSON(c.document(r)); err != nil {
			return err
		}
	}
	switch {
	case r.Status == runtime.Completed:
		c.output(r)
		return nil
	case r.Status.Ended():
		return failure{r.Error}
	}
	c.code = runtime.ExitSuspended
	c.suspended(r)
	return nil
}

// output prints what a run returned, which is JSON with or without --json. A script that returns
// nothing prints nothing, and people are told that this was the end.
func (c *call) output(r *runtime.Run) {
	switch text := returned(r); {
	case c.json:
	case text == "":
		c.completed(r)
	case c.raw && json.Unmarshal(r.Output, &text) == nil:
		fmt.Fprintln(c.stdout, text)
	default:
		fmt.Fprintln(c.stdout.JSON(), text)
	}
}

// completed tells people that a run has come to its end, and what it returned if that is anything.
func (c *call) completed(r *runtime.Run) {
	line := fmt.Sprintf("%s %s", r.Status, r.ID)
	if text := returned(r); text != "" {
		line += ": " + text
	}
	c.notice("%s", line)
}

// returned is what a run returned as JSON for people, "" for None.
func returned(r *runtime.Run) string {
	if string(r.Output) == "null" {
		return ""
	}
	return indent(r.Output, "")
}

// suspended names what a run waits for, each gate with the commands that answer it.
func (c *call) suspended(r *runtime.Run) {
	c.notice("%s %s: %s", r.Status, r.ID, waitsFor(r))
	c.tellGates("  ", r.Gates)
	for _, w := range r.Work {
		c.notice("  %s", workLine(w))
		c.notice("    %s", c.command("claim", w.Address, "--as", w.Agent))
	}
	for _, a := range r.Awaits {
		c.notice("  %s", a)
		c.notice("    %s", c.sending(r.ID, a))
	}
	if due := r.Details.NextDue; due != nil {
		c.notice("  next: a timer at %s; it fires while somebody carries the run: %s", stamp(*due), c.command("resume", r.ID))
	}
}

// maxStays is how many runs are named that a command stays for.
const maxStays = 5

// staysFor says for which runs a command stays when its own work is done, because it owns the
// store.
func (c *call) staysFor(ctx context.Context, s connect.Session) {
	l, err := s.List(ctx, runtime.Query{Status: []runtime.Status{runtime.Running}})
	if err != nil {
		return // the session is ending
	}
	named := 0
	for _, sum := range l.Runs {
		if !sum.Carried {
			continue
		}
		if named++; named > maxStays {
			c.notice("  and more: %s", c.command("ps"))
			return
		}
		if named == 1 {
			c.notice("done here; this process owns the store and stays for runs in motion. Ctrl-C leaves them to whoever resumes them:")
		}
		c.notice("  %s %s: %s", sum.ID, sum.Script, c.command("resume", sum.ID))
		if sum.Gates == 0 {
			continue
		}
		if r, err := s.Get(ctx, sum.ID); err == nil {
			c.tellGates("    ", r.Gates)
		}
	}
}

// tellGates names gates, each with the commands that answer it.
func (c *call) tellGates(indent string, gates []runtime.Gate) {
	for _, g := range gates {
		c.notice("%s%s", indent, gateLine(g))
		for _, line := range c.answers(g) {
			c.notice("%s  %s", indent, line)
		}
	}
}

func waitsFor(r *runtime.Run) string {
	switch n := len(r.Gates); {
	case n == 1:
		return "waits for a decision"
	case n > 1:
		return fmt.Sprintf("waits for %d decisions", n)
	case len(r.Work) > 0:
		return "waits for agents that come for their work"
	case len(r.Awaits) > 0:
		return "waits for what somebody sends"
	}
	return "waits for what comes next"
}

// sending is the command that sends what a step waits for, but for what is sent.
func (c *call) sending(run string, a runtime.Await) string {
	if a.Queue != "" {
		return c.command("push", a.Queue, "JSON")
	}
	return c.command("signal", run, "--message", a.Message, "--data", "JSON")
}

// gateLine describes an open gate: who is asked, until when, what.
func gateLine(g runtime.Gate) string {
	line := query.Name(g.Gate)
	if g.Target != "" {
		line += " for " + g.Target
	}
	if g.Quorum > 1 {
		line += fmt.Sprintf(", %d must choose the same", g.Quorum)
	}
	if g.Deadline != nil {
		line += ", until " + stamp(*g.Deadline)
	}
	if g.Prompt != "" {
		line += ": " + strings.ReplaceAll(g.Prompt, "\n", "\n    ")
	}
	return line
}

// left tells how to go on with a run that a command leaves in motion.
func (c *call) left(r *runtime.Run, s connect.Session) {
	switch {
	case r == nil || r.Status.Ended():
		return
	case s.Owner() == connect.Elsewhere:
		c.notice("%s goes on at %s", r.ID, cmp.Or(c.serverFlag, c.place.Name()))
		c.notice("  %s", c.command("cancel", r.ID))
		return
	case s.Owner() != 0:
		c.notice("detached: process %d carries %s on", s.Owner(), r.ID)
	default:
		c.notice("left %s where it is; it goes on from there", r.ID)
	}
	c.notice("  %s", c.command("resume", r.ID))
	c.notice("  %s", c.command("cancel", r.ID))
}

// stamp is how people see a time: to the second, and in the same zone everywhere.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
