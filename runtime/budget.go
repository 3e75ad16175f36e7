package runtime

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"starling/lang/effect"
)

// Usage is what was spent.
type Usage struct {
	MicroUSD     int64 `json:"micro_usd"` // millionths of a dollar
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	Calls        int64 `json:"calls"` // requests sent to agents
}

// Plus is the sum of two.
func (u Usage) Plus(v Usage) Usage {
	return Usage{MicroUSD: u.MicroUSD + v.MicroUSD, InputTokens: u.InputTokens + v.InputTokens, OutputTokens: u.OutputTokens + v.OutputTokens, Calls: u.Calls + v.Calls}
}

// Minus is the difference of two.
func (u Usage) Minus(v Usage) Usage {
	return Usage{MicroUSD: u.MicroUSD - v.MicroUSD, InputTokens: u.InputTokens - v.InputTokens, OutputTokens: u.OutputTokens - v.OutputTokens, Calls: u.Calls - v.Calls}
}

// Dollars writes an amount with as many digits as it has, two at least.
func Dollars(micro int64) string {
	whole, part, _ := strings.Cut(fmt.Sprintf("%.6f", float64(micro)/1e6), ".")
	part = strings.TrimRight(part, "0")
	return whole + "." + part + strings.Repeat("0", max(0, 2-len(part)))
}

// Spending tells what was spent under the daily budgets of projects. It is an extension of
// [Engine].
type Spending interface {
	// SpentOn tells what all runs of the store have spent on a day (YYYY-MM-DD, UTC), by the name
	// of the budget: today, or the day before; older days are forgotten.
	SpentOn(ctx context.Context, day string) (map[string]Usage, error)

	// SpentBy sums up what agents have taken, of one run or of all. It reads a few rows for each
	// run, however long the runs are. Where the store has no such rows it is refused with
	// ErrUnsupported, and the journals tell.
	SpentBy(ctx context.Context, q SpentQuery) (*Bills, error)

	// Budgets are those of the project under which the engine starts runs of others. What only
	// reads a store has none.
	Budgets(ctx context.Context) ([]effect.Ceiling, error)
}

// What a cost is summed up by.
const (
	CostByAgent   = "agent"
	CostByBackend = "backend"
	CostByModel   = "model"
	CostByDay     = "day"
	CostByRun     = "run"

	CostByLabel = "label." // and the name of a label
)

// SpentQuery says what is to be summed up.
type SpentQuery struct {
	Run string   `json:"run,omitempty"` // "" for all
	By  []string `json:"by"`            // what has a sum of its own
}

// Bills are what agents have taken, one sum for each of what was asked for.
type Bills struct {
	Spent []Spent `json:"spent"`

	// Trimmed are the runs of which the journal's beginning was gone before it was counted, and
	// from which record on each is.
	Trimmed map[string]uint64 `json:"trimmed,omitempty"`
}

// Spent is one sum.
type Spent struct {
	SpentOf
	Usage
	ClaimedMicroUSD int64 `json:"claimed_micro_usd,omitempty"` // the part of the cost that is the word of agents' programs
}

// SpentOf is what a sum is of. What was not asked for is "".
type SpentOf struct {
	Agent   string `json:"agent,omitempty"`
	Backend string `json:"backend,omitempty"` // "" as long as an attempt has not ended
	Model   string `json:"model,omitempty"`
	Day     string `json:"day,omitempty"` // YYYY-MM-DD, UTC, of the requests
	Run     string `json:"run,omitempty"`
	Label   string `json:"label,omitempty"` // the value that the run has; "" for none
}

// Compare gives sums an order.
func (a SpentOf) Compare(b SpentOf) int {
	return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Model, b.Model),
		cmp.Compare(a.Day, b.Day), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Label, b.Label))
}
