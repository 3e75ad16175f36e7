package owner

import (
	"context"
	"os"

	"starling/runtime"
	"starling/runtime/api"
)

// clientSession is the time in which this process is a client of the owner.
type clientSession struct {
	client *api.Client
	detach context.CancelFunc
	gone   <-chan struct{} // closed when the owner is lost; nil for a reader, who does not keep it
}

// connect connects to the owner that owner.json names. Readers do not attach: the owner need not
// wait for them.
func (s *Session) connect(ctx context.Context) (*clientSession, error) {
	r, ok := readRecord(s.dir)
	if !ok {
		return nil, &api.Away{State: api.Gone}
	}
	trying, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	client, err := api.Dial(trying, r.Socket)
	if err != nil {
		return nil, s.away(ctx, err)
	}
	client.Bring(s.config.Token)
	v := &clientSession{client: client, detach: func() {}}
	switch {
	case !sameFile(client.Hello().Store, s.dir):
		err = &api.Away{State: api.Gone} // the record is stale, and the socket another store's by now
	case s.role != Reader:
		err = v.attach(trying, s.life)
	}
	if err != nil {
		v.leave()
		return nil, s.away(ctx, err)
	}
	return v, nil
}

// attach stays attached as long as life lasts, and must succeed within trying.
func (v *clientSession) attach(trying, life context.Context) (err error) {
	life, v.detach = context.WithCancel(life)
	stop := context.AfterFunc(trying, v.detach)
	v.gone, err = v.client.Attach(life)
	stop()
	if err != nil {
		return err
	}
	go func() { // what waits for an answer of an owner that hangs, waits no longer
		<-v.gone
		v.client.Close()
	}()
	return nil
}

// away makes an owner that is gone of one that did not answer in the time of one try.
func (s *Session) away(ctx context.Context, err error) error {
	if ctx.Err() == nil && (err == context.DeadlineExceeded || err == context.Canceled) {
		return &api.Away{State: api.Gone, Err: os.ErrDeadlineExceeded}
	}
	return err
}

func (v *clientSession) to() runtime.Engine { return v.client }

func (v *clientSession) lost() bool {
	select {
	case <-v.gone:
		return true
	default:
		return false
	}
}

// leave detaches. The owner goes on.
func (v *clientSession) leave() error {
	v.detach()
	return v.client.Close()
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// greet asks the owner who it is, if it answers.
func greet(ctx context.Context, dir string) (api.Hello, error) {
	r, ok := readRecord(dir)
	if !ok {
		return api.Hello{}, &api.Away{State: api.Gone}
	}
	trying, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	h, err := api.Greet(trying, r.Socket)
	if err == nil && !sameFile(h.Store, dir) {
		err = &api.Away{State: api.Gone}
	}
	return h, err
}
