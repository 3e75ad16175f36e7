package inbox

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"starling/runtime/query"
)

// frame is what the screen has room for: a row of sections, the list, what the gate is about beside
// or below it, and at the bottom what was told, a command and the keys.
type frame struct {
	wide             bool // list and pane stand side by side
	list, pane       int  // rows; 0 is not drawn
	listWide         int  // columns
	paneWide         int
	noted, commanded bool // there are rows for them
}

// On a smaller screen nothing is drawn.
const leastWide, leastHigh = 10, 3

// Below these a part is left out.
const (
	wideFrom     = 90
	commandsFrom = 9  // rows of the screen
	notesFrom    = 4  // rows of the screen
	paneFrom     = 10 // rows of list and pane together, where they are stacked
)

func (v *view) frame() frame {
	f := frame{wide: v.width >= wideFrom, noted: v.height >= notesFrom, commanded: v.height >= commandsFrom}
	body := v.height - 2
	if f.noted {
		body--
	}
	if f.commanded {
		body--
	}
	body = max(body, 0)
	f.listWide, f.paneWide = v.width, v.width
	switch {
	case f.wide:
		f.list, f.pane = body, body
		f.listWide = min(max(40, v.width*2/5), 80)
		f.paneWide = v.width - f.listWide - 3
	case v.mode == answering:
		f.pane = body
	case body < paneFrom:
		f.list = body
	default:
		f.list = max(4, body*2/5)
		f.pane = body - f.list - 1
	}
	return f
}

func (v *view) paneHeight() int { return max(v.frame().pane, 3) }
func (v *view) listHeight() int { return max(v.frame().list, 1) }

// View implements tea.Model.
func (v *view) View() tea.View {
	rows, cursor := v.draw()
	out := tea.NewView(strings.Join(rows[:min(len(rows), v.height)], "\n"))
	out.AltScreen = true
	out.Cursor = cursor
	return out
}

// draw gives the rows of the screen, and the place of the cursor where something is typed.
func (v *view) draw() (rows []string, cursor *tea.Cursor) {
	switch {
	case v.width < leastWide || v.height < leastHigh:
		return []string{cut("the terminal is too small", v.width)}, nil
	case v.mode == helping:
		return v.helpRows(), nil
	}
	f := v.frame()
	rows = append(rows, v.tabs())
	list := v.listRows(f)
	pane, x, y := v.paneRows(f)
	switch {
	case f.wide:
		for i := range f.pane {
			rows = append(rows, pad2(list[i], f.listWide)+paint(dim, " │ ")+pane[i])
		}
		x += f.listWide + 3
	default:
		rows = append(rows, list...)
		if f.list > 0 && f.pane > 0 {
			rows = append(rows, paint(dim, strings.Repeat("─", v.width)))
		}
		y += len(rows) - 1
		rows = append(rows, pane...)
	}
	if y >= 0 && v.mode == answering {
		cursor = tea.NewCursor(x, y+1)
	}
	if f.noted {
		if v.mode == searching {
			at := columns(string(v.search().text[:v.search().at]))
			cursor = tea.NewCursor(min(2+at, v.width-1), len(rows))
		}
		rows = append(rows, v.noteRow())
	}
	if f.commanded {
		rows = append(rows, v.commandRow())
	}
	return append(rows, v.bar()), cursor
}

// pad2 fills a row that may have styles; it was cut before.
func pad2(row string, width int) string {
	return row + strings.Repeat(" ", max(0, width-columns(unstyled(row))))
}

// unstyled is a row without its styles.
func unstyled(row string) string {
	var b strings.Builder
	for {
		text, rest, styled := strings.Cut(row, "\x1b[")
		b.WriteString(text)
		if !styled {
			return b.String()
		}
		_, row, _ = strings.Cut(rest, "m")
	}
}

// tabs are the sections with what is in them. Where they are too many, those around the one that is
// shown.
func (v *view) tabs() string {
	var spans []span
	used, from := 0, 0
	for i := v.at; i >= 0; i-- {
		if used += columns(v.tab(i)) + 1; used > v.width && i < v.at {
			break
		}
		from = i
	}
	for i := from; i < len(v.sections); i++ {
		s := dim
		if i == v.at {
			s = reversed
		}
		spans = append(spans, span{v.tab(i), s}, span{" ", usual})
	}
	return fit(v.width, spans...)
}

func (v *view) tab(i int) string {
	s := v.sections[i]
	count := fmt.Sprint(len(s.gates))
	switch {
	case !s.listed:
		count += "…"
	case len(s.search.text) > 0:
		count = fmt.Sprintf("%d of %d", len(s.shown), len(s.gates))
	}
	return " " + cut(oneLine(s.Name), 20) + " " + count + " "
}

// listRows are the gates around the cursor.
func (v *view) listRows(f frame) (rows []string) {
	s := v.section()
	if s.cursor < s.scroll {
		s.scroll = s.cursor
	}
	s.scroll = max(0, min(max(s.scroll, s.cursor-f.list+1), len(s.shown)-f.list))
	for i := s.scroll; i < len(s.shown) && len(rows) < f.list; i++ {
		rows = append(rows, v.listRow(s.shown[i], i == s.cursor, f.listWide))
	}
	if len(rows) == 0 && f.list > 0 {
		rows = append(rows, paint(dim, cut(v.nothing(), f.listWide)))
	}
	for len(rows) < f.list {
		rows = append(rows, "")
	}
	return rows
}

// nothing says why the list is empty.
func (v *view) nothing() string {
	switch s := v.section(); {
	case len(s.gates) > 0:
		return "no gate has all of these words"
	case !s.listed:
		return "listing…"
	}
	return "no gate is open"
}

// listRow is a gate: what is done about it, its name, what it asks, and for how long.
func (v *view) listRow(it *item, here bool, width int) string {
	g := &it.gate
	mark, text, s := " ", unmarked(oneLine(g.Prompt)), usual
	if v.hasDraft(g) {
		mark = "✎"
	}
	if out := v.sending(g); out != nil {
		mark, text, s = "→", v.onItsWay(out), yellow
	}
	cursor := " "
	if here {
		cursor = "›"
	}
	nameWide := min(24, max(8, (width-10)*2/5))
	age := fmt.Sprintf("%5s", v.age(g.OpenedAt))
	if width < 50 {
		age = ""
	}
	name := pad(cutLeft(oneLine(query.Name(g.Gate)), nameWide), nameWide)
	row := []span{{cursor + mark + " ", yellow}, {name, bold}, {"  ", usual}, {pad(text, width-nameWide-5-len(age)), s}, {age, dim}}
	if !here {
		return fit(width, row...)
	}
	whole := ""
	for _, part := range row {
		whole += part.text
	}
	if v.mode == answering {
		return paint(bold, pad(whole, width))
	}
	return paint(reversed, pad(whole, width))
}

// onItsWay says what is sent, and when.
func (v *view) onItsWay(s *sending) string {
	what := oneLine(s.signal.Choice)
	if what == "" {
		what = "answer"
	}
	if s.sent {
		return what + " is being sent"
	}
	left := (s.due.Sub(v.desk.Clock()) + time.Second - 1) / time.Second
	return fmt.Sprintf("%s in %ds", what, max(0, left))
}

// age is how long ago something was.
func (v *view) age(t time.Time) string {
	switch d := v.desk.Clock().Sub(t); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

func (v *view) noteRow() string {
	if v.mode == searching {
		return fit(v.width, span{"/ ", bold}, span{string(v.search().text), usual})
	}
	if v.note.text == "" && len(v.search().text) > 0 {
		return fit(v.width, span{"/ " + string(v.search().text), dim}, span{"  esc shows all", dim})
	}
	return fit(v.width, span{oneLine(v.note.text), v.note.style})
}

// command is what a shell would do instead, "" for nothing.
func (v *view) command() string {
	switch {
	case v.mode == answering:
		return v.answer.command(v.desk)
	case len(v.out) > 0:
		last := v.out[len(v.out)-1]
		return v.desk.Command(last.signal, last.answer.shown(last.signal.Data))
	case v.section().selected() != nil:
		return v.commands(*v.section().selected())[0]
	}
	return ""
}

func (v *view) commandRow() string {
	command := v.command()
	if command == "" {
		return ""
	}
	return fit(v.width, span{"$ " + oneLine(command), dim})
}

// bar is the keys that mean something now, as many as there is room for.
func (v *view) bar() string {
	keys := listKeys()
	switch v.mode {
	case answering:
		keys = formKeys()
	case searching:
		return fit(v.width, span{"enter", bold}, span{" keeps it  ", dim}, span{"esc", bold}, span{" shows all", dim})
	}
	spans, gap, full := []span(nil), "", false
	left := v.width - columns("esc back")
	for _, b := range keys {
		if b.short == "" || b.when != nil && !b.when(v) {
			continue
		}
		kept := b.short == "keys" || b.short == "back" // with these one finds the others, or leaves
		if left -= columns(b.shown) + columns(b.short) + 3; (full || left < 0) && !kept {
			full = true
			continue
		}
		spans = append(spans, span{gap, usual}, span{b.shown, bold}, span{" " + b.short, dim})
		gap = "  "
	}
	return fit(v.width, append(spans, span{"", usual})...)
}

// rows are a key and what it does: side by side, or below it where there is little room.
func (b binding) rows(width int) (rows []string) {
	const keys = 16 // columns
	indent, key := keys, pad(b.shown, keys)
	if width < 2*keys {
		rows = append(rows, paint(blue, cut(b.shown, width)))
		indent, key = min(2, width-1), ""
	}
	for _, line := range wrap(width-indent, span{b.long, usual}) {
		rows = append(rows, paint(blue, pad(key, indent))+line)
		key = ""
	}
	return rows
}

// help scrolls the help, or leaves it.
func (v *view) help(pressed string) {
	switch pressed {
	case "down", "j", "space", "pgdown":
		v.top++
	case "up", "k", "b", "pgup":
		v.top = max(0, v.top-1)
	default:
		v.mode, v.top = browsing, 0
	}
}

// helpRows list all keys.
func (v *view) helpRows() (rows []string) {
	for _, part := range []struct {
		name string
		keys []binding
	}{{"In the list", listKeys()}, {"In the form", formKeys()}} {
		rows = append(rows, paint(bold, cut(part.name, v.width)))
		for _, b := range part.keys {
			rows = append(rows, b.rows(v.width)...)
		}
		rows = append(rows, "")
	}
	room := max(v.height-1, 1)
	v.top = min(v.top, max(0, len(rows)-room))
	rows = rows[v.top:min(len(rows), v.top+room)]
	return append(rows, paint(dim, cut("↓ and ↑ scroll, any other key goes back", v.width)))
}
