package agent

import (
	"encoding/json"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/project"
)

// dialect is how one kind of program is asked and answers. Each value serves one attempt; line and
// answer are called one after the other.
type dialect interface {
	// invoke says what the program is given beside its name. The error is a request that cannot be
	// put into words.
	invoke(q Question) (invocation, error)
	// line takes one line of standard output as it comes. It tells whether the line counts as part
	// of the reply, whose size is bounded.
	line(line string, emit emitter) (counts bool)
	// answer is what the lines came to, when there are no more.
	answer() (answer, *fault)
	// spent is what it has taken so far, as far as the lines say; nil for nothing.
	spent() starlark.Value
	// conversation is how the program calls its conversation, "" while it has not said.
	conversation() string
	// exit says what an exit code other than 0 means for further attempts.
	exit(code int) (class effect.Failure, meaning string)
}

func dialectOf(preset string) dialect {
	switch preset {
	case project.Claude:
		return &claude{}
	case project.Codex:
		return &codex{}
	case project.Gemini:
		return &gemini{}
	}
	return &protocol{}
}

// invocation is what a program is given.
type invocation struct {
	args   []string // after those of the definition
	env    []string // "NAME=value", beside what every agent is given
	stdin  []byte   // never nothing: a program that waits for somebody to type would wait for ever
	forget func()   // removes what was made for it
	files  []string // that were made for it, for it to read
}

// fault is why an answer counts as none.
type fault struct {
	message string
	kind    effect.Kind
	class   effect.Failure
	after   time.Duration // for Retryable: wait at least this long
	said    bool          // the program itself says so, which explains more than its exit code
	wrong   contract.Violations
}

// protocol is that of this program: the request is one line of JSON on standard input, the answer
// is on standard output. A line that is a JSON object with nothing but an event, {"event": {"kind":
// …}}, is journaled at once and is no part of the answer.
type protocol struct{ said strings.Builder }

func (p *protocol) invoke(q Question) (invocation, error) {
	request, err := contract.ToJSON(q.Request)
	return invocation{stdin: append(request, '\n'), forget: func() {}}, err
}

func (p *protocol) line(line string, emit emitter) (counts bool) {
	if e, ok := eventOf(line); ok {
		kind := effect.ViewOf(e).Text("kind")
		emit.event(kind, claimed(kind, e))
		return false
	}
	p.said.WriteString(line)
	p.said.WriteByte('\n')
	return true
}

func (p *protocol) answer() (answer, *fault) {
	a, wrong := parseAnswer(p.said.String())
	if len(wrong) > 0 {
		return a, &fault{wrong: wrong}
	}
	return a, nil
}

func (*protocol) spent() starlark.Value { return nil } // it says so with its answer, or in events

func (*protocol) conversation() string { return "" }

func (*protocol) exit(code int) (class effect.Failure, meaning string) { return exitFailure(code) }

// exitFailure says what an exit code means for further attempts. Most failures of programs pass (a
// limit, a network); these do not:
//
//	64  the command line is wrong        77  permission denied
//	78  the configuration is wrong       126, 127  the program is not there or cannot be executed
func exitFailure(code int) (class effect.Failure, meaning string) {
	switch code {
	case 64:
		return effect.Final, " (usage)"
	case 77:
		return effect.Final, " (permission denied)"
	case 78:
		return effect.Final, " (configuration)"
	case 126, 127:
		return effect.Missing, " (program not found or not executable)"
	}
	return effect.Retryable, ""
}

// decode reads a line of a stream of JSON into a struct. Lines that are something else are passed
// over: programs greet, warn and grow new kinds of events.
func decode(line string, into any) bool {
	return strings.HasPrefix(strings.TrimSpace(line), "{") && json.Unmarshal([]byte(line), into) == nil
}
