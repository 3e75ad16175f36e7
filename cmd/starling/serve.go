package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// serving says how long a process serves, and whom it tells.
type serving struct {
	idle  time.Duration // leave after so long without a client and without anything in motion; 0 for never
	ready func(s session) error
}

// serveCommand is the verb serve: nothing but an owner that stays. Every other verb works without it.
func (c *call) serveCommand() *cobra.Command {
	var idle string
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Stay, and carry every run of the store",
		GroupID: "store",
		Args:    operands(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.serve(cmd.Context(), idle) },
	}
	c.jsonFlag(cmd)
	cmd.Flags().StringVar(&idle, "idle", "", "leave when there was nothing to do for `DURATION`")
	return cmd
}

// serve owns the store until it is told to leave. A second one is refused: unlike other verbs it has no use for being a client.
func (c *call) serve(ctx context.Context, idle string) error {
	var s serving
	if idle != "" {
		var err error
		if s.idle, err = parseDuration("--idle", idle); err != nil {
			return err
		}
	}
	s.ready = func(e session) error { return c.carryAll(ctx, e) }
	return c.door().Serve(ctx, s)
}

// servingDocument is what serve prints when others may connect.
type servingDocument struct {
	Schema   string `json:"schema"`
	Store    string `json:"store"`
	Carrying int    `json:"carrying"` // unfinished runs
}

// carryAll makes a server drive all runs, with the variables of its own environment: it is the client that carries them.
func (c *call) carryAll(ctx context.Context, s session) error {
	runs, err := c.named(ctx, s, nil, true)
	if err == nil {
		err = c.carryRuns(ctx, s, runs, nil)
	}
	if err != nil {
		return err
	}
	c.notice("serving %s; carrying %d unfinished runs", c.place.store, len(runs))
	if c.json {
		return c.answerJSON(servingDocument{runtime.Schema, c.place.store, len(runs)})
	}
	return nil
}
