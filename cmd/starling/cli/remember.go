package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"starling/runtime"
	"starling/runtime/tool"
)

// rememberVerb is a call of the verb remember.
type rememberVerb struct{ call *call }

// rememberCommand is the verb remember.
func rememberCommand(c *call) *cobra.Command {
	v := &rememberVerb{call: c}
	var k tool.Knowledge
	var key string
	cmd := &cobra.Command{
		Use:     "remember TOPIC [DETAILS]",
		Short:   "Keep something about this project that is worth knowing later",
		GroupID: "knowledge",
		Long: `Queue something for the knowledge base in .claude/knowledge, and answer when that is durable. A run in the background files it: what is known already is left out, what contradicts is
put before a person (starling review). DETAILS is Markdown, and read from standard input when it is left out or "-".

The run is started from @std/knowledge.star, or from what was defined as ` + tool.RememberWorker + `. Its agent is called curator.`,
		Example: "  starling remember 'Cache size' 'The cache holds 100 entries.' --category architecture --file src/cache.go",
		Args:    operands(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			k.Topic = args[0]
			return v.remember(cmd.Context(), k, strings.Join(args[1:], ""), key)
		},
	}
	f := cmd.Flags()
	f.StringVar(&k.Category, "category", "", "`WHICH`: architecture, patterns, dependencies, workflows or gotchas")
	f.StringArrayVar(&k.Files, "file", nil, "a `PATH` that it is about")
	f.StringVar(&key, "key", "", "idempotency `KEY`: while it is in the queue, nothing else is under it")
	c.jsonFlag(cmd)
	return cmd
}

func (v *rememberVerb) remember(ctx context.Context, k tool.Knowledge, details, key string) error {
	if k.Category == "" {
		return usage("such as --category architecture", "remember: --category is missing")
	}
	if details == "" || details == "-" {
		text, err := v.call.payload("-")
		if err != nil {
			return err
		}
		details = string(text)
	}
	if k.Details = details; strings.TrimSpace(details) == "" {
		return usage("", "remember: there are no details")
	}
	s, err := v.call.door().Detach(ctx)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	got, err := v.call.desk(s).Remember(ctx, k, key)
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(rememberedDocument{runtime.Schema, got})
	}
	v.call.print("queued %s %d", got.Queue, got.Item)
	if got.Worker != "" {
		v.call.notice("run %s files it", got.Worker)
	}
	return nil
}

// rememberedDocument is what remember prints.
type rememberedDocument struct {
	Schema string `json:"schema"`
	*tool.Remembered
}
