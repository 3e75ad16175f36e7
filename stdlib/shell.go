package stdlib

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/confine"
	"starling/stdlib/jail"
	"starling/stdlib/process"
	"starling/stdlib/project"
	"starling/stdlib/redact"
	"starling/stdlib/secret"
)

const (
	maxStdout = 2 << 20   // bytes; a command that writes more is ended
	maxText   = 256 << 10 // bytes of the end of standard output that scripts see
	maxStderr = 64 << 10  // bytes of the end of standard error
)

// shHandler performs requests of kind "sh".
func shHandler() *effect.Handler {
	return &effect.Handler{Resolve: resolveCommand, Perform: performCommand, Workspace: true}
}

// resolveCommand looks the program up in the project, as it is pinned with the run, and records
// what it may use.
func resolveCommand(s *effect.Settings, r *effect.Request) *effect.Error {
	args, err := r.Args.View()
	if err != nil {
		return effect.Errorf(effect.KindRefused, "sh.run: %v", err)
	}
	f, err := project.Parse(s.ProjectFile, s.Project)
	if err != nil {
		return effect.Errorf(effect.KindRefused, "%v", err)
	}
	program := args.Texts("argv")[0]
	if fault := allowed(s, f, program, command{args: args}.title()); fault != nil {
		var o effect.Object
		fault.Data = o.Text("program", program).Text("reason", "not_allowed").Payload()
		return fault
	}
	dir := filepath.Dir(s.ProjectFile)
	var o effect.Object
	o.Text("program", from(dir, program, strings.Contains(program, "/"))).Texts("env", f.Shell.Env).Texts("read", confine.From(dir, f.Shell.Read)).
		Texts("write", confine.From(dir, f.Shell.Write)).Flag("network", slices.Contains(f.Shell.Network, program)).Text("sandbox", f.Shell.Sandbox)
	r.Resolved = o.Payload()
	return nil
}

// allowed refuses programs that the project does not name, or does not grant to a script of others.
func allowed(s *effect.Settings, f *project.File, program, title string) *effect.Error {
	if !slices.Contains(f.Shell.Allow, program) {
		return effect.Errorf(effect.KindDenied, title+": the program %q is not allowed; the project allows %s; add it to allow under [sh] in %s", program, listOr(f.Shell.Allow, "none"),
			project.Name)
	}
	if s.Grant == "" || slices.Contains(f.Granted(s.Grant).Programs, program) {
		return nil
	}
	return effect.Errorf(effect.KindDenied, "the script is not the project's own and is not granted the program %q; add it to programs under [grants.%q] in %s", program, s.Grant,
		project.Name)
}

func listOr(names []string, otherwise string) string {
	if len(names) == 0 {
		return otherwise
	}
	return strings.Join(names, ", ")
}

func from(dir, path string, relative bool) string {
	if !relative || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// performCommand performs sh.run.
func performCommand(ctx context.Context, a *effect.Attempt) effect.Reply {
	c := command{attempt: a, args: effect.ViewOf(a.Args), resolved: effect.ViewOf(a.Resolved)}
	return c.perform(ctx, func(command, *process.Spec) reader { return completedReply })
}

// reader makes a reply of what a program that ran to its end has written.
type reader func(r process.Result) effect.Reply

// perform runs the program once, under a guard: when it returns, nothing that the program started
// is left. prepare may change what is run.
func (c command) perform(ctx context.Context, prepare func(command, *process.Spec) reader) effect.Reply {
	a := c.attempt
	c.hide = secret.Given(a, c.resolved.Texts("env"))
	home, err := confine.MakeHome(a)
	if err != nil {
		return c.failed(effect.KindEffect, "%v", err)
	}
	defer os.RemoveAll(home)
	c.home = home
	spec, err := c.spec()
	if err != nil {
		return effect.Reply{Err: fileError(effect.ViewOf(a.Args), err)}
	}
	read := prepare(c, &spec)
	child, err := process.Start(ctx, spec)
	switch {
	case ctx.Err() != nil && err != nil:
		return c.cut(ctx)
	case errors.Is(err, process.ErrSandbox):
		return c.failed(effect.KindUnavailable, `%v; write sandbox = "partial" under [sh] in %s to go on with what this machine has, which each attempt then says`, err, project.Name)
	case errors.Is(err, process.ErrNotFound), errors.Is(err, process.ErrNotExecutable):
		return c.failed(effect.KindUnavailable, "%v%s", err, c.allowing(spec, c.args.Texts("argv")[0]))
	case errors.Is(err, process.ErrLockBusy):
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "%s: %v", c.title(), err), Class: effect.Retryable}
	case err != nil:
		return c.failed(effect.KindEffect, "%v", err)
	}
	return c.completed(ctx, spec, child.Wait(), read)
}

// command is one attempt of one request.
type command struct {
	attempt  *effect.Attempt
	args     effect.View
	resolved effect.View
	hide     *redact.Redactor // the values of declared variables
	home     string           // its HOME and TMPDIR, gone when it has ended
}

func (c command) spec() (process.Spec, error) {
	dir, err := c.folder()
	if err != nil {
		return process.Spec{}, err
	}
	env, err := c.environment()
	if err != nil {
		return process.Spec{}, err
	}
	a := c.attempt
	spec := process.Spec{Argv: append([]string{c.resolved.Text("program")}, c.args.Texts("argv")[1:]...), Dir: dir, Env: env, Lock: a.Lock(),
		Attempt: process.Attempt{Run: a.Run, Step: a.Step, Attempt: a.Number}, Host: a,
		MaxStdout: maxStdout, MaxStderr: maxStderr, Hide: c.hide}
	if c.args.Has("stdin") {
		spec.Stdin = bytes.NewReader(content(c.args.Value("stdin")))
	}
	confine.Program(a, &spec, confine.Order{Level: c.resolved.Text("sandbox"), Home: c.home, Read: c.resolved.Texts("read"), Write: c.resolved.Texts("write"), Network: c.resolved.Flag("network")})
	return spec, nil
}

func (c command) folder() (string, error) {
	tree, err := jail.Open(c.attempt.Settings.Workspace, c.attempt.Store, jail.Rights{})
	if err != nil {
		return "", err
	}
	defer tree.Close()
	dir := c.args.Text("dir")
	if dir == "" {
		dir = "."
	}
	return tree.Folder(dir)
}

// environment takes declared variables from who carries the run. HOME is an empty folder unless it
// is declared: a program's own settings and keys are not for scripts.
func (c command) environment() ([]string, error) {
	set := []string{"HOME=" + c.home, "TMPDIR=" + c.home, "STARLING_RUN_ID=" + c.attempt.Run, "STARLING_STEP=" + c.attempt.Step}
	if c.args.Text("do") == "tests" {
		set = append(set, "PYTHONPYCACHEPREFIX="+filepath.Join(c.home, "bytecode")) // design.md, "Python's bytecode"
	}
	for _, name := range c.resolved.Texts("env") {
		value, ok := c.attempt.Env(name)
		if !ok {
			return nil, fmt.Errorf("the environment variable %s, which [sh] declares, has no value; set it and resume the run", name)
		}
		set = append(set, name+"="+value)
	}
	if env, ok := c.args.Value("env").(*starlark.Dict); ok {
		for k, v := range env.Entries() {
			name, _ := starlark.AsString(k)
			value, _ := starlark.AsString(v)
			set = append(set, name+"="+value)
		}
	}
	return process.Environment(os.Environ(), nil, set...), nil
}

func (c command) completed(ctx context.Context, spec process.Spec, r process.Result, read reader) effect.Reply {
	for _, lack := range r.Lacks {
		c.warn("the sandbox is not whole: " + lack)
	}
	if spec.Sandbox == nil {
		c.warn(`there is no sandbox: [sh] says sandbox = "none"`)
	}
	return c.settled(ctx, spec, r, read)
}

// settled is the reply to a program that has ended, with what it wrote as artifacts.
func (c command) settled(ctx context.Context, spec process.Spec, r process.Result, read reader) effect.Reply {
	reply := c.judge(ctx, spec, r)
	if reply.Err == nil {
		reply = read(r)
	}
	if reply.Blobs == nil {
		reply.Blobs = map[string][]byte{"stdout.txt": []byte(textOf(r.Stdout)), "stderr.txt": []byte(textOf(r.Stderr))}
	}
	maps.DeleteFunc(reply.Blobs, func(_ string, output []byte) bool { return len(output) == 0 })
	return reply
}

// End is how a program ends that a test has said the end of.
type End struct {
	Code           int
	Stdout, Stderr string
	Fault          string // why it did not run to its end, "" if it did
}

// Ended is the reply to an attempt of sh.run, or of measure, whose program is not started: what it
// would be if the program had ended so.
func Ended(ctx context.Context, a *effect.Attempt, e End) effect.Reply {
	c := command{attempt: a, args: effect.ViewOf(a.Args)}
	if e.Fault != "" {
		return c.failed(effect.KindUnavailable, "%s", e.Fault)
	}
	home, err := confine.MakeHome(a)
	if err != nil {
		return c.failed(effect.KindEffect, "%v", err)
	}
	defer os.RemoveAll(home)
	c.home = home
	spec, read := process.Spec{Argv: c.args.Texts("argv")}, reader(completedReply)
	if c.args.Has("do") {
		read = c.reporting(&spec)
	}
	return c.settled(ctx, spec, process.Result{ExitCode: e.Code, Stdout: []byte(e.Stdout), Stderr: []byte(e.Stderr), TimedOut: ctx.Err() != nil}, read)
}

func (c command) warn(message string) {
	var o effect.Object
	text, _ := o.Text("text", message).Payload().Value()
	c.attempt.Emit("warning", text)
}

// judge tells what kept the program from running to its end, if anything has.
func (c command) judge(ctx context.Context, spec process.Spec, r process.Result) effect.Reply {
	switch {
	case r.TimedOut, r.Stopped:
		return c.cut(ctx)
	case errors.Is(r.Err, process.ErrOverLimit):
		return c.failed(effect.KindEffect, "it wrote more than %d bytes to standard output", spec.MaxStdout)
	case errors.Is(r.Err, process.ErrStdin) && r.ExitCode >= 0:
		r.Err = nil // a program need not read all of it
	case r.Err != nil:
		return c.failed(effect.KindEffect, "%v", r.Err)
	case len(r.Aside) > 0:
		return c.failed(effect.KindDenied, "it made what decides rights, which lies aside now: %s", strings.Join(r.Aside, ", "))
	case r.ExitCode == exitNotExecutable, r.ExitCode == exitNotFound:
		return c.failed(effect.KindUnavailable, "it exited with %d: a program could not be executed or was not there%s%s", r.ExitCode, lastWords(r), c.allowing(spec, unfound(r)))
	}
	return effect.Reply{}
}

// completedReply is what sh.run gives.
func completedReply(r process.Result) effect.Reply {
	text, truncated := textOf(r.Stdout), false
	if len(text) > maxText {
		text, truncated = strings.ToValidUTF8(text[len(text)-maxText:], ""), true
	}
	v := effect.NewRecord(effect.CompletedType, starlark.Bool(r.ExitCode == 0), starlark.MakeInt(r.ExitCode), starlark.String(r.Signal), starlark.String(text),
		starlark.String(textOf(r.Stderr)), starlark.Bool(truncated), starlark.Float(r.Elapsed.Seconds()))
	return effect.Reply{Value: v}
}

// title is the function that was called.
func (c command) title() string {
	if do := c.args.Text("do"); do != "" {
		return "measure." + do
	}
	return "sh.run"
}

func (c command) cut(ctx context.Context) effect.Reply {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return c.failed(effect.KindTimeout, "it had not ended before its deadline; it and all that it started were ended")
	}
	return c.failed(effect.KindCancelled, "cancelled")
}

func (c command) failed(kind effect.Kind, format string, args ...any) effect.Reply {
	message := fmt.Sprintf("%s: %s: %s", c.title(), c.args.Texts("argv")[0], fmt.Sprintf(format, args...))
	return effect.Reply{Err: effect.Errorf(kind, "%s", c.hide.Redact(message))}
}

// textOf is output, which hides what it must already, as text.
func textOf(output []byte) string { return strings.ToValidUTF8(string(output), "\uFFFD") }
