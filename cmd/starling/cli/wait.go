package cli

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/stay"
	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// errTimeout is the cause of a context that --timeout ended.
var errTimeout = errors.New("the time given by --timeout has passed")

// waitVerb is a call of the verb wait.
type waitVerb struct{ call *call }

// waitCommand is the verb wait.
func waitCommand(c *call) *cobra.Command {
	v := &waitVerb{call: c}
	var status, timeout string
	cmd := &cobra.Command{
		Use:     "wait RUN",
		Short:   "Wait for a run",
		GroupID: "runs",
		Long: `Carry a run until it has ended or only a signal can move it, and print how it stands, with the exit codes of run.

With --for STATUS, until it has that status or can no longer get it.`,
		Args: operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			enough, err := untilStatus(status)
			if err != nil {
				return err
			}
			ctx, cancel, err := withTimeout(cmd.Context(), timeout)
			if err != nil {
				return err
			}
			defer cancel()
			return v.waitFor(ctx, args[0], enough)
		},
	}
	cmd.Flags().StringVar(&status, "for", "", "wait until the run is `STATUS`")
	cmd.Flags().StringVar(&timeout, "timeout", "", "leave after `DURATION`, such as 10s, with exit code 124")
	c.jsonFlag(cmd)
	return cmd
}

// untilStatus reads --for.
func untilStatus(status string) (stay.Until, error) {
	if status == "" {
		return stay.OnlySignal, nil
	}
	if slices.Contains(runtime.Statuses(), runtime.Status(status)) {
		return stay.HasStatus(runtime.Status(status)), nil
	}
	var names []string
	for _, s := range runtime.Statuses() {
		names = append(names, string(s))
	}
	help := cmp.Or(diagnostic.Meant(status, names), "a run is one of "+strings.Join(names, ", "))
	return nil, usage(help, "wait: --for: %q is not a status", status)
}

// withTimeout reads --timeout: it bounds the command and does nothing to the run.
func withTimeout(ctx context.Context, flag string) (context.Context, context.CancelFunc, error) {
	if flag == "" {
		return ctx, func() {}, nil
	}
	d, err := parseDuration("--timeout", flag)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d, errTimeout)
	return ctx, cancel, nil
}

// parseDuration reads a flag as scripts write durations.
func parseDuration(flag, text string) (time.Duration, error) {
	d, err := contract.ParseDuration(text)
	if err != nil {
		return 0, usage("", "%s: %s", flag, strings.TrimPrefix(err.Error(), "duration: "))
	}
	return d, nil
}

// parseLasting reads a duration flag that is longer than 0; "" is 0, a flag that was not given.
func parseLasting(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := parseDuration(flag, text)
	if err == nil && d == 0 {
		err = usage("", "%s: got %s, want a duration longer than 0", flag, text)
	}
	return d, err
}

// parseSize reads a flag that is a number of bytes, or of KiB, MiB or GiB: 64MiB. It is above 0.
func parseSize(flag, text string) (int64, error) {
	digits, unit := strings.TrimSpace(text), int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if n, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = strings.TrimSpace(n), 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return 0, usage("", "%s: got %q, want bytes above 0, or a size as 64MiB", flag, text)
	}
	return n * unit, nil
}

// waitFor carries the run: waiting for something that nobody drives would be waiting for ever.
func (v *waitVerb) waitFor(ctx context.Context, address string, enough stay.Until) error {
	s, r, err := v.call.carry(ctx, address)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	v.call.notice("waiting for %s: %s", r.ID, r.Status)
	show, end := v.call.watching(r)
	f := stay.Follower{Session: s, Run: r.ID, After: v.call.watchedFrom(r), Show: show}
	now, err := f.Stay(ctx, enough)
	end()
	if errors.Is(err, errTimeout) {
		return v.timedOut(orLast(now, r))
	}
	return v.call.report(orLast(now, r), s, err)
}

func orLast(now, before *runtime.Run) *runtime.Run {
	if now == nil {
		return before
	}
	return now
}

// timedOut tells how the run stands when the command's own time is over.
func (v *waitVerb) timedOut(r *runtime.Run) error {
	v.call.code = exitTimeout
	v.call.notice("the run is still %s", r.Status)
	if v.call.json {
		return v.call.answerJSON(v.call.document(r))
	}
	return nil
}

// carry opens the store and makes its owner drive a run.
func (c *call) carry(ctx context.Context, address string) (connect.Session, *runtime.Run, error) {
	s, err := c.door().OpenOwner(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.Get(ctx, address)
	if err == nil && !r.Status.Ended() {
		err = c.carryRuns(ctx, s, []*runtime.Run{r}, nil)
	}
	if err != nil {
		c.leave(s)
		return nil, nil, err
	}
	return s, r, nil
}
