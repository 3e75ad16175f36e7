package repl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"

	"starling/cmd/starling/plain"
)

// Terminal reads lines from the terminal of this process, with editing and history. A block that
// was recalled or pasted is one line, in which "↵" stands for the line breaks and "⇥" for tabs,
// because the editor shows only single lines well.
type Terminal struct {
	// Complete gives what may stand in place of the word before the cursor, and where that begins.
	// Nil completes nothing.
	Complete func(before string) (from int, words []string)

	state *liner.State
	keys  *pasted  // what was pressed
	more  func()   // has the terminal read up to the end of a line
	past  *os.File // what was typed in all sessions; nil for nowhere
}

// NewTerminal takes the terminal over; Close gives it back. What was typed in other sessions is
// read from a file, and what is typed is added to it; "" for none.
func NewTerminal(past string) *Terminal {
	s, keys, more := filterPaste(liner.NewLiner)
	s.SetCtrlCAborts(true)
	s.SetTabCompletionStyle(liner.TabPrints)
	s.SetMultiLineMode(true)
	s.SetBeep(false)
	t := &Terminal{state: s, keys: keys, more: more}
	s.SetWordCompleter(t.complete)
	t.past = readPast(past, s.AppendHistory)
	return t
}

// readPast reads the lines of a file, and opens it for more. A file that cannot be read or written
// is done without.
func readPast(name string, each func(line string)) *os.File {
	if name == "" || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return nil
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(f, maxPast))
	for line := range strings.Lines(string(text)) {
		each(plain.Text(strings.TrimSuffix(line, "\n")))
	}
	if len(text) > maxPast/2 { // the older half goes
		rest := text[len(text)/2:]
		_ = f.Truncate(0)
		_, _ = f.Write(rest[strings.IndexByte(string(rest), '\n')+1:])
	}
	return f
}

// maxPast bounds the file of what was typed, bytes.
const maxPast = 1 << 20

// complete is the completer of the editor, which counts characters.
func (t *Terminal) complete(line string, pos int) (head string, words []string, tail string) {
	runes := []rune(line)
	before := string(runes[:pos])
	if t.Complete == nil {
		return before, nil, string(runes[pos:])
	}
	from, words := t.Complete(before)
	return before[:from], words, string(runes[pos:])
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
			if t.keys.empty.Load() {
				err = errEmpty
			}
		}
		if err == nil {
			t.keep(prompt, unfolder.Replace(line))
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

// keep keeps commands, which are no statements that would be remembered.
func (t *Terminal) keep(prompt, line string) {
	if strings.HasSuffix(prompt, firstPrompt) && isCommand(line) {
		t.Remember(line)
		t.Typed(line)
	}
}

// Remember adds a statement to what can be recalled here.
func (t *Terminal) Remember(statement string) {
	t.state.AppendHistory(plain.Text(folder.Replace(statement)))
}

// Typed adds what was typed to what other sessions can recall.
func (t *Terminal) Typed(statement string) {
	if t.past != nil {
		fmt.Fprintln(t.past, plain.Text(folder.Replace(statement)))
	}
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

// Typed does nothing.
func (*Pipe) Typed(string) {}

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
