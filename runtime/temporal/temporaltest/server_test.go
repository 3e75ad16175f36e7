package temporaltest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/server/common/dynamicconfig"
	server "go.temporal.io/server/temporal"
	upstream "go.temporal.io/server/temporaltest"
	"google.golang.org/protobuf/types/known/durationpb"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/runtimetest"
	"starling/runtime/temporal"
)

// served is the server of this process.
var served *upstream.TestServer

func TestMain(m *testing.M) {
	if of := os.Getenv(workerOf); of != "" {
		beWorker(of)
	}
	if of := os.Getenv(serverOf); of != "" {
		beServer(of)
	}
	served = upstream.NewServer(upstream.WithBaseServerOptions(server.WithDynamicConfigClient(settings)))
	code := m.Run()
	os.Exit(code) // the server ends with the process
}

// settings raise what a server allows by default to a few polls a second, and make histories short
// in one namespace.
var settings = dynamicconfig.StaticClient{
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():      always(1),
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key():     always(1),
	dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): always(true),
	dynamicconfig.TransferProcessorMaxPollRPS.Key():             always(unbounded),
	dynamicconfig.TimerProcessorMaxPollRPS.Key():                always(unbounded),
	dynamicconfig.VisibilityProcessorMaxPollRPS.Key():           always(unbounded),
	dynamicconfig.FrontendRPS.Key():                             always(unbounded),
	dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():      always(unbounded),
	dynamicconfig.HistoryRPS.Key():                              always(unbounded),
	dynamicconfig.MatchingRPS.Key():                             always(unbounded),
	dynamicconfig.FrontendPersistenceMaxQPS.Key():               always(unbounded),
	dynamicconfig.HistoryPersistenceMaxQPS.Key():                always(unbounded),
	dynamicconfig.MatchingPersistenceMaxQPS.Key():               always(unbounded),
	dynamicconfig.HistoryCountSuggestContinueAsNew.Key():        []dynamicconfig.ConstrainedValue{{Constraints: dynamicconfig.Constraints{Namespace: shortSpace}, Value: 30}},
}

const unbounded = 100_000

func always(v any) []dynamicconfig.ConstrainedValue {
	return []dynamicconfig.ConstrainedValue{{Value: v}}
}

// shortSpace is the namespace in which a run leaves its history after some thirty events.
const shortSpace = "short"

var makeShortSpace = sync.OnceValue(func() error {
	c, err := client.NewNamespaceClient(client.Options{HostPort: served.GetFrontendHostPort(), Logger: quiet()})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = c.Register(ctx, &workflowservice.RegisterNamespaceRequest{Namespace: shortSpace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)})
	for err == nil { // until all of the server knows it
		var own client.Client
		if own, err = client.Dial(client.Options{HostPort: served.GetFrontendHostPort(), Namespace: shortSpace, Logger: quiet()}); err != nil {
			break
		}
		_, unknown := own.DescribeWorkflowExecution(ctx, "none", "")
		own.Close()
		if notThere(unknown) && !strings.Contains(unknown.Error(), shortSpace) || ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
})

// shortly are options whose runs leave their histories early.
func shortly(t testing.TB, env *effect.Environment) temporal.Options {
	t.Helper()
	if err := makeShortSpace(); err != nil {
		t.Fatal(err)
	}
	o := options(t, env)
	o.Client, o.Namespace = dialTo(t, served.GetFrontendHostPort(), shortSpace), shortSpace
	return o
}

func dial(t testing.TB) client.Client {
	return dialTo(t, served.GetFrontendHostPort(), served.GetDefaultNamespace())
}

func dialTo(t testing.TB, server, namespace string) client.Client {
	c, err := client.Dial(client.Options{HostPort: server, Namespace: namespace, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func quiet() tlog.Logger {
	to := io.Discard
	if os.Getenv("TEMPORAL_LOG") != "" {
		to = os.Stderr
	}
	return tlog.NewStructuredLogger(slog.New(slog.NewTextHandler(to, nil)))
}

var queues atomic.Int64

// options are those of an engine of its own: nobody else has its queue.
func options(t testing.TB, env *effect.Environment) temporal.Options {
	return temporal.Options{Client: dial(t), Namespace: served.GetDefaultNamespace(), Queue: fmt.Sprintf("q%d", queues.Add(1)), Env: env, Log: t.Logf}
}

// open makes an engine with one worker.
func open(t testing.TB, env *effect.Environment) *temporal.Engine {
	t.Helper()
	o := options(t, env)
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o, Grace: time.Millisecond})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	e := temporal.New(o)
	t.Cleanup(func() { e.Close() })
	return e
}

func nobody(context.Context, *effect.Attempt) (string, error) { return "", nil }

func TestTemporalIsAnEngine(t *testing.T) {
	runtimetest.TestEngine(t, runtimetest.Subject{
		User:   "local:ann",
		Bundle: enginetest.Bundle,
		Lag:    2 * time.Second,
		Open: func(t *testing.T) func(runtime.Caller) runtime.Engine {
			e := open(t, enginetest.Environment(nobody))
			return func(c runtime.Caller) runtime.Engine { return runtimetest.As(e, c) }
		},
	})
}
