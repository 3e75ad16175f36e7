// Package table lays rows out for whoever reads them. On a terminal they are cut to its width,
// times are as people say them, in their own zone, and colours mean states. In a file or a pipe
// rows are whole, times are RFC 3339 in UTC, and there are no colours, so that what reads them has
// the same everywhere.
//
//	p := table.On(os.Stdout, os.LookupEnv)
//	t := table.New(p, "RUN", "STATUS", "STARTED")
//	t.Row(r.ID, p.State(r.Status), p.Time(r.StartedAt))
//	err := t.Write(os.Stdout)
package table

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Paper is what rows are written on. The zero Paper is a file.
type Paper struct {
	Width   int // columns of a terminal, 0 for no bound
	Height  int
	Colours bool
	Quiet   bool // rows are nothing but what names them, one a line and whole
	Now     time.Time
	Zone    *time.Location
}

// On is the paper that a file is, as the environment says.
func On(f *os.File, getenv func(string) (string, bool)) Paper {
	if kind, _ := getenv("TERM"); f == nil || kind == "dumb" || kind == "" {
		return Paper{}
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return Paper{}
	}
	plain, _ := getenv("NO_COLOR")
	p := Paper{Width: int(size.Col), Height: int(size.Row), Colours: plain == "", Now: time.Now(), Zone: time.Local}
	if p.Width == 0 {
		p.Width, p.Height = 80, 24
	}
	return p
}

// Terminal tells whether people read it.
func (p Paper) Terminal() bool { return p.Width > 0 }

// Time is a time: how long ago it was, or in how long it will be, where that is within a day.
func (p Paper) Time(t time.Time) string {
	if !p.Terminal() {
		return t.UTC().Format(time.RFC3339)
	}
	switch d := p.Now.Sub(t); {
	case d >= 0 && d < 24*time.Hour:
		return span(d) + " ago"
	case d < 0 && d > -24*time.Hour:
		return "in " + span(-d)
	}
	at := t.In(p.Zone)
	if at.Year() == p.Now.In(p.Zone).Year() {
		return at.Format("Jan 02 15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// Clock is the time of the day of something that is one of many.
func (p Paper) Clock(t time.Time) string {
	if !p.Terminal() {
		return t.UTC().Format(time.RFC3339)
	}
	at, now := t.In(p.Zone), p.Now.In(p.Zone)
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04:05")
	}
	return at.Format("Jan 02 15:04:05")
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// Cell is a text in a colour.
type Cell struct {
	Text   string
	colour string // as SGR has it, "" for none
}

// State is how something stands, in the colour that this has everywhere.
func (p Paper) State(state string) Cell {
	code := "31"
	switch state {
	case "completed", "ok", "yes":
		code = "32"
	case "suspended", "waiting", "no":
		code = "33"
	case "running", "pending":
		code = "34"
	case "cancelled", "withdrawn", "stopped", "":
		code = "2"
	}
	return Cell{state, code}
}

// Dim is a text that is not what one looks for.
func Dim(text string) Cell { return Cell{text, "2"} }

// Bold is a text that one looks for.
func Bold(text string) Cell { return Cell{text, "1"} }

// paint gives a text a colour, where there are any.
func (p Paper) paint(code, text string) string {
	if !p.Colours || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[m"
}
