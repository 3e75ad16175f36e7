package runtime

import (
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

	// Budgets are those of the project under which the engine starts runs of others. What only
	// reads a store has none.
	Budgets(ctx context.Context) ([]effect.Ceiling, error)
}
