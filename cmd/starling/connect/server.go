package connect

import (
	"context"

	"starling/runtime"
	"starling/runtime/api"
)

// Server finds the engine at the address of --server.
type Server struct {
	Address string // such as https://HOST:PORT
	Token   string // in whose name requests are made
}

// distant is an engine on another machine, in the name of a token. Its runs work under the
// project there, with the variables there, and go on there whatever becomes of this process.
type distant struct{ *api.RemoteClient }

// Owner is a process that is none of this machine.
func (distant) Owner() int { return Elsewhere }

// Elsewhere stands for a process on another machine that owns the store.
const Elsewhere = -1

func (s *Server) dial(ctx context.Context) (Session, error) {
	c, err := api.DialURL(ctx, s.Address, s.Token)
	if err != nil {
		return nil, err
	}
	return distant{c}, nil
}

// OpenOwner implements Connector.
func (s *Server) OpenOwner(ctx context.Context, _ bool) (Session, error) { return s.dial(ctx) }

// OpenReader implements Connector.
func (s *Server) OpenReader(ctx context.Context) (Session, error) { return s.dial(ctx) }

// Detach implements Connector.
func (s *Server) Detach(ctx context.Context) (Session, error) { return s.dial(ctx) }

// Connect implements Connector.
func (s *Server) Connect(ctx context.Context) (Session, error) { return s.dial(ctx) }

// Serve implements Connector: no verb that is served asks for it.
func (*Server) Serve(context.Context, Serving) error { return errElsewhere }

// Stop implements Connector, as Serve does.
func (*Server) Stop(context.Context) (int, error) { return 0, errElsewhere }

var errElsewhere = runtime.Refusef(runtime.ErrUsage, "the store is on another machine")
