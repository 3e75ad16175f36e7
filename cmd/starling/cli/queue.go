package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/table"
	"starling/runtime"
	"starling/runtime/owner"
)

// queueVerb is a call of the verb queue.
type queueVerb struct{ call *call }

// queueCommand is the verb queue.
func queueCommand(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "queue",
		Short:   "Look at what runs leave for each other",
		GroupID: "decisions",
		Long:    "A queue is there as soon as something is in it: a run or starling push has put it there, and a run takes it.",
		Args:    unknownVerb,
		RunE:    showHelp,
	}
	cmd.AddCommand(queueListCommand(c), queueShowCommand(c))
	return cmd
}

func queueListCommand(c *call) *cobra.Command {
	v := &queueVerb{call: c}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the queues that hold something, and which runs hold items of them",
		Args:  operands(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return v.listQueues(cmd.Context()) },
	}
	c.jsonFlag(cmd)
	return cmd
}

func queueShowCommand(c *call) *cobra.Command {
	v := &queueVerb{call: c}
	var limit int
	cmd := &cobra.Command{
		Use:   "show QUEUE",
		Short: "List the items of a queue, the oldest first",
		Long: `List the items of a queue, the oldest first, and behind them those that a run has put aside (parked) with the reason. An item is held while the run that has taken it has not ended,
and within its lease where it has one; a run that rests holds on. --json has the values whole.`,
		Args: operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return v.showQueue(cmd.Context(), args[0], limit) },
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "at most `N` items, 0 for all")
	c.jsonFlag(cmd)
	return cmd
}

// queuesDocument is what queue ls prints, with its list even when that is empty.
type queuesDocument struct {
	Schema string                 `json:"schema"`
	Queues []runtime.QueueSummary `json:"queues"`
}

func (v *queueVerb) listQueues(ctx context.Context) error {
	list, err := v.lookAtQueues(ctx, runtime.Query{Queues: true})
	switch {
	case err != nil:
		return err
	case v.call.json:
		return v.call.answerJSON(queuesDocument{runtime.Schema, append([]runtime.QueueSummary{}, list.Queues...)})
	case len(list.Queues) == 0:
		v.call.notice("no queue holds anything")
		return nil
	}
	t := table.New(v.call.paper(), "QUEUE", "WAITING", "HELD", "PARKED", "HELD BY")
	for _, q := range list.Queues {
		t.Row(q.Queue, q.Waiting, q.Held, q.Parked, strings.Join(q.Holders, " "))
	}
	return t.Write(v.call.stdout)
}

// itemsDocument is what queue show prints.
type itemsDocument struct {
	Schema string               `json:"schema"`
	Queue  runtime.QueueSummary `json:"queue"`
	Items  []runtime.Item       `json:"items"`
}

func (v *queueVerb) showQueue(ctx context.Context, name string, limit int) error {
	if limit < 0 {
		return usage("", "--limit: got %d, want 0 or more", limit)
	}
	list, err := v.lookAtQueues(ctx, runtime.Query{Queue: name, Limit: limit})
	if err != nil {
		return err
	}
	for i, it := range list.Items {
		if strings.HasPrefix(it.Key, owner.MadeKey) {
			list.Items[i].Key = "" // nobody has given it one
		}
	}
	queue := runtime.QueueSummary{Queue: name}
	if len(list.Queues) > 0 {
		queue = list.Queues[0]
	}
	if v.call.json {
		return v.call.answerJSON(itemsDocument{runtime.Schema, queue, append([]runtime.Item{}, list.Items...)})
	}
	if len(list.Items) == 0 {
		v.call.notice("the queue %s holds nothing; starling queue ls lists those that do", name)
		return nil
	}
	if left := queue.Waiting + queue.Held + queue.Parked - len(list.Items); left > 0 {
		v.call.notice("and %d more: --limit 0 shows all", left)
	}
	return v.printItems(list.Items)
}

func (v *queueVerb) printItems(items []runtime.Item) error {
	p := v.call.paper()
	t := table.New(p, "ITEM", "STATUS", "SINCE", "KEY", "VALUE", "NOTES")
	for _, it := range items {
		t.Row(strconv.FormatUint(it.Item, 10), it.Status, p.Time(it.At), clip(strings.Join(strings.Fields(it.Key), " ")), clip(string(it.Value)), itemNotes(p, it))
	}
	return t.Write(v.call.stdout)
}

// itemNotes says who has to do with an item.
func itemNotes(p table.Paper, it runtime.Item) string {
	notes := []string{"from " + it.By}
	switch {
	case it.Reason != "":
		notes = append(notes, "parked by "+it.Holder+": "+clip(strings.Join(strings.Fields(it.Reason), " ")))
	case it.Holder != "":
		notes = append(notes, it.Status+" by "+it.Holder)
	}
	if it.Until != nil {
		notes = append(notes, "until "+p.Time(*it.Until))
	}
	if it.Tries > 1 {
		notes = append(notes, fmt.Sprintf("taken %d times", it.Tries))
	}
	return strings.Join(notes, ", ")
}

func (v *queueVerb) lookAtQueues(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	s, err := v.call.door().OpenReader(ctx)
	if err != nil {
		return nil, err
	}
	defer v.call.leave(s)
	return s.List(ctx, q)
}
