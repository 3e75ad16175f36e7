package connect

import (
	"context"
	"errors"
	"os"
	"time"

	"starling/cmd/starling/place"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/owner"
)

// Store is a store on this machine.
type Store struct {
	config owner.Config
	leave  func(error)
	stays  func(context.Context, Session)
}

// NewStore gives the ways to a store. leave is told that the owner which this process is was asked
// to leave, nil, or has to, and why; stays that a command stays after its own work, for the others
// that its session serves.
func NewStore(config owner.Config, leave func(error), stays func(context.Context, Session)) *Store {
	d := &Store{config: config, leave: leave, stays: stays}
	d.config.Host = d.spawn
	return d
}

// idleServer is how long a server that was started in the background stays without anything to do.
const idleServer = "1m"

// participant is a session whose end is that of its command: an owner stays for its clients and for
// what is in motion, unless the command was interrupted.
type participant struct {
	*owner.Session
	ctx   context.Context // of the command
	stays func(context.Context, Session)
}

// unexplained is how long a command may stay after its own work without saying for whom.
const unexplained = 2 * time.Second

// Close leaves in good order.
func (p *participant) Close() error {
	var err error
	if p.ctx.Err() == nil {
		told := make(chan struct{})
		tell := time.AfterFunc(unexplained, func() {
			p.stays(p.ctx, p.Session)
			close(told)
		})
		err = p.Idle(p.ctx, 0)
		if !tell.Stop() {
			<-told
		}
	}
	if p.ctx.Err() != nil {
		err = nil // what was interrupted has been told
	}
	return errors.Join(err, p.Session.Close())
}

// OpenOwner implements Connector.
func (d *Store) OpenOwner(ctx context.Context, create bool) (Session, error) {
	if !create && !place.Exists(d.config.Dir) {
		return nil, noStore(d.config.Dir)
	}
	s, err := owner.Acquire(ctx, d.config, owner.Participant)
	if err != nil {
		return nil, err
	}
	go func() {
		select {
		case <-s.Stopping():
			d.leave(s.Why())
		case <-ctx.Done():
		}
	}()
	return &participant{s, ctx, d.stays}, nil
}

// OpenReader implements Connector.
func (d *Store) OpenReader(ctx context.Context) (Session, error) {
	s, err := owner.Acquire(ctx, d.config, owner.Reader)
	if errors.Is(err, runtime.ErrNoStore) {
		return nowhere{missing: noStore(d.config.Dir)}, nil
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Detach implements Connector.
func (d *Store) Detach(ctx context.Context) (Session, error) {
	s, err := d.OpenReader(ctx)
	if err != nil {
		return nil, err
	}
	owned := s.Owner() != 0
	if err := s.Close(); err != nil {
		return nil, err
	}
	if !owned {
		if err := d.spawn(ctx); err != nil {
			return nil, err
		}
	}
	return d.OpenOwner(ctx, true)
}

func (d *Store) spawn(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return owner.Spawn(ctx, d.config, exe, "serve", "--idle", idleServer, "--store", d.config.Dir)
}

// Connect implements Connector.
func (d *Store) Connect(ctx context.Context) (Session, error) {
	s, err := owner.Acquire(ctx, d.config, owner.Guest)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve implements Connector.
func (d *Store) Serve(ctx context.Context, v Serving) (err error) {
	s, err := owner.Acquire(ctx, d.config, owner.Keeper)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := v.Ready(s); err != nil {
		return err
	}
	if v.Idle > 0 {
		return errors.Join(s.Idle(ctx, v.Idle), context.Cause(ctx))
	}
	select {
	case <-s.Stopping():
		return s.Why()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop implements Connector.
func (d *Store) Stop(ctx context.Context) (int, error) {
	if !place.Exists(d.config.Dir) {
		return 0, nil
	}
	return owner.Stop(ctx, d.config)
}

// nowhere is the engine of a store that does not exist yet: nothing is in it, and looking does not
// make it.
type nowhere struct {
	runtime.Engine // what is not below is not for commands that look
	missing        *runtime.Refusal
}

func noStore(dir string) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrUnknownRun, "starling run makes the store; --store and -C say where", "there is no store at %s", dir)
}

// Missing is what to answer where a store is needed: nil, or that there is none.
func Missing(s Session) error {
	if n, ok := s.(nowhere); ok {
		return n.missing
	}
	return nil
}

// Get finds nothing.
func (n nowhere) Get(context.Context, string) (*runtime.Run, error) { return nil, n.missing }

// List lists nothing.
func (n nowhere) List(context.Context, runtime.Query) (*runtime.Listing, error) {
	return &runtime.Listing{Schema: runtime.Schema}, nil
}

// SpentOn tells of nothing.
func (nowhere) SpentOn(context.Context, string) (map[string]runtime.Usage, error) {
	return nil, nil
}

// SpentBy sums up nothing.
func (nowhere) SpentBy(context.Context, runtime.SpentQuery) (*runtime.Bills, error) {
	return &runtime.Bills{}, nil
}

// Budgets are none.
func (nowhere) Budgets(context.Context) ([]effect.Ceiling, error) { return nil, nil }

// Decisions lists nothing, but for a run.
func (n nowhere) Decisions(_ context.Context, q runtime.DecisionQuery) (*runtime.DecisionPage, error) {
	if q.Run != "" {
		return nil, n.missing
	}
	return &runtime.DecisionPage{Schema: runtime.Schema}, nil
}

// Owner is nobody.
func (nowhere) Owner() int { return 0 }

// Close has nothing to do.
func (nowhere) Close() error { return nil }
