package repl

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// typed serves lines and notes the prompts that were asked with.
type typed struct {
	lines   []string
	prompts []string
}

func (t *typed) Line(_ context.Context, prompt string) (string, error) {
	t.prompts = append(t.prompts, prompt)
	if len(t.lines) == 0 {
		return "", io.EOF
	}
	line := t.lines[0]
	t.lines = t.lines[1:]
	if line == "^C" {
		return "", ErrAborted
	}
	return line, nil
}

func (*typed) Remember(string) {}

func (*typed) Typed(string) {}

func TestStatement(t *testing.T) {
	for _, test := range []struct {
		name    string
		lines   []string
		source  string
		command string
		rest    int // lines that are left for the next statement
	}{
		{"a line", []string{"x = 1", "y"}, "x = 1", "", 1},
		{"an open bracket", []string{"x = [", "1,", "]", "y"}, "x = [\n1,\n]", "", 1},
		{"a block ends with a blank line", []string{"def f():", "  return 1", "", "f()"}, "def f():\n  return 1", "", 1},
		{"a block ends with the input", []string{"for x in [1]:", "  print(x)"}, "for x in [1]:\n  print(x)", "", 0},
		{"several lines in one", []string{"def f():\n  return 1", "f()"}, "def f():\n  return 1", "", 1},
		{"a blank line within them", []string{"def f():\n  x = 1\n\n  return x", "f()"}, "def f():\n  x = 1\n\n  return x", "", 1},
		{"several statements in one", []string{"x = 1\n\ndef f():\n  return x\nf()", "y"}, "x = 1\n\ndef f():\n  return x\nf()", "", 1},
		{"a comment in a block", []string{"def f():", "# one", "  # two", "  return 1", "", "f()"}, "def f():\n# one\n  # two\n  return 1", "", 1},
		{"lines in one that go on", []string{"def f(\n  a,\n\n", "):", "  return a", "", "f(1)"}, "def f(\n  a,\n\n\n):\n  return a", "", 1},
		{"lines in one within a block", []string{"def f():", "  x = 1\n\n  y = 2", "  return x", "", "f()"}, "def f():\n  x = 1\n\n  y = 2\n  return x", "", 1},
		{"a blank line", []string{"", "x"}, "", "", 1},
		{"a comment", []string{"# nothing", "x"}, "", "", 1},
		{"a command", []string{":help me", "x"}, "", ":help me", 1},
		{"no command inside a statement", []string{"x = {1", ":2}"}, "x = {1\n:2}", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := &typed{lines: test.lines}
			source, command, err := statement(t.Context(), lines, firstPrompt)
			if err != nil || source != test.source || command != test.command {
				t.Errorf("got %q, %q, %v; want %q, %q", source, command, err, test.source, test.command)
			}
			if len(lines.lines) != test.rest {
				t.Errorf("%d lines are left, want %d", len(lines.lines), test.rest)
			}
		})
	}
}

func TestStatementErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		err   string
	}{
		{"a syntax error", []string{"x = = 1"}, "<stdin>:1:5: got '=', want an expression"},
		{"on a later line", []string{"def f():", "  return )", ""}, "<stdin>:2:10: unexpected ')'"},
		{"after a comment", []string{"def f():", "  # one", "  return )", ""}, "<stdin>:3:10: unexpected ')'"},
		{"a bracket that the input leaves open", []string{"x = ("}, "<stdin>:1:6: got end of file, want an expression; is the ( at <stdin>:1:5 not closed, or a comma missing?"},
		{"a hint", []string{"import os"}, `<stdin>:1:1: got import, want an expression; load("file.star", "name") takes the place of import; json, re, math and the like need none`},
		{"the end", nil, "EOF"},
		{"dropped", []string{"def f():", "^C"}, "dropped"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := statement(t.Context(), &typed{lines: test.lines}, firstPrompt)
			if err == nil || err.Error() != test.err {
				t.Errorf("got %v, want %s", err, test.err)
			}
		})
	}
}

func TestPrompts(t *testing.T) {
	lines := &typed{lines: []string{"if True:", "  x = 1", ""}}
	if _, _, err := statement(t.Context(), lines, firstPrompt); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines.prompts, ""); got != ">>> ... ... " {
		t.Errorf("the prompts were %q", got)
	}
}

func TestPipe(t *testing.T) {
	p := NewPipe(strings.NewReader("one\r\ntwo"))
	for _, want := range []string{"one", "two"} {
		if got, err := p.Line(t.Context(), firstPrompt); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if _, err := p.Line(t.Context(), firstPrompt); err != io.EOF {
		t.Errorf("at the end: got %v, want EOF", err)
	}
}

func TestLineEndsWithItsContext(t *testing.T) {
	r, w := io.Pipe() // nobody writes
	defer w.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := NewPipe(r).Line(ctx, firstPrompt); err != why {
		t.Errorf("got %v, want %v", err, why)
	}
}
