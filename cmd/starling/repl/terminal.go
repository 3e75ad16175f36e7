package repl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/peterh/liner"

	"starling/cmd/starling/plain"
)

// Terminal reads lines from the terminal of this process, with editing and history. A block that
// was recalled or pasted is one line, in which "↵" stands for the line breaks and "⇥" for tabs,
// because the editor shows only single lines well.
type Terminal struct {
	state *liner.State
	more  func() // has the terminal read up to the end of a line
}

// NewTerminal takes the terminal over; Close gives it back.
func NewTerminal() *Terminal {
	s, more := filterPaste(liner.NewLiner)
	s.SetCtrlCAborts(true)
	return &Terminal{s, more}
}

// Close restores the terminal.
func (t *Terminal) Close() error { return t.state.Close() }

// Line prompts for a line. The editor cannot be told to stop, so when ctx ends its goroutine is
// left behind: the process is about to end.
func (t *Terminal) Line(ctx context.Context, prompt string) (string, error) {
	return await(ctx, func() (string, error) {
		t.more()
		fmt.Print(pasteOn)
		defer fmt.Print(pasteOff)
		line, err := t.state.Prompt(strings.Map(oneLine, plain.Text(prompt)))
		if errors.Is(err, liner.ErrPromptAborted) {
			err = ErrAborted
		}
		return unfolder.Replace(line), err
	})
}

// oneLine keeps line breaks out of a prompt, which the editor refuses.
func oneLine(r rune) rune {
	if r == '\n' || r == '\t' {
		return ' '
	}
	return r
}

// Remember adds a statement to the history.
func (t *Terminal) Remember(statement string) {
	t.state.AppendHistory(plain.Text(folder.Replace(statement)))
}

// Pipe reads lines from something that is not a terminal. There are no prompts.
type Pipe struct{ r *bufio.Reader }

// NewPipe reads from r.
func NewPipe(r io.Reader) *Pipe { return &Pipe{bufio.NewReader(r)} }

// Line reads a line. The last one may lack its end.
func (p *Pipe) Line(ctx context.Context, _ string) (string, error) {
	return await(ctx, func() (string, error) {
		line, err := p.r.ReadString('\n')
		if line != "" {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	})
}

// Remember does nothing: a pipe recalls nothing.
func (*Pipe) Remember(string) {}

// await calls read and returns its answer, or the cause of ctx if that comes first.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line, err := read()
		answered <- answer{line, err}
	}()
	select {
	case a := <-answered:
		return a.line, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
