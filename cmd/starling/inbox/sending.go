package inbox

import (
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"starling/runtime"
	"starling/runtime/query"
)

// sending is an answer on its way. Until it is sent it can be taken back.
type sending struct {
	answer *answer
	signal runtime.Signal
	due    time.Time
	sent   bool
}

// errUnknown is of an answer whose receipt nobody has waited for.
var errUnknown = errors.New("it was sent, and nobody has waited for the receipt")

// submit puts the answer of the form on its way, and goes on to the next gate.
func (v *view) submit() tea.Cmd {
	a := v.answer
	if a.gone != "" {
		v.back()
		return nil
	}
	sig, err := a.signal(v.desk)
	if err != nil {
		a.focus = a.firstWrong()
		v.tell(red, a.wrong(v.desk))
		return nil
	}
	v.keep()
	s := &sending{answer: a, signal: sig, due: v.desk.Clock().Add(v.desk.TakeBack)}
	v.out = append(v.out, s)
	v.answer, v.mode, v.top = nil, browsing, 0
	v.section().move(v.section().cursor + 1)
	v.tell(usual, "")
	if v.desk.TakeBack > 0 {
		return v.wake()
	}
	return v.send(s)
}

// sending finds what is on its way to a gate.
func (v *view) sending(g *runtime.Gate) *sending {
	for _, s := range v.out {
		if key(&s.answer.gate) == key(g) {
			return s
		}
	}
	return nil
}

// sendDue sends what can not be taken back any more.
func (v *view) sendDue() tea.Cmd {
	var all []tea.Cmd
	for _, s := range v.out {
		if !s.sent && !v.desk.Clock().Before(s.due) {
			all = append(all, v.send(s))
		}
	}
	return tea.Batch(all...)
}

// sendAll sends all that is on its way.
func (v *view) sendAll() tea.Cmd {
	var all []tea.Cmd
	for _, s := range v.out {
		if !s.sent {
			all = append(all, v.send(s))
		}
	}
	return tea.Batch(all...)
}

// sent is what came of an answer.
type sent struct {
	sending *sending
	receipt *runtime.Receipt
	err     error
}

func (v *view) send(s *sending) tea.Cmd {
	s.sent = true
	ctx, send := v.ctx, v.desk.Send
	return func() tea.Msg {
		receipt, err := send(ctx, s.signal)
		return sent{s, receipt, err}
	}
}

// settle takes the receipt of an answer. One that was not accepted is a draft again.
func (v *view) settle(m sent) tea.Cmd {
	v.unqueue(m.sending)
	g := m.sending.answer.gate
	v.done = append(v.done, Done{m.sending.signal, m.receipt, m.err})
	if m.err != nil {
		return v.refused(m.sending.answer, m.err)
	}
	v.forget(g)
	if len(m.receipt.Decision) == 0 {
		v.tell(green, query.Name(g.Address)+": accepted; it is decided when more have chosen the same")
		return nil
	}
	v.tell(green, "accepted "+query.Name(g.Address)+said(m.sending.signal.Choice))
	v.remove(g)
	return nil
}

func said(choice string) string {
	if choice == "" {
		return ""
	}
	return ": " + choice
}

// refused says why an answer was not accepted.
func (v *view) refused(a *answer, err error) tea.Cmd {
	name := query.Name(a.gate.Address)
	switch runtime.AsRefusal(err).Kind {
	case runtime.ErrDecided, runtime.ErrNotOpen, runtime.ErrExpired, runtime.ErrUnknownGate, runtime.ErrUnknownRun, runtime.ErrClosed:
		v.forget(a.gate)
		v.remove(a.gate)
		v.tell(yellow, name+": your answer was not taken: "+err.Error())
		return v.ask(a.gate)
	}
	a.failed = err.Error()
	v.tell(red, name+": "+err.Error())
	return nil
}

// remove takes a gate that is answered out of all sections.
func (v *view) remove(g runtime.Gate) {
	v.settled[key(&g)] = true
	for _, s := range v.sections {
		s.drop(key(&g))
	}
}

func (v *view) unqueue(s *sending) {
	kept := v.out[:0:0]
	for _, other := range v.out {
		if other != s {
			kept = append(kept, other)
		}
	}
	v.out = kept
}

// takeBack opens the form of the answer again that was put on its way last, and is not sent.
func (v *view) takeBack() tea.Cmd {
	for i := len(v.out) - 1; i >= 0; i-- {
		s := v.out[i]
		if s.sent {
			continue
		}
		v.unqueue(s)
		v.answer, v.mode, v.top = s.answer, answering, 0
		v.pick(s.answer.gate)
		v.tell(yellow, "taken back, nothing was sent")
		return nil
	}
	v.tell(yellow, "there is nothing on its way that could be taken back")
	return nil
}

// takeAllBack takes back all that is not sent. It tells whether there was anything.
func (v *view) takeAllBack() bool {
	n := 0
	for _, s := range v.out {
		if !s.sent {
			v.unqueue(s)
			n++
		}
	}
	if n > 0 {
		v.tell(yellow, fmt.Sprintf("%d taken back, as drafts; nothing was sent", n))
	}
	return n > 0
}

// pick puts the cursor on a gate, where it is shown.
func (v *view) pick(g runtime.Gate) {
	for i, it := range v.section().shown {
		if key(&it.gate) == key(&g) {
			v.section().move(i)
		}
	}
}

// looked is what became of a gate, "" for one that is open.
type looked struct {
	gate runtime.Gate
	gone string
	err  error
}

// look finds out whether the gate of the form is still open.
func (v *view) look() tea.Cmd {
	if v.mode != answering || v.looking || v.answer.gone != "" {
		return nil
	}
	v.looking = true
	return v.ask(v.answer.gate)
}

func (v *view) ask(g runtime.Gate) tea.Cmd {
	ctx, gone := v.ctx, v.desk.Gone
	return func() tea.Msg {
		text, err := gone(ctx, g)
		return looked{g, text, err}
	}
}

// learn tells that somebody was faster. What was typed stays where it is until the form is left.
func (v *view) learn(l looked) {
	v.looking = false
	if l.err != nil {
		v.tell(red, l.err.Error())
	}
	if l.err != nil || l.gone == "" {
		return
	}
	v.tell(yellow, query.Name(l.gate.Address)+": "+l.gone)
	if v.answer != nil && key(&v.answer.gate) == key(&l.gate) {
		v.answer.gone = l.gone
	} else {
		v.forget(l.gate)
	}
	v.remove(l.gate)
}
