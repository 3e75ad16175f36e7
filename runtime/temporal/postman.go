package temporal

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"starling/runtime"
)

// Names in histories, which must not change.
const (
	workflowName = "starling"
	turnName     = "turn"
	attemptName  = "attempt"
	adoptName    = "adopt"
	updateName   = "ask"
	signalName   = "post"
	memoName     = "starling"
)

// When a history is left for a new one, well before the server ends it: it takes 51,200 events,
// 50 MB, 2,000 updates and 10,000 signals.
const (
	longEvents  = 4096
	longBytes   = 4 << 20
	longUpdates = 1500
	longSignals = 5000
)

// postman is the workflow of one run. It decides nothing: it hands what has come in to a turn, a
// local activity whose result is recorded, and does what that says. So a replay of its history runs
// no script, and whatever a later build makes of scripts changes nothing here.
type postman struct {
	*Worker
	ctx       workflow.Context
	book      *book
	key       string // under which the worker has the book
	letters   []*letter
	count     uint64 // of letters so far
	fresh     bool   // some letter has not been in a turn
	more      bool
	due       bool
	ended     bool
	alarm     int64 // when the timer rings, microseconds since 1970, 0 for none
	mute      func()
	flights   map[string]*flight
	updates   int
	posted    int
	letterbox dispatch // of letters to other runs
	nursery   dispatch // of child runs
	shown     bool     // the memo has the newest rows
	draining  bool
	stays     bool // in this history, however long it gets
	moves     bool // what is in flight and what has come goes along to another history
}

// letter is one that has not been taken.
type letter struct {
	numbered
	asked  bool // somebody waits for its answer
	answer []byte
}

func (w *Worker) postman(ctx workflow.Context, first []byte) error {
	p := &postman{Worker: w, flights: map[string]*flight{}, mute: func() {}, nursery: dispatch{most: maxChildren}}
	p.ctx, _ = workflow.NewDisconnectedContext(ctx) // the server's own cancel is a letter
	p.book = newBook(workflow.GetInfo(ctx).WorkflowExecution.ID)
	p.key = w.shelve(p.book)
	defer w.unshelve(p.key)
	begins, err := decodeTurned(p.whole(first))
	if err != nil {
		return err
	}
	p.must(p.book.apply(begins))
	p.shown = true // whoever began it has given the memo
	p.stand(begins)
	p.fresh = !begins.rests // it is told who drives it
	for i := range begins.orders {
		p.perform(&begins.orders[i])
	}
	if err := workflow.SetUpdateHandler(ctx, updateName, p.ask); err != nil {
		return err
	}
	workflow.Go(p.ctx, p.collect)
	workflow.Go(p.ctx, func(c workflow.Context) {
		ctx.Done().Receive(c, nil)
		p.post(letterOf(letterCancel, &asked{Who: []string{"temporal"}, Cancel: &runtime.CancelRequest{Reason: "at the Temporal server"}}))
	})
	return p.work()
}

// must has the workflow task fail, which is tried again, here or by another worker: nothing that
// has come in is lost by it. It is for what this worker cannot do.
func (p *postman) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("run %s cannot go on here: %v", p.book.run, err))
	}
}

// whole gives what a history names, which is the same each time it is replayed. While it cannot be
// had, the task fails and is tried again.
func (p *postman) whole(body []byte) []byte {
	content, err := p.open(context.Background(), body)
	p.must(err)
	return content
}

// work takes turns until the run has ended, or goes on in another history.
func (p *postman) work() error {
	for {
		p.must(workflow.Await(p.ctx, func() bool { return p.fresh || p.more || p.due || p.ended || p.long() || p.leaves() }))
		switch {
		case p.long():
			p.drain()
		case p.ended && !p.fresh && !p.more:
			p.letterbox.release()
			p.nursery.queued = nil // nobody waits for these
			if p.quiet() {
				return nil
			}
		case p.leaves() && !p.more && !p.fresh:
			if next, left := p.handOver(); left {
				return next
			}
		default:
			p.turn()
		}
	}
}

// quiet waits until everybody is answered and all that was sent is there: a server drops what a
// workflow has sent that is no more. It is false when something else has come in.
func (p *postman) quiet() bool {
	p.must(workflow.Await(p.ctx, func() bool {
		return p.fresh || p.letterbox.idle() && p.nursery.idle() && workflow.AllHandlersFinished(p.ctx)
	}))
	return !p.fresh
}

// ask is the update by which somebody brings a letter and waits for its answer, which comes when it
// is durable.
func (p *postman) ask(ctx workflow.Context, body []byte) ([]byte, error) {
	p.updates++
	l := p.post(p.whole(body))
	l.asked = true
	err := workflow.Await(ctx, func() bool { return l.answer != nil })
	return l.answer, err
}

// collect takes letters that come as signals.
func (p *postman) collect(ctx workflow.Context) {
	for c := workflow.GetSignalChannel(ctx, signalName); ; {
		var body []byte
		c.Receive(ctx, &body)
		p.posted++
		body = p.whole(body)
		switch {
		case len(body) == 0:
		case letterKind(body[0]) == letterHome:
			p.locate(body)
		default:
			p.post(body)
		}
	}
}

func (p *postman) post(body []byte) *letter {
	l := &letter{numbered: numbered{at: p.count, body: body}}
	p.count++
	p.letters, p.fresh = append(p.letters, l), true
	return l
}

// turn has the run take what waits, and does what follows.
func (p *postman) turn() {
	b := p.book
	b.now, b.draining, b.leave = workflow.Now(p.ctx).UnixMicro(), p.draining, p.draining
	b.letters, b.flying = nil, map[string]bool{}
	for _, l := range p.letters {
		b.letters = append(b.letters, l.numbered)
	}
	for step := range p.flights {
		b.flying[step] = true
	}
	p.fresh, p.due = false, false
	ctx := workflow.WithLocalActivityOptions(p.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: time.Hour, // a turn ends by itself
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var left []byte
	p.must(workflow.ExecuteLocalActivity(ctx, turnName, p.key).Get(ctx, &left))
	t, err := decodeTurned(p.whole(left))
	p.must(err)
	p.must(p.book.apply(t))
	p.deliver(t.answers)
	for i := range t.orders {
		p.perform(&t.orders[i])
	}
	p.stand(t)
	p.show(t)
}

// deliver hands out answers and forgets the letters that were taken.
func (p *postman) deliver(answers []answer) {
	for _, a := range answers {
		for i, l := range p.letters {
			if l.at == a.letter {
				l.answer = append([]byte{}, a.body...)
				p.letters = append(p.letters[:i:i], p.letters[i+1:]...)
				p.land(l.body)
				break
			}
		}
	}
}

// land forgets the flight of an attempt whose end was taken, and knows how a child run stands.
func (p *postman) land(body []byte) {
	switch letterKind(body[0]) {
	case letterChild:
		if c, err := cameOf(body[1:]); err == nil {
			p.book.kids[c.Child] = c.Status
		}
		return
	case letterReply, letterSteered:
	default:
		return
	}
	if o, err := outcomeOf(body[1:]); err == nil {
		if f := p.flights[o.step]; f != nil && f.order.number == uint64(o.attempt) && f.landed {
			delete(p.flights, o.step)
		}
		p.must(p.book.keep(o.reply.Blobs))
	}
}

// stand takes how the run stands, and sets the timer.
func (p *postman) stand(t *turned) {
	p.more, p.ended = t.more, t.ended
	if t.due == p.alarm {
		return
	}
	p.mute()
	p.mute, p.alarm = func() {}, t.due
	if t.due == 0 || t.ended {
		return
	}
	ctx, cancel := workflow.WithCancel(p.ctx)
	p.mute = cancel
	wait := time.UnixMicro(t.due).Sub(workflow.Now(p.ctx)) + time.Millisecond // the server's timers are not finer
	timer := workflow.NewTimer(ctx, max(wait, time.Millisecond))
	workflow.Go(p.ctx, func(c workflow.Context) {
		if timer.Get(c, nil) == nil {
			p.due, p.alarm = true, 0
		}
	})
}

// perform begins or ends what a turn has ordered.
func (p *postman) perform(o *order) {
	switch o.kind {
	case orderAttempt, orderAgain, orderAdopt:
		p.fly(o)
	case orderAbort:
		if f := p.flights[o.step]; f != nil {
			delete(p.flights, o.step)
			f.end()
		}
	case orderSteer:
		if f := p.flights[o.step]; f != nil && !f.landed {
			f.steered = true
			f.end()
		}
	case orderChild:
		p.child(o)
	case orderOrphan:
		p.nursery.drop(o.queue)
		p.send(o.queue, append([]byte{byte(letterOrphan)}, p.book.run...))
	case orderParent:
		p.send(o.queue, o.body)
	case orderLetter:
		p.post(o.body)
	default:
		p.must(fmt.Errorf("%w: an order of the unknown kind %d", runtime.ErrNewer, o.kind))
	}
}

// show has lists find the run as it is.
func (p *postman) show(t *turned) {
	changed := false
	for _, w := range t.writes {
		changed = changed || listed(w.Key)
	}
	if changed {
		p.must(workflow.UpsertMemo(p.ctx, map[string]any{memoName: memoOf(p.book.rows)}))
	}
}
