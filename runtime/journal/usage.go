package journal

import (
	"math"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
)

// EventUsage is the kind of the event by which an attempt tells what it has taken so far, in all:
// usd, input_tokens, output_tokens.
const EventUsage = "usage"

// maxUsage bounds what one reply can claim, so that sums of claims stay numbers.
const maxUsage = 1 << 40

// Claimed is an amount that an agent tells, in units: whole, and from 0 to 2^40.
func Claimed(x, unit float64) int64 {
	if !(x > 0) { // NaN is not
		return 0
	}
	return int64(min(math.Round(x*unit), maxUsage))
}

// UsagePayload is what was spent under a ceiling, and how often it was raised.
func UsagePayload(u runtime.Usage, raised int64) effect.Payload {
	var b effect.Object
	return b.Int("usd", u.MicroUSD).Int("in", u.InputTokens).Int("out", u.OutputTokens).Int("calls", u.Calls).Int("raised", raised).Payload()
}

// UsageOf reads what [UsagePayload] wrote.
func UsageOf(v effect.View) runtime.Usage {
	return runtime.Usage{MicroUSD: v.Int("usd"), InputTokens: v.Int("in"), OutputTokens: v.Int("out"), Calls: v.Int("calls")}
}

// CutDay takes the key of a daily budget apart, "" and "" for another.
func CutDay(key string) (budget, day string) {
	budget, day, daily := strings.Cut(key, "/")
	if budget, of := strings.CutPrefix(budget, effect.ProjectBudget); daily && of {
		return budget, day
	}
	return "", ""
}
