package peers

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

// dbosPeer is DBOS Transact in this process on SQLite. What it opens by itself may lose its last
// commits with the power (synchronous = NORMAL, which its URL does not change for all connections),
// so it is given a handle of ours. That has one connection: with eight, as its own has, SQLite's
// writers wait for each other by sleeping, and 64 runs take half as long again. Nothing tells DBOS
// on SQLite that a message has come; it looks every second.
type dbosPeer struct {
	ctx     dbos.Context
	started atomic.Int64
	waiting sync.Map // run to *dbosWaiter
}

// dbosWaiter is a run that waits for a message.
type dbosWaiter struct {
	began  chan struct{} // closed once its code is about to wait
	handle dbos.WorkflowHandle[string]
}

func newDBOS(t testing.TB) system {
	ctx, err := dbos.NewContext(context.Background(), dbos.Config{AppName: "peer", SQLiteSystemDB: fullSync(t, 1), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	p := &dbosPeer{ctx: ctx}
	dbos.RegisterWorkflow(ctx, dbosSteps)
	dbos.RegisterWorkflow(ctx, dbosFan)
	dbos.RegisterWorkflow(ctx, p.wait)
	if err := dbos.Launch(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dbos.Shutdown(ctx, time.Minute) })
	return p
}

func dbosSteps(ctx dbos.Context, n int) (int, error) {
	for range n {
		if _, err := dbos.RunAsStep(ctx, nothing); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func dbosFan(ctx dbos.Context, n int) (int, error) {
	all := make([]<-chan dbos.StepOutcome[int], n)
	for i := range all {
		one, err := dbos.Go(ctx, nothing)
		if err != nil {
			return 0, err
		}
		all[i] = one
	}
	for _, one := range all {
		if outcome := <-one; outcome.Err != nil {
			return 0, outcome.Err
		}
	}
	return n, nil
}

func (p *dbosPeer) wait(ctx dbos.Context, run string) (string, error) {
	if w, ok := p.waiting.Load(run); ok {
		close(w.(*dbosWaiter).began)
	}
	return dbos.Recv[string](ctx, "go", time.Hour)
}

func (p *dbosPeer) steps(n int) error { return p.complete(dbosSteps, n) }

func (p *dbosPeer) fan(n int) error { return p.complete(dbosFan, n) }

// complete starts a run and waits for its end.
func (p *dbosPeer) complete(code dbos.Workflow[int, int], n int) error {
	handle, err := dbos.RunWorkflow(p.ctx, code, n)
	if err != nil {
		return err
	}
	done, err := handle.GetResult()
	if err == nil && done != n {
		err = fmt.Errorf("workflow %s ended with %d", handle.GetWorkflowID(), done)
	}
	return err
}

func (p *dbosPeer) suspend() (string, error) {
	run, w := fmt.Sprintf("w%d", p.started.Add(1)), &dbosWaiter{began: make(chan struct{})}
	p.waiting.Store(run, w)
	handle, err := dbos.RunWorkflow(p.ctx, p.wait, run, dbos.WithWorkflowID(run))
	if err != nil {
		return "", err
	}
	w.handle = handle
	<-w.began
	return run, nil
}

func (p *dbosPeer) signal(run string) error {
	if err := dbos.Send(p.ctx, run, "on", "go"); err != nil {
		return err
	}
	w, _ := p.waiting.LoadAndDelete(run)
	choice, err := w.(*dbosWaiter).handle.GetResult()
	if err == nil && choice != "on" {
		err = fmt.Errorf("workflow %s ended with %q", run, choice)
	}
	return err
}
