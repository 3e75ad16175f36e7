package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"starling/runtime"
)

// The widths from which on there are columns, for what a row has cost or at all, and those of the
// columns.
const (
	wide   = 64
	narrow = 12 // below which there is room for names only

	tookWidth   = 6
	tokensWidth = 7
	moneyWidth  = 8
)

// line lays a row out in columns: a mark, a name, what there is to say, and what it has taken.
func (s page) line(r row, names int) string {
	if s.width < narrow {
		return cut(r.name, s.width)
	}
	r.depth = min(r.depth, s.width/8)
	if r.whole {
		return strings.Repeat(" ", 2*r.depth+4) + dim(cut(r.text, s.width-2*r.depth-4))
	}
	right := s.right(r)
	room := s.width - len(right)
	if room < 8 {
		right, room = "", s.width
	}
	indent, mark := strings.Repeat("  ", r.depth), s.mark(r)+" "
	used := len(indent) + 2
	if r.top() {
		indent, mark, used, names = "", "", 0, runewidth.StringWidth(r.name)-2
	}
	name := cut(r.name, min(names+2-used, room-used))
	used += runewidth.StringWidth(name)
	gap := max(0, min(names+4, room)-used)
	text := cut(r.text, room-used-gap)
	rest := max(0, room-used-gap-runewidth.StringWidth(text))
	if r.head {
		name = bold(name)
	}
	return indent + mark + name + strings.Repeat(" ", gap) + colour(r, text) + strings.Repeat(" ", rest) + dim(right)
}

// top tells whether a row is that of the run itself.
func (r row) top() bool { return r.head && r.depth == 0 && strings.HasPrefix(r.name, "run ") }

// cut is the beginning of a text that fits a width.
func cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	return runewidth.Truncate(text, width, "…")
}

// right are the columns of what a row has taken.
func (s page) right(r row) string {
	text := fmt.Sprintf(" %*s", tookWidth, span(r.took))
	if s.width < wide {
		return text
	}
	return text + fmt.Sprintf("%*s%*s", tokensWidth, Tokens(r.usage.InputTokens+r.usage.OutputTokens), moneyWidth, money(r.usage))
}

// span is a duration in at most six columns, "" for none that anybody would notice.
func span(d time.Duration) string {
	switch d = d.Truncate(time.Second); {
	case d < time.Second:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Tokens is a number of tokens in at most six columns, "" for none.
func Tokens(n int64) string {
	switch {
	case n <= 0:
		return ""
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// money is what was spent, to the cent where that says it.
func money(u runtime.Usage) string {
	switch {
	case u.MicroUSD <= 0:
		return ""
	case u.MicroUSD < 10_000:
		return fmt.Sprintf("$%.4f", float64(u.MicroUSD)/1e6)
	}
	return fmt.Sprintf("$%.2f", float64(u.MicroUSD)/1e6)
}

// turn are the pictures of what is at work, one after another.
const turn = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// mark says how a row stands, in one column.
func (s page) mark(r row) string {
	switch r.state {
	case done:
		return green("✓")
	case failed:
		return red("✗")
	case asking:
		return yellow("◆")
	case gone:
		return dim("−")
	case waiting:
		return dim("·")
	}
	if s.still || r.head {
		return " "
	}
	frames := []rune(turn)
	return blue(string(frames[s.now.UnixMilli()/100%int64(len(frames))]))
}

// colour is the text of a row in the colour of its state.
func colour(r row, text string) string {
	switch {
	case r.state == failed && !r.head:
		return red(text)
	case r.state == asking && !r.head:
		return yellow(text)
	case r.state == done || r.state == gone:
		return dim(text)
	}
	return text
}

func sgr(code, text string) string {
	if text == "" {
		return ""
	}
	return "\x1b[" + code + "m" + text + "\x1b[m"
}

func bold(text string) string   { return sgr("1", text) }
func dim(text string) string    { return sgr("2", text) }
func red(text string) string    { return sgr("31", text) }
func green(text string) string  { return sgr("32", text) }
func yellow(text string) string { return sgr("33", text) }
func blue(text string) string   { return sgr("34", text) }
