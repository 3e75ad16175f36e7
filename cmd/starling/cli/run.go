package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/form"
	"starling/cmd/starling/repl"
	"starling/cmd/starling/shell"
	"starling/cmd/starling/stay"
	"starling/lang"
	"starling/lang/doc"
	"starling/lang/effect"
	"starling/runtime"
)

// runVerb starts a script.
type runVerb struct {
	call *call

	inputs []string
	labels []string
	wait   bool
	detach bool
	fake   string
	record bool
	key    string

	deadline string
	overtime string
}

// runCommand is the verb run.
func runCommand(c *call) *cobra.Command {
	v := &runVerb{call: c}
	cmd := &cobra.Command{
		Use:     "run SCRIPT|NAME[@VERSION]",
		Short:   "Run a script",
		GroupID: "runs",
		Long: `Run a script: the file SCRIPT, whose name ends with .star or has a slash, or what was defined as NAME, its newest version unless
one is named. The run is pinned to the text it starts with.

Stay until it has ended or rests: while a call is pending or a timer is due within a minute.

A run that waits for people stays in the store, and the command that answers is printed; exit code 3. Ctrl-C leaves the
run where it is.`,
		Example: "  starling run review.star -i data_url=https://example.org/items.json -i threshold:=0.9",
		Args:    scriptOnly,
		RunE:    func(cmd *cobra.Command, args []string) error { return v.runScript(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&v.inputs, "input", "i", nil, "an input: `NAME=TEXT`, or NAME:=JSON")
	f.StringArrayVar(&v.labels, "label", nil, "a label to find it and budget for it by, which never changes: `NAME=VALUE`, several times for several")
	f.BoolVar(&v.wait, "wait", false, "stay until the run has ended, whatever it waits for")
	f.BoolVarP(&v.detach, "detach", "d", false, "leave the run to a process in the background, and print its id")
	f.StringVar(&v.fake, "fake", "", "agents are the functions of this script, `FILE`")
	f.BoolVar(&v.record, "record", false, "add what is said with agents to their cassettes (cassette in starling.toml), for tests to play")
	f.StringVar(&v.deadline, "deadline", "", "the run must have ended after this `DURATION`, such as 2h")
	f.StringVar(&v.overtime, "overtime", "", "`WHAT` becomes of it at the deadline: fail, which is the default, cancel, or suspend it at the gate !deadline")
	f.StringVar(&v.key, "key", "", "idempotency `KEY`: starting again with it gives the same run")
	c.jsonFlag(cmd)
	cmd.SetHelpFunc(v.help)
	return cmd
}

// help is the page of the verb, below the inputs of a script that is named.
func (v *runVerb) help(cmd *cobra.Command, args []string) {
	at := slices.IndexFunc(args, func(a string) bool { return strings.HasSuffix(a, ".star") })
	if at >= 0 && v.call.enter(cmd) == nil {
		if bundle, err := v.call.readBundle(args[at]); err == nil {
			if about := aboutScript(bundle); about != "" {
				v.call.print("%s\n", about)
			}
			if p, err := lang.Compile(bundle, v.call.env()); err == nil && p.Inputs != nil {
				v.call.print("Inputs of %s, each given as -i NAME=TEXT or -i NAME:=JSON:\n%s", args[at], form.Inputs(p.Inputs))
			}
		}
	}
	v.call.help(cmd)
}

// aboutScript is what a script says of itself: the text or the comment that it begins with.
func aboutScript(b *lang.Bundle) string {
	m := b.Entry()
	tree, err := lang.FileOptions().Parse(m.Name, m.Source, 0)
	if err != nil {
		return ""
	}
	if entries := doc.File(tree); len(entries) > 0 && entries[0].Kind == doc.Module {
		return strings.TrimSpace(entries[0].Summary + " " + entries[0].Text)
	}
	var lines []string
	for line := range strings.Lines(string(m.Source)) {
		text, comment := strings.CutPrefix(line, "#")
		if !comment || strings.TrimSpace(text) == "" || strings.HasPrefix(text, "!") {
			break
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return strings.Join(lines, "\n")
}

// ask asks a person at a terminal for the inputs that are missing.
func (v *runVerb) ask(p *lang.Program) error {
	if p.Inputs == nil || v.call.json || v.detach || v.call.stdin != os.Stdin || !isTerminal(os.Stdin) || !v.call.draws() {
		return nil
	}
	// The terminal is taken only if there is something to ask.
	lines := sync.OnceValues(func() (repl.Lines, func()) { return v.call.lines("") })
	f := form.Form{Say: v.call.notice, Line: func(ctx context.Context, prompt string) (string, error) {
		from, _ := lines()
		return from.Line(ctx, prompt)
	}}
	found, err := f.Missing(context.Background(), p.Inputs, v.inputs)
	if len(found) > 0 || err != nil {
		_, release := lines()
		release()
	}
	v.inputs = append(v.inputs, found...)
	return err
}

// runScript starts a run and stays with it. What is wrong with a script or its inputs is told
// before the store is opened, unless the script is in the store.
func (v *runVerb) runScript(ctx context.Context, script string) error {
	if v.detach && v.wait {
		return usage("", "run: --detach and --wait exclude each other")
	}
	s, request, err := v.prepareRun(ctx, script)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	if err := v.call.trusts(ctx, s, &request.Settings); err != nil {
		return err
	}
	started, err := s.Start(ctx, request)
	switch {
	case err != nil:
		return err
	case v.detach && v.call.json:
		return v.call.answerJSON(v.call.document(started))
	case v.detach:
		v.call.print("%s", started.ID)
		return nil
	}
	if !v.call.draws() {
		v.call.notice("run %s %s", started.ID, started.Script)
	}
	return v.call.see(ctx, s, started, 0, v.until())
}

// prepareRun makes the request and opens the store.
func (v *runVerb) prepareRun(ctx context.Context, script string) (connect.Session, runtime.StartRequest, error) {
	if runtime.NamesDefinition(script) {
		return v.call.prepareDefined(ctx, script, v)
	}
	request, err := v.call.startRequest(script, v)
	if err != nil {
		return nil, request, err
	}
	s, err := v.call.openRun(ctx, v, true)
	return s, request, err
}

// openRun opens the store for a new run: under this process, or under one that outlives it.
func (c *call) openRun(ctx context.Context, v *runVerb, create bool) (connect.Session, error) {
	if v.detach {
		return c.door().Detach(ctx)
	}
	return c.door().OpenOwner(ctx, create)
}

// bound reads the flags about the run's own deadline, and its labels.
func (v *runVerb) bound(r *runtime.StartRequest) (err error) {
	if r.Labels, err = effect.ParseLabels(v.labels); err != nil {
		return usage("", "--label: %v", err)
	}
	r.OnDeadline = runtime.OnDeadline(v.overtime)
	if v.deadline == "" {
		return nil // what becomes of it then is refused by the engine
	}
	if r.OnDeadline == "" {
		r.OnDeadline = runtime.DeadlineFail
	}
	r.Timeout, err = parseLasting("--deadline", v.deadline)
	return err
}

// until is how long the command stays with its run.
func (v *runVerb) until() stay.Until {
	if v.wait {
		return stay.Ended
	}
	return stay.AtRest
}

// see follows a run and reports how it stands in the end.
func (c *call) see(ctx context.Context, s connect.Session, run *runtime.Run, after uint64, enough stay.Until) error {
	show, end := c.watching(run)
	f := stay.Follower{Session: s, Run: run.ID, After: after, Show: show}
	now, err := f.Stay(ctx, enough)
	end()
	return c.report(orLast(now, run), s, err)
}

// scriptOnly refuses a second operand, which may be meant for an input.
func scriptOnly(cmd *cobra.Command, args []string) error {
	err := operands(1, 1)(cmd, args)
	if err != nil && len(args) > 1 && strings.Contains(args[1], "=") {
		return usage("inputs are options: -i "+shell.Word(args[1]), "run: got the operand %q behind the script, want one operand", args[1])
	}
	return err
}
