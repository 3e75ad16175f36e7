package diagnostic

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Rendering a source line takes three liberties with it, all so that the caret stands where it
// should on any terminal: a tab becomes spaces up to the next stop, a rune that would not print (an
// escape sequence, a stray control byte, a direction mark) becomes the replacement rune, and a line
// wider than the window is cut to a window around the range, with an ellipsis at each end that was
// cut.

const (
	windowCells = 96 // width of the source line shown
	leadCells   = 32 // of these, kept before the range when the line is cut
	tabCells    = 4
	ellipsis    = "…"
)

// Render is the diagnostic as a block of lines, each ending in a newline: the message, the source
// line with a caret line below if the line is known, the note and the hint if there are any. It
// holds no colour and no control characters but "\n".
func (d Diagnostic) Render() string {
	var b strings.Builder
	b.WriteString(d.headline() + "\n")
	if d.Text != "" && d.Col > 0 {
		source, carets := d.snippet()
		b.WriteString("  | " + source + "\n")
		b.WriteString("  | " + carets + "\n")
	}
	if d.Note != "" {
		b.WriteString("  = note: " + d.Note + "\n")
	}
	if d.Hint != "" {
		b.WriteString("  = help: " + d.Hint + "\n")
	}
	return b.String()
}

// snippet is the source line and the caret line under it, both without the margin.
func (d Diagnostic) snippet() (source, carets string) {
	glyphs := layout(d.Text)
	start := min(d.Col-1, len(glyphs))
	end := min(max(d.EndCol-1, start), len(glyphs))

	from, to := window(glyphs, start)
	end = min(end, max(to, start))
	left, right := "", ""
	if from > 0 {
		left = ellipsis
	}
	if to < len(glyphs) {
		right = ellipsis
	}
	source = left + join(glyphs[from:to]) + right
	indent := width(glyphs[from:start])
	if left != "" {
		indent++
	}
	carets = strings.Repeat(" ", indent) + strings.Repeat("^", max(1, width(glyphs[start:end])))
	return strings.TrimRight(source, " "), carets
}

// A glyph is one rune of the source as it is shown.
type glyph struct {
	text  string
	cells int
}

// layout gives a glyph for every rune of the line.
func layout(line string) []glyph {
	// A condition of our own: the package's global one follows the locale, and output must not.
	cond := &runewidth.Condition{StrictEmojiNeutral: true}
	var glyphs []glyph
	column := 0
	for _, r := range line {
		g := glyph{string(r), cond.RuneWidth(r)}
		switch {
		case r == '\t':
			g.cells = tabCells - column%tabCells
			g.text = strings.Repeat(" ", g.cells)
		case !unicode.IsPrint(r):
			g = glyph{string(unicode.ReplacementChar), 1}
		}
		column += g.cells
		glyphs = append(glyphs, g)
	}
	return glyphs
}

// window picks the glyphs to show: all of them if they fit, else a stretch that starts a little
// before start.
func window(glyphs []glyph, start int) (from, to int) {
	if width(glyphs) <= windowCells {
		return 0, len(glyphs)
	}
	from = start
	for lead := 0; from > 0 && lead+glyphs[from-1].cells <= leadCells; from-- {
		lead += glyphs[from-1].cells
	}
	to = from
	for room := windowCells; to < len(glyphs) && glyphs[to].cells <= room; to++ {
		room -= glyphs[to].cells
	}
	return from, to
}

func width(glyphs []glyph) int {
	n := 0
	for _, g := range glyphs {
		n += g.cells
	}
	return n
}

func join(glyphs []glyph) string {
	var b strings.Builder
	for _, g := range glyphs {
		b.WriteString(g.text)
	}
	return b.String()
}
