package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/ingress"
	"github.com/restatedev/sdk-go/server"
)

// restatePeer is a Restate server of its own, with the workloads as services in this process.
type restatePeer struct {
	ctx     context.Context
	client  *ingress.Client
	started atomic.Int64
	waiting sync.Map // run to a channel that is closed once its code is about to wait
}

func newRestate(t testing.TB) system {
	binary := os.Getenv("RESTATE_SERVER")
	if binary == "" {
		t.Skip("RESTATE_SERVER does not name the binary of a Restate server; npm install @restatedev/restate-server@1.7.12 brings one")
	}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	p := &restatePeer{ctx: ctx}
	in, admin, code := freePort(t), freePort(t), freePort(t)
	quiet := server.NewRestate().WithLogger(slog.DiscardHandler, true).
		Bind(restate.NewService("Work").
			Handler("Steps", restate.NewServiceHandler(p.doSteps)).
			Handler("Fan", restate.NewServiceHandler(p.doFan))).
		Bind(restate.NewWorkflow("Wait").
			Handler("run", restate.NewWorkflowHandler(p.doWait)).
			Handler("answer", restate.NewWorkflowSharedHandler(p.doAnswer)))
	go quiet.Start(ctx, fmt.Sprintf("127.0.0.1:%d", code))
	serve(t, binary, in, admin)
	register(t, admin, code)
	p.client = ingress.NewClient(fmt.Sprintf("http://127.0.0.1:%d", in))
	return p
}

func (p *restatePeer) doSteps(ctx restate.Context, n int) (restate.Void, error) {
	for range n {
		if err := restate.RunVoid(ctx, func(restate.RunContext) error { return nil }); err != nil {
			return restate.Void{}, err
		}
	}
	return restate.Void{}, nil
}

func (p *restatePeer) doFan(ctx restate.Context, n int) (restate.Void, error) {
	all := make([]restate.RunAsyncFuture[restate.Void], n)
	for i := range all {
		all[i] = restate.RunAsync(ctx, func(restate.RunContext) (restate.Void, error) { return restate.Void{}, nil })
	}
	for _, one := range all {
		if _, err := one.Result(); err != nil {
			return restate.Void{}, err
		}
	}
	return restate.Void{}, nil
}

func (p *restatePeer) doWait(ctx restate.WorkflowContext, _ restate.Void) (string, error) {
	if began, ok := p.waiting.LoadAndDelete(restate.Key(ctx)); ok {
		close(began.(chan struct{}))
	}
	return restate.Promise[string](ctx, "go").Result()
}

func (p *restatePeer) doAnswer(ctx restate.WorkflowSharedContext, choice string) (restate.Void, error) {
	return restate.Void{}, restate.Promise[string](ctx, "go").Resolve(choice)
}

func (p *restatePeer) steps(n int) error {
	_, err := ingress.Service[int, restate.Void](p.client, "Work", "Steps").Request(p.ctx, n)
	return err
}

func (p *restatePeer) fan(n int) error {
	_, err := ingress.Service[int, restate.Void](p.client, "Work", "Fan").Request(p.ctx, n)
	return err
}

func (p *restatePeer) suspend() (string, error) {
	run, began := fmt.Sprintf("w%d", p.started.Add(1)), make(chan struct{})
	p.waiting.Store(run, began)
	if _, err := ingress.Workflow[restate.Void, string](p.client, "Wait", run, "run").Send(p.ctx, restate.Void{}); err != nil {
		return "", err
	}
	<-began
	return run, nil
}

func (p *restatePeer) signal(run string) error {
	ctx, stop := context.WithTimeout(p.ctx, 10*time.Second) // one that was never started would be waited for
	defer stop()
	if _, err := ingress.Workflow[string, restate.Void](p.client, "Wait", run, "answer").Request(ctx, "on"); err != nil {
		return err
	}
	choice, err := ingress.WorkflowHandle[string](p.client, "Wait", run).Attach(ctx)
	if err == nil && choice != "on" {
		err = fmt.Errorf("workflow %s ended with %q", run, choice)
	}
	return err
}

// serve starts the server on an empty folder and ends it with the test.
func serve(t testing.TB, binary string, in, admin int) {
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "--no-logo", "--listen-mode", "tcp", "--base-dir", filepath.Join(dir, "data"), "--bind-ip", "127.0.0.1", "--bind-port", fmt.Sprint(freePort(t)))
	cmd.Env = append(os.Environ(), "RESTATE_DISABLE_TELEMETRY=true", "RESTATE_LOG_FILTER=warn",
		fmt.Sprintf("RESTATE_INGRESS__BIND_PORT=%d", in), fmt.Sprintf("RESTATE_ADMIN__BIND_PORT=%d", admin))
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the server said:\n%s", text)
		}
	})
}

// register tells the server where the code is, as soon as it listens.
func register(t testing.TB, admin, code int) {
	url, said := fmt.Sprintf("http://127.0.0.1:%d/deployments", admin), ""
	body, _ := json.Marshal(map[string]string{"uri": fmt.Sprintf("http://127.0.0.1:%d", code)})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r, err := http.Post(url, "application/json", strings.NewReader(string(body)))
		if err != nil {
			said = err.Error()
			continue
		}
		r.Body.Close()
		if said = r.Status; r.StatusCode/100 == 2 {
			return
		}
	}
	t.Fatalf("the server does not take the services: %s", said)
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
