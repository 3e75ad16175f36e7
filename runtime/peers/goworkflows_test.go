package peers

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/history"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/core"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
)

// goWorkflows is the library in this process on SQLite, as its own benchmark has it: one
// connection, and the backend that wakes its worker when there is work. Its SQLite syncs every
// commit by default; the handle is ours so that this can be asked. What is measured is below its
// bound of 10,000 events a run.
type goWorkflows struct {
	ctx     context.Context
	client  *client.Client
	commits *commits
	started atomic.Int64
	waiting sync.Map // run to *workflow.Instance
}

func newGoWorkflows(t testing.TB) system {
	store := sqlite.NewSqliteBackendWithDB(fullSync(t, 1), sqlite.WithApplyMigrations(true), sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.DiscardHandler))))
	told := &commits{Backend: monoprocess.NewMonoprocessBackend(store)}
	ctx, stop := context.WithCancel(context.Background())
	w := worker.New(told, nil)
	for _, code := range []workflow.Workflow{workflowSteps, workflowFan, workflowWait} {
		if err := w.RegisterWorkflow(code); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.RegisterActivity(nothing); err != nil {
		t.Fatal(err)
	}
	if err := w.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		w.WaitForCompletion()
	})
	return &goWorkflows{ctx: ctx, client: client.New(told), commits: told}
}

func workflowSteps(ctx workflow.Context, n int) (int, error) {
	for range n {
		if _, err := workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, nothing).Get(ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func workflowFan(ctx workflow.Context, n int) (int, error) {
	all := make([]workflow.Future[int], n)
	for i := range all {
		all[i] = workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, nothing)
	}
	for _, one := range all {
		if _, err := one.Get(ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func workflowWait(ctx workflow.Context) (string, error) {
	choice, _ := workflow.NewSignalChannel[string](ctx, "go").Receive(ctx)
	return choice, nil
}

func (p *goWorkflows) steps(n int) error { return p.complete(workflowSteps, n) }

func (p *goWorkflows) fan(n int) error { return p.complete(workflowFan, n) }

// complete starts a run and waits for its end.
func (p *goWorkflows) complete(code workflow.Workflow, n int) error {
	run := p.name()
	ended := p.commits.of(run, core.WorkflowInstanceStateFinished)
	instance, err := p.client.CreateWorkflowInstance(p.ctx, client.WorkflowInstanceOptions{InstanceID: run}, code, n)
	if err != nil {
		return err
	}
	<-ended
	return result(p, instance, n)
}

func (p *goWorkflows) suspend() (string, error) {
	run := p.name()
	waits := p.commits.of(run, core.WorkflowInstanceStateActive)
	instance, err := p.client.CreateWorkflowInstance(p.ctx, client.WorkflowInstanceOptions{InstanceID: run}, workflowWait)
	if err != nil {
		return "", err
	}
	<-waits
	p.waiting.Store(run, instance)
	return run, nil
}

func (p *goWorkflows) signal(run string) error {
	ended := p.commits.of(run, core.WorkflowInstanceStateFinished)
	if err := p.client.SignalWorkflow(p.ctx, run, "go", "on"); err != nil {
		return err
	}
	<-ended
	instance, _ := p.waiting.LoadAndDelete(run)
	return result(p, instance.(*workflow.Instance), "on")
}

func (p *goWorkflows) name() string { return fmt.Sprintf("w%d", p.started.Add(1)) }

// result says whether a run that has ended came to what was wanted.
func result[T comparable](p *goWorkflows, instance *workflow.Instance, want T) error {
	got, err := client.GetWorkflowResult[T](p.ctx, p.client, instance, time.Minute)
	if err == nil && got != want {
		err = fmt.Errorf("workflow %s ended with %v", instance.InstanceID, got)
	}
	return err
}

// commits is a backend that tells when a run has been committed in a state. The library's client
// asks for that again and again, after ever longer waits.
type commits struct {
	backend.Backend
	awaited sync.Map // run to *commit
}

// commit is closed when its run has been committed in the state.
type commit struct {
	state core.WorkflowInstanceState
	done  chan struct{}
}

// of is closed by the next commit of a run in a state.
func (c *commits) of(run string, state core.WorkflowInstanceState) <-chan struct{} {
	one := &commit{state, make(chan struct{})}
	c.awaited.Store(run, one)
	return one.done
}

// CompleteWorkflowTask commits what a run has done until it waits or ends.
func (c *commits) CompleteWorkflowTask(ctx context.Context, task *backend.WorkflowTask, state core.WorkflowInstanceState,
	executed, activities, timers []*history.Event, others []*history.WorkflowEvent) error {
	err := c.Backend.CompleteWorkflowTask(ctx, task, state, executed, activities, timers, others)
	run := task.WorkflowInstance.InstanceID
	if one, ok := c.awaited.Load(run); ok && err == nil && one.(*commit).state == state {
		c.awaited.Delete(run)
		close(one.(*commit).done)
	}
	return err
}
