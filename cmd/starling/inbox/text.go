package inbox

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"starling/cmd/starling/plain"
)

// A style is how a rune is drawn: parameters of SGR, "" for as it is.
type style string

// The styles. A colour means what it means in tables.
const (
	usual    style = ""
	bold     style = "1"
	dim      style = "2"
	italic   style = "3"
	reversed style = "7"
	red      style = "31"
	green    style = "32"
	yellow   style = "33"
	blue     style = "34"
	cyan     style = "36"
)

// A span is text in one style.
type span struct {
	text  string
	style style
}

// maxMarks is how many marks a letter may carry: more is no writing, and would fill a terminal's
// cell with megabytes.
const maxMarks = 4

// clean is what somebody else has said, safe to be drawn: nothing in it acts on the terminal, and a
// tab is as wide as it looks.
func clean(text string) string {
	marks := 0
	return strings.ReplaceAll(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || runewidth.RuneWidth(r) > 0 {
			marks = 0
		} else if marks++; marks > maxMarks {
			return -1
		}
		return r
	}, plain.Text(text)), "\t", "    ")
}

// oneLine is a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }

// columns is how wide a text is drawn: the sum of its runes, which is what the renderer counts.
func columns(text string) (n int) {
	for _, r := range text {
		n += runewidth.RuneWidth(r)
	}
	return n
}

// cut is as much of a text as a width has room for, with "…" where something is left out.
func cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	n, last := 0, 0 // last is where "…" still fits
	for i, r := range text {
		w := runewidth.RuneWidth(r)
		if n+w > width {
			return text[:last] + "…"
		}
		if n+w < width {
			last = i + len(string(r))
		}
		n += w
	}
	return text
}

// cutLeft is as much of the end of a path as a width has room for, whole names where it can.
func cutLeft(text string, width int) string {
	if columns(text) <= width {
		return text
	}
	n := 1 // of "…"
	runes := []rune(text)
	at := len(runes)
	for at > 0 && n+runewidth.RuneWidth(runes[at-1]) <= width {
		at--
		n += runewidth.RuneWidth(runes[at])
	}
	if slash := slices.Index(runes[at:], '/'); slash >= 0 && slash < len(runes[at:])/2 {
		at += slash
	}
	return "…" + string(runes[at:])
}

// pad is a text cut or filled to a width.
func pad(text string, width int) string {
	text = cut(text, width)
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// paint writes a text in a style.
func paint(s style, text string) string {
	if s == usual || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[m"
}

// fit is a row of spans, cut or filled to a width.
func fit(width int, spans ...span) string {
	var b strings.Builder
	for i, s := range spans {
		text := cut(s.text, width)
		if i == len(spans)-1 {
			text = pad(s.text, width)
		}
		width -= columns(text)
		b.WriteString(paint(s.style, text))
	}
	return b.String()
}

// wrap lays a line out in rows of a width: between words where it can, and each as far to the right
// as the line begins.
func wrap(width int, line ...span) (rows []string) {
	w := wrapper{width: max(width, 1)}
	for _, s := range line {
		for _, r := range s.text {
			w.add(r, s.style)
		}
	}
	return append(w.rows, w.drawn(len(w.row)))
}

// inked is a rune in a style.
type inked struct {
	r     rune
	style style
}

// wrapper lays out one line.
type wrapper struct {
	width int
	rows  []string
	row   []inked
	taken int // columns of the row
	blank int // behind the last blank of the row, 0 for none
}

func (w *wrapper) add(r rune, s style) {
	n := runewidth.RuneWidth(r)
	if n > w.width {
		return // a wide rune in a pane of one column
	}
	if w.taken+n > w.width {
		if r == ' ' {
			w.fold(len(w.row))
			return
		}
		w.fold(w.blank)
	}
	w.row = append(w.row, inked{r, s})
	w.taken += n
	if r == ' ' && w.indent() < len(w.row) {
		w.blank = len(w.row)
	}
}

// indent is how many blanks the row begins with.
func (w *wrapper) indent() (n int) {
	for n < len(w.row) && w.row[n].r == ' ' {
		n++
	}
	return n
}

// fold ends a row at a place, or at its end where it has no blank, and takes the rest to the next.
func (w *wrapper) fold(at int) {
	if at == 0 {
		at = len(w.row)
	}
	indent := min(w.indent(), w.width/2)
	rest := append([]inked(nil), w.row[at:]...)
	w.rows = append(w.rows, w.drawn(at))
	w.row, w.taken, w.blank = w.row[:0], 0, 0
	for range indent {
		w.row = append(w.row, inked{' ', usual})
	}
	w.row = append(w.row, rest...)
	for _, c := range w.row {
		w.taken += runewidth.RuneWidth(c.r)
	}
}

// drawn is the row up to a place, with a change of style where there is one.
func (w *wrapper) drawn(to int) string {
	var b strings.Builder
	now := usual
	for _, c := range w.row[:to] {
		if c.style != now {
			if now != usual {
				b.WriteString("\x1b[m")
			}
			if c.style != usual {
				b.WriteString("\x1b[" + string(c.style) + "m")
			}
			now = c.style
		}
		b.WriteRune(c.r)
	}
	if now != usual {
		b.WriteString("\x1b[m")
	}
	return strings.TrimRight(b.String(), " ")
}
