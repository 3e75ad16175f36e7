package api

import (
	"context"

	"starling/runtime"
)

// What the owner's engine serves beside runtime.Engine, over the same socket.

var _ runtime.Definitions = (*Client)(nil)

// Define implements runtime.Definitions.
func (c *Client) Define(ctx context.Context, r runtime.DefineRequest) (*runtime.Definition, error) {
	return ask[*runtime.Definition](ctx, c, "/define", r)
}

// Defined implements runtime.Definitions.
func (c *Client) Defined(ctx context.Context, address string) ([]runtime.Definition, error) {
	return ask[[]runtime.Definition](ctx, c, "/defined", address)
}
