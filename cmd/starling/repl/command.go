package repl

import (
	"fmt"
	"io"
	"strings"

	"starling/lang/diagnostic"
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
		hint := diagnostic.DidYouMean(word, []string{":help", ":history", ":id", ":quit"})
		if hint == "" {
			hint = ":help lists the commands"
		}
		fmt.Fprintf(l.Err, "unknown command %s\n  = help: %s\n", word, hint)
	}
	return nil
}
