package connect

import (
	"context"
	"errors"
	"os"
	"syscall"

	"starling/runtime"
	"starling/runtime/owner"
	"starling/runtime/postgres"
	"starling/stdlib/process"
)

// Shared is a store in a database, which processes of several machines may own, one at a time. Only
// one that serves does; every other command is a client of a server on this machine, or just reads.
type Shared struct {
	local    *Store // of the folder of this machine
	database Database
}

// Database says how a store in a database is opened.
type Database struct {
	Address string // with its secrets
	Options postgres.Options
	// Open makes the engine of a store that is owned, which then closes the store.
	Open func(store runtime.Store) (runtime.Engine, error)
	// Read makes an engine that only reads, and closes the store with it.
	Read func(store runtime.Store) (runtime.Engine, error)
}

// NewShared gives the ways to a store in a database. The configuration is that of the folder of
// this machine; leave and stays are told as by [NewStore].
func NewShared(config owner.Config, d Database, leave func(error), stays func(context.Context, Session)) *Shared {
	s := &Shared{database: d}
	config.Prepare = prepareFolder
	config.Shared = s.owned
	config.OpenReader = func(string) (runtime.Engine, error) {
		o := d.Options
		o.ReadOnly = true
		store, err := postgres.Open(context.Background(), d.Address, o)
		if err != nil {
			return nil, err
		}
		return d.Read(store)
	}
	s.local = NewStore(config, leave, stays)
	return s
}

func prepareFolder(dir string) error { return os.MkdirAll(dir, 0o700) }

// owned says who owns the store, to who found nobody on this machine.
func (s *Shared) owned(ctx context.Context) error {
	const start = "own it here with: starling serve"
	name := postgres.Name(s.database.Address)
	h, err := postgres.Owner(ctx, s.database.Address)
	switch {
	case err != nil && !errors.Is(err, runtime.ErrNoStore):
		return err
	case h.Name == "":
		return runtime.Refuse(runtime.ErrOwnerUnreachable, start, "%s: nobody owns it, and only starling serve owns a store in a database", name)
	case h.Address == "":
		return runtime.Refuse(runtime.ErrOwnerUnreachable, "work there; with --http it serves other machines", "%s: %s owns it, and serves no other machine", name, h.Name)
	}
	return runtime.Refuse(runtime.ErrOwnerUnreachable, "ask there: --server "+h.Address+", with a token in STARLING_TOKEN", "%s: %s owns it", name, h.Name).
		WithData(map[string]string{"owner": h.Name, "address": h.Address})
}

// OpenOwner implements Connector: a client of the server on this machine.
func (s *Shared) OpenOwner(ctx context.Context, create bool) (Session, error) {
	if err := prepareFolder(s.local.config.Dir); err != nil {
		return nil, err
	}
	return s.local.OpenOwner(ctx, create)
}

// OpenReader implements Connector. Who owns the store is not asked where that is no server on this
// machine: the database answers.
func (s *Shared) OpenReader(ctx context.Context) (Session, error) {
	if err := prepareFolder(s.local.config.Dir); err != nil {
		return nil, err
	}
	session, err := s.local.OpenReader(ctx)
	if n, ok := session.(nowhere); ok {
		n.missing = runtime.Refuse(runtime.ErrUnknownRun, "starling serve makes it", "%s: %v", postgres.Name(s.database.Address), runtime.ErrNoStore)
		return n, nil
	}
	return session, err
}

// Detach implements Connector: the server outlives this process.
func (s *Shared) Detach(ctx context.Context) (Session, error) { return s.OpenOwner(ctx, false) }

// Connect implements Connector, as Detach does.
func (s *Shared) Connect(ctx context.Context) (Session, error) { return s.OpenOwner(ctx, false) }

// Stop implements Connector.
func (s *Shared) Stop(ctx context.Context) (int, error) { return s.local.Stop(ctx) }

// Serve implements Connector. It stands by while another process owns the store, and again when it
// has lost it.
func (s *Shared) Serve(ctx context.Context, v Serving) error {
	if err := prepareFolder(s.local.config.Dir); err != nil {
		return err
	}
	o := s.database.Options
	o.Address, o.Folder = v.Address, s.local.config.Dir
	o.Gone = func(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH && owner.Vacant(o.Folder) }
	lease, err := process.OpenLease(o.Folder)
	if err != nil {
		return err
	}
	defer lease.Close()
	o.Held = lease.Hold
	for ; ; o.Insist = true {
		store, err := postgres.Stand(ctx, s.database.Address, o, v.Standby)
		if err != nil {
			return err
		}
		if err := s.own(ctx, store, v); !errors.Is(err, runtime.ErrLost) || ctx.Err() != nil {
			return err
		}
	}
}

// own serves a store until it is lost, or ctx ends.
func (s *Shared) own(ctx context.Context, store *postgres.Store, v Serving) error {
	taken := false
	here := *s.local
	here.config.Open = func(string) (runtime.Engine, error) {
		taken = true
		return s.database.Open(store)
	}
	err := here.Serve(ctx, v)
	if !taken {
		return errors.Join(err, store.Close())
	}
	return err
}
