package live

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/sys/unix"
)

// screen draws lines at the bottom of a terminal, each time over the ones before. The cursor stays
// at the beginning of the line below. Only what has changed is written, in one Write, and between
// the marks of a frame, so that a terminal which knows these shows no half of it.
type screen struct {
	out     *os.File
	width   int // for which the lines were drawn
	height  int
	lines   []string // that are there now
	reflows bool     // the terminal lays lines out anew when its width changes
	typed   *unix.Termios
}

// The sequences that a screen writes.
const (
	frameBegins, frameEnds = "\x1b[?2026h", "\x1b[?2026l"
	hideCursor, showCursor = "\x1b[?25l", "\x1b[?25h"
	eraseLine, eraseBelow  = "\x1b[K", "\x1b[J"
)

// newScreen takes the terminal: what is typed is not shown meanwhile, for it would push the lines
// about. It still interrupts.
func newScreen(out *os.File, getenv func(string) (string, bool)) *screen {
	_, xterm := getenv("XTERM_VERSION")
	s := &screen{out: out, reflows: !xterm}
	if t, err := unix.IoctlGetTermios(int(out.Fd()), getTermios); err == nil {
		silent := *t
		silent.Lflag &^= unix.ECHO
		if unix.IoctlSetTermios(int(out.Fd()), setTermios, &silent) == nil {
			s.typed = t
		}
	}
	s.write(hideCursor)
	return s
}

// size is that of the terminal now.
func size(out *os.File) (width, height int) {
	w, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ)
	if err != nil || w.Col == 0 || w.Row == 0 {
		return 80, 24
	}
	return int(w.Col), int(w.Row)
}

// draw shows lines, with others above them that stay.
func (s *screen) draw(above, lines []string, width, height int) {
	var b strings.Builder
	if width == s.width && height == s.height && len(above) == 0 && slices.Equal(lines, s.lines) {
		return
	}
	if width != s.width || height != s.height || len(above) > 0 {
		b.WriteString(s.top(width) + s.erased())
		for _, line := range above {
			b.WriteString(line + "\r\n")
		}
		s.lines, s.width, s.height = nil, width, height
	}
	b.WriteString(s.top(width))
	for i, line := range lines {
		if i < len(s.lines) && s.lines[i] == line {
			b.WriteString("\n")
			continue
		}
		b.WriteString(line + eraseLine + "\r\n")
	}
	if len(lines) < len(s.lines) {
		b.WriteString(eraseBelow)
	}
	s.write(frameBegins + b.String() + frameEnds)
	s.lines = lines
}

// top moves to the beginning of the first line that is there. Where the width has changed a line
// may take several, or one of before may take none.
func (s *screen) top(width int) string {
	rows := 0
	for _, line := range s.lines {
		rows++
		if w := shownWidth(line); s.reflows && w > width {
			rows += (w - 1) / width
		}
	}
	if rows == 0 {
		return "\r"
	}
	return "\r\x1b[" + strconv.Itoa(rows) + "A"
}

// erased takes away what is there, from its first line on. Where that is the first of the screen,
// tmux would keep all that is erased at once in its history.
func (s *screen) erased() string {
	if len(s.lines) == 0 {
		return eraseBelow
	}
	return eraseLine + "\n" + eraseBelow + "\x1b[A"
}

// close takes the lines away and gives the terminal back.
func (s *screen) close() {
	width, _ := size(s.out)
	s.write(s.top(width) + s.erased() + showCursor)
	if s.typed != nil {
		_ = unix.IoctlSetTermios(int(s.out.Fd()), setTermios, s.typed)
	}
}

func (s *screen) write(text string) { _, _ = s.out.WriteString(text) } // who has hung up sees nothing

// shownWidth is the width of a line on the screen, without its colours.
func shownWidth(line string) int {
	width := 0
	for {
		text, rest, coloured := strings.Cut(line, "\x1b[")
		width += runewidth.StringWidth(text)
		if !coloured {
			return width
		}
		_, line, _ = strings.Cut(rest, "m")
	}
}
