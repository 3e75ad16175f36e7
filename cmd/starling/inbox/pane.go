package inbox

import (
	"fmt"
	"strconv"
	"strings"

	"starling/runtime"
	"starling/runtime/query"
)

// page is what a gate is about, laid out for a width.
type page struct {
	of    string // key of the gate
	width int
	rows  []string
}

// about lays out what a gate is about, once for each gate and width.
func (v *view) about(g *runtime.Gate, width int) []string {
	if v.page.of != key(g) || v.page.width != width {
		v.page = page{key(g), width, render(g.Data, width)}
	}
	return v.page.rows
}

// overflows tells whether what the gate is about has more rows than the pane.
func (v *view) overflows() bool {
	g, f := v.section().selected(), v.frame()
	return g != nil && f.pane > 0 && len(v.about(g, f.paneWide))+4 > f.pane
}

// paneRows are what the gate is about, with its form where one is open. They give the place of the
// cursor, y is -1 for none.
func (v *view) paneRows(f frame) (rows []string, x, y int) {
	y = -1
	g := v.selected()
	if f.pane == 0 {
		return nil, 0, y
	}
	if g != nil {
		head := v.head(g, f.paneWide)
		if v.mode == answering {
			var form []string
			form, x, y = v.answer.rows(v.desk, f.paneWide)
			head, y = window(append(head[:1:1], form...), y+1, max(f.pane-4, f.pane*3/4))
			rows = append(head, paint(dim, strings.Repeat("─", f.paneWide)))
			if len(rows) > f.pane {
				rows = head[:min(len(head), f.pane)]
			}
			rows = append(rows, v.scrolled(v.aboutWithPrompt(g, f.paneWide), f.paneWide, f.pane-len(rows))...)
		} else {
			rows = v.scrolled(append(append(head, v.optionRows(*g, f.paneWide)...), v.about(g, f.paneWide)...), f.paneWide, f.pane)
		}
	}
	for len(rows) < f.pane {
		rows = append(rows, "")
	}
	return rows[:f.pane], x, y
}

// window is so many rows around one of them, and where that is among them.
func window(rows []string, at, most int) ([]string, int) {
	from := max(0, min(at-most/2, len(rows)-most))
	return rows[from:min(len(rows), from+most)], at - from
}

// scrolled is a piece of rows from where they were scrolled to; the last row says what is below.
func (v *view) scrolled(rows []string, width, height int) []string {
	if height <= 0 {
		return nil
	}
	v.top = max(0, min(v.top, len(rows)-height))
	below := len(rows) - v.top - height
	rows = rows[v.top:min(len(rows), v.top+height)]
	if below > 0 && height > 1 {
		rows = append(rows[:height-1:height-1], paint(dim, cut(fmt.Sprintf("↓ %d more", below+1), width)))
	}
	return rows
}

// head is the name of a gate, whom it asks and since when, and what.
func (v *view) head(g *runtime.Gate, width int) (rows []string) {
	rows = append(rows, fit(width, span{oneLine(query.Name(g.Address)), bold}))
	who := "for anybody"
	if g.Target != "" {
		who = "for " + g.Target
	}
	who += ", opened " + v.age(g.OpenedAt) + " ago"
	if g.Quorum > 1 {
		who += fmt.Sprintf(", %d must choose the same", g.Quorum)
	}
	if g.Deadline != nil {
		who += ", until " + g.Deadline.Local().Format("Jan 02 15:04")
	}
	rows = append(rows, wrap(width, span{oneLine(who), dim})...)
	return append(append(rows, promptRows(g, width)...), "")
}

// mostPrompt is how many rows of a prompt are drawn.
const mostPrompt = 40

func promptRows(g *runtime.Gate, width int) (rows []string) {
	d := drawing{}
	d.text(g.Prompt, "")
	for _, line := range d.lines {
		if rows = append(rows, wrap(width, line...)...); len(rows) > mostPrompt {
			return append(rows[:mostPrompt], paint(dim, "…"))
		}
	}
	return rows
}

func (v *view) aboutWithPrompt(g *runtime.Gate, width int) []string {
	return append(append(promptRows(g, width), ""), v.about(g, width)...)
}

// mostOptions is how many options are drawn with their commands.
const mostOptions = 12

// optionRows are the options with their keys and commands.
func (v *view) optionRows(g runtime.Gate, width int) (rows []string) {
	commands, wide := v.commands(g), 0
	for _, o := range g.Options {
		wide = max(wide, columns(named(o)))
	}
	if len(g.Options) == 0 {
		rows = append(rows, fit(width, span{"enter ", blue}, span{"answer  ", usual}, span{oneLine(commands[0]), dim}))
	}
	for i, o := range g.Options[:min(len(g.Options), mostOptions)] {
		key := " "
		switch {
		case o.Name == "approve":
			key = "a"
		case o.Name == "reject":
			key = "r"
		case i < 9:
			key = strconv.Itoa(i + 1)
		}
		rows = append(rows, fit(width, span{key + " ", blue}, span{pad(named(o), min(wide, width/2)) + "  ", usual}, span{oneLine(commands[i]), dim}))
	}
	if more := len(g.Options) - mostOptions; more > 0 {
		rows = append(rows, fit(width, span{fmt.Sprintf("  and %d more: enter", more), dim}))
	}
	return append(rows, "")
}

// named is an option with what it means.
func named(o runtime.Option) string {
	if o.Description == "" {
		return oneLine(o.Name)
	}
	return oneLine(o.Name + ": " + o.Description)
}

// commands are what answers a gate in a shell: one for each option, or the one that there is.
func (v *view) commands(g runtime.Gate) (all []string) {
	data := ""
	if g.Contract != "" && !g.Editable || len(g.Options) == 0 {
		data = "…"
	}
	for _, o := range g.Options {
		all = append(all, v.desk.Command(v.desk.Answer(g, o.Name, ""), data))
	}
	if len(all) == 0 {
		all = append(all, v.desk.Command(v.desk.Answer(g, "", ""), data))
	}
	return all
}
