package inbox

import (
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"starling/runtime"
)

// binding is what a key does. The bar at the bottom and the help are made of the same table.
type binding struct {
	keys  []string // as bubbletea names them
	shown string   // of the keys, in the bar and in the help
	short string   // in the bar; "" is only in the help
	long  string   // in the help
	when  func(*view) bool
	do    func(*view) tea.Cmd
}

// moves are bindings that need no command.
func moves(do func(*view)) func(*view) tea.Cmd {
	return func(v *view) tea.Cmd {
		do(v)
		return nil
	}
}

func looksAtGate(v *view) bool { return v.section().selected() != nil }

// offers tells whether the gate that is looked at has an option of this name.
func offers(name string) func(*view) bool {
	return func(v *view) bool { return optionOf(v.section().selected(), name) >= 0 }
}

func optionOf(g *runtime.Gate, name string) int {
	if g == nil {
		return -1
	}
	return slices.IndexFunc(g.Options, func(o runtime.Option) bool { return o.Name == name })
}

// listKeys are the keys of the list.
func listKeys() []binding {
	return []binding{
		{[]string{"u"}, "u", "take back", "take the newest answer back that is on its way", func(v *view) bool { return len(v.out) > 0 }, (*view).takeBack},
		{[]string{"a"}, "a", "approve", "approve the gate; it is sent after a while, in which u takes it back", offers("approve"), func(v *view) tea.Cmd {
			return v.choose(optionOf(v.section().selected(), "approve"))
		}},
		{[]string{"r"}, "r", "reject", "reject the gate: asks why first; enter sends", offers("reject"), moves((*view).reject)},
		{numbers(), "1-9", "choose", "choose an option by its number", func(v *view) bool {
			g := v.section().selected()
			return g != nil && len(g.Options) > 0 && (optionOf(g, "approve") < 0 || len(g.Options) > 2)
		}, nil},
		{[]string{"enter"}, "enter", "answer", "open the form of the gate", looksAtGate, moves(func(v *view) { v.begin() })},
		{[]string{"e"}, "e", "edit", "open the form at the data that can be edited or is asked for", (*view).asksForData, moves(func(v *view) { v.beginAt((*answer).firstLine) })},
		{[]string{"m"}, "m", "reason", "open the form at the reason", func(v *view) bool {
			g := v.section().selected()
			return g != nil && len(g.Options) > 0
		}, moves(func(v *view) { v.beginAt(func(a *answer) int { return a.count() - 1 }) })},
		{[]string{"d"}, "d", "drop draft", "forget what was typed at the gate", func(v *view) bool {
			g := v.section().selected()
			return g != nil && v.hasDraft(g) && v.sending(g) == nil
		}, moves(func(v *view) { v.forget(*v.section().selected()) })},
		{[]string{"/"}, "/", "search", "show only gates in which all words stand; esc shows all", nil, moves(func(v *view) { v.mode = searching })},
		{[]string{"tab", "right", "l", "]"}, "tab", "section", "the next section", func(v *view) bool { return len(v.sections) > 1 }, func(v *view) tea.Cmd { return v.turn(1) }},
		{[]string{"shift+tab", "left", "h", "["}, "shift+tab", "", "the section before", nil, func(v *view) tea.Cmd { return v.turn(-1) }},
		{[]string{"down", "j"}, "↓ j", "", "the next gate", nil, moves(func(v *view) { v.step(1) })},
		{[]string{"up", "k"}, "↑ k", "", "the gate before", nil, moves(func(v *view) { v.step(-1) })},
		{[]string{"home", "g"}, "g", "", "the first gate, which waits longest", nil, moves(func(v *view) { v.step(-len(v.section().shown)) })},
		{[]string{"end", "G"}, "G", "", "the last gate", nil, moves(func(v *view) { v.step(len(v.section().shown)) })},
		{[]string{"ctrl+f", "ctrl+b"}, "ctrl+f ctrl+b", "", "a page of gates further, or back", nil, nil},
		{[]string{"space", "pgdown", "J"}, "space", "scroll", "scroll what the gate is about", (*view).overflows, moves(func(v *view) { v.scroll(v.paneHeight() - 2) })},
		{[]string{"b", "pgup", "K"}, "b", "", "scroll back", nil, moves(func(v *view) { v.scroll(2 - v.paneHeight()) })},
		{[]string{"y"}, "y", "", "copy the command at the bottom, where the terminal lets programs do that", nil, func(v *view) tea.Cmd {
			v.tell(usual, "copied, where the terminal lets programs do that")
			return tea.SetClipboard(v.command())
		}},
		{[]string{"R"}, "R", "", "list all sections again, now", nil, func(v *view) tea.Cmd { return v.again() }},
		{[]string{"?"}, "?", "keys", "list all keys", nil, moves(func(v *view) { v.mode = helping })},
		{[]string{"q"}, "q", "leave", "leave; what is on its way is sent at once", nil, (*view).leave},
		{[]string{"ctrl+c"}, "ctrl+c", "", "take all back that is on its way, else leave", nil, (*view).interrupt},
		{[]string{"ctrl+z"}, "ctrl+z", "", "suspend; fg comes back", nil, func(*view) tea.Cmd { return tea.Suspend }},
	}
}

func numbers() (all []string) {
	for i := 1; i <= 9; i++ {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

// formKeys are the keys of the form, beside those that edit its fields.
func formKeys() []binding {
	return []binding{
		{[]string{"enter"}, "enter", "next", "the next field; send on the last one", nil, (*view).enter},
		{[]string{"ctrl+s"}, "ctrl+s", "send", "send from any field", nil, (*view).submit},
		{[]string{"tab", "down", "ctrl+n"}, "tab ↓", "", "the next field", nil, moves(func(v *view) { v.focus(1) })},
		{[]string{"shift+tab", "up", "ctrl+p"}, "shift+tab ↑", "", "the field before", nil, moves(func(v *view) { v.focus(-1) })},
		{[]string{"left", "right"}, "← →", "choose", "another option, or another of a few texts", (*view).hasChoices, nil},
		{[]string{"alt+enter", "ctrl+j"}, "alt+enter", "", "a line break in a text", nil, nil},
		{[]string{"pgdown"}, "pgdown", "", "scroll what the gate is about", nil, moves(func(v *view) { v.scroll(v.paneHeight() - 2) })},
		{[]string{"pgup"}, "pgup", "", "scroll back", nil, moves(func(v *view) { v.scroll(2 - v.paneHeight()) })},
		{[]string{"esc", "ctrl+c"}, "esc", "back", "back to the list; what was typed is kept as a draft", nil, moves((*view).back)},
	}
}

// press does what a key means now.
func (v *view) press(k tea.KeyPressMsg) tea.Cmd {
	pressed := k.Keystroke()
	switch {
	case v.leaving:
		if pressed == "ctrl+c" {
			return tea.Quit
		}
		return nil
	case v.mode == helping:
		v.help(pressed)
		return nil
	case v.mode == searching:
		v.typeSearch(k)
		return nil
	case v.mode == answering:
		return v.fill(k)
	}
	if k.Text != "" && k.Text != " " {
		pressed = k.Text // G is not shift+g
	}
	if pressed == "esc" {
		v.search().set("")
		v.section().narrow()
		return nil
	}
	for _, b := range listKeys() {
		if slices.Contains(b.keys, pressed) && (b.when == nil || b.when(v)) {
			return v.does(b, pressed)
		}
	}
	return nil
}

// does what a binding is for; those of several keys that differ are done here.
func (v *view) does(b binding, pressed string) tea.Cmd {
	if b.do != nil {
		return b.do(v)
	}
	switch pressed {
	case "ctrl+f":
		v.step(v.listHeight())
	case "ctrl+b":
		v.step(-v.listHeight())
	default:
		n, _ := strconv.Atoi(pressed) // numbers are all that is left
		return v.choose(n - 1)
	}
	return nil
}

// fill does what a key means in the form. Where the gate is gone, any that sends only leaves.
func (v *view) fill(k tea.KeyPressMsg) tea.Cmd {
	pressed := k.Keystroke()
	if f := v.answer.field(); f != nil && (pressed == "up" && f.rise(1) || pressed == "down" && f.rise(-1)) {
		return nil
	}
	if pressed == "left" || pressed == "right" {
		if v.hasChoices() {
			v.turnChoice(map[string]int{"left": -1, "right": 1}[pressed])
			return nil
		}
	}
	for _, b := range formKeys() {
		if b.do != nil && slices.Contains(b.keys, pressed) {
			return b.do(v)
		}
	}
	a := v.answer
	if n, err := strconv.Atoi(k.Text); err == nil && a.onChoice() && n > 0 && n <= len(a.gate.Options) {
		a.choice = n - 1
		v.keep()
		return nil
	}
	if f := a.field(); f != nil && f.press(k) {
		a.read()
		a.failed = ""
		v.tell(usual, "")
		v.keep()
	}
	return nil
}

func (v *view) typeSearch(k tea.KeyPressMsg) {
	switch k.Keystroke() {
	case "enter":
		v.mode = browsing
	case "esc", "ctrl+c":
		v.search().set("")
		v.mode = browsing
	case "down":
		v.step(1)
		return
	case "up":
		v.step(-1)
		return
	default:
		v.search().press(k)
	}
	v.section().narrow()
}

func (v *view) search() *field { return &v.section().search }
