package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"starling/cmd/starling/repl"
	"starling/lang"
	"starling/runtime"
	"starling/stdlib"
)

// replCommand is the verb repl.
func (c *call) replCommand() *cobra.Command {
	var resume, fake string
	cmd := &cobra.Command{
		Use:     "repl",
		Short:   "Type statements; the session is a run",
		GroupID: "scripts",
		Long: `Type statements and see their values. The session is a run: it can be left, or lose its process, and be resumed with its
variables and with every answer that an agent gave. Statements that do not come from a terminal are executed to the last; the exit code is that of
the first that failed.`,
		Args: operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.repl(cmd.Context(), resume, fake) },
	}
	cmd.Flags().StringVar(&resume, "resume", "", "go on with the session `ID`")
	cmd.Flags().StringVar(&fake, "fake", "", "agents are the functions of this script, `FILE`")
	return cmd
}

// repl sits at a session until its input ends. The terminal is taken over before the store is opened, so that whatever fails later is told on a terminal
// that has been given back.
func (c *call) repl(ctx context.Context, resume, fake string) error {
	if resume != "" && fake != "" {
		return usage("the session has the agents that it was started with", "repl: --resume and --fake exclude each other")
	}
	lines, release := c.lines()
	defer release()
	wrong := func(string) {} // people see it
	if _, typed := lines.(*repl.Terminal); !typed {
		wrong = c.firstWrong
	}
	s, r, err := c.openSession(ctx, resume, fake)
	if err != nil {
		return err
	}
	defer c.leave(s)
	c.notice("session %s; :help lists the commands", r.ID)
	l := &repl.Loop{Engine: s, Run: r.ID, Lines: lines, Out: c.stdout, Err: c.stderr, Show: newProgress(c.stderr).show,
		Key: func() string { return requestKey("") }, Bundle: c.bundleChunk, Env: c.values(r.Details.Env), Wrong: wrong}
	waiting, err := l.Do(ctx)
	c.notice("to go on: %s", c.command("repl", "--resume", r.ID))
	if waiting && err == nil {
		return c.leaveAtGate(ctx, s, r.ID)
	}
	return err
}

// firstWrong takes the exit code from the first statement that failed.
func (c *call) firstWrong(kind string) {
	switch k := runtime.ErrorKind(kind); {
	case c.code != 0:
	case k == runtime.ErrCheckFailed || k == runtime.ErrUsage:
		c.code = k.ExitCode()
	default:
		c.code = exitOf(&runtime.RunError{Kind: kind})
	}
}

// leaveAtGate names the gates that a session was left at.
func (c *call) leaveAtGate(ctx context.Context, s session, run string) error {
	r, err := s.Get(ctx, run)
	if err != nil {
		return err
	}
	c.code = runtime.ExitSuspended
	c.suspended(r)
	return nil
}

// lines is where statements come from: the terminal if there is one, on both sides.
func (c *call) lines() (lines repl.Lines, release func()) {
	if c.stdin == os.Stdin && isTerminal(os.Stdin) && isTerminal(os.Stdout) {
		t := repl.NewTerminal()
		return t, func() { t.Close() }
	}
	return repl.NewPipe(c.stdin), func() {}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// openSession starts a session, or finds the one to go on with.
func (c *call) openSession(ctx context.Context, resume, fake string) (session, *runtime.Run, error) {
	if resume != "" {
		return c.carry(ctx, resume)
	}
	settings, err := c.settings(c.place.project, fake)
	if err != nil {
		return nil, nil, err
	}
	bundle, err := c.bundleChunk("<0>", "")
	if err != nil {
		return nil, nil, err
	}
	s, err := c.door().OpenOwner(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	if err := c.trusts(ctx, s, settings); err != nil {
		c.leave(s)
		return nil, nil, err
	}
	r, err := s.Start(ctx, runtime.StartRequest{Key: requestKey(""), Bundle: bundle, Script: "(session)", Session: true, Settings: *settings,
		Env: c.values(settings.Env)})
	if err != nil {
		c.leave(s)
		return nil, nil, err
	}
	return s, r, nil
}

// bundleChunk makes a bundle of a text that stands in no file. It loads files as a script in the project's folder would.
func (c *call) bundleChunk(name, text string) ([]byte, error) {
	root, err := os.OpenRoot(c.place.root)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "%s: %v", c.place.root, reason(err))
	}
	defer root.Close()
	files := source(root)
	bundle, err := lang.Read(name, func(asked string) ([]byte, error) {
		if asked == name {
			return []byte(text), nil
		}
		return files(asked)
	}, stdlib.Library)
	if err != nil {
		return nil, err
	}
	return bundle.Encode(), nil
}
