package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"starling/lang/effect"
	"starling/stdlib/process"
	"starling/stdlib/project"
	"starling/stdlib/tool"
)

const (
	maxReply  = 4 << 20 // bytes of stdout, or of one line that is an event: room for prose around a reply of MaxPayload
	maxStderr = 2 << 10 // bytes of the end of stderr that an error shows
	maxFault  = 2 << 10 // bytes of what an error says before that
)

// command asks agents that are executables, in the dialect that the program speaks: see [protocol]
// and the presets. The program runs in the run's workspace with the variables that every program
// needs, those that the agent declares, and who it works for in STARLING_RUN_ID, STARLING_STEP,
// STARLING_BRANCH, STARLING_ATTEMPT, STARLING_AGENT, STARLING_KEY, and STARLING_TOKEN, by which the
// commands of this program know it as the agent; one that may use tool servers finds them in the
// file STARLING_TOOLS.
type command struct{}

// Ask runs the program under a guard: when it returns, nothing that the program started is left.
// One that has lost the conversation with which it is to go on is run again, and begins a new one.
func (c command) Ask(ctx context.Context, q Question) effect.Reply {
	q.tellUnheld()
	reply := c.once(ctx, q)
	if ctx.Err() != nil || !resumed(q) || reply.Err == nil || !lost().MatchString(reply.Err.Message) {
		return reply
	}
	q.tellLost("the program does not have it any more")
	anew := *q.Attempt
	anew.Session, anew.GoesOn = "", false
	q.Attempt = &anew
	return c.once(ctx, q)
}

// tellLost says that a new conversation begins where another was to go on.
func (q *Question) tellLost(why string) {
	newEmitter(q.Attempt).say("warning", "text",
		"the conversation "+q.Session+" could not be resumed, and a new one begins: "+q.shown(why, 300))
}

// once runs the program once.
func (command) once(ctx context.Context, q Question) effect.Reply {
	closed, err := q.serveTools()
	if err != nil {
		return failed(effect.Errorf(effect.KindEffect, "%s: %v", q.Definition.Agent, err), effect.Retryable)
	}
	defer closed()
	j := judge{q, dialectOf(q.Definition.Preset)}
	told, err := j.dialect.invoke(q)
	if err == nil {
		told, err = wire(q.Definition.Preset, q.Endpoint, told)
	}
	if err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: %v", q.Definition.Agent, err), effect.Final)
	}
	defer told.forget()
	spec, err := newSpec(q, told)
	if err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: %v", q.Definition.Agent, err), effect.Missing)
	}
	undo, err := confined(q, &spec, told)
	if err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: %v", q.Definition.Agent, err), effect.Missing)
	}
	defer undo()
	alive, end := context.WithCancel(ctx)
	defer end()
	h := newOutputStream(q, j.dialect, newEmitter(q.Attempt), end)
	spec.OnLine = h.line
	result, err := process.Run(alive, spec)
	if err != nil {
		return j.notStarted(ctx, err)
	}
	q.tellLacks(result)
	reply := q.equippedReply(j.ended(ctx, result, h))
	if reply.Usage == nil {
		reply.Usage = j.dialect.spent() // whatever came of it
	}
	if ctx.Err() != nil {
		reply.Session = j.dialect.conversation() // who has ended it may want to go on with it
	}
	reply.Blobs = j.transcript(result, h)
	return reply
}

// tellUnheld says what of its bounds nothing holds the agent to.
func (q *Question) tellUnheld() {
	for _, bound := range q.Definition.Unheld {
		newEmitter(q.Attempt).say("warning", "text", "not enforced: "+bound)
	}
}

// tellLacks says what of its confinement this machine could not give an agent.
func (q *Question) tellLacks(r process.Result) {
	for _, lack := range r.Lacks {
		newEmitter(q.Attempt).say("warning", "text", "not enforced: "+lack)
	}
	for _, path := range r.Aside {
		newEmitter(q.Attempt).say("warning", "text", "it made what decides rights, which lies aside now: "+path)
	}
}

// serveTools opens the endpoint through which a program reaches the tool servers of the attempt, if
// there are any.
func (q *Question) serveTools() (closed func(), err error) {
	if q.Tools == nil {
		return func() {}, nil
	}
	if q.Endpoint, err = q.Tools.Serve(); err != nil {
		return nil, err
	}
	q.hidden.Hide(tool.TokenVariable, q.Endpoint.Token)
	q.keys.Hide(tool.TokenVariable, q.Endpoint.Token)
	return q.Endpoint.Close, nil
}

// equippedReply is the reply of a program that was told of tool servers. A coding agent greets its
// servers when it begins: one that has not has worked without them, and what it replies is not what
// it was asked for. Of another program nobody knows whether it needed them.
func (q *Question) equippedReply(r effect.Reply) effect.Reply {
	if q.Endpoint == nil || r.Err != nil {
		return r
	}
	unasked := strings.Join(q.Endpoint.Unasked(), ", ")
	switch {
	case unasked == "":
		return r
	case q.Definition.Backend == backendCommand && q.Definition.Preset == "":
		q.Attempt.Warn("it has not turned to the tool servers that it was given: " + unasked)
		return r
	}
	fault := effect.Errorf(effect.KindAgent, "%s: it has not turned to the tool servers that it was given: "+
		"%s; this version may take them in another way", q.Definition.Agent, unasked)
	failed := failed(fault, effect.Final)
	failed.Usage, failed.Session = r.Usage, r.Session
	return failed
}

// transcript is what the program wrote, without the values of declared variables.
func (j judge) transcript(r process.Result, h *outputStream) map[string][]byte {
	text := h.transcript()
	if len(r.Stderr) > 0 {
		text += "\n--- standard error\n" + string(r.Stderr)
	}
	if text == "" {
		return nil
	}
	return map[string][]byte{"transcript.txt": []byte(text)}
}

func newSpec(q Question, told invocation) (process.Spec, error) {
	env, err := environment(q)
	if err != nil {
		return process.Spec{}, err
	}
	return process.Spec{
		Argv:      append(argv(q.Definition), told.args...),
		Dir:       q.Settings.Workspace,
		Env:       append(env, told.env...),
		Stdin:     bytes.NewReader(told.stdin),
		Lock:      q.Lock(),
		Attempt:   process.Attempt{Run: q.Run, Step: q.Step, Attempt: q.Number, Agent: q.Definition.Agent},
		Host:      q.Attempt,
		MaxStdout: maxReply,
		MaxStderr: maxStderr,
		Hide:      q.hidden,
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

// shown is a text of at most so many bytes without the values of declared variables.
func (q Question) shown(text string, most int) string { return clipTo(q.hidden.Redact(text), most) }

// judge turns the end of a program into a reply. Exit code 0 alone proves nothing: programs that
// were refused or ran into a limit exit with it as well, and say nothing.
type judge struct {
	q       Question
	dialect dialect
}

func (j judge) notStarted(ctx context.Context, err error) effect.Reply {
	class := effect.Final
	switch {
	case errors.Is(err, process.ErrSandbox):
		r := j.fail(effect.Missing, "", `%v; write sandbox = "partial" under [sh] in %s to go on with what this machine has, or take sandbox = true from the agent`, err, project.Name)
		r.Err.Kind = effect.KindUnavailable
		return r
	case errors.Is(err, process.ErrNotFound), errors.Is(err, process.ErrNotExecutable):
		class = effect.Missing
	case ctx.Err() != nil:
		return cut(ctx, j.q.Definition.Agent)
	case errors.Is(err, process.ErrLockBusy), errors.Is(err, process.ErrGuard):
		class = effect.Retryable
	}
	return j.fail(class, "", "%v", err)
}

func (j judge) ended(ctx context.Context, r process.Result, h *outputStream) effect.Reply {
	stderr := string(r.Stderr)
	if fault := h.hopeless(); fault != nil {
		return j.faulty(fault, stderr)
	}
	switch {
	case h.over, errors.Is(r.Err, process.ErrOverLimit):
		return j.fail(effect.Final, stderr, "it wrote more than %d bytes to standard output", maxReply)
	case r.TimedOut, r.Stopped:
		return cut(ctx, j.q.Definition.Agent)
	case r.Err != nil:
		return j.fail(effect.Retryable, stderr, "%v", r.Err)
	case r.Signal != "":
		return j.fail(effect.Retryable, stderr, "it was ended by %s", r.Signal)
	}
	a, fault := j.dialect.answer()
	switch {
	case fault != nil && fault.said:
		return j.faulty(fault, stderr)
	case r.ExitCode != 0:
		class, meaning := j.dialect.exit(r.ExitCode)
		return j.fail(class, stderr, "it exited with %d%s", r.ExitCode, meaning)
	case fault != nil:
		return j.faulty(fault, stderr)
	case a.empty() && a.status == "ok":
		return j.fail(effect.Retryable, stderr, "it exited with 0 and an empty reply")
	}
	a.emit(j.q.Attempt)
	return a.reply(j.q.Definition.Agent, j.q.Returns)
}

// faulty makes the reply of a failure that the program told of, or that its output is. Where it has
// told why, the end of stderr would only hide it: that stays in the transcript.
func (j judge) faulty(f *fault, stderr string) effect.Reply {
	if len(f.wrong) > 0 {
		return malformed(j.q.Definition.Agent, f.wrong)
	}
	if f.said {
		stderr = ""
	}
	r := j.fail(f.class, stderr, "%s", f.message)
	r.Err.Kind, r.After = f.kind, f.after
	return r
}

// fail makes the reply of a failure, with the end of stderr, which often says why.
func (j judge) fail(class effect.Failure, stderr, format string, args ...any) effect.Reply {
	message := fmt.Sprintf("%s: %s", j.q.Definition.Agent, j.q.shown(fmt.Sprintf(format, args...), maxFault))
	if said := strings.TrimSpace(strings.ToValidUTF8(colours().ReplaceAllString(stderr, ""), "\uFFFD")); said != "" {
		message += "; stderr ends with: " + said
	}
	return failed(&effect.Error{Kind: effect.KindAgent, Message: message}, class)
}
