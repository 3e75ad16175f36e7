package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"starling/runtime"
)

// A server takes what is asked of a run whether or not somebody works for it. So it is looked
// whether somebody does, before a run is started, while an answer does not come, and while a run is
// watched or shown.

// pollers remembers whether the queue of the runs has workers.
type pollers struct {
	mu     sync.Mutex // guards what follows
	seen   time.Time  // when some were there
	missed time.Time  // when none was there for who wanted to start something
	looked time.Time  // when that was looked at for those who wait for answers
	asked  time.Time  // when somebody had asked for work last, then
	gone   int        // how often in a row nobody took it
}

// How long a worker is waited for, in all and by who waits for an answer, how long one that was
// seen counts as there, how long what waits in a queue may do so before it counts as left, and how
// long one poll takes at most. A caller is told within ten seconds, so there are two left for a
// server that takes its time.
const (
	workerPatience = 8 * time.Second
	answerPatience = 7 * time.Second
	workerSeen     = 20 * time.Second
	workerPace     = 2 * time.Second
	onePoll        = 70 * time.Second
)

// attended refuses where no worker has asked for work lately, for who began to start something at
// some time. Those who come later wait for what those before them are told; they have longer.
func (c *connection) attended(ctx context.Context, began time.Time) error {
	patient, cancel := context.WithDeadline(ctx, began.Add(workerPatience))
	defer cancel()
	p := &c.pollers
	p.mu.Lock()
	defer p.mu.Unlock()
	for time.Since(p.seen) > workerSeen {
		left, _, err := c.left(patient, c.queue, client.TaskQueueTypeWorkflow)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && patient.Err() == nil && !errors.Is(err, errSilent):
			return c.refusal(err, "")
		case err == nil && !left:
			p.seen = time.Now()
			continue
		case err == nil:
			p.missed = time.Now()
		}
		switch {
		case wait(patient, 200*time.Millisecond):
		case ctx.Err() != nil:
			return ctx.Err()
		case p.missed.Before(began):
			return c.refusal(errSilent, "")
		default:
			return c.noWorker()
		}
	}
	return nil
}

// left tells whether nobody takes work from a queue, and when somebody has shown last that he does:
// nobody does where no worker says that it is there, and no work was asked for within the time that
// one poll takes, or some waits and nobody has come for it. A poll that is under way takes what
// comes at once, so of a queue in which nothing waits an old poll says that somebody is there.
// Workers of older builds do not say that they are there.
func (c *connection) left(ctx context.Context, queue string, kind client.TaskQueueType) (left bool, last time.Time, err error) {
	patient, cancel := context.WithTimeout(ctx, workerPatience)
	defer cancel()
	said := make(chan time.Time, 1) // asked at the same time: a server may take its time for each
	go func() { said <- c.seen(patient, queue, kind) }()
	d, err := c.client.DescribeTaskQueueEnhanced(patient, client.DescribeTaskQueueEnhancedOptions{TaskQueue: queue,
		TaskQueueTypes: []client.TaskQueueType{kind}, ReportPollers: true, ReportStats: true})
	if late := (*serviceerror.DeadlineExceeded)(nil); errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded) {
		err = errSilent
	}
	if err != nil {
		return false, time.Time{}, err
	}
	waits := time.Duration(0)
	for _, v := range d.VersionsInfo {
		if stats := v.TypesInfo[kind].Stats; stats != nil && stats.ApproximateBacklogCount > 0 {
			waits = max(waits, stats.ApproximateBacklogAge)
		}
	}
	last = lastAsked(d, kind, "")
	idle, at := time.Since(last), <-said
	if at.After(last) {
		last = at
	}
	return time.Since(at) > presentFor && (idle > onePoll || waits > workerPace && idle > workerPace), last, nil
}

// errSilent is the error of a server that does not say who works for a queue.
var errSilent = serviceerror.NewUnavailable("it has said nothing for " + workerPatience.String())

func (c *connection) noWorker() *runtime.Refusal {
	return runtime.Refuse(runtime.ErrOwnerUnreachable, "start one: starling-temporal worker", "no worker takes work from the queue %q of the Temporal server", c.queue)
}

// answered calls fail with why no answer will come to what a run was asked just now, if that turns
// out before ctx ends.
func (c *connection) answered(ctx context.Context, id string, fail func(error)) {
	began, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		untaken := make(chan bool, 1) // asked at the same time: a server may take its time for each
		go func() { untaken <- time.Since(began) > answerPatience && c.untaken(ctx, id) }()
		gone, asked, err := c.gone(ctx)
		switch waits := <-untaken; {
		case ctx.Err() != nil:
		case err != nil:
			fail(c.refusal(err, ""))
		case gone >= 3 || waits && asked.Before(began):
			fail(c.noWorker())
		}
	}
}

// untaken tells whether nobody has taken up what a run has to do. A task for one worker is for all
// after five seconds, so somebody who is there has asked for more since then.
func (c *connection) untaken(ctx context.Context, id string) bool {
	d, err := c.client.DescribeWorkflowExecution(ctx, id, "")
	return err == nil && d.GetPendingWorkflowTask().GetState() == enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED
}

// gone is how often in a row nobody took work from the queue of the runs, looked at once a second,
// however many wait, and when somebody has asked for some last.
func (c *connection) gone(ctx context.Context) (int, time.Time, error) {
	p := &c.pollers
	p.mu.Lock()
	defer p.mu.Unlock()
	since := time.Since(p.looked)
	if since < time.Second {
		return p.gone, p.asked, nil
	}
	if since > 2*workerPace { // that was another time
		p.gone = 0
	}
	left, asked, err := c.left(ctx, c.queue, client.TaskQueueTypeWorkflow)
	p.looked, p.asked = time.Now(), asked
	if !left || err != nil {
		p.gone = 0
		return 0, asked, err
	}
	p.gone++
	return p.gone, asked, nil
}

// lacking says which worker a run waits for, "" for none: one for its turns, one that can take
// them, or those of the queues on which its attempts wait. It reads the run only where something
// waits, if h is nil.
func (c *connection) lacking(ctx context.Context, id string, h *history) (string, error) {
	d, err := c.client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return "", err
	}
	task, waiting := d.GetPendingWorkflowTask(), []string(nil)
	turn := task != nil && (task.GetAttempt() > 2 || time.Since(task.GetScheduledTime().AsTime()) > workerPace)
	for _, a := range d.GetPendingActivities() {
		if a.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED && time.Since(a.GetScheduledTime().AsTime()) > workerPace {
			waiting = append(waiting, a.GetActivityId())
		}
	}
	if !turn && len(waiting) == 0 {
		return "", nil
	}
	if h == nil {
		if h, err = c.read(ctx, id); err != nil {
			return "", err
		}
	}
	if turn {
		left, asked, err := c.left(ctx, h.queue, client.TaskQueueTypeWorkflow)
		switch {
		case err != nil:
			return "", err
		case left && time.Since(asked) > 3*workerPace: // else it may be busy
			return neededOf(h.queue, "starling-temporal worker"), nil
		case h.failed != "":
			return "a worker comes that can carry it; the one that is there says: " + h.failed, nil
		}
	}
	return c.absent(ctx, h, waiting)
}

// absent says which workers the activities of a run wait for.
func (c *connection) absent(ctx context.Context, h *history, activities []string) (string, error) {
	var asked, all []string
	for _, id := range activities {
		q, command := h.tasks[id], "starling-temporal worker"
		if q == "" || slices.Contains(asked, q) {
			continue
		}
		asked = append(asked, q)
		left, asked, err := c.left(ctx, q, client.TaskQueueTypeActivity)
		if err != nil {
			return "", err
		}
		if q != h.queue {
			command += " --queue " + q
		}
		if left && time.Since(asked) > 3*workerPace {
			all = append(all, neededOf(q, command))
		}
	}
	return strings.Join(all, "; "), nil
}

func neededOf(queue, command string) string {
	return fmt.Sprintf("a worker takes work from the queue %q: %s", queue, command)
}

// warn says, while a run is watched, which worker it waits for: each once.
func (c *connection) warn(ctx context.Context, id string) {
	for said := ""; wait(ctx, 4*time.Second); {
		lacks, err := c.lacking(ctx, id, nil)
		if err != nil {
			continue // the watch says so
		}
		if lacks != "" && lacks != said {
			c.log("run %s waits until %s", id, lacks)
		}
		said = lacks
	}
}
