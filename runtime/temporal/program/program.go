// Package program is the command line's way to a Temporal server: it opens engines, carries runs,
// and says what a server lacks.
package program

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"starling/cmd/starling/connect"
	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/postgres"
	"starling/runtime/temporal"
)

// Further is Temporal as an engine of the command line.
func Further() *connect.Further {
	return &connect.Further{Open: open, Worker: work, Examine: examine, Lacks: temporal.Lacks}
}

// server gives the ways to the runs of a Temporal server: all are the same, a client of it.
type server struct{ reach connect.Reach }

func open(r connect.Reach) connect.Connector { return &server{r} }

// session is an engine with the connection that it closes.
type session struct {
	*temporal.Engine
	*line
}

// Owner is none of this machine.
func (session) Owner() int { return connect.Elsewhere }

// Close ends what waits, and the connections.
func (s session) Close() error {
	err := s.Engine.Close()
	s.line.close()
	return err
}

// line is the connections to a server, and to the database in which larger contents lie.
type line struct {
	options  temporal.Options
	contents *postgres.Contents // nil for none
}

func (l *line) close() {
	l.options.Client.Close()
	if l.contents != nil {
		l.contents.Close()
	}
}

// dialTime is how long a server is waited for.
const dialTime = 5 * time.Second

// dial connects to the server.
func dial(ctx context.Context, r connect.Reach) (*line, error) {
	o := client.Options{HostPort: r.Server.Temporal, Namespace: r.Server.Namespace, Logger: tlog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}
	if r.Server.TLS {
		o.ConnectionOptions.TLS = new(tls.Config)
	}
	if r.Server.Key != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(r.Server.Key)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, runtime.Refuse(runtime.ErrStoreUnreachable, "is it there? temporal server start-dev starts one for trying",
			"the Temporal server %s does not answer: %v", r.Server.Temporal, err)
	}
	l := &line{options: temporal.Options{Client: c, Namespace: r.Server.Namespace, Queue: r.Server.Queue, Env: r.Env, Getenv: r.Getenv, Label: new(labels).of, Log: r.Log}}
	if r.Contents != "" {
		l.contents = postgres.NewContents(r.Contents, r.Log)
		l.options.Contents = l.contents
	}
	return l, nil
}

func (s *server) session(ctx context.Context) (connect.Session, error) {
	l, err := dial(ctx, s.reach)
	if err != nil {
		return nil, err
	}
	if l.options.Caller, err = api.Authenticate(api.Self(), nil); err != nil {
		return nil, err
	}
	return session{temporal.New(l.options), l}, nil
}

// OpenOwner implements connect.Connector.
func (s *server) OpenOwner(ctx context.Context, _ bool) (connect.Session, error) {
	return s.session(ctx)
}

// OpenReader implements connect.Connector.
func (s *server) OpenReader(ctx context.Context) (connect.Session, error) { return s.session(ctx) }

// Detach implements connect.Connector.
func (s *server) Detach(ctx context.Context) (connect.Session, error) { return s.session(ctx) }

// Connect implements connect.Connector.
func (s *server) Connect(ctx context.Context) (connect.Session, error) { return s.session(ctx) }

var errNoOwner = runtime.Refuse(runtime.ErrUnsupported, "starling-temporal worker carries the runs", "runs on a Temporal server have no owner that could serve or stop")

// Serve implements connect.Connector.
func (*server) Serve(context.Context, connect.Serving) error { return errNoOwner }

// Stop implements connect.Connector.
func (*server) Stop(context.Context) (int, error) { return 0, errNoOwner }

// work carries runs until ctx ends, or does the work of the agents of a queue.
func work(ctx context.Context, r connect.Reach, queue string, ready func()) error {
	l, err := dial(ctx, r)
	if err != nil {
		return err
	}
	defer l.close()
	if queue != "" {
		l.options.Queue = queue
	}
	w := temporal.NewWorker(temporal.WorkerOptions{Options: l.options, Only: queue != ""})
	if err := w.Start(); err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	w.Stop()
	return nil
}

// examine looks whether runs could be carried there.
func examine(ctx context.Context, r connect.Reach) error {
	l, err := dial(ctx, r)
	if err != nil {
		return err
	}
	defer l.close()
	if l.contents != nil {
		ctx, cancel := context.WithTimeout(ctx, dialTime)
		defer cancel()
		if err := l.contents.Look(ctx); err != nil {
			return err
		}
	}
	return temporal.New(l.options).Examine(ctx)
}
