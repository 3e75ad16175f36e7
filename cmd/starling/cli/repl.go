package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/progress"
	"starling/cmd/starling/repl"
	"starling/cmd/starling/sources"
	"starling/cmd/starling/table"
	"starling/cmd/starling/verdict"
	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib"
	"starling/stdlib/agent"
)

// replVerb is a call of the verb repl.
type replVerb struct{ call *call }

// replCommand is the verb repl.
func replCommand(c *call) *cobra.Command {
	v := &replVerb{call: c}
	var resume, fake string
	cmd := &cobra.Command{
		Use:     "repl",
		Short:   "Type statements; the session is a run",
		GroupID: "scripts",
		Long: `Type statements and see their values. The session is a run: it can be left, or lose its process, and be resumed with its
variables and with every answer that an agent gave. Statements that do not come from a terminal are executed to the last; the exit code is that of
the first that failed.`,
		Args: operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return v.repl(cmd.Context(), resume, fake) },
	}
	cmd.Flags().StringVar(&resume, "resume", "", "go on with the session `ID`")
	cmd.Flags().StringVar(&fake, "fake", "", "agents are the functions of this script, `FILE`")
	return cmd
}

// repl sits at a session until its input ends. The terminal is taken over before the store is
// opened, so that whatever fails later is told on a terminal that has been given back.
func (v *replVerb) repl(ctx context.Context, resume, fake string) error {
	if resume != "" && fake != "" {
		return usage("the session has the agents that it was started with", "repl: --resume and --fake exclude each other")
	}
	l := &repl.Loop{Out: v.call.stdout, Err: v.call.stderr, Show: progress.New(v.call.stderr).Show, Wrong: v.firstWrong, Names: v.call.env(),
		Key: func() string { return requestKey("") }, Bundle: v.bundleChunk}
	l.Desk = repl.Desk{Global: v.call.global(), Settings: func(file string) (*effect.Settings, error) { return v.call.settings(v.call.place.Project, file) },
		Agents: func(s *effect.Settings) ([]string, error) { return agent.Names(agent.Machines(v.call.env()), s) }}
	l.Desk.Fake = fake
	lines, back := v.call.lines(repl.PastFile(v.call.getenv))
	defer l.Sit(ctx, lines, back)()
	v.call.softly.Store(l.Desk.Interruptions)
	s, r, err := v.openSession(ctx, resume, fake)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	v.call.notice("session %s; :help lists the commands", r.ID)
	l.Engine, l.Run, l.Env = s, r.ID, v.call.values(r.Details.Env)
	waiting, err := l.Do(ctx)
	v.call.notice("to go on: %s", v.call.command("repl", "--resume", l.Run))
	if waiting && err == nil {
		return v.leaveAtGate(ctx, s, l.Run)
	}
	return err
}

// firstWrong takes the exit code from the first statement that failed.
func (v *replVerb) firstWrong(kind string) {
	switch k := runtime.ErrorKind(kind); {
	case v.call.code != 0:
	case k == runtime.ErrCheckFailed || k == runtime.ErrUsage:
		v.call.code = k.ExitCode()
	default:
		v.call.code = verdict.ExitOf(&runtime.RunError{Kind: kind})
	}
}

// leaveAtGate names the gates that a session was left at.
func (v *replVerb) leaveAtGate(ctx context.Context, s connect.Session, run string) error {
	r, err := s.Get(ctx, run)
	if err != nil {
		return err
	}
	v.call.code = runtime.ExitSuspended
	v.call.suspended(r)
	return nil
}

// lines is where lines come from: the terminal if there is one, on both sides. past is the file of
// what was typed before, "" for none.
func (c *call) lines(past string) (lines repl.Lines, release func()) {
	if c.stdin == os.Stdin && isTerminal(os.Stdin) && isTerminal(os.Stdout) {
		t := repl.NewTerminal(past)
		return t, func() { t.Close() }
	}
	return repl.NewPipe(c.stdin), func() {}
}

func isTerminal(f *os.File) bool { return table.On(f, os.LookupEnv).Terminal() }

// openSession starts a session, or finds the one to go on with.
func (v *replVerb) openSession(ctx context.Context, resume, fake string) (connect.Session, *runtime.Run, error) {
	if resume != "" {
		return v.goOn(ctx, resume)
	}
	settings, err := v.call.settings(v.call.place.Project, fake)
	if err != nil {
		return nil, nil, err
	}
	bundle, err := v.bundleChunk("<0>", "")
	if err != nil {
		return nil, nil, err
	}
	s, err := v.call.door().OpenOwner(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	if err := v.call.trusts(ctx, s, settings); err != nil {
		v.call.leave(s)
		return nil, nil, err
	}
	r, err := s.Start(ctx, runtime.StartRequest{Key: requestKey(""), Bundle: bundle, Script: "(session)", Session: true, Settings: *settings,
		Env: v.call.values(settings.Env)})
	if err != nil {
		v.call.leave(s)
		return nil, nil, err
	}
	return s, r, nil
}

// goOn finds the session to go on with: of one that was rewound, the one that took its place.
func (v *replVerb) goOn(ctx context.Context, id string) (connect.Session, *runtime.Run, error) {
	s, r, err := v.call.carry(ctx, id)
	if err != nil || repl.Successor(r) == "" {
		return s, r, err
	}
	v.call.leave(s)
	v.call.notice("session %s was rewound", r.ID)
	return v.goOn(ctx, repl.Successor(r))
}

// bundleChunk makes a bundle of a text that stands in no file. It loads files as a script in the
// project's folder would.
func (v *replVerb) bundleChunk(name, text string) ([]byte, error) {
	root, err := os.OpenRoot(v.call.place.Root)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "%s: %v", v.call.place.Root, runtime.Reason(err))
	}
	defer root.Close()
	files := sources.Of(root)
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
