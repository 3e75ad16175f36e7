package repl

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"starling/lang/diagnostic"
	"starling/runtime"
)

const help = `Type Starlark: a statement runs when its line ends, a block when a blank line ends it. Agents, gates and all other
effects work here as in scripts; a gate is answered at its own prompt, an empty line leaves it open.

  :help      this text
  :history   the statements of this session
  :id        the id of this session; starling repl --resume ID goes on with it
  :quit      leave; Ctrl-D does the same

`

// command does what a line that begins with a colon says.
func (l *Loop) command(line string) error {
	switch word := strings.TrimSpace(line); word {
	case ":help":
		fmt.Fprint(l.Err, help)
	case ":history":
		for _, s := range l.history {
			fmt.Fprintln(l.Out, s)
		}
	case ":id":
		fmt.Fprintln(l.Out, l.Run)
	case ":quit":
		return io.EOF
	default:
		hint := cmp.Or(commandFor(word[1:]), diagnostic.Meant(word, []string{":help", ":history", ":id", ":quit"}), ":help lists the commands")
		fmt.Fprintf(l.Err, "unknown command %s\n  = help: %s\n", word, hint)
		l.Wrong(string(runtime.ErrUsage))
	}
	return nil
}

// commandFor is the hint for a word by which other prompts are left or asked, "" for any other
// word.
func commandFor(word string) string {
	switch word {
	case "quit", "exit":
		return ":quit leaves the session"
	case "help":
		return ":help lists the commands; starling doc NAME says what a name of the language means"
	case "history":
		return ":history shows the statements of the session"
	}
	return ""
}

// withCommand has a name that is not defined hint at the command that was meant, if it begins what
// was typed.
func withCommand(list diagnostic.List) diagnostic.List {
	for i, d := range list {
		name, undefined := strings.CutPrefix(d.Message, "undefined: ")
		if undefined && d.Line == 1 && d.Col == 1 {
			list[i].Hint = cmp.Or(commandFor(name), d.Hint)
		}
	}
	return list
}
