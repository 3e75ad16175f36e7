package inbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"starling/cmd/starling/form"
	"starling/lang/contract"
	"starling/runtime"
)

// answer is a form that is filled in: the choice, what the contract asks for, and why.
type answer struct {
	gate   runtime.Gate
	sheet  *form.Sheet
	choice int // of the options, -1 for none
	fields []field
	reason field
	focus  int    // of the rows: the choice where there are options, the lines of the sheet, the reason
	gone   string // what became of the gate meanwhile
	failed string // why what was sent was not accepted
}

// open begins the answer of a gate, or goes on with its draft.
func (v *view) open(g runtime.Gate) (*answer, error) {
	sheet, err := form.SheetFor(g)
	if err != nil {
		return nil, err
	}
	a := &answer{gate: g, sheet: sheet, choice: -1}
	kept := v.desk.Drafts.load(g)
	for i, o := range g.Options {
		if o.Name == kept.Choice && kept.Choice != "" || len(g.Options) == 1 {
			a.choice = i
		}
	}
	a.reason.set(kept.Reason)
	for _, l := range sheet.Lines {
		if text, ok := kept.Texts[l.Path]; ok && !l.Secret {
			l.Text = text
		}
		var f field
		f.set(l.Text)
		a.fields = append(a.fields, f)
	}
	return a, nil
}

// answer opens the form of the gate that is looked at.
func (v *view) begin() *answer {
	g := v.section().selected()
	if g == nil {
		return nil
	}
	if s := v.sending(g); s != nil {
		v.tell(yellow, "the answer is on its way; u takes it back")
		return nil
	}
	a, err := v.open(*g)
	if err != nil {
		v.tell(red, err.Error())
		return nil
	}
	v.answer, v.mode, v.top = a, answering, 0
	v.tell(usual, "")
	return a
}

// choose answers with an option: at once where nothing else is wanted, else in the form.
func (v *view) choose(i int) tea.Cmd {
	g := v.section().selected()
	if g == nil || i >= len(g.Options) {
		return nil
	}
	a := v.begin()
	if a == nil {
		return nil
	}
	a.choice = i
	if _, err := a.signal(v.desk); err != nil {
		a.focus = a.firstWrong()
		v.keep()
		return nil
	}
	return v.submit()
}

// rows of the form: which there are.
func (a *answer) hasChoice() bool { return len(a.gate.Options) > 0 }
func (a *answer) hasReason() bool { return len(a.gate.Options) > 0 }

func (a *answer) count() int {
	n := len(a.fields)
	if a.hasChoice() {
		n++
	}
	if a.hasReason() {
		n++
	}
	return n
}

// line is the line of the sheet that has the focus, -1 where another row has it.
func (a *answer) line() int {
	at := a.focus
	if a.hasChoice() {
		at--
	}
	if at < 0 || at >= len(a.fields) {
		return -1
	}
	return at
}

func (a *answer) onChoice() bool { return a.hasChoice() && a.focus == 0 }
func (a *answer) onReason() bool { return a.hasReason() && a.focus == a.count()-1 }

// field is the text that has the focus, nil at the choice.
func (a *answer) field() *field {
	if at := a.line(); at >= 0 {
		return &a.fields[at]
	}
	if a.onReason() {
		return &a.reason
	}
	return nil
}

// firstLine is the row of the first line of the sheet.
func (a *answer) firstLine() int {
	if a.hasChoice() {
		return 1
	}
	return 0
}

// firstWrong is the row that keeps the answer from being sent.
func (a *answer) firstWrong() int {
	if a.hasChoice() && a.choice < 0 {
		return 0
	}
	for i, l := range a.sheet.Lines {
		if l.Check() != nil {
			return a.firstLine() + i
		}
	}
	return a.firstLine()
}

func (a *answer) paste(text string) {
	if f := a.field(); f != nil {
		f.insert(text)
		a.read()
	}
}

// read has the sheet know what was typed.
func (a *answer) read() {
	for i := range a.fields {
		a.sheet.Lines[i].Text = string(a.fields[i].text)
	}
}

// draft is what is to be kept of the answer.
func (a *answer) draft(store string) draft {
	d := draft{Store: store, Gate: a.gate.Address, OpenedAt: a.gate.OpenedAt, Reason: string(a.reason.text), Texts: map[string]string{}}
	if a.choice >= 0 && len(a.gate.Options) > 1 {
		d.Choice = a.gate.Options[a.choice].Name
	}
	for _, l := range a.sheet.Lines {
		if l.Changed() && !l.Secret {
			d.Texts[l.Path] = l.Text
		}
	}
	return d
}

// keep writes down what was typed, before it is drawn.
func (v *view) keep() {
	d := v.answer.draft(v.desk.Drafts.Store)
	if err := v.desk.Drafts.save(v.answer.gate, d); err != nil {
		v.tell(red, "the draft is not kept: "+err.Error())
		return
	}
	v.mark(v.answer.gate, !d.empty())
}

// mark notes whether a gate has a draft.
func (v *view) mark(g runtime.Gate, has bool) {
	if !has || v.desk.Drafts.Folder == "" {
		delete(v.drafts, v.desk.Drafts.name(g))
		return
	}
	v.drafts[v.desk.Drafts.name(g)] = true
}

// forget drops the draft of a gate.
func (v *view) forget(g runtime.Gate) {
	if err := v.desk.Drafts.drop(g); err != nil {
		v.tell(red, "the draft stays: "+err.Error())
		return
	}
	v.mark(g, false)
}

// reason is what an error says, "" for none.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// errNoChoice says that an option is to be chosen.
var errNoChoice = errors.New("choose one of the options")

// signal is the answer as it is sent. The error says what does not fit.
func (a *answer) signal(d *Desk) (runtime.Signal, error) {
	choice := ""
	if a.hasChoice() {
		if a.choice < 0 {
			return runtime.Signal{}, errNoChoice
		}
		choice = a.gate.Options[a.choice].Name
	}
	data, err := a.sheet.Value()
	if err != nil {
		return runtime.Signal{}, err
	}
	if !a.hasChoice() && data == nil {
		data = json.RawMessage("null") // of what may be left out, where it is the whole answer
	}
	sig := d.Answer(a.gate, choice, strings.TrimSpace(string(a.reason.text)))
	sig.Data = data
	return sig, nil
}

// wrong is what keeps the answer from being sent, "" for nothing.
func (a *answer) wrong(d *Desk) string {
	_, err := a.signal(d)
	var list contract.Violations
	if err == nil || !errors.As(err, &list) {
		return reason(err)
	}
	var missing []string
	for _, l := range a.sheet.Lines {
		if strings.TrimSpace(l.Text) == "" && l.Check() != nil {
			missing = append(missing, cmp.Or(l.Path, "the answer"))
		}
	}
	if len(missing) == len(list) {
		return "still to be filled in: " + strings.Join(missing, ", ")
	}
	return list[0].Error()
}

// command is what a shell would answer with, as far as the answer goes.
func (a *answer) command(d *Desk) string {
	sig, err := a.signal(d)
	if err != nil {
		choice := ""
		if a.choice >= 0 {
			choice = a.gate.Options[a.choice].Name
		}
		sig = d.Answer(a.gate, choice, strings.TrimSpace(string(a.reason.text)))
		if len(a.sheet.Lines) > 0 {
			return d.Command(sig, "…")
		}
		return d.Command(sig, "")
	}
	return d.Command(sig, a.shown(sig.Data))
}

// shown is the payload as people may see it, "" for none.
func (a *answer) shown(data json.RawMessage) string {
	if data == nil {
		return ""
	}
	return a.sheet.Shown(data)
}
