package temporaltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/testing/freeport"
	"go.temporal.io/server/schema/sqlite"
	server "go.temporal.io/server/temporal"

	"starling/runtime/engine/enginetest"
	"starling/runtime/runtimetest"
	"starling/runtime/temporal"
)

// serverOf has, in a process that is to be a server, its port, whether it has its own defaults or
// what the tests set, and the file of its database.
const serverOf = "STARLING_TEST_SERVER"

// beServer is what such a process does.
func beServer(of string) {
	var port int
	var tuned bool
	var file string
	if _, err := fmt.Sscan(of, &port, &tuned, &file); err != nil {
		panic(err)
	}
	options := []server.ServerOption{server.WithConfig(serverConfig(port, file)), server.ForServices(server.DefaultServices), server.WithLogger(log.NewNoopLogger())}
	if tuned {
		options = append(options, server.WithDynamicConfigClient(settings))
	}
	s, err := server.NewServer(options...)
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// serverConfig is that of a server whose database is a file.
func serverConfig(port int, file string) *config.Config {
	const local = "127.0.0.1"
	at := func(port int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, MembershipPort: freeport.MustGetFreePort(), BindOnIP: local}}
	}
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: sqliteplugin.PluginName, VisibilityStore: sqliteplugin.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{sqliteplugin.PluginName: {SQL: database(file)}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{
				"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: fmt.Sprintf("%s:%d", local, port)},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{"frontend": at(port), "history": at(freeport.MustGetFreePort()),
			"matching": at(freeport.MustGetFreePort()), "worker": at(freeport.MustGetFreePort())},
		Archival: config.Archival{History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"}},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: "disabled"}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"}}},
		PublicClient: config.PublicClient{HostPort: fmt.Sprintf("%s:%d", local, port)},
	}
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: local}
	c.Global.Metrics = &metrics.Config{Prometheus: &metrics.PrometheusConfig{ListenAddress: fmt.Sprintf("%s:%d", local, freeport.MustGetFreePort()), HandlerPath: "/metrics"}}
	return c
}

func database(file string) *config.SQL {
	return &config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: file,
		ConnectAttributes: map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "normal"}}
}

// servers are a server that is killed and started again, at one port and with one database.
type servers struct {
	t     testing.TB
	port  int
	tuned bool
	file  string
	run   *exec.Cmd
}

const serversSpace = "starling-test"

func startServers(t testing.TB, tuned bool) *servers {
	t.Helper()
	s := &servers{t: t, tuned: tuned, port: freeport.MustGetFreePort(), file: filepath.Join(t.TempDir(), "temporal.db")}
	sql := database(s.file)
	err := sqlite.SetupSchema(sql)
	if err == nil {
		var space *sqlite.NamespaceConfig
		if space, err = sqlite.NewNamespaceConfig("active", serversSpace, false, nil); err == nil {
			err = sqlite.CreateNamespaces(sql, space)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	s.start()
	return s
}

func (s *servers) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// start starts the server, and returns when it answers.
func (s *servers) start() {
	s.t.Helper()
	s.run = process(s.t, fmt.Sprintf("%s=%d %t %s", serverOf, s.port, s.tuned, s.file))
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		c, err := client.Dial(client.Options{HostPort: s.address(), Namespace: serversSpace, Logger: quiet()})
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err = c.DescribeWorkflowExecution(ctx, "none", "")
			cancel()
			c.Close()
			if err != nil && notThere(err) {
				return
			}
		}
		if time.Now().After(end) {
			s.t.Fatalf("the server does not answer: %v", err)
		}
	}
}

func (s *servers) kill() {
	_ = s.run.Process.Kill()
	_ = s.run.Wait()
}

// The server is killed at random and started again, while workers, and who answers gates, do their
// work. What it had acknowledged is there, and nothing is done twice.
func TestTheServerIsKilled(t *testing.T) {
	random := rand.New(rand.NewPCG(seeded(t), 1))
	s := startServers(t, true)
	o := options(t, again(enginetest.Environment(nobody)))
	o.Client, o.Namespace = dialTo(t, s.address(), serversSpace), serversSpace
	h, file := &runtimetest.History{}, t.TempDir()+"/said"
	plain := temporal.New(o)
	spawn(t, hired{Server: s.address(), Namespace: serversSpace, Queue: o.Queue, File: file, Play: "scribe"})
	run, over := errand(t, o, plain, runtimetest.Observe(plain, h), h), make(chan bool)
	go func() { defer close(over); run() }()
	for range *killings {
		busy(t, file)
		time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		s.kill()
		s.start()
	}
	<-over
	attempts, _ := noTwoAtOnce(t, file, h)
	t.Logf("%d attempts of 32 steps", attempts)
	if err := h.Check(); err != nil {
		t.Error(err)
	}
}

func notThere(err error) bool {
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}
