package main

import (
	"context"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// runVerb starts a script.
type runVerb struct {
	inputs []string
	wait   bool
	detach bool
	fake   string
	key    string
}

// runCommand is the verb run.
func (c *call) runCommand() *cobra.Command {
	var v runVerb
	cmd := &cobra.Command{
		Use:     "run SCRIPT",
		Short:   "Run a script",
		GroupID: "runs",
		Long: `Run a script, and stay until it has ended or rests: while a call is pending or a timer is due within a minute.

A run that waits for people stays in the store, and the command that answers is printed; exit code 3. Ctrl-C leaves the
run where it is.`,
		Example: "  starling run review.star -i data_url=https://example.org/items.json -i threshold:=0.9",
		Args:    operands(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.runScript(cmd.Context(), args[0], &v) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&v.inputs, "input", "i", nil, "an input: `NAME=TEXT`, or NAME:=JSON")
	f.BoolVar(&v.wait, "wait", false, "stay until the run has ended, whatever it waits for")
	f.BoolVarP(&v.detach, "detach", "d", false, "leave the run to a process in the background, and print its id")
	f.StringVar(&v.fake, "fake", "", "agents are the functions of this script, `FILE`")
	f.StringVar(&v.key, "key", "", "idempotency `KEY`: starting again with it gives the same run")
	c.jsonFlag(cmd)
	return cmd
}

// runScript reads, checks and sends the script. What is wrong with it or its inputs is told before the store is opened.
func (c *call) runScript(ctx context.Context, script string, v *runVerb) error {
	if v.detach && v.wait {
		return usage("", "run: --detach and --wait exclude each other")
	}
	request, err := c.startRequest(script, v)
	if err != nil {
		return err
	}
	if v.detach {
		return c.runDetached(ctx, request)
	}
	s, err := c.door().Stay(ctx, true)
	if err != nil {
		return err
	}
	defer c.leave(s)
	started, err := s.Start(ctx, request)
	if err != nil {
		return err
	}
	c.notice("run %s %s", started.ID, started.Script)
	c.uncarried(ctx, s)
	return c.see(ctx, s, started, 0, v.until())
}

// until is how long the command stays with its run.
func (v *runVerb) until() until {
	if v.wait {
		return ended
	}
	return atRest
}

// see follows a run and reports how it stands in the end.
func (c *call) see(ctx context.Context, s session, run *runtime.Run, after uint64, enough until) error {
	f := follower{session: s, run: run.ID, after: after, show: newProgress(c.stderr).show}
	now, err := f.stay(ctx, enough)
	return c.report(orLast(now, run), s, err)
}

// runDetached starts the run under a process that outlives this one.
func (c *call) runDetached(ctx context.Context, request runtime.StartRequest) error {
	s, err := c.door().Detach(ctx)
	if err != nil {
		return err
	}
	defer c.leave(s)
	r, err := s.Start(ctx, request)
	if err != nil {
		return err
	}
	if c.json {
		return c.answerJSON(c.document(r))
	}
	c.print("%s", r.ID)
	return nil
}
