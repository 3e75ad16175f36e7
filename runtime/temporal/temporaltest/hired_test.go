package temporaltest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"starling/lang/effect"
	"starling/runtime/engine/enginetest"
	"starling/runtime/postgres"
	"starling/runtime/temporal"
)

// workerOf has, in a process that is to be a worker, what it is, as JSON.
const workerOf = "STARLING_TEST_WORKER"

// hired is a worker that is a process of its own.
type hired struct {
	Server, Namespace string // those of this process where nothing else is said
	Queue             string
	File              string // in which its agents write what they do
	Play              string // what they do: see plays
	Contents          string // address of the database in which larger contents lie, "" for none
	Crash             string // "before N" or "after N": it kills itself at the N-th turns that it hands in
}

// plays are the agents of workers that are processes.
var plays = map[string]func(file string) enginetest.Agent{
	"scribe": scribe,
	"author": author,
	// stuck never comes to an end with an attempt, and says in the file that it has begun one.
	"stuck": func(file string) enginetest.Agent {
		return func(ctx context.Context, a *effect.Attempt) (string, error) {
			os.WriteFile(file, []byte(a.Step), 0o600)
			<-ctx.Done()
			return "", ctx.Err()
		}
	},
	// clock writes at once, and then every 20 ms, that it is at work, until it is ended.
	"clock": func(file string) enginetest.Agent {
		return func(ctx context.Context, a *effect.Attempt) (string, error) {
			for ctx.Err() == nil {
				if err := note(file, fmt.Sprintf("tick %d %d", os.Getpid(), a.Number)); err != nil {
					return "", err
				}
				time.Sleep(20 * time.Millisecond)
			}
			return "", ctx.Err()
		}
	},
	// quick writes that it is at work, once.
	"quick": func(file string) enginetest.Agent {
		return func(_ context.Context, a *effect.Attempt) (string, error) {
			return "done", note(file, fmt.Sprintf("tick %d %d", os.Getpid(), a.Number))
		}
	},
}

// beWorker is what such a process does: it carries runs.
func beWorker(of string) {
	var h hired
	if err := json.Unmarshal([]byte(of), &h); err != nil {
		panic(err)
	}
	o := client.Options{HostPort: h.Server, Namespace: h.Namespace, Logger: quiet()}
	if h.Crash != "" {
		o.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(crashing(h.Crash))}
	}
	var c client.Client
	var err error
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // the server may be about to start
		if c, err = client.Dial(o); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		panic(err)
	}
	options := temporal.Options{Client: c, Namespace: o.Namespace, Queue: h.Queue, Env: again(enginetest.Environment(plays[h.Play](h.File)))}
	if h.Contents != "" {
		options.Contents = postgres.NewContents(h.Contents, func(string, ...any) {})
	}
	w := temporal.NewWorker(temporal.WorkerOptions{Options: options})
	if err := w.Start(); err != nil {
		panic(err)
	}
	select {}
}

// crashing has the process killed before or after the server has one of its turns.
func crashing(when string) grpc.UnaryClientInterceptor {
	side, left := "", 0
	fmt.Sscan(when, &side, &left)
	turn := make(chan int, 1)
	turn <- left
	return func(ctx context.Context, method string, in, out any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
		if !strings.HasSuffix(method, "/RespondWorkflowTaskCompleted") {
			return call(ctx, method, in, out, c, o...)
		}
		n := <-turn - 1
		if turn <- n; n == 0 && side == "before" {
			die()
		}
		err := call(ctx, method, in, out, c, o...)
		if n == 0 {
			die()
		}
		return err
	}
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// spawn starts a worker that is a process of its own.
func spawn(t testing.TB, h hired) *exec.Cmd {
	t.Helper()
	if h.Server == "" {
		h.Server = served.GetFrontendHostPort()
	}
	if h.Namespace == "" {
		h.Namespace = served.GetDefaultNamespace()
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return process(t, workerOf+"="+string(text))
}

// process starts this program again as something else.
func process(t testing.TB, as string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), as)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}
