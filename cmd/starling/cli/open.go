package cli

import (
	"cmp"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"starling/cmd/starling/build"
	"starling/cmd/starling/connect"
	"starling/cmd/starling/place"
	"starling/cmd/starling/telemetry"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
	"starling/runtime/owner"
	"starling/runtime/postgres"
	"starling/runtime/transfer"
	"starling/stdlib/git"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// openDoors gives the ways to the store of this call.
func (c *call) openDoors() connect.Connector {
	token, _ := c.getenv(tokenVariable)
	if c.serverFlag != "" {
		return &connect.Server{Address: c.serverFlag, Token: token}
	}
	if c.place.Err != nil {
		return connect.Refused{Err: c.place.Err}
	}
	if c.place.Engine.Temporal != "" {
		return c.further.Connector(c.reach())
	}
	dir := c.place.Store
	config := owner.Config{
		Dir:        dir,
		Build:      build.Version(),
		Prepare:    badger.Prepare,
		OpenReader: c.openReader,
		Open:       c.openLocal,
		Token:      token, TokenVariable: tokenVariable,
		Identify: func(pid int) (agent, run string, err error) { return c.identify(pid, dir) },
		Doubt:    c.doubt(),
	}
	if c.place.Database == "" {
		return connect.NewStore(config, c.asked, c.staysFor)
	}
	machine, err := c.place.Machine()
	if err != nil {
		return connect.Refused{Err: err}
	}
	return connect.NewShared(config, connect.Database{
		Address: c.place.Database,
		Options: postgres.Options{Machine: machine, Lease: c.place.Lease, Warn: c.notice},
		Open:    c.openEngine,
		Read:    c.readEngine,
	}, c.asked, c.staysFor)
}

func (c *call) reach() connect.Reach {
	return connect.Reach{Server: c.place.Engine, Contents: c.place.Contents, Env: c.env(), Getenv: c.getenv, Log: c.notice}
}

// asked ends the call when the owner that it is has to leave, or was asked to.
func (c *call) asked(why error) {
	if why == nil {
		why = interruption{terminate}
	}
	c.interrupt(why)
}

func (c *call) openLocal(dir string) (runtime.Engine, error) {
	store, err := badger.Open(dir, badger.Options{})
	if err != nil {
		return nil, err
	}
	return c.openEngine(store)
}

// openEngine makes the engine of a store that this process owns. The store is closed with it, or
// where there is none.
func (c *call) openEngine(store runtime.Store) (runtime.Engine, error) {
	if err := transfer.Unfinished(store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	dir := c.place.Store
	home, err := c.homeProject(c.place.Home())
	if c.doubt() != "" && (home.Marks || err != nil) {
		return nil, errors.Join(uncertain(c.doubt(), err), store.Close())
	}
	machine, err := c.place.Machine()
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	c.exporter = telemetry.New(c.getenv, c.clock)
	e, err := engine.Open(c.around(store), c.exporter.Within(c.env()), engine.Options{
		Folder:   dir,
		Machine:  machine,
		Log:      c.notice,
		Clock:    c.clock,
		Head:     git.Head,
		Project:  func() (*effect.Settings, error) { return c.homeSettings(c.place.Home()) },
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
	c.exporter.Opened(e)
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

func (c *call) openReader(dir string) (runtime.Engine, error) {
	store, err := badger.Open(dir, badger.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return c.readEngine(store)
}

// readEngine makes an engine that reads a store. The store is closed with it, or where there is
// none.
func (c *call) readEngine(store runtime.Store) (runtime.Engine, error) {
	if err := transfer.Unfinished(store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return engine.NewReader(store, c.env(), project.Digests), nil
}

// uncertain refuses to own a store where the project requires what the machine lacks, and where its
// file cannot be read, so that nobody knows what it requires.
func uncertain(doubt string, unread error) error {
	if unread != nil {
		return runtime.Refuse(runtime.ErrDenied, "mend "+place.ProjectFile,
			"who calls cannot be told for certain (%s), and whether %s allows that is not known: %s",
			doubt, place.ProjectFile, strings.Split(unread.Error(), "\n")[0])
	}
	return runtime.Refuse(runtime.ErrDenied,
		`take require = "marks" out of [owner] in `+place.ProjectFile+", or run on Linux 6.5 or later",
		"%s requires that it can be told for certain who calls: %s", place.ProjectFile, doubt)
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
