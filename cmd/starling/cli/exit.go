package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"starling/cmd/starling/verdict"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// exitTimeout is the exit code when the command's own --timeout has passed.
const exitTimeout = 124

// interruption is the cause of a context that a signal ended.
type interruption struct{ signal os.Signal }

func (i interruption) Error() string { return i.signal.String() }

func (i interruption) exitCode() int {
	if n, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 130
}

// failure is the end of a run that did not complete, told as an error of the command that followed
// it: the run's own document is the result already.
type failure struct{ err *runtime.RunError }

func (f failure) Error() string { return f.err.Message }

// errorDocument is the JSON form of an error.
type errorDocument struct {
	Schema string           `json:"schema"`
	Error  *runtime.Refusal `json:"error"`
}

// conclude tells an error, if there is one, and that not all of the result was written, if that is
// so, and gives the exit code. That a reader has left is nobody's fault: it has seen enough.
func (c *call) conclude(err error) int {
	lost := c.stdout.Lost()
	code := c.finish(c.beyondOutput(err))
	if lost == nil || errors.Is(lost, syscall.EPIPE) || code == runtime.ErrUnwritten.ExitCode() {
		return code
	}
	c.complain(verdict.Unwritten(lost), nil)
	return verdict.Lost(code)
}

// finish tells an error, if there is one, and gives the exit code.
func (c *call) finish(err error) int {
	var ended failure
	var interrupted interruption
	c.quiet = false
	switch {
	case err == nil:
		return c.code
	case errors.As(err, &ended):
		c.tell(ended.err)
		return verdict.ExitOf(ended.err)
	case errors.As(err, &interrupted):
		return interrupted.exitCode()
	}
	r := verdict.Refusal(err)
	c.complain(r, err)
	if c.json && !c.answered {
		c.answerJSON(errorDocument{runtime.Schema, r.ForShell()})
	}
	return r.Kind.ExitCode()
}

// complain tells people of a refusal: diagnostics with their source, anything else in one sentence.
func (c *call) complain(r *runtime.Refusal, err error) {
	if list := verdict.Diagnostics(err); len(list) > 0 {
		for _, d := range list {
			word := "error: "
			if d.Severity == diagnostic.Warning {
				word = "" // it says itself what it is
			}
			fmt.Fprint(c.stderr, word+check.Render(d))
		}
		return
	}
	c.notice("error: %s", r.Message)
	if r.Help != "" {
		c.notice("help: %s", r.Help)
	}
}

// tell tells people why a run failed: with its source lines, or with what is known where the source
// cannot be read.
func (c *call) tell(e *runtime.RunError) {
	if len(e.Diagnostics) > 0 {
		fmt.Fprintf(c.stderr, "error: %s", e.Diagnostics.Render())
		return
	}
	c.notice("error: %s", e.Message)
	if where := cmp.Or(strings.TrimRight(e.Backtrace, "\n"), e.Where); where != "" {
		c.notice("%s", where)
	}
}

// wantsJSON tells whether an error in the flags themselves is to be told as JSON.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// indent lays JSON out over several lines, keeping the order of keys. What is not JSON stays as it
// is.
func indent(text json.RawMessage, prefix string) string {
	var b bytes.Buffer
	if json.Indent(&b, text, prefix, "  ") != nil {
		return string(text)
	}
	return b.String()
}
