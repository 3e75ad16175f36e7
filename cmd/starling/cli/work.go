package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"starling/runtime"
	"starling/runtime/query"
)

// workVerb is what claim, heartbeat and submit are told.
type workVerb struct {
	call *call

	as        string
	key       string
	lease     string
	output    string
	events    string
	usage     string
	artifacts []string
	noWait    bool
	report    runtime.Report
}

func (v *workVerb) workFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&v.as, "as", "", "act as `WHO`; both names are recorded")
	f.StringVar(&v.key, "key", "", "idempotency `KEY`: sending again with it gives the same receipt")
	v.call.jsonFlag(cmd)
}

// claimCommand is the verb claim.
func claimCommand(c *call) *cobra.Command {
	v := &workVerb{call: c}
	cmd := &cobra.Command{
		Use:     "claim [RUN[@STEP]]",
		Short:   "Take work that an agent comes for",
		GroupID: "decisions",
		Long: `Take a piece of work of an agent with backend = "inbox": the oldest on offer for the caller's name, or that of a run or a step. What is asked is printed. It is the caller's until
the lease has passed: heartbeat keeps it, submit brings the result. Exit code 5 says that there is nothing to do.`,
		Example: "  starling claim --as reviewer --json",
		Args:    operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.claim(cmd.Context(), strings.Join(args, ""))
		},
	}
	cmd.Flags().StringVar(&v.lease, "lease", "", "it is offered again after this `DURATION` without a heartbeat (default 5m)")
	v.workFlags(cmd)
	return cmd
}

// heartbeatCommand is the verb heartbeat.
func heartbeatCommand(c *call) *cobra.Command {
	v := &workVerb{call: c}
	cmd := &cobra.Command{
		Use:     "heartbeat CLAIM",
		Short:   "Keep a claim, and tell what happens",
		GroupID: "decisions",
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.work(cmd.Context(), runtime.SignalHeartbeat, args[0])
		},
	}
	cmd.Flags().StringVar(&v.lease, "lease", "", "from now on for this `DURATION` (default: as it was claimed)")
	v.eventsFlag(cmd)
	v.workFlags(cmd)
	return cmd
}

// submitCommand is the verb submit.
func submitCommand(c *call) *cobra.Command {
	v := &workVerb{call: c}
	cmd := &cobra.Command{
		Use:     "submit CLAIM",
		Short:   "Bring the result of claimed work",
		GroupID: "decisions",
		Long: `Bring the result of claimed work, and follow the run until it rests. A result that breaks its contract is refused with the paths at fault: mend it and submit again with
the same claim. A result that comes too late is refused with the exit code 8.`,
		Example: `  starling submit "$CLAIM" --data @result.json`,
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.work(cmd.Context(), runtime.SignalSubmit, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.output, "data", "", "the result: `JSON`, @FILE, or - for standard input")
	f.StringVar(&v.report.Text, "text", "", "the result in `WORDS`")
	f.StringVar(&v.report.Status, "status", "", "ok, stopped, blocked or error (default ok)")
	f.StringVarP(&v.report.Note, "note", "m", "", "a remark for people")
	f.StringVar(&v.usage, "usage", "", "what it cost: `JSON` with usd, input_tokens, output_tokens")
	f.StringArrayVar(&v.artifacts, "artifact", nil, "a `FILE` to keep as an artifact of the step, by its name without folders; may be repeated")
	f.BoolVar(&v.noWait, "no-wait", false, "do not follow the run; the owner of the store stays while it is in motion")
	v.eventsFlag(cmd)
	v.workFlags(cmd)
	return cmd
}

func (v *workVerb) eventsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&v.events, "events", "", `what happened: a list as `+"`JSON`"+` or @FILE, [{"kind": "plan", "text": "…"}]`)
}

// claim takes a piece of work.
func (v *workVerb) claim(ctx context.Context, address string) error {
	run, step := cutStep(address)
	lease, err := parseLasting("--lease", v.lease)
	if err != nil {
		return err
	}
	s, err := v.call.door().OpenOwner(ctx, false)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	receipt, err := s.Signal(ctx, runtime.Signal{Kind: runtime.SignalClaim, Key: requestKey(v.key), Run: run, Step: step, As: v.as, Lease: lease})
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(receipt.Claim)
	}
	got := receipt.Claim
	v.call.print("%s", got.Claim)
	v.call.print("%s", indent(got.Request, ""))
	v.call.notice("%s has it until %s", got.Agent, stamp(got.Until))
	as := ""
	if v.as != "" {
		as = " --as " + v.as
	}
	v.call.notice("  %s%s", v.call.command("heartbeat", got.Claim), as)
	v.call.notice("  %s --data @FILE%s", v.call.command("submit", got.Claim), as)
	return nil
}

// work sends what somebody says of claimed work. A result carries the run on.
func (v *workVerb) work(ctx context.Context, kind runtime.SignalKind, handle string) error {
	sig, err := v.workSignal(kind, handle)
	if err != nil {
		return err
	}
	s, err := v.call.door().OpenOwner(ctx, false)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	if r, err := query.DeclaredBy(ctx, s, sig.Run); err == nil { // who may not see the run brings no variables
		sig.Run, sig.Env = r.Run, v.call.values(r.Env)
	}
	receipt, err := s.Signal(ctx, sig)
	if err != nil {
		return err
	}
	if v.call.json {
		err = v.call.answerJSON(receipt)
	} else {
		v.call.print("accepted %s", handle)
		for _, m := range receipt.Claim.Messages {
			v.call.notice("you are told: %s", m)
		}
		if over := receipt.Claim.Over; over != "" {
			v.call.notice("leave it: %s", over)
		}
	}
	if err != nil || kind == runtime.SignalHeartbeat || v.noWait {
		return err
	}
	return v.call.afterSignal(ctx, s, receipt)
}

func (v *workVerb) workSignal(kind runtime.SignalKind, handle string) (sig runtime.Signal, err error) {
	lease, err := parseLasting("--lease", v.lease)
	if err != nil {
		return sig, err
	}
	report := v.report
	for _, f := range []struct {
		flag string
		to   *json.RawMessage
	}{{v.output, &report.Output}, {v.events, &report.Events}, {v.usage, &report.Usage}} {
		if *f.to, err = v.call.payload(f.flag); err != nil {
			return sig, err
		}
		if len(*f.to) > 0 && !json.Valid(*f.to) {
			return sig, runtime.Refuse(runtime.ErrBadPayload, `a text needs its quotes: '"yes"'; words go into --text`, "got %.60q, want JSON", *f.to)
		}
	}
	if report.Artifacts, err = readFiles(v.artifacts); err != nil {
		return sig, err
	}
	sig = runtime.Signal{Kind: kind, Key: requestKey(v.key), As: v.as, Lease: lease, Report: &report}
	sig.Run, sig.Step, sig.Claim, err = runtime.ParseClaim(handle)
	return sig, err
}

// readFiles reads files by the names that they are kept by.
func readFiles(paths []string) (map[string][]byte, error) {
	files := make(map[string][]byte, len(paths))
	for _, path := range paths {
		name := filepath.Base(path)
		if _, twice := files[name]; twice {
			return nil, usage("give one of them another name", "--artifact: got two files %q", name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, usage("", "--artifact: %v", err)
		}
		files[name] = text
	}
	return files, nil
}

// printWork lists work that agents come for.
func (c *call) printWork(list []runtime.Work) {
	for _, w := range list {
		c.print("%s", workLine(w))
		c.print("    %s", c.command("claim", w.Address, "--as", w.Agent))
	}
}

// workLine describes a piece of work: whose it is, who has it, what is asked.
func workLine(w runtime.Work) string {
	line := w.Address + " for " + w.Agent
	if w.By != "" {
		line += ", claimed until " + stamp(*w.Until)
	}
	if w.Task != "" {
		line += ": " + clip(strings.Join(strings.Fields(w.Task), " "))
	}
	return line
}
