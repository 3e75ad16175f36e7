package connect

import "context"

// Refused refuses every way to an engine, with the error that says why.
type Refused struct{ Err error }

// OpenOwner implements Connector.
func (r Refused) OpenOwner(context.Context, bool) (Session, error) { return nil, r.Err }

// OpenReader implements Connector.
func (r Refused) OpenReader(context.Context) (Session, error) { return nil, r.Err }

// Detach implements Connector.
func (r Refused) Detach(context.Context) (Session, error) { return nil, r.Err }

// Connect implements Connector.
func (r Refused) Connect(context.Context) (Session, error) { return nil, r.Err }

// Serve implements Connector.
func (r Refused) Serve(context.Context, Serving) error { return r.Err }

// Stop implements Connector.
func (r Refused) Stop(context.Context) (int, error) { return 0, r.Err }
