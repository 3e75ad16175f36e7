package temporal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/memory"
)

// history is a run as the server has it: what its histories have recorded, as a store. To read it
// takes no worker, and runs nothing.
type history struct {
	*book
	store  *memory.Store
	queue  string            // where its workers are
	tasks  map[string]string // queues of its activities, by their ids in the newest history
	failed string            // what the worker said that has failed to take it up last, "" when none did since
}

// read reads all histories of a run, as far as they are kept.
func (c *connection) read(ctx context.Context, id string) (h *history, err error) {
	for again := true; again; again = torn(err) && wait(ctx, tornPause) {
		h, err = c.readOnce(ctx, id)
	}
	if err != nil {
		return nil, c.refusal(err, id)
	}
	c.contents.keep(h.store)
	return h, nil
}

// torn tells whether a server has broken off what it was giving of a history because it is not the
// same any more: it was behind, or has lost what it had not kept. Whoever reads begins again.
func torn(err error) bool {
	return err != nil && strings.Contains(err.Error(), "Current and request branch tokens")
}

const tornPause = 50 * time.Millisecond

func (c *connection) readOnce(ctx context.Context, id string) (*history, error) {
	h := &history{book: newBook(id), tasks: map[string]string{}}
	h.store = h.book.store
	return h, c.chain(ctx, id, "", func(ev *historypb.HistoryEvent) error {
		if a := ev.GetWorkflowExecutionStartedEventAttributes(); a != nil {
			h.queue = a.GetTaskQueue().GetName()
			clear(h.tasks)
		}
		h.note(ev)
		return h.take(ev)
	})
}

// chain calls fn for the events of the histories of a run, the oldest first.
func (c *connection) chain(ctx context.Context, id, execution string, fn func(*historypb.HistoryEvent) error) error {
	events := c.client.GetWorkflowHistory(ctx, id, execution, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		ev, err := events.Next()
		if err != nil {
			return err
		}
		if a := ev.GetWorkflowExecutionStartedEventAttributes(); a != nil {
			if a.GetWorkflowType().GetName() != workflowName {
				return unknown(id)
			}
			if before := a.GetContinuedExecutionRunId(); before != "" {
				if err := c.chain(ctx, id, before, fn); err != nil && !notFound(err) {
					return err
				}
			}
		}
		if err := c.fill(ctx, ev); err != nil {
			return err
		}
		if err := fn(ev); err != nil {
			return err
		}
	}
	return nil
}

// note keeps what is known of workers.
func (h *history) note(ev *historypb.HistoryEvent) {
	switch ev.GetEventType() {
	case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		if a := ev.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == attemptName {
			h.tasks[a.GetActivityId()] = a.GetTaskQueue().GetName()
		}
	case enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		h.failed = ""
	case enums.EVENT_TYPE_WORKFLOW_TASK_FAILED:
		a := ev.GetWorkflowTaskFailedEventAttributes()
		if a.GetCause() != enums.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND { // something came meanwhile: it is made again at once
			h.failed = a.GetFailure().GetMessage()
		}
	}
}

// take applies one event.
func (h *history) take(ev *historypb.HistoryEvent) error {
	switch ev.GetEventType() {
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		return h.takeTurn(bytesOf(ev.GetWorkflowExecutionStartedEventAttributes().GetInput()))
	case enums.EVENT_TYPE_MARKER_RECORDED:
		a := ev.GetMarkerRecordedEventAttributes()
		if a.GetMarkerName() == "LocalActivity" && a.GetFailure() == nil {
			return h.takeTurn(bytesOf(a.GetDetails()["result"]))
		}
	case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		body := bytesOf(ev.GetActivityTaskCompletedEventAttributes().GetResult())
		if len(body) == 0 || letterKind(body[0]) != letterReply {
			return nil
		}
		o, err := outcomeOf(body[1:])
		if err != nil {
			return err
		}
		return h.keep(o.reply.Blobs)
	}
	return nil
}

func (h *history) takeTurn(b []byte) error {
	t, err := decodeTurned(b)
	if err != nil {
		return fmt.Errorf("run %s: %w", h.run, err)
	}
	return h.apply(t)
}

// bytesOf is the one argument, or result, that there is.
func bytesOf(p *common.Payloads) []byte {
	if len(p.GetPayloads()) == 0 {
		return nil
	}
	return p.GetPayloads()[0].GetData()
}

// follow calls fn for the records of a run as they come, until it has ended; again for some that it
// has had, where a history was torn.
func (c *connection) follow(ctx context.Context, id string, fn func(*journal.Record) error) error {
	execution, err := c.oldest(ctx, id)
	for err == nil && execution != "" {
		next, broken := c.followOne(ctx, id, execution, fn)
		if !torn(broken) || !wait(ctx, tornPause) {
			execution, err = next, broken
		}
	}
	return err
}

// oldest is the first execution of a run that is still kept.
func (c *connection) oldest(ctx context.Context, id string) (execution string, err error) {
	for at := ""; ; {
		events := c.client.GetWorkflowHistory(ctx, id, at, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		ev, err := events.Next()
		if err != nil {
			if execution != "" && notFound(err) {
				return execution, nil
			}
			return "", err
		}
		a := ev.GetWorkflowExecutionStartedEventAttributes()
		execution = a.GetOriginalExecutionRunId()
		if at != "" {
			execution = at
		}
		if at = a.GetContinuedExecutionRunId(); at == "" {
			return execution, nil
		}
	}
}

// followOne follows one execution and gives the one that follows it, "" where none does.
func (c *connection) followOne(ctx context.Context, id, execution string, fn func(*journal.Record) error) (next string, err error) {
	events := c.client.GetWorkflowHistory(ctx, id, execution, true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		ev, err := events.Next()
		if err != nil {
			return "", err
		}
		switch ev.GetEventType() {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
			return ev.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId(), nil
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
			return "", runtime.Refusef(runtime.ErrClosed, "the workflow of run %s was terminated", id)
		}
		if err := c.fill(ctx, ev); err != nil {
			return "", err
		}
		ended, err := recordsOf(ev, id, fn)
		if err != nil || ended {
			return "", err
		}
	}
	return "", ctx.Err()
}

// recordsOf calls fn for the records of one event.
func recordsOf(ev *historypb.HistoryEvent, id string, fn func(*journal.Record) error) (ended bool, err error) {
	var body []byte
	if a := ev.GetWorkflowExecutionStartedEventAttributes(); a != nil {
		body = bytesOf(a.GetInput())
	} else if a := ev.GetMarkerRecordedEventAttributes(); a.GetMarkerName() == "LocalActivity" && a.GetFailure() == nil {
		body = bytesOf(a.GetDetails()["result"])
	}
	if body == nil {
		return false, nil
	}
	t, err := decodeTurned(body)
	if err != nil {
		return false, err
	}
	for _, w := range t.writes {
		if w.Key[0] != journal.PrefixJournal[0] {
			continue
		}
		records, err := journal.Unseal(w.Value, journal.SeqOf(w.Key))
		if err != nil {
			return false, err
		}
		for i := range records {
			if err := fn(&records[i]); err != nil {
				return false, err
			}
		}
	}
	return t.ended, nil
}

func notFound(err error) bool {
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}

func unknown(id string) *runtime.Refusal {
	return runtime.Refusef(runtime.ErrUnknownRun, "no run %q", id).WithHelp("list them with: starling-temporal ps -a").WithCall("query lists them")
}
