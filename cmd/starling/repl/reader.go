package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"starling/lang"
)

// Lines gives what a user types, a line at a time without its end. Errors: io.EOF at the end,
// [ErrAborted] when the user has dropped the line, and the cause of ctx.
type Lines interface {
	Line(ctx context.Context, prompt string) (string, error)
	// Remember adds a statement to what the user can recall.
	Remember(statement string)
	// Typed adds one that was typed to what the user can recall in other sessions.
	Typed(statement string)
}

// ErrAborted says that the user has dropped what was being typed.
var ErrAborted = errors.New("dropped")

// errEmpty is ErrAborted where nothing had been typed.
var errEmpty = fmt.Errorf("nothing %w", ErrAborted)

// The prompts of a statement's first line and of the others.
const (
	firstPrompt = ">>> "
	promptMore  = "... "
)

// chunkName is how positions in what is typed are shown.
const chunkName = "<stdin>"

// statement reads lines up to the end of a statement, the first after a prompt. command is set
// instead for a line that begins with a colon or an exclamation mark, or asks what a name means.
// Both are empty when there was nothing but space or a comment. Of what cannot be parsed source is
// given, too.
func statement(ctx context.Context, lines Lines, prompt string) (source, command string, err error) {
	u := unit{ctx: ctx, lines: lines, first: prompt}
	f, err := lang.FileOptions().ParseCompoundStmt(chunkName, u.read)
	switch {
	case u.command != "":
		return "", u.command, nil
	case errors.Is(u.stop, ErrAborted) && u.begun:
		return "", "", ErrAborted
	case u.stop != nil:
		return "", "", u.stop
	case err != nil:
		if _, placed := lang.FileOptions().Parse(chunkName, u.text.Bytes(), 0); placed != nil {
			err = placed // the parser of statements was not given each line
		}
		return u.source(), "", lang.SyntaxProblem(&lang.Module{Name: chunkName, Source: u.text.Bytes()}, err)
	case len(f.Stmts) == 0:
		return "", "", nil
	}
	return u.source(), "", nil
}

func (u *unit) source() string { return strings.TrimRight(u.text.String(), "\n") }

// unit gathers the lines of one statement for the parser, which asks for them one by one.
type unit struct {
	ctx     context.Context
	lines   Lines
	first   string // the prompt
	text    bytes.Buffer
	begun   bool
	ended   bool   // the input has ended
	command string // the line was not for the parser
	stop    error  // what lines said, which the parser does not pass on
}

// read gives the parser its next line. An empty answer means that there is none.
func (u *unit) read() ([]byte, error) {
	for !u.ended {
		line, err := u.lines.Line(u.ctx, u.prompt())
		switch {
		case err == io.EOF && u.begun:
			u.ended = true
			return []byte("\n"), nil // closes a block
		case err != nil:
			u.stop = err
			return nil, err
		case !u.begun && isCommand(line):
			u.command = line
			return nil, errCommand
		}
		first := !u.begun
		u.begun = true
		u.text.WriteString(line + "\n")
		switch {
		case first && isWhole(line):
			u.ended = true
			return []byte("pass\n"), nil
		case first || line == "" || strings.Contains(line, "\n"):
			return []byte(withoutBlanks(line) + "\n"), nil
		case isComment(line):
			// The parser would end the block.
		default:
			return []byte(line + "\n"), nil
		}
	}
	return nil, nil
}

// isWhole tells whether several lines that came as one, recalled or pasted, are statements as they
// stand.
func isWhole(lines string) bool {
	if !strings.Contains(lines, "\n") {
		return false
	}
	_, err := lang.FileOptions().Parse(chunkName, lines, 0)
	return err == nil
}

// withoutBlanks leaves the blank lines and comments out of several lines that came as one: there
// they are to be read, and only a blank line that was entered ends a block. What this does to a
// text in quotes is of no matter, for the parser is asked only where the statement ends.
func withoutBlanks(lines string) string {
	first, rest, several := strings.Cut(lines, "\n")
	if !several {
		return lines
	}
	kept := []string{first}
	for line := range strings.Lines(rest) {
		if strings.TrimSpace(line) != "" && !isComment(line) {
			kept = append(kept, strings.TrimSuffix(line, "\n"))
		}
	}
	return strings.Join(kept, "\n")
}

func isComment(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }

// isCommand tells whether a line is not for the parser.
func isCommand(line string) bool {
	_, _, asks := asked(line)
	return asks || strings.HasPrefix(line, ":") || strings.HasPrefix(line, "!")
}

// prompt is that of the next line. Those after the first stand below it.
func (u *unit) prompt() string {
	if u.begun {
		return strings.Repeat(" ", len(u.first)-len(promptMore)) + promptMore
	}
	return u.first
}

// errCommand ends the parser when a line is not for it.
var errCommand = errors.New("a command")
