package inbox

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// step moves the cursor of the list.
func (v *view) step(n int) {
	s := v.section()
	was := s.cursor
	s.move(s.cursor + n)
	if s.cursor != was {
		v.top = 0
	}
}

// turn shows another section, and lists it if that was long ago.
func (v *view) turn(n int) tea.Cmd {
	v.at = (v.at + n + len(v.sections)) % len(v.sections)
	v.top = 0
	return v.refresh()
}

// again lists all sections now.
func (v *view) again() tea.Cmd {
	for _, s := range v.sections {
		s.due = v.desk.Clock()
	}
	return v.refresh()
}

// scroll moves what the gate is about.
func (v *view) scroll(n int) { v.top = max(0, v.top+n) } // how far it goes is known when it is drawn

// reject opens the form with that choice, at the reason.
func (v *view) reject() {
	g := v.section().selected()
	if a := v.begin(); a != nil {
		a.choice = optionOf(g, "reject")
		a.focus = a.count() - 1
		if _, err := a.sheet.Value(); err != nil {
			a.focus = a.firstWrong()
		}
		v.keep()
	}
}

// beginAt opens the form at a row.
func (v *view) beginAt(row func(*answer) int) {
	if a := v.begin(); a != nil {
		a.focus = row(a)
	}
}

func (v *view) asksForData() bool {
	g := v.section().selected()
	return g != nil && (g.Editable || g.Contract != "" || len(g.Options) == 0)
}

// enter goes to the next row of the form, and sends from the last one.
func (v *view) enter() tea.Cmd {
	if v.answer.gone != "" {
		v.back()
		return nil
	}
	if v.answer.focus >= v.answer.count()-1 {
		return v.submit()
	}
	v.focus(1)
	return nil
}

// focus goes to another row of the form.
func (v *view) focus(n int) {
	a := v.answer
	a.focus = max(0, min(a.focus+n, a.count()-1))
	v.tell(usual, "")
}

// choicesHere are the texts between which the row chooses that has the focus.
func (a *answer) choicesHere() []string {
	if at := a.line(); at >= 0 {
		return a.sheet.Lines[at].Choices()
	}
	return nil
}

// hasChoices tells whether the row chooses between a few: the options, or the texts that fit.
func (v *view) hasChoices() bool {
	return v.answer != nil && (v.answer.onChoice() || len(v.answer.choicesHere()) > 0)
}

// turnChoice takes the next of them, or the one before.
func (v *view) turnChoice(n int) {
	a := v.answer
	if a.onChoice() {
		last := len(a.gate.Options) - 1
		a.choice = max(0, min(a.choice+n, last))
	} else {
		texts := a.choicesHere()
		f := a.field()
		at := slices.Index(texts, string(f.text))
		if at < 0 && n < 0 {
			at = len(texts)
		}
		f.set(texts[(at+n+len(texts))%len(texts)])
		a.read()
	}
	v.keep()
}

// back leaves the form. What was typed stays a draft, unless the gate is gone.
func (v *view) back() {
	a := v.answer
	v.answer, v.mode, v.top = nil, browsing, 0
	if a.gone != "" {
		v.forget(a.gate)
		return
	}
	if v.hasDraft(&a.gate) {
		v.tell(usual, "kept as a draft; d drops it")
	}
}

// interrupt takes back what is on its way; where nothing is, it leaves.
func (v *view) interrupt() tea.Cmd {
	if v.takeAllBack() {
		return nil
	}
	return v.leave()
}
