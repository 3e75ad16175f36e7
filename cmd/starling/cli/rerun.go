package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/plain"
	"starling/cmd/starling/progress"
	"starling/cmd/starling/stay"
	"starling/lang/check"
	"starling/runtime"
	"starling/runtime/query"
)

// rerunVerb makes a run of another, or moves one to another program.
type rerunVerb struct {
	call *call

	from   string
	only   string
	script string
	set    []string
	key    string
	drift  bool
}

// rerunCommand is the verb rerun.
func rerunCommand(c *call) *cobra.Command {
	v := &rerunVerb{call: c}
	cmd := &cobra.Command{
		Use:     "rerun RUN",
		Short:   "Do a run again from a step on, or one step of it, or with another script",
		GroupID: "runs",
		Long: `Make a new run of RUN, which stays as it is. What RUN did before the step comes along and is not done again.

With --from STEP the new run goes on live from that step. With --only STEP nothing but that step is performed: other steps take the outcomes of RUN where
they ask the same, gates that ask something else ask again, and anything else ends the new run with an error. A step in a branch of parallel() is cut where it
stands in RUN's journal: what other branches did later is done again, too.

With --script FILE nothing is done again: RUN's journal is replayed with that script. The first difference is told with both sides; without one, a
suspended RUN goes on with the new script from then on.`,
		Example: "  starling rerun @last --from review --set backend=other",
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := v.request(args[0])
			if err != nil {
				return err
			}
			if v.script != "" {
				return v.move(cmd.Context(), args[0])
			}
			return v.fork(cmd.Context(), request)
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.from, "from", "", "go on live from `STEP`")
	f.StringVar(&v.only, "only", "", "perform `STEP` and nothing else")
	f.StringVar(&v.script, "script", "", "replay with this script, `FILE`, and go on with it")
	f.StringArrayVar(&v.set, "set", nil, "for the step: backend, timeout, retries or reasks, `NAME=VALUE`")
	f.StringVar(&v.key, "key", "", "idempotency `KEY`: asking again with it gives the same run")
	f.BoolVar(&v.drift, "accept-drift", false, acceptDrift)
	c.jsonFlag(cmd)
	return cmd
}

const acceptDrift = "go on though the repository stands at another commit than RUN began at"

// request holds the flags against each other.
func (v *rerunVerb) request(run string) (runtime.ForkRequest, error) {
	given := 0
	for _, flag := range []string{v.from, v.only, v.script} {
		if flag != "" {
			given++
		}
	}
	r := runtime.ForkRequest{Key: requestKey(v.key), Kind: runtime.LineageRerun, Run: run, Step: query.Address(v.from), Set: v.set, AcceptDrift: v.drift}
	if v.only != "" {
		r.Kind, r.Step = runtime.LineageOnly, query.Address(v.only)
	}
	switch {
	case given != 1:
		return r, usage("see starling rerun --help", "rerun: got %d of --from, --only and --script, want one", given)
	case v.script != "" && len(v.set) > 0:
		return r, usage("", "rerun: --set is for --from and --only")
	}
	return r, nil
}

// forkCommand is the verb fork.
func forkCommand(c *call) *cobra.Command {
	v := &rerunVerb{call: c}
	var set []string
	var key string
	var drift bool
	cmd := &cobra.Command{
		Use:     "fork RUN@STEP",
		Short:   "Make a new run of what a run did before a step",
		GroupID: "runs",
		Long: `Make a new run of what RUN did before STEP, which goes on live from there; RUN stays as it is.

With --set the new run has other inputs. It is refused if what RUN did before STEP depends on them, with the first difference.`,
		Example: "  starling fork @last@publish --set threshold=0.9",
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at := strings.LastIndexByte(args[0], '@')
			if at <= 0 || at == len(args[0])-1 {
				return usage("starling steps RUN lists the steps", "got %q, want RUN@STEP", args[0])
			}
			return v.fork(cmd.Context(), runtime.ForkRequest{Key: requestKey(key), Kind: runtime.LineageFork, Run: args[0][:at], Step: args[0][at+1:], Set: set, AcceptDrift: drift})
		},
	}
	cmd.Flags().StringArrayVar(&set, "set", nil, "an input: `NAME=TEXT`, or NAME:=JSON")
	cmd.Flags().StringVar(&key, "key", "", "idempotency `KEY`: asking again with it gives the same run")
	cmd.Flags().BoolVar(&drift, "accept-drift", false, acceptDrift)
	c.jsonFlag(cmd)
	return cmd
}

// fork asks for the new run and stays with it, as run does.
func (v *rerunVerb) fork(ctx context.Context, request runtime.ForkRequest) error {
	s, reruns, err := openFor[runtime.Reruns](ctx, v.call, v.call.staying(false))
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	origin, err := s.Get(ctx, request.Run)
	if err != nil {
		return err
	}
	request.Run, request.Env = origin.ID, v.call.values(origin.Details.Env)
	started, err := reruns.Fork(ctx, request)
	if err != nil {
		return v.differs(err)
	}
	l := started.Details.Lineage
	v.call.notice("run %s %s, %s of %s@%s", started.ID, started.Script, l.Kind, l.Run, l.Step)
	return v.call.see(ctx, s, started, l.Copied, stay.AtRest)
}

// move replays a run with another script and moves it there. The script is checked before the store
// is opened.
func (v *rerunVerb) move(ctx context.Context, run string) error {
	bundle, err := v.call.readBundle(v.script)
	if err != nil {
		return err
	}
	if _, err := v.call.compile(bundle, check.Project{}); err != nil {
		return err
	}
	s, reruns, err := openFor[runtime.Reruns](ctx, v.call, v.call.staying(false))
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	done, err := reruns.Move(ctx, runtime.MoveRequest{Key: requestKey(v.key), Run: run, Bundle: bundle.Encode(), Script: bundle.Entry().Name})
	if err != nil {
		return v.differs(err)
	}
	if v.call.json {
		return v.call.answerJSON(done)
	}
	v.call.print("%s: %d records replayed with %s, no difference", done.Run, done.Records, bundle.Entry().Name)
	if done.Moved {
		v.call.print("%s goes on with %s", done.Run, bundle.Entry().Name)
	} else {
		v.call.print("%s is %s: there is nothing left to move", done.Run, done.Status)
	}
	return nil
}

// replayCommand is the verb replay.
func replayCommand(c *call) *cobra.Command {
	v := &rerunVerb{call: c}
	var verify bool
	cmd := &cobra.Command{
		Use:     "replay RUN",
		Short:   "Execute a run again with what is recorded, and compare",
		GroupID: "look",
		Long: `Execute RUN again from its start with the recorded outcomes, and hold all that it asks and says, and its end, against the journal, byte by byte.
Nothing is performed, nothing is written. What differs is told with both sides; exit code 4.

What happened is shown on the way; with --verify only the verdict is.`,
		Args: operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return v.replay(cmd.Context(), args[0], verify) },
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "only tell whether it is the same")
	c.jsonFlag(cmd)
	return cmd
}

func (v *rerunVerb) replay(ctx context.Context, run string, verify bool) error {
	s, reruns, err := openFor[runtime.Reruns](ctx, v.call, v.call.door().OpenReader)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	done, err := reruns.Replay(ctx, runtime.ReplayRequest{Run: run})
	if err != nil {
		return v.differs(err)
	}
	if !verify {
		show := progress.New(v.call.stderr).Show
		if err := s.Watch(ctx, runtime.WatchRequest{Run: done.Run}, func(ev runtime.Event) error { show(ev); return nil }); err != nil {
			return err
		}
	}
	if v.call.json {
		return v.call.answerJSON(done)
	}
	v.call.print("%s: %d records and %d steps replayed, no difference", done.Run, done.Records, done.Steps)
	v.call.print("journal %s", done.Journal)
	return nil
}

// differs shows people both sides of a divergence.
func (v *rerunVerb) differs(err error) error {
	r := runtime.AsRefusal(err)
	var d runtime.Divergence
	if r.Kind != runtime.ErrDiverged || json.Unmarshal(r.Data, &d) != nil {
		return err
	}
	short := runtime.Refuse(r.Kind, r.Help, "run %s: the replay differs from the journal at record %d", d.Run, d.Seq)
	short.Data = r.Data
	v.call.notice("--- journal: %s", sideLine(d.Want))
	v.call.notice("+++ replay:  %s", sideLine(d.Got))
	for _, line := range plain.Diff(strings.Split(indent(d.Want.Data, ""), "\n"), strings.Split(indent(d.Got.Data, ""), "\n")) {
		v.call.notice("%s", line)
	}
	return short
}

func sideLine(s runtime.Emission) string {
	line := s.What
	if s.Kind != "" {
		line += " (" + s.Kind + ")"
	}
	if s.Where != "" {
		line += " at " + s.Where
	}
	return line
}
