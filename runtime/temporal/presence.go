package temporal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// A worker with much to do asks its queue for nothing new, for as long as that lasts, and looks
// like one that has died. So a worker that is there keeps asking a queue beside its own, in which
// there never is any work.

// besides is the name of that queue.
func besides(queue string) string { return queue + "@workers" }

// A poll of the queue beside takes askFor at most, of which the server keeps a second for its
// answer. Whoever has begun one within presentFor is there.
const (
	askFor     = 4 * time.Second
	presentFor = 6 * time.Second
)

// present keeps saying that this worker is there, until ctx ends.
func (w *Worker) present(ctx context.Context) {
	host, _ := os.Hostname() // for people
	ask := &workflowservice.PollActivityTaskQueueRequest{Namespace: w.namespace, Identity: fmt.Sprintf("%s%d@%s", w.carries, os.Getpid(), host),
		TaskQueue: &taskqueue.TaskQueue{Name: besides(w.queue), Kind: enums.TASK_QUEUE_KIND_NORMAL}}
	for ctx.Err() == nil {
		began := time.Now()
		poll, cancel := context.WithTimeout(ctx, askFor)
		_, err := w.client.WorkflowService().PollActivityTaskQueue(poll, ask)
		cancel()
		if err != nil && time.Since(began) < time.Second { // it refuses, or is not there
			wait(ctx, time.Second)
		}
	}
}

// What a worker says that it carries: turns and attempts, or attempts alone.
const (
	carriesRuns     = "runs "
	carriesAttempts = "attempts "
)

// seen is when a worker that takes work of a kind from a queue has last said that it is there, zero
// if none has.
func (c *connection) seen(ctx context.Context, queue string, kind client.TaskQueueType) time.Time {
	who := "" // who carries runs performs attempts, too
	if kind == client.TaskQueueTypeWorkflow {
		who = carriesRuns
	}
	d, err := c.client.DescribeTaskQueueEnhanced(ctx, client.DescribeTaskQueueEnhancedOptions{TaskQueue: besides(queue),
		TaskQueueTypes: []client.TaskQueueType{client.TaskQueueTypeActivity}, ReportPollers: true})
	if err != nil {
		return time.Time{}
	}
	return lastAsked(d, client.TaskQueueTypeActivity, who)
}

// lastAsked is when somebody has last begun to ask for work, of those whose names begin so.
func lastAsked(d client.TaskQueueDescription, kind client.TaskQueueType, who string) (last time.Time) {
	for _, v := range d.VersionsInfo {
		for _, p := range v.TypesInfo[kind].Pollers {
			if strings.HasPrefix(p.Identity, who) && p.LastAccessTime.After(last) {
				last = p.LastAccessTime
			}
		}
	}
	return last
}
