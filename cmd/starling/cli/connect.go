package cli

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
	"starling/runtime/owner"
	"starling/stdlib/git"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// idleServer is how long a server that was started in the background stays without anything to do.
const idleServer = "1m"

// storeConnector opens a store on disk.
type storeConnector struct {
	config owner.Config
	leave  func(error) // ends the call, when the owner that it is was asked to leave
	stays  func(context.Context, session)
}

// openDoors gives the ways to the store of this call.
func (c *call) openDoors() connector {
	dir := c.place.store
	token, _ := c.getenv(tokenVariable)
	d := &storeConnector{leave: c.interrupt, stays: c.staysFor}
	d.config = owner.Config{
		Dir:        dir,
		Build:      buildVersion(),
		Prepare:    badger.Prepare,
		OpenReader: func(dir string) (runtime.Engine, error) { return openReader(dir, c.env) },
		Open:       func(dir string) (runtime.Engine, error) { return c.openLocal(dir) },
		Host:       d.spawn,
		Token:      token, TokenVariable: tokenVariable,
		Identify: func(pid int) (agent, run string, err error) { return c.identify(pid, dir) },
		Doubt:    c.doubt(),
	}
	return d
}

// opener opens a store for its owner.
type opener func(dir string) (runtime.Store, error)

func openStore(dir string) (runtime.Store, error) { return badger.Open(dir, badger.Options{}) }

func (c *call) openLocal(dir string) (runtime.Engine, error) {
	store, err := c.open(dir)
	if err != nil {
		return nil, err
	}
	home, err := c.homeProject(dir)
	if c.doubt() != "" && (home.Marks || err != nil) {
		return nil, errors.Join(uncertain(c.doubt(), err), store.Close())
	}
	e, err := engine.Open(store, c.env, engine.Options{
		Folder:   dir,
		Log:      c.notice,
		Clock:    c.clock,
		Head:     git.Head,
		Project:  func() (*effect.Settings, error) { return c.homeSettings(dir) },
		Named:    project.Digests,
		Reserves: reserves,
		Keep:     int(home.Keep),
		Agents:   int(home.Machine.Agents),
		Memory:   cmp.Or(home.Together, halfOfMemory()),
		Env:      c.getenv,
		Enlist:   c.enlist,
		Doubt:    c.doubt(),
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return e, nil
}

// halfOfMemory is what all runs may hold together where the project does not say: half of the
// memory of the machine, or of the control group of this process; 0, which is no bound, where
// neither is known.
func halfOfMemory() int64 {
	limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return 0
	}
	return int64(min(limit, math.MaxInt64) / 2)
}

// reserves tells whether a project keeps a name from somebody. One that cannot be read grants
// nothing.
func reserves(s *effect.Settings, name, by string) bool {
	f, err := project.Parse(s.ProjectFile, s.Project)
	return err == nil && f.Reserves(name, by)
}

func openReader(dir string, env *effect.Environment) (runtime.Engine, error) {
	store, err := badger.Open(dir, badger.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return engine.NewReader(store, env, project.Digests), nil
}

// uncertain refuses to own a store where the project requires what the machine lacks, and where its
// file cannot be read, so that nobody knows what it requires.
func uncertain(doubt string, unread error) error {
	if unread != nil {
		return runtime.Refuse(runtime.ErrDenied, "mend "+projectFile,
			"who calls cannot be told for certain (%s), and whether %s allows that is not known: %s",
			doubt, projectFile, strings.Split(unread.Error(), "\n")[0])
	}
	return runtime.Refuse(runtime.ErrDenied,
		`take require = "marks" out of [owner] in `+projectFile+", or run on Linux 6.5 or later",
		"%s requires that it can be told for certain who calls: %s", projectFile, doubt)
}

// identify finds the attempt that a process works for: among the guards that this process has
// started and, for this process itself, which has started none yet when it asks, by the locks of
// the store.
func (c *call) identify(pid int, store string) (agent, run string, err error) {
	a, found, err := c.guards.Of(pid)
	if pid == os.Getpid() {
		a, found, err = process.AttemptOf(pid, filepath.Join(store, "locks"))
	}
	if err != nil || !found {
		return "", "", err
	}
	return a.Agent, a.Run, nil
}

// enlist remembers a guard that this process has started.
func (c *call) enlist(w effect.Worker) (dismiss func()) {
	a := process.Attempt{Run: w.Run, Step: w.Step, Attempt: w.Number, Agent: w.Agent}
	return c.guards.Add(a, w.PID, w.Started)
}

// participant is a session whose end is that of its command: an owner stays for its clients and for
// what is in motion, unless the command was interrupted.
type participant struct {
	*owner.Session
	ctx   context.Context // of the command
	stays func(context.Context, session)
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

// OpenOwner implements connector.
func (d *storeConnector) OpenOwner(ctx context.Context, create bool) (session, error) {
	if !create && !exists(d.config.Dir) {
		return nil, noRun(d.config.Dir)
	}
	s, err := owner.Acquire(ctx, d.config, owner.Participant)
	if err != nil {
		return nil, err
	}
	go func() {
		select {
		case <-s.Stopping():
			if err := s.Why(); err != nil {
				d.leave(err)
			} else {
				d.leave(interruption{terminate})
			}
		case <-ctx.Done():
		}
	}()
	return &participant{s, ctx, d.stays}, nil
}

// OpenReader implements connector.
func (d *storeConnector) OpenReader(ctx context.Context) (session, error) {
	s, err := owner.Acquire(ctx, d.config, owner.Reader)
	if errors.Is(err, runtime.ErrNoStore) {
		return nowhere{dir: d.config.Dir}, nil
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Detach implements connector.
func (d *storeConnector) Detach(ctx context.Context) (session, error) {
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

func (d *storeConnector) spawn(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return owner.Spawn(ctx, d.config, exe, "serve", "--idle", idleServer, "--store", d.config.Dir)
}

// Connect implements connector.
func (d *storeConnector) Connect(ctx context.Context) (session, error) {
	s, err := owner.Acquire(ctx, d.config, owner.Guest)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve implements connector.
func (d *storeConnector) Serve(ctx context.Context, v serving) (err error) {
	s, err := owner.Acquire(ctx, d.config, owner.Keeper)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := v.ready(s); err != nil {
		return err
	}
	if v.idle > 0 {
		return errors.Join(s.Idle(ctx, v.idle), cause(ctx))
	}
	select {
	case <-s.Stopping():
		return s.Why()
	case <-ctx.Done():
		return cause(ctx)
	}
}

// Stop implements connector.
func (d *storeConnector) Stop(ctx context.Context) (int, error) {
	if !exists(d.config.Dir) {
		return 0, nil
	}
	return owner.Stop(ctx, d.config)
}

// nowhere is the engine of a store that does not exist yet: nothing is in it, and looking does not
// make it.
type nowhere struct {
	runtime.Engine // what is not below is not for commands that look
	dir            string
}

func noRun(dir string) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrUnknownRun, "starling run makes the store; --store and -C say where", "there is no store at %s", dir)
}

// Get finds nothing.
func (n nowhere) Get(context.Context, string) (*runtime.Run, error) { return nil, noRun(n.dir) }

// List lists nothing.
func (n nowhere) List(context.Context, runtime.Query) (*runtime.Listing, error) {
	return &runtime.Listing{Schema: runtime.Schema}, nil
}

// Decisions lists nothing, but for a run.
func (n nowhere) Decisions(_ context.Context, q runtime.DecisionQuery) (*runtime.DecisionPage, error) {
	if q.Run != "" {
		return nil, noRun(n.dir)
	}
	return &runtime.DecisionPage{Schema: runtime.Schema}, nil
}

// Owner is nobody.
func (nowhere) Owner() int { return 0 }

// Close has nothing to do.
func (nowhere) Close() error { return nil }
