package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// pushVerb is a call of the verb push.
type pushVerb struct{ call *call }

// pushCommand is the verb push.
func pushCommand(c *call) *cobra.Command {
	v := &pushVerb{call: c}
	var key string
	cmd := &cobra.Command{
		Use:     "push QUEUE VALUE",
		Short:   "Put an item into a queue, for a run to take",
		GroupID: "decisions",
		Long: `Put VALUE at the end of a queue: JSON, @FILE, or - for standard input. It is durable when it is accepted. A run that waits for an item of the queue goes on with it in the background;
without one the item waits.`,
		Example: `  starling push jobs '{"url": "https://example.org"}' --key example.org`,
		Args:    operands(2, 2),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.push(cmd.Context(), args[0], args[1], key) },
	}
	cmd.Flags().StringVar(&key, "key", "", "while an item of this `KEY` is in the queue, nothing is put there")
	c.jsonFlag(cmd)
	return cmd
}

func (v *pushVerb) push(ctx context.Context, queue, value, key string) error {
	payload, err := v.call.payload(value)
	if err != nil {
		return err
	}
	if !json.Valid(payload) {
		return runtime.Refuse(runtime.ErrBadPayload, `a text needs its quotes: '"yes"'`, "got %.60q, want JSON", payload)
	}
	s, queues, err := openFor[runtime.Queues](ctx, v.call, v.call.door().Detach)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	pushed, err := queues.Push(ctx, runtime.PushRequest{Key: key, Queue: queue, Value: payload})
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(pushed)
	}
	known := ""
	switch {
	case pushed.Other:
		known = " (this key was known, with another value: nothing was put there; starling queue show " + pushed.Queue + " has it)"
	case pushed.Known:
		known = " (this key was known; nothing was put there)"
	}
	v.call.print("queued %s %d%s", pushed.Queue, pushed.Item, known)
	return nil
}
