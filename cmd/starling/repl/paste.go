package repl

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync/atomic"
)

// The sequences of bracketed paste, which terminals have from xterm: the mode, and what stands
// around a pasted text.
const (
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// Control characters at which the editor's line is done, or is dropped.
const (
	ctrlC = 3
	ctrlD = 4
	ctrlL = 12 // draws the line again
)

// The stand-ins of what the editor takes for a key in a line of its own. They are shown, and undone
// when the line is read.
const (
	foldedBreak = "↵"
	foldedTab   = "⇥"
)

var (
	folder   = strings.NewReplacer("\n", foldedBreak, "\t", foldedTab)
	unfolder = strings.NewReplacer(foldedBreak, "\n", foldedTab, "\t")
)

// pasted passes on what comes from a terminal, a pasted text in one line: without it each of its
// lines would be entered by itself, the blank ones would end blocks, and tabs would ask for
// completions.
type pasted struct {
	to   io.Writer
	open bool   // within a pasted text
	held []byte // the beginning of a sequence that is still to come
	// Line breaks of the text that were not passed on yet: those at its end never are, so that it
	// waits for Enter.
	breaks int
	cr     bool // the last of them was a carriage return, to which a line feed may belong

	keys  bool        // something was pressed since the line began
	empty atomic.Bool // nothing had been, when the newest line ended
}

// write passes some bytes on. done says that a line has ended, which is where the editor stops
// reading.
func (p *pasted) write(b []byte) (done bool, err error) {
	b = append(p.held, b...)
	p.held = nil
	var out bytes.Buffer
	for len(b) > 0 {
		if p.open {
			b = p.text(&out, b)
			continue
		}
		switch c := b[0]; {
		case bytes.HasPrefix(b, []byte(pasteBegin)):
			p.open, p.breaks, p.cr, p.keys = true, 0, false, true
			b = b[len(pasteBegin):]
		case len(b) > 1 && strings.HasPrefix(pasteBegin, string(b)): // a lone escape is a key
			p.held, b = b, nil
		default:
			ends := c == '\r' || c == '\n' || c == ctrlC || c == ctrlD
			if ends {
				p.empty.Store(!p.keys)
			}
			p.keys, done = !ends && (p.keys || c != ctrlL), done || ends
			out.WriteByte(c)
			b = b[1:]
		}
	}
	_, err = p.to.Write(out.Bytes())
	return done, err
}

// text passes on what comes first in a part of a pasted text, and returns the rest.
func (p *pasted) text(out *bytes.Buffer, b []byte) []byte {
	switch c := b[0]; {
	case bytes.HasPrefix(b, []byte(pasteEnd)):
		p.open = false
		return b[len(pasteEnd):]
	case strings.HasPrefix(pasteEnd, string(b)):
		p.held = b
		return nil
	case c == ctrlC: // a way out of a text whose end was lost
		p.open = false
		return b
	case c == '\r' || c == '\n':
		if c == '\r' || !p.cr {
			p.breaks++
		}
		p.cr = c == '\r'
	case c < ' ' && c != '\t' || c == 0x7f:
		// A text presses no keys.
	default:
		out.WriteString(strings.Repeat(foldedBreak, p.breaks))
		p.breaks, p.cr = 0, false
		if c == '\t' {
			out.WriteString(foldedTab)
		} else {
			out.WriteByte(c)
		}
	}
	return b[1:]
}

// filterPaste puts a pipe between the terminal and the editor that begin opens, which reads
// os.Stdin as it is then. The terminal is read from once more is called until a line has ended, so
// that nobody else is robbed of what is typed. p tells whether the newest line was empty.
func filterPaste[T any](begin func() T) (opened T, p *pasted, more func()) {
	tty := os.Stdin
	r, w, err := os.Pipe()
	if err != nil {
		return begin(), &pasted{}, func() {}
	}
	p = &pasted{to: w}
	os.Stdin = r
	opened = begin()
	os.Stdin = tty

	next := make(chan struct{}, 1)
	go func() {
		defer w.Close()
		buf := make([]byte, 4096)
		for range next {
			for {
				n, err := tty.Read(buf)
				done, wrong := p.write(buf[:n])
				if err != nil || wrong != nil {
					return
				}
				if done {
					break
				}
			}
		}
	}()
	return opened, p, func() {
		select {
		case next <- struct{}{}:
		default: // it reads still
		}
	}
}
