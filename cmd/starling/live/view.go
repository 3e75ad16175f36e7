package live

import (
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"starling/cmd/starling/progress"
	"starling/runtime"
)

// framesPerSecond bounds what is drawn: over a slow line, more than this only falls behind.
const framesPerSecond = 10

// patience is how long a run may take without being drawn: one that is over before flashes nothing.
const patience = 150 * time.Millisecond

// A View shows runs on a terminal, in place, until it is closed. Its methods may be called
// concurrently.
type View struct {
	out    *os.File
	answer func(runtime.Gate) []string
	getenv func(string) (string, bool)
	over   chan struct{} // closed to stop drawing
	gone   chan struct{} // closed when nothing is drawn any more

	mu     sync.Mutex
	boards []*Board
	above  []string // lines that are still to be written above the boards
	closed bool
}

// Open is a view on a terminal, with the commands that answer a gate.
func Open(out *os.File, getenv func(string) (string, bool), answer func(runtime.Gate) []string) *View {
	v := &View{out: out, answer: answer, getenv: getenv, over: make(chan struct{}), gone: make(chan struct{})}
	go v.drive()
	return v
}

// Able tells whether a file is a terminal that can be drawn on, and whose reader is here: what the
// environment says counts, and a job in the background does not draw over the shell.
func Able(out *os.File, getenv func(string) (string, bool)) bool {
	for _, no := range []string{"NO_COLOR", "CI"} {
		if text, ok := getenv(no); ok && text != "" {
			return false
		}
	}
	if kind, _ := getenv("TERM"); kind == "dumb" || kind == "" {
		return false
	}
	front, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP)
	return err == nil && front == unix.Getpgrp()
}

// Follow adds a run, and gives what shows its events: they are of one goroutine. What the run has
// said before is not said again.
func (v *View) Follow(r *runtime.Run) func(runtime.Event) {
	b, before := NewBoard(r, v.answer), uint64(0)
	if r.Details != nil {
		before = r.Details.Seq
	}
	v.mu.Lock()
	v.boards = append(v.boards, b)
	v.mu.Unlock()
	said := progress.New(lines{v})
	return func(ev runtime.Event) {
		v.mu.Lock()
		defer v.mu.Unlock()
		b.Add(ev)
		if ev.Seq > before && stays(ev) {
			said.Show(ev)
		}
	}
}

// stays tells whether an event is a line above the boards: what the script says, and what nobody
// would see in them later.
func stays(ev runtime.Event) bool {
	switch ev.Type {
	case "output.print", "output.log", "output.emit", "attempt.refused", "signal.refused", "agent.event":
		return true
	}
	return false
}

// lines are what is to be written above the boards. Whoever writes has the view locked.
type lines struct{ *View }

// Write takes lines.
func (l lines) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		l.above = append(l.above, visible(line))
	}
	return len(text), nil
}

// drive draws until the view is over.
func (v *View) drive() {
	defer close(v.gone)
	select {
	case <-v.over:
		return
	case <-time.After(patience):
	}
	s := newScreen(v.out, v.getenv)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	defer signal.Stop(resized)
	tick := time.NewTicker(time.Second / framesPerSecond)
	defer tick.Stop()
	for {
		v.frame(s, time.Now())
		select {
		case <-tick.C:
		case <-resized:
			<-tick.C // however fast somebody drags the border
		case <-v.over:
			s.close()
			return
		}
	}
}

// frame draws all boards, each with its part of the height.
func (v *View) frame(s *screen, now time.Time) {
	width, height := size(v.out)
	v.mu.Lock()
	above := v.above
	v.above = nil
	var all []string
	for i, b := range v.boards {
		left := height - 1 - len(all)
		part := max(1, left/(len(v.boards)-i))
		all = append(all, b.lines(page{now: now, width: width, height: part})...)
	}
	v.mu.Unlock()
	s.draw(above, all[:min(len(all), max(1, height-1))], width, height)
}

// Close takes the boards off the terminal and leaves a summary of each.
func (v *View) Close() {
	if !v.stop() {
		return
	}
	width, _ := size(v.out)
	for _, b := range v.boards {
		v.above = append(v.above, b.Summary(width)...)
	}
	for _, line := range v.above {
		_, _ = v.out.WriteString(line + "\n") // who has hung up sees nothing
	}
}

// Abandon gives the terminal back at once.
func (v *View) Abandon() { v.stop() }

// stop ends the drawing and waits until the terminal is as it was. It is false when it was stopped
// before.
func (v *View) stop() bool {
	v.mu.Lock()
	again := v.closed
	v.closed = true
	v.mu.Unlock()
	if !again {
		close(v.over)
	}
	<-v.gone
	return !again
}

// maxSummary is how many lines a summary has: it is no list of steps.
const maxSummary = 40

// Summary is how a run stands, in lines that stay.
func (b *Board) Summary(width int) []string {
	return b.lines(page{now: b.last, width: width, height: maxSummary, still: true})
}
