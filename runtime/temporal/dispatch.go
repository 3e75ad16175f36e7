package temporal

import (
	"slices"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"starling/lang/effect"
	"starling/runtime"
)

// What a server takes of one workflow is bounded: 4 MB in one completion of a task, and 2,000
// signals and 2,000 child workflows that are under way. More fails the task, each time it is tried
// again. So letters to other runs and child runs leave in order, as there is room.
const (
	maxLeaving      = 500
	maxLeavingBytes = 1 << 20
	maxChildren     = 1500
)

// dispatch sends things off, some at a time. It belongs to one workflow.
type dispatch struct {
	most    int  // that may be under way after they have left, 0 for any number
	held    bool // nothing leaves any more: it goes along to another history
	queued  []parcel
	leaving int // sent, and not arrived
	bytes   int // of these
	open    int // under way after they have arrived
}

// parcel is one of them. send is called when it may go.
type parcel struct {
	to    string
	size  int
	send  func(p *parcel)
	order order // by which it is sent
}

// idle tells whether nothing waits to be sent or to arrive.
func (d *dispatch) idle() bool { return d.leaving == 0 && len(d.queued) == 0 }

func (d *dispatch) crowded() bool { return d.most > 0 && d.open >= d.most }

func (d *dispatch) add(p parcel) {
	d.queued = append(d.queued, p)
	d.pump()
}

// drop takes back what has not left.
func (d *dispatch) drop(to string) {
	d.queued = slices.DeleteFunc(d.queued, func(p parcel) bool { return p.to == to })
}

func (d *dispatch) pump() {
	for len(d.queued) > 0 && !d.held && !d.crowded() && d.leaving < maxLeaving && (d.leaving == 0 || d.bytes+d.queued[0].size <= maxLeavingBytes) {
		p := d.queued[0]
		d.queued = d.queued[1:]
		d.leaving++
		d.open++
		d.bytes += p.size
		p.send(&p)
	}
}

// release lets things leave again.
func (d *dispatch) release() {
	d.held = false
	d.pump()
}

// arrived tells that one has arrived, or cannot.
func (d *dispatch) arrived(p *parcel) {
	d.leaving--
	d.bytes -= p.size
	d.pump()
}

// over tells that one is under way no more.
func (d *dispatch) over() {
	d.open--
	d.pump()
}

// send posts a letter to another run. One that has ended takes none, and needs none.
func (p *postman) send(id string, body []byte) {
	p.letterbox.add(parcel{to: id, size: len(body), order: order{kind: orderParent, queue: id, body: body}, send: func(l *parcel) {
		sent := workflow.SignalExternalWorkflow(p.ctx, id, "", signalName, body)
		workflow.Go(p.ctx, func(c workflow.Context) {
			_ = sent.Get(c, nil)
			p.letterbox.over()
			p.letterbox.arrived(l)
		})
	}})
}

// child starts a child run. It goes on whatever becomes of the history that has started it.
func (p *postman) child(o *order) {
	begins, err := decodeTurned(p.whole(o.body))
	p.must(err)
	info, step := workflow.GetInfo(p.ctx), o.step
	options := workflow.ChildWorkflowOptions{
		WorkflowID:            o.queue,
		TaskQueue:             info.TaskQueueName,
		WorkflowTaskTimeout:   info.WorkflowTaskTimeout,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		Memo:                  map[string]any{memoName: memoOf(rowsOf(begins))},
	}
	p.nursery.add(parcel{to: o.queue, size: 2 * len(o.body), order: *o, send: func(l *parcel) {
		run := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(p.ctx, options), workflowName, o.body)
		workflow.Go(p.ctx, func(c workflow.Context) {
			err := run.GetChildWorkflowExecution().Get(c, nil)
			p.nursery.arrived(l)
			if err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
				failed := effect.Errorf(effect.KindRefused, "%s: its child run did not start: %v", step, err)
				p.post((&came{Step: step, Status: runtime.Failed, Failed: failed.Payload()}).encode())
			}
			_ = run.Get(c, nil) // how it ended it tells itself
			p.nursery.over()
		})
	}})
}
