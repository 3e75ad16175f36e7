package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/listing"
	"starling/lang/contract"
	"starling/runtime"
	"starling/runtime/filter"
)

// decisionsVerb is a call of the verb decisions.
type decisionsVerb struct{ call *call }

// decisionsCommand is the verb decisions.
func decisionsCommand(c *call) *cobra.Command {
	v := &decisionsVerb{call: c}
	var q decisionQuery
	cmd := &cobra.Command{
		Use:     "decisions [RUN]",
		Short:   "List who has decided what, why and when",
		GroupID: "decisions",
		Long: `List how gates were decided, the newest decision first: in all runs, ended or not, or in RUN and those
it has started. BY is the name that counts, with who has answered in it. The notes say what was an override,
a fallback or an answer of the runtime (auto), and which decisions came with an import or a fork.

What was pruned or trimmed is forgotten here as well.

--filter takes conditions as starling query --help explains them. The fields are

` + listing.FieldTable(filter.DecisionFields()),
		Example: `  starling decisions --by reviewer --since 7d
  starling decisions --filter 'override and script ~ release'`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.run = append(args, "")[0]
			return v.decisions(cmd.Context(), q)
		},
	}
	cmd.Flags().StringVar(&q.by, "by", "", "only those made in the name of `WHO`")
	cmd.Flags().StringVar(&q.since, "since", "", "only those since `WHEN`: 2h ago, or 2026-11-21, or 2026-11-21T15:04:05Z")
	cmd.Flags().StringVar(&q.until, "until", "", "only those until `WHEN`")
	cmd.Flags().StringVar(&q.filter, "filter", "", "only those that `FILTER` means")
	q.page.flags(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// decisionQuery says which decisions are wanted.
type decisionQuery struct {
	run, by, since, until, filter string
	page                          page
}

// conditions are the flags as one filter.
func (q *decisionQuery) conditions() string {
	var all []string
	if q.filter != "" {
		all = append(all, q.filter)
	}
	if q.by != "" {
		all = append(all, "by = "+strconv.Quote(q.by))
	}
	for _, t := range []struct{ when, ago, then string }{{q.since, "age <= ", "decided >= "}, {q.until, "age >= ", "decided <= "}} {
		if t.when == "" {
			continue
		}
		if _, err := contract.ParseDuration(t.when); err == nil {
			t.then = t.ago
		}
		all = append(all, t.then+strconv.Quote(t.when))
	}
	if len(all) > 1 && q.filter != "" {
		all[0] = "(" + q.filter + ")"
	}
	return strings.Join(all, " and ")
}

// decisionsDocument is what decisions prints, with its list even when that is empty.
type decisionsDocument struct {
	Schema    string             `json:"schema"`
	Decisions []runtime.Decision `json:"decisions"`
	Next      string             `json:"next,omitempty"` // the --after of the next page
}

func (v *decisionsVerb) decisions(ctx context.Context, q decisionQuery) error {
	f, err := filter.ParseDecisions(q.conditions())
	if err == nil {
		err = q.page.check()
	}
	if err != nil {
		return err
	}
	s, err := v.call.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	listed, err := f.Of(ctx, s, runtime.DecisionQuery{Run: q.run, Limit: q.page.limit, After: q.page.after}, time.Now())
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(decisionsDocument{runtime.Schema, listed.List, listed.Next})
	}
	if len(listed.List) == 0 {
		v.call.notice("there is no decision")
		return nil
	}
	defer v.call.more(listed.Next)
	return listing.Decisions(v.call.paper(), listed.List).Write(v.call.stdout)
}
