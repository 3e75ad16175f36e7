package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"starling/cmd/starling/inbox"
	"starling/cmd/starling/repl"
	"starling/cmd/starling/table"
	"starling/cmd/starling/verdict"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/filter"
)

// viewed shows the inbox as a view of its own, where this process has a terminal and something is
// open. It tells whether it has done so.
func (v *inboxVerb) viewed(ctx context.Context, q gateQuery, takeBack time.Duration) (bool, error) {
	out, ok := v.call.stdout.File()
	if !ok || v.call.stdin != os.Stdin || v.call.json || !inbox.Able(os.Stdin, out, v.call.getenv) {
		return false, nil
	}
	sections, err := v.sections(q)
	if err != nil {
		return true, err
	}
	d := &inbox.Desk{Sections: sections, Command: v.answering, Drafts: v.drafts(), TakeBack: takeBack, Clock: v.call.clock}
	reader, err := v.call.door().OpenReader(ctx)
	if err != nil {
		return true, err
	}
	d.At(reader, v.call.values, func() string { return requestKey("") })
	first, _, err := d.Gates(ctx, sections[0], "")
	v.call.leave(reader)
	if err != nil || len(first) == 0 {
		return err != nil, err
	}
	s, err := v.call.door().Detach(ctx) // what is answered goes on when the view is left
	if err != nil {
		v.call.notice("these cannot be answered here: %v", err)
		return false, nil
	}
	defer v.call.leave(s)
	d.At(s, v.call.values, func() string { return requestKey("") })
	left, err := inbox.Show(ctx, d)
	if v.receipts(left) && s.Owner() > 0 {
		v.call.notice("process %d carries on what was answered", s.Owner())
	}
	return true, err
}

// sections are all gates, and the saved filters of the project; or what the flags say.
func (v *inboxVerb) sections(q gateQuery) ([]inbox.Section, error) {
	if q.filter != "" {
		_, err := filter.Parse(q.filter)
		return []inbox.Section{{Name: q.filter, Filter: q.filter, Target: q.target}}, err
	}
	all := []inbox.Section{{Name: cmp.Or(q.target, "all"), Target: q.target}}
	if v.call.place.Project == "" {
		return all, nil
	}
	p, err := readProject(v.call.place.Project, &effect.Settings{})
	if err != nil {
		return nil, err
	}
	for _, s := range p.Inbox {
		if _, err := filter.Parse(s.Filter); err != nil {
			return nil, fmt.Errorf("%s: inbox.%s: %w", v.call.place.Project, s.Name, err)
		}
		all = append(all, inbox.Section{Name: s.Name, Filter: s.Filter, Target: q.target})
	}
	return all, nil
}

// drafts lie beside the history of the REPL.
func (v *inboxVerb) drafts() inbox.Drafts {
	past := repl.PastFile(v.call.getenv)
	if past == "" {
		return inbox.Drafts{}
	}
	return inbox.Drafts{Folder: filepath.Join(filepath.Dir(past), "drafts"), Store: cmp.Or(v.call.serverFlag, v.call.place.Name())}
}

// receipts tell what was sent, where it stays on the terminal, and whether anything was accepted.
func (v *inboxVerb) receipts(left inbox.Left) (accepted bool) {
	for _, d := range left.Done {
		address := d.Signal.Run + "/" + d.Signal.Gate
		if d.Err != nil {
			refused := verdict.Refusal(d.Err)
			v.call.code = refused.Kind.ExitCode()
			v.call.notice("not accepted %s", address)
			v.call.complain(refused, d.Err)
			continue
		}
		accepted = true
		if d.Signal.Choice != "" {
			v.call.print("accepted %s: %s", address, d.Signal.Choice)
		} else {
			v.call.print("accepted %s", address)
		}
	}
	if left.Drafts > 0 {
		v.call.notice("%s kept: %s goes on with them", table.Counted(left.Drafts, "draft"), v.call.command("inbox"))
	}
	return accepted
}

// answering is the command that sends a signal.
func (v *inboxVerb) answering(s runtime.Signal, data string) string {
	const most = 500 // of a payload that fits a line
	address := s.Run + "/" + s.Gate
	words := []string{"signal", address}
	if s.Choice != "" {
		words = choose(address, s.Choice)
	}
	if s.Reason != "" {
		words = append(words, "-m", s.Reason)
	}
	if len(data) > most {
		data = "@FILE"
	}
	if data != "" {
		words = append(words, "--data", data)
	}
	if s.As != "" {
		words = append(words, "--as", s.As)
	}
	return v.call.command(words...)
}
