package table

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mattn/go-runewidth"

	"starling/cmd/starling/plain"
)

// A Table is rows of cells below a heading.
type Table struct {
	paper Paper
	rows  [][]Cell
	named int // the column that names a row
	head  int // rows of the heading
}

// New is a table with the names of its columns, or with none.
func New(p Paper, names ...string) *Table {
	t := &Table{paper: p}
	if len(names) > 0 {
		row := make([]any, len(names))
		for i, name := range names {
			row[i] = Cell{name, "2"}
		}
		t.Row(row...)
		t.head = 1
	}
	return t
}

// NamedBy says which column names a row where it is not the first, which is column 0.
func (t *Table) NamedBy(column int) *Table {
	t.named = column
	return t
}

// Row adds a row of texts and [Cell]s.
func (t *Table) Row(cells ...any) {
	row := make([]Cell, len(cells))
	for i, c := range cells {
		cell, ok := c.(Cell)
		if !ok {
			cell = Cell{Text: fmt.Sprint(c)}
		}
		cell.Text = plain.Text(cell.Text)
		row[i] = cell
	}
	t.rows = append(t.rows, row)
}

// Write writes the rows. It takes the output whose other texts are made plain, and goes past that:
// colours are escape sequences, and what the cells say has none.
func (t *Table) Write(out plain.Output) error {
	w := out.Raw()
	if t.paper.Terminal() || t.paper.Quiet {
		_, err := io.WriteString(w, strings.Join(append(t.Lines(), ""), "\n"))
		return err
	}
	tabs := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range t.rows {
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = c.Text
		}
		fmt.Fprintln(tabs, strings.Join(texts, "\t"))
	}
	return tabs.Flush()
}

// gap is between two columns.
const gap = 2

// Lines are the rows as a terminal has them.
func (t *Table) Lines() []string {
	if t.paper.Quiet {
		return t.names()
	}
	widths := t.widths()
	lines := make([]string, len(t.rows))
	for i, row := range t.rows {
		var b strings.Builder
		left := t.paper.Width
		for j, c := range row {
			if left <= 0 {
				break
			}
			text := runewidth.Truncate(oneLine(c.Text), min(widths[j], left), "…")
			left -= widths[j] + gap
			b.WriteString(t.paper.paint(c.colour, text))
			if j < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[j]-runewidth.StringWidth(text)+gap))
			}
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// names is what names each row, once where rows that follow one another have the same.
func (t *Table) names() (names []string) {
	for _, row := range t.rows[t.head:] {
		names = append(names, oneLine(row[t.named].Text))
	}
	return slices.Compact(names)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// least is how narrow a column may become before another is cut.
const least = 8

// widths are those of the columns: as wide as what is in them, but for the widest, which give way.
func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for j, c := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], runewidth.StringWidth(oneLine(c.Text)))
		}
	}
	over := gap*(len(widths)-1) - t.paper.Width
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		widest := len(widths) - 1
		for j, w := range widths {
			if w > widths[widest] {
				widest = j
			}
		}
		if widths[widest] <= least {
			break // what is too far on the right has no room
		}
		widths[widest]--
	}
	return widths
}

// Line is one line of cells, cut to the width.
func (p Paper) Line(cells ...Cell) string {
	var b strings.Builder
	left := p.Width
	for i, c := range cells {
		text := plain.Text(c.Text)
		if p.Terminal() {
			text = runewidth.Truncate(strings.NewReplacer("\n", " ", "\t", " ").Replace(text), max(0, left), "…")
			left -= runewidth.StringWidth(text) + gap
		}
		if i > 0 && text != "" {
			b.WriteString("  ")
		}
		b.WriteString(p.paint(c.colour, text))
	}
	return b.String()
}

// Counted is a number of things whose plural ends with s.
func Counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
