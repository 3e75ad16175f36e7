package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"starling/lang/effect"
	"starling/runtime"
)

// What the owner's engine serves beside runtime.Engine, over the same socket.

var (
	_ runtime.Maintenance = (*Client)(nil)
	_ runtime.Definitions = (*Client)(nil)
	_ runtime.Queues      = (*Client)(nil)
	_ runtime.Schedules   = (*Client)(nil)
	_ runtime.Reruns      = (*Client)(nil)
	_ runtime.Tokens      = (*Client)(nil)
	_ runtime.Archive     = (*Client)(nil)
	_ runtime.Whoami      = (*Client)(nil)
	_ runtime.Pages       = (*Client)(nil)
	_ runtime.Decisions   = (*Client)(nil)
	_ runtime.Spending    = (*Client)(nil)
	_ runtime.Moments     = (*Client)(nil)
)

// Whoami implements runtime.Whoami.
func (c *Client) Whoami(ctx context.Context) (*runtime.Caller, error) {
	return ask[*runtime.Caller](ctx, c, "/whoami", struct{}{})
}

// whoami is the method as requests are answered.
func whoami(e runtime.Whoami, ctx context.Context, _ struct{}) (*runtime.Caller, error) {
	return e.Whoami(ctx)
}

// StepPage implements runtime.Pages.
func (c *Client) StepPage(ctx context.Context, q runtime.StepQuery) (*runtime.StepPage, error) {
	return ask[*runtime.StepPage](ctx, c, "/steps", q)
}

// Declared implements runtime.Pages.
func (c *Client) Declared(ctx context.Context, run string) (*runtime.Declared, error) {
	return ask[*runtime.Declared](ctx, c, "/declared", run)
}

// SpentOn implements runtime.Spending.
func (c *Client) SpentOn(ctx context.Context, day string) (map[string]runtime.Usage, error) {
	return ask[map[string]runtime.Usage](ctx, c, "/spent", day)
}

// SpentBy implements runtime.Spending.
func (c *Client) SpentBy(ctx context.Context, q runtime.SpentQuery) (*runtime.Bills, error) {
	return ask[*runtime.Bills](ctx, c, "/spent-by", q)
}

// Budgets implements runtime.Spending.
func (c *Client) Budgets(ctx context.Context) ([]effect.Ceiling, error) {
	return ask[[]effect.Ceiling](ctx, c, "/budgets", struct{}{})
}

// budgets is the method as requests are answered.
func budgets(e runtime.Spending, ctx context.Context, _ struct{}) ([]effect.Ceiling, error) {
	return e.Budgets(ctx)
}

// Decisions implements runtime.Decisions.
func (c *Client) Decisions(ctx context.Context, q runtime.DecisionQuery) (*runtime.DecisionPage, error) {
	return ask[*runtime.DecisionPage](ctx, c, "/decisions", q)
}

// Define implements runtime.Definitions.
func (c *Client) Define(ctx context.Context, r runtime.DefineRequest) (*runtime.Definition, error) {
	return ask[*runtime.Definition](ctx, c, "/define", r)
}

// Defined implements runtime.Definitions.
func (c *Client) Defined(ctx context.Context, address string) ([]runtime.Definition, error) {
	return ask[[]runtime.Definition](ctx, c, "/defined", address)
}

// Schedule implements runtime.Schedules.
func (c *Client) Schedule(ctx context.Context, r runtime.ScheduleRequest) (*runtime.Schedule, error) {
	return ask[*runtime.Schedule](ctx, c, "/schedule", r)
}

// Reschedule implements runtime.Schedules.
func (c *Client) Reschedule(ctx context.Context, r runtime.ScheduleChange) (*runtime.Schedule, error) {
	return ask[*runtime.Schedule](ctx, c, "/reschedule", r)
}

// Scheduled implements runtime.Schedules.
func (c *Client) Scheduled(ctx context.Context, q runtime.ScheduleQuery) ([]runtime.Schedule, error) {
	return ask[[]runtime.Schedule](ctx, c, "/scheduled", q)
}

// Push implements runtime.Queues.
func (c *Client) Push(ctx context.Context, r runtime.PushRequest) (*runtime.Pushed, error) {
	return ask[*runtime.Pushed](ctx, c, "/push", r)
}

// Attended implements runtime.Queues.
func (c *Client) Attended(ctx context.Context, queue string) (bool, error) {
	return ask[bool](ctx, c, "/attended", queue)
}

// Replay implements runtime.Reruns.
func (c *Client) Replay(ctx context.Context, r runtime.ReplayRequest) (*runtime.Replayed, error) {
	return ask[*runtime.Replayed](ctx, c, "/replay", r)
}

// Move implements runtime.Reruns.
func (c *Client) Move(ctx context.Context, r runtime.MoveRequest) (*runtime.Replayed, error) {
	return ask[*runtime.Replayed](ctx, c, "/move", r)
}

// Fork implements runtime.Reruns.
func (c *Client) Fork(ctx context.Context, r runtime.ForkRequest) (*runtime.Run, error) {
	return ask[*runtime.Run](ctx, c, "/fork", r)
}

// Look implements runtime.Moments.
func (c *Client) Look(ctx context.Context, r runtime.LookRequest) (*runtime.Sight, error) {
	return ask[*runtime.Sight](ctx, c, "/look", r)
}

// Trust implements runtime.Trusts.
func (c *Client) Trust(ctx context.Context, r runtime.TrustRequest) (*runtime.Trust, error) {
	return ask[*runtime.Trust](ctx, c, "/trust", r)
}

// AddToken implements runtime.Tokens.
func (c *Client) AddToken(ctx context.Context, r runtime.TokenRequest) (*runtime.Token, error) {
	return ask[*runtime.Token](ctx, c, "/token/add", r)
}

// ListTokens implements runtime.Tokens.
func (c *Client) ListTokens(ctx context.Context, q runtime.TokenQuery) ([]runtime.Token, error) {
	return ask[[]runtime.Token](ctx, c, "/token/list", q)
}

// RemoveToken implements runtime.Tokens.
func (c *Client) RemoveToken(ctx context.Context, name string) (*runtime.Token, error) {
	return ask[*runtime.Token](ctx, c, "/token/remove", name)
}

// Maintain implements runtime.Maintain.
func (c *Client) Maintain(ctx context.Context, r runtime.MaintenanceRequest) (*runtime.MaintenanceReport, error) {
	return ask[*runtime.MaintenanceReport](ctx, c, "/care", r)
}

// Export implements runtime.Archive.
func (c *Client) Export(ctx context.Context, run string) ([]byte, error) {
	return c.content(ctx, http.MethodGet, "/export?"+url.Values{"run": {run}}.Encode(), nil)
}

// Import implements runtime.Archive. The file follows the rest of the request, which is a line.
func (c *Client) Import(ctx context.Context, r runtime.ImportRequest) (*runtime.Imported, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	content, err := c.content(ctx, http.MethodPost, "/bring", append(append(line, '\n'), r.File...))
	return decodeAnswer[*runtime.Imported](content, err)
}
