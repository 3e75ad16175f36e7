package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/form"
	"starling/cmd/starling/listing"
	"starling/cmd/starling/progress"
	"starling/cmd/starling/repl"
	"starling/cmd/starling/stay"
	"starling/runtime"
	"starling/runtime/query"
)

// reviewVerb is a call of the verb review.
type reviewVerb struct{ call *call }

// reviewCommand is the verb review: the inbox, one gate after another.
func reviewCommand(c *call) *cobra.Command {
	v := &reviewVerb{call: c}
	var target, which string
	cmd := &cobra.Command{
		Use:     "review",
		Short:   "Answer the open gates, one after another",
		GroupID: "decisions",
		Long: `Show each open gate with its options by number and take its answer: a number or the name of an option, and the reason behind it. Words alone are the reason of the option "other", if there is
one. Where there are no options the answer is JSON, or words. An empty line leaves the gate open, the end of the input leaves them all.

A gate with a contract is filled in field by field: a text is written without quotes, an empty line
takes what stands there, the default, or leaves out what may be left out, and a record may be given whole, as JSON.
What does not fit is asked again. Where the data may be changed, "keep" leaves it and "edit" goes through it.

A question about what is known shows the entry and what is proposed. "ask WORDS" asks wellspring, and the question comes again with what it says; "edit" takes the text that is to stand there, from
$VISUAL, $EDITOR or the lines that follow, up to a single full stop; "reject WORDS" leaves the entry, and that is kept. Questions that wait while no run asks them are asked by one that this starts.

Each answer is durable when it is accepted. After the last one the runs are followed until they rest, and what they ask then is asked.`,
		Args: operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return v.review(cmd.Context(), target, which) },
	}
	cmd.Flags().StringVar(&target, "target", "", "only what `WHO` may answer, in that name")
	cmd.Flags().StringVar(&which, "filter", "", "only those that `FILTER` means; see starling query --help")
	return cmd
}

// review asks about the gates that are open when it begins, and those that the answers open.
func (v *reviewVerb) review(ctx context.Context, target, which string) error {
	s, err := v.call.door().OpenOwner(ctx, false)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	wanted := gateQuery{target: target, filter: which}
	q, err := questionsFor(ctx, s, wanted)
	if err == nil && q.unasked > 0 {
		if err = v.call.askUnasked(ctx, s); err == nil {
			q, err = questionsFor(ctx, s, wanted)
		}
	}
	if err != nil {
		return err
	}
	if q.parked > 0 {
		v.call.notice("%s", q.unfiled())
	}
	if len(q.gates) == 0 {
		v.call.notice("no gate is open")
		return nil
	}
	lines, release := v.call.lines("")
	defer release()
	a := &asking{call: v.call, session: s, lines: lines, wanted: wanted, seen: map[string]bool{}}
	return a.ask(ctx, q.gates)
}

// asking is one sitting: a person's answers to gates.
type asking struct {
	call    *call
	session connect.Session
	lines   repl.Lines
	wanted  gateQuery
	seen    map[string]bool // the gates that were put, by address and the time they opened
	over    bool            // the input has ended
}

// ask puts gates, follows the runs that were answered until they rest, and puts what they ask then.
func (s *asking) ask(ctx context.Context, gates []runtime.Gate) error {
	for len(gates) > 0 {
		answered, err := s.askAll(ctx, gates)
		if err == nil {
			err = s.call.tellAll(ctx, s.session, answered)
		}
		if err != nil || s.over || len(answered) == 0 {
			return err
		}
		if gates, err = s.fresh(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fresh are the open gates that were not put yet.
func (s *asking) fresh(ctx context.Context) ([]runtime.Gate, error) {
	q, err := questionsFor(ctx, s.session, s.wanted)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(q.gates, func(g runtime.Gate) bool { return s.seen[opening(g)] }), nil
}

func opening(g runtime.Gate) string { return g.Address + " " + g.OpenedAt.String() }

// askAll gives the receipts of what was answered: the last of each run.
func (s *asking) askAll(ctx context.Context, gates []runtime.Gate) (answered []*runtime.Receipt, err error) {
	for i := 0; i < len(gates); i++ {
		g := gates[i]
		s.seen[opening(g)] = true
		receipt, asks, err := s.askAbout(ctx, g, fmt.Sprintf("%d/%d", i+1, len(gates)))
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, repl.ErrAborted):
			s.over = true
			return answered, nil
		case err != nil:
			return nil, err
		case receipt == nil:
			continue
		}
		s.call.print("accepted %s", g.Address)
		if asks { // the question comes again, with what is said to it
			more, err := s.putAgain(ctx, receipt)
			if err != nil {
				return nil, err
			}
			gates = slices.Insert(slices.Clone(gates), i+1, more...)
			continue
		}
		answered = slices.DeleteFunc(answered, func(earlier *runtime.Receipt) bool { return earlier.Run == receipt.Run })
		answered = append(answered, receipt)
	}
	return answered, nil
}

// putAgain waits until a run that was asked something has said it, and gives the gates that it
// opens then.
func (s *asking) putAgain(ctx context.Context, asked *runtime.Receipt) ([]runtime.Gate, error) {
	if err := s.call.tellAll(ctx, s.session, []*runtime.Receipt{asked}); err != nil {
		return nil, err
	}
	fresh, err := s.fresh(ctx)
	return slices.DeleteFunc(fresh, func(g runtime.Gate) bool {
		run, _, _ := strings.Cut(g.Address, "/")
		return run != asked.Run
	}), err
}

// What an answer may be called that brings a text, and one that is a question.
const (
	optionEdit = "edit"
	optionAsk  = "ask"
)

// askAbout asks until an answer is accepted, or the line is empty: then there is no receipt. It
// tells whether the answer was a question.
func (s *asking) askAbout(ctx context.Context, g runtime.Gate, number string) (receipt *runtime.Receipt, asks bool, err error) {
	s.call.notice("\n%s %s", number, gateLine(g))
	if text := gateData(g); text != "" {
		s.call.notice("%s", text)
	}
	f, put := form.Form{Line: s.lines.Line, Say: s.call.notice}, g
	if listing.ReviewOf(g.Data).Entry != "" {
		put.Contract = "" // one of its options brings a text, which sendAnswer asks for
	}
	for {
		sig, err := f.Answer(ctx, put)
		if errors.Is(err, form.ErrLeft) {
			return nil, false, nil
		}
		if err == nil {
			receipt, asks, err = s.sendAnswer(ctx, g, sig)
		}
		if err == nil {
			return receipt, asks, nil
		}
		if s.leaves(ctx, err) {
			s.later(g)
			return nil, false, err
		}
		refused := runtime.AsRefusal(err)
		s.call.complain(refused, err)
		switch refused.Kind {
		case runtime.ErrBadChoice, runtime.ErrBadPayload: // said otherwise it is accepted
		case runtime.ErrInternal, runtime.ErrOwnerUnreachable:
			return nil, false, err
		default:
			return nil, false, nil // such as a gate that somebody else has answered
		}
	}
}

// leaves tells whether an error is that whoever sits here has gone.
func (s *asking) leaves(ctx context.Context, err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, repl.ErrAborted) || ctx.Err() != nil
}

// later says how a gate is answered that was left open.
func (s *asking) later(g runtime.Gate) {
	s.call.notice("left open; to answer it later:\n    %s", s.call.command("review"))
	for _, line := range s.call.answers(g) {
		s.call.notice("    %s", line)
	}
}

// sendAnswer answers a gate with what somebody has typed.
func (s *asking) sendAnswer(ctx context.Context, g runtime.Gate, sig runtime.Signal) (*runtime.Receipt, bool, error) {
	about := listing.ReviewOf(g.Data).Entry != ""
	if about && sig.Choice == optionEdit {
		text, err := sig.Reason, error(nil)
		if text == "" {
			if text, err = s.call.textFor(ctx, s.lines, g); err != nil {
				return nil, false, err
			}
		}
		sig.Reason = ""
		sig.Data, _ = json.Marshal(map[string]string{"text": text}) // a text
	}
	r, err := query.DeclaredBy(ctx, s.session, sig.Run)
	if err != nil {
		return nil, false, err
	}
	sig.Run, sig.Env, sig.As, sig.Key = r.Run, s.call.values(r.Env), s.wanted.target, requestKey("")
	receipt, err := s.session.Signal(ctx, sig)
	return receipt, about && sig.Choice == optionAsk, err
}

// tellAll follows the runs that were answered, one after another, until they rest. A sitting shows
// what is said to people and what has failed; what is written and
// queued behind it is in the journal.
func (c *call) tellAll(ctx context.Context, s connect.Session, answered []*runtime.Receipt) error {
	usual := progress.New(c.stderr)
	show := func(ev runtime.Event) {
		var said struct {
			Kind   string
			Fields struct{ By, Text string }
		}
		if ev.Type == "output.emit" && json.Unmarshal(ev.Data, &said) == nil && said.Kind == "chat" {
			c.notice("%s: %s", said.Fields.By, said.Fields.Text)
		} else if forPeople(ev) {
			usual.Show(ev)
		}
	}
	for _, receipt := range answered {
		f := stay.Follower{Session: s, Run: receipt.Run, After: receipt.Seq, Show: show}
		r, err := f.Stay(ctx, stay.AtRest)
		if err != nil {
			return err
		}
		if r.Error != nil {
			c.tell(r.Error)
		}
		if r.Status == runtime.Completed {
			c.completed(r)
			continue
		}
		c.notice("%s %s", r.Status, r.ID)
	}
	return nil
}

// forPeople tells whether an event is shown in a sitting.
func forPeople(ev runtime.Event) bool {
	switch ev.Type {
	case "output.print", "output.log", "gate.escalated", "gate.withdrawn", "signal.refused", "agent.event":
		return true
	case "step.settled":
		end := query.Settled(&ev)
		return end.Kind != "" && end.Kind != "timeout"
	}
	return false
}
