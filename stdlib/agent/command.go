package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/process"
)

const (
	maxReply  = 4 << 20 // bytes of stdout: room for prose around a reply of MaxPayload
	maxStderr = 2 << 10 // bytes of the end of stderr that an error shows
	maxSecret = 4 << 10 // bytes before them that are read too, so that a value is not cut where nobody recognises it
)

// command asks agents that are executables: the request is one line of JSON on standard input, the answer is on standard output. The program
// runs in the run's workspace with the variables that every program needs, those that the agent declares, and who it works for in
// STARLING_RUN_ID, STARLING_STEP, STARLING_BRANCH, STARLING_ATTEMPT, STARLING_AGENT, STARLING_KEY, and STARLING_TOKEN, by which the commands of this program know it as the agent.
type command struct{}

// Ask runs the program once, under a guard: when it returns, nothing that the program started is left.
func (command) Ask(ctx context.Context, q Question) effect.Reply {
	spec, err := newSpec(q)
	if err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: %v", q.Definition.Agent, err), effect.Missing)
	}
	result, err := process.Run(ctx, spec)
	j := judge{q, redactor(q)}
	if err != nil {
		return j.notStarted(ctx, err)
	}
	reply := j.ended(ctx, result)
	reply.Blobs = j.transcript(result)
	return reply
}

// transcript is what the program wrote, without the values of declared variables.
func (j judge) transcript(r process.Result) map[string][]byte {
	text := string(r.Stdout)
	if len(r.Stderr) > 0 {
		text += "\n--- standard error\n" + string(r.Stderr)
	}
	if text == "" {
		return nil
	}
	return map[string][]byte{"transcript.txt": []byte(j.redact.Replace(text))}
}

func newSpec(q Question) (process.Spec, error) {
	env, err := environment(q)
	if err != nil {
		return process.Spec{}, err
	}
	request, err := contract.ToJSON(q.Request)
	if err != nil {
		return process.Spec{}, fmt.Errorf("the request: %w", err)
	}
	return process.Spec{
		Argv:      argv(q.Definition),
		Dir:       q.Settings.Workspace,
		Env:       env,
		Stdin:     bytes.NewReader(append(request, '\n')),
		Lock:      q.Lock,
		Attempt:   process.Attempt{Run: q.Run, Step: q.Step, Attempt: q.Number, Agent: q.Definition.Agent},
		MaxStdout: maxReply,
		MaxStderr: maxStderr + maxSecret,
	}, nil
}

// argv takes a relative program from the folder of the project file, wherever the run works.
func argv(d Definition) []string {
	program := d.Command[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(d.Dir, program)
	}
	return append([]string{program}, d.Command[1:]...)
}

// environment takes declared variables from who carries the run, and never from this process.
func environment(q Question) ([]string, error) {
	set := []string{
		"STARLING_RUN_ID=" + q.Run, "STARLING_STEP=" + q.Step, "STARLING_BRANCH=" + q.Branch, fmt.Sprintf("STARLING_ATTEMPT=%d", q.Number),
		"STARLING_AGENT=" + q.Definition.Agent, "STARLING_KEY=" + q.Key, "STARLING_TOKEN=" + q.Token,
	}
	for _, name := range q.Definition.Env {
		value, ok := q.Env(name)
		if !ok {
			return nil, fmt.Errorf("the environment variable %s, which %s declares, has no value; set it and resume the run", name, q.Definition.Serves)
		}
		set = append(set, name+"="+value)
	}
	return process.Environment(os.Environ(), nil, set...), nil
}

// redactor replaces the values of declared variables, which may be keys, the longest first. Values of fewer than four bytes are left: they are
// no keys, and replacing every "1" would leave nothing to read.
func redactor(q Question) *strings.Replacer {
	names := map[string]string{}
	for _, name := range q.Definition.Env {
		if value, ok := q.Env(name); ok && len(value) >= 4 {
			names[value] = "[" + name + "]"
		}
	}
	if q.Token != "" {
		names[q.Token] = "[STARLING_TOKEN]"
	}
	values := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		pairs = append(pairs, v, names[v])
	}
	return strings.NewReplacer(pairs...)
}

// judge turns the end of a program into a reply. Exit code 0 alone proves nothing: programs that were refused or ran into a limit exit
// with it as well, and say nothing.
type judge struct {
	q      Question
	redact *strings.Replacer
}

func (j judge) notStarted(ctx context.Context, err error) effect.Reply {
	class := effect.Final
	switch {
	case errors.Is(err, process.ErrNotFound), errors.Is(err, process.ErrNotExecutable):
		class = effect.Missing
	case ctx.Err() != nil:
		return cut(ctx, j.q.Definition.Agent)
	case errors.Is(err, process.ErrLockBusy), errors.Is(err, process.ErrGuard):
		class = effect.Retryable
	}
	return j.fail(class, "", "%v", err)
}

func (j judge) ended(ctx context.Context, r process.Result) effect.Reply {
	stderr := string(r.Stderr)
	switch {
	case r.TimedOut, r.Stopped:
		return cut(ctx, j.q.Definition.Agent)
	case errors.Is(r.Err, process.ErrOverLimit):
		return j.fail(effect.Final, stderr, "it wrote more than %d bytes to standard output", maxReply)
	case r.Err != nil:
		return j.fail(effect.Retryable, stderr, "%v", r.Err)
	case r.Signal != "":
		return j.fail(effect.Retryable, stderr, "it was ended by %s", r.Signal)
	case r.ExitCode != 0:
		class, meaning := exitFailure(r.ExitCode)
		return j.fail(class, stderr, "it exited with %d%s", r.ExitCode, meaning)
	}
	a, wrong := parseAnswer(string(r.Stdout))
	if len(wrong) > 0 {
		return malformed(j.q.Definition.Agent, wrong)
	}
	if a.empty() && a.status == "ok" {
		return j.fail(effect.Retryable, stderr, "it exited with 0 and an empty reply")
	}
	a.emit(j.q.Attempt)
	return a.reply(j.q.Definition.Agent, j.q.Returns)
}

// exitFailure says what an exit code means for further attempts. Most failures of programs pass (a limit, a network); these do not:
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

// fail makes the reply of a failure, with the end of stderr, which often says why.
func (j judge) fail(class effect.Failure, stderr, format string, args ...any) effect.Reply {
	message := fmt.Sprintf("%s: %s", j.q.Definition.Agent, fmt.Sprintf(format, args...))
	said := j.redact.Replace(stderr)
	said = strings.TrimSpace(strings.ToValidUTF8(said[max(0, len(said)-maxStderr):], "\uFFFD"))
	if said != "" {
		message += "; stderr ends with: " + said
	}
	return failed(&effect.Error{Kind: effect.KindAgent, Message: j.redact.Replace(message)}, class)
}
