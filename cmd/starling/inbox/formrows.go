package inbox

import (
	"cmp"
	"strconv"
	"strings"

	"starling/runtime"
)

// mostFieldRows is how many rows of a text are drawn at once.
const mostFieldRows = 6

// formDrawing lays out a form. Where it is narrow, names stand above their fields.
type formDrawing struct {
	width  int
	label  int // columns of the names beside the fields, 0 where they stand above them
	rows   []string
	cx, cy int // of the cursor
}

// rows draws the form; x and y are the place of the cursor.
func (a *answer) rows(desk *Desk, width int) (rows []string, x, y int) {
	f := &formDrawing{width: width, cy: -1}
	if width >= 40 {
		f.label = len("reason")
		for _, l := range a.sheet.Lines {
			f.label = max(f.label, columns(clean(l.Path)))
		}
		f.label = min(f.label, width/3)
	}
	if a.hasChoice() {
		f.options(a.gate.Options, a.choice, a.onChoice())
	}
	for i, l := range a.sheet.Lines {
		here := a.line() == i
		f.field(cmp.Or(l.Path, "answer"), &a.fields[i], here, l.Secret)
		err := l.Check()
		switch {
		case err != nil && strings.TrimSpace(l.Text) != "":
			f.below("✗ "+strings.TrimPrefix(err.Error(), l.Path+": "), red)
		case here:
			f.below(wanted(l.Want, l.Absent), dim)
		case err != nil:
			f.below("wants "+l.Want, yellow)
		}
	}
	if a.hasReason() {
		f.field("reason", &a.reason, a.onReason(), false)
	}
	switch wrong := a.wrong(desk); {
	case a.gone != "":
		f.whole("✗ "+a.gone+"; nothing of yours was sent", yellow)
	case a.failed != "":
		f.whole("✗ "+a.failed, red)
	case wrong == "":
		f.whole("✓ ctrl+s sends it", green)
	case len(a.sheet.Lines) == 0 || a.firstWrong() == 0 && a.hasChoice():
		f.whole(wrong, dim)
	default:
		f.whole("✗ "+wrong, dim)
	}
	return f.rows, f.cx, f.cy
}

func wanted(want, absent string) string {
	switch absent {
	case "":
		return want
	case "may be left out":
		return want + ", " + absent
	}
	return want + ", " + absent + " by default"
}

// name begins a row with a name, or gives it a row of its own.
func (f *formDrawing) name(name string, here bool) (start []span) {
	mark, s := "  ", usual
	if here {
		mark, s = "› ", bold
	}
	if f.label == 0 {
		f.rows = append(f.rows, fit(f.width, span{mark + clean(name), s}))
		return []span{{"  ", usual}}
	}
	return []span{{mark + pad(clean(name), f.label) + "  ", s}}
}

// indent is where fields begin.
func (f *formDrawing) indent() int {
	if f.label == 0 {
		return 2
	}
	return f.label + 4
}

func (f *formDrawing) field(name string, text *field, here, secret bool) {
	start := f.name(name, here)
	lines, x, y := text.rows(f.width-f.indent(), mostFieldRows, secret)
	if here {
		f.cx, f.cy = f.indent()+x, len(f.rows)+y
	}
	for i, line := range lines {
		if i > 0 {
			start = []span{{strings.Repeat(" ", f.indent()), usual}}
		}
		s := usual
		if here {
			s = "4" // underlined: here it is typed
		}
		rest := f.width - f.indent()
		row := fit(f.indent(), start...) + paint(s, pad(line, rest))
		f.rows = append(f.rows, row)
	}
}

// below says something about the field above.
func (f *formDrawing) below(text string, s style) {
	for _, row := range wrap(f.width-f.indent(), span{oneLine(text), s}) {
		f.rows = append(f.rows, strings.Repeat(" ", f.indent())+row)
	}
}

func (f *formDrawing) whole(text string, s style) {
	f.rows = append(f.rows, wrap(f.width, span{oneLine(text), s})...)
}

// options draws the choice: in a row where there is room, else below each other.
func (f *formDrawing) options(options []runtime.Option, chosen int, here bool) {
	start := f.name("choice", here)
	room := f.width - f.indent()
	row, total := []span(nil), 0
	for i, o := range options {
		s := optionSpan(i, o, i == chosen)
		total += columns(s.text) + 2
		row = append(row, s, span{"  ", usual})
		if o.Description != "" {
			total += f.width
		}
	}
	if total-2 <= room {
		f.rows = append(f.rows, fit(f.width, append(start, row...)...))
		return
	}
	for i, o := range options {
		if i > 0 {
			start = []span{{strings.Repeat(" ", f.indent()), usual}}
		}
		s := optionSpan(i, o, i == chosen)
		spans := []span{start[0], s}
		if o.Description != "" {
			spans = append(spans, span{"  " + oneLine(o.Description), dim})
		}
		f.rows = append(f.rows, fit(f.width, spans...))
	}
}

func optionSpan(i int, o runtime.Option, chosen bool) span {
	mark, s := "○ ", usual
	if chosen {
		mark, s = "● ", bold
	}
	return span{strconv.Itoa(i+1) + " " + mark + oneLine(o.Name), s}
}
