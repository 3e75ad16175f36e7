package inbox

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"starling/runtime"
)

// mode is what keys mean now.
type mode int

const (
	browsing  mode = iota // a gate of the list is looked at
	searching             // what is typed narrows the list
	answering             // a form is filled in
	helping               // all keys are listed
)

// view is the inbox as it stands. It belongs to the goroutine of its program.
type view struct {
	ctx           context.Context
	desk          *Desk
	width, height int

	mode     mode
	sections []*section
	at       int // the section that is shown
	answer   *answer
	out      []*sending
	drafts   map[string]bool // the files that there are
	settled  map[string]bool // keys of what was answered here
	top      int             // the first row of the data that is drawn
	page     page            // what was laid out last

	note    note
	done    []Done
	leaving bool
	looking bool // a look at the gate of the form is under way
}

// note is what was told last.
type note struct {
	text  string
	style style
}

func newView(ctx context.Context, d *Desk) *view {
	v := &view{ctx: ctx, desk: d, width: 80, height: 24, drafts: d.Drafts.names(), settled: map[string]bool{}}
	for _, s := range d.Sections {
		v.sections = append(v.sections, &section{Section: s})
	}
	return v
}

// tick is the clock: what is due is done.
type tick struct{}

// Init implements tea.Model.
func (v *view) Init() tea.Cmd { return tea.Batch(v.refresh(), v.wake()) }

// wake has the clock tick again, in time for what is on its way.
func (v *view) wake() tea.Cmd {
	wait := time.Second
	for _, s := range v.out {
		if !s.sent {
			wait = min(wait, max(0, s.due.Sub(v.desk.Clock())))
		}
	}
	return tea.Tick(wait, func(time.Time) tea.Msg { return tick{} })
}

// Update implements tea.Model.
func (v *view) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		v.width, v.height = max(msg.Width, 1), max(msg.Height, 1)
	case tea.KeyPressMsg:
		cmd = v.press(msg)
	case tea.PasteMsg:
		v.paste(msg.Content)
	case tick:
		cmd = tea.Batch(v.sendDue(), v.refresh(), v.look(), v.wake())
	case loaded:
		cmd = v.take(msg)
	case looked:
		v.learn(msg)
	case sent:
		cmd = v.settle(msg)
	}
	if v.leaving && len(v.out) == 0 {
		cmd = tea.Quit
	}
	return v, cmd
}

// paste is text, whatever keys it is made of: outside of a field it is nothing.
func (v *view) paste(text string) {
	switch v.mode {
	case searching:
		v.search().insert(oneLine(text))
		v.section().narrow()
	case answering:
		v.answer.paste(text)
		v.keep()
	}
}

// tell shows something until the next is told.
func (v *view) tell(s style, text string) { v.note = note{text, s} }

func (v *view) section() *section { return v.sections[v.at] }

// selected is the gate that is looked at, nil where there is none.
func (v *view) selected() *runtime.Gate {
	if v.answer != nil && v.mode == answering {
		return &v.answer.gate
	}
	return v.section().selected()
}

// leave ends the view once what is on its way has been sent.
func (v *view) leave() tea.Cmd {
	v.leaving = true
	if len(v.out) > 0 {
		v.tell(yellow, "sending what is on its way; ctrl+c does not wait for it")
	}
	return v.sendAll()
}

// left is what there is to say of the view when it is over.
func (v *view) left() Left {
	for _, s := range v.out {
		if s.sent {
			v.done = append(v.done, Done{Signal: s.signal, Err: errUnknown})
		}
	}
	return Left{Done: v.done, Drafts: v.begun()}
}

// begun counts the gates that have a draft.
func (v *view) begun() int {
	gates := map[string]bool{}
	for _, s := range v.sections {
		for _, it := range s.gates {
			if v.hasDraft(&it.gate) {
				gates[it.gate.Address] = true
			}
		}
	}
	return len(gates)
}

// hasDraft tells whether something was begun at a gate and is kept.
func (v *view) hasDraft(g *runtime.Gate) bool {
	return len(v.drafts) > 0 && v.drafts[v.desk.Drafts.name(*g)]
}
