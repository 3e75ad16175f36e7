package agent

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// Coding agents tell of failures in words that are meant for people. Whether another attempt may
// help is read from these words; what nobody knows is tried again, which is bounded.

// pattern is one that is compiled when it is first needed: a guard needs none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// final are words of failures that another attempt cannot mend.
var final = pattern(`(?i)invalid.{0,20}(api key|x-api-key|token|credential)|incorrect api key|unauthorized|authentication|not logged in|/login|\b(401|403|404)\b|` +
	`missing environment variable|credit balance|billing|prompt is too long|context (length|window)|error_max_turns|error_max_budget|model.{0,40}(not found|does not exist|not supported)|insufficient_quota`)

// full are words of failures of conversations that have no more room.
var full = pattern(`(?i)prompt is too long|context (length|window)|maximum context|context limit`)

// lost are words of coding agents that do not have the conversation any more with which they are to
// go on.
var lost = pattern(`(?i)no conversation found|no rollout found|invalid session identifier|no previous sessions found`)

// until is when a usage limit ends, in seconds since 1970, as Claude Code puts it behind the words.
var until = pattern(`limit reached\|(\d{10})\b`)

// within is how long to wait, as APIs say it.
var within = pattern(`(?i)(?:retry|try again)[^0-9]{0,20}?(\d+(?:\.\d+)?) ?(ms|s|sec|seconds?|m|min|minutes?)\b`)

// colours are escape sequences for terminals (ECMA-48, section 5.4), which programs write also
// where nobody sees colours.
var colours = pattern("\x1b\\[[0-?]*[ -/]*[@-~]")

// toldFault classifies what an agent says went wrong.
func toldFault(message string) *fault {
	f := &fault{message: strings.TrimSpace(message), kind: effect.KindAgent, class: effect.Retryable, said: true}
	switch {
	case until().MatchString(message):
		f.after = untilLimit(message, time.Now())
	case final().MatchString(message):
		f.class = effect.Final
	default:
		f.after = waitOf(message)
	}
	return f
}

func untilLimit(message string, now time.Time) time.Duration {
	seconds, err := strconv.ParseInt(until().FindStringSubmatch(message)[1], 10, 64)
	if err != nil {
		return 0
	}
	return max(0, time.Unix(seconds, 0).Sub(now))
}

func waitOf(message string) time.Duration {
	m := within().FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil || n > 1e6 {
		return 0
	}
	unit := time.Second
	switch {
	case m[2] == "ms":
		unit = time.Millisecond
	case strings.HasPrefix(strings.ToLower(m[2]), "m"):
		unit = time.Minute
	}
	return time.Duration(n * float64(unit))
}

func clipTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// usage is what an attempt took, in tokens. input counts all that was read, also what came from a
// cache.
type usage struct{ input, output, cached int64 }

// plus adds what a further request took.
func (u usage) plus(v usage) usage {
	return usage{u.input + v.input, u.output + v.output, u.cached + v.cached}
}

// dict is the usage as Results have it; nil when nothing is known.
func (u usage) dict() starlark.Value {
	if u == (usage{}) {
		return nil
	}
	d := dict("input_tokens", u.input, "output_tokens", u.output)
	if u.cached > 0 {
		return dict("input_tokens", u.input, "output_tokens", u.output, "cached_tokens", u.cached)
	}
	return d
}

// ofModel adds which model took them; "" is one that nobody has named.
func (u usage) ofModel(name string) starlark.Value { return withModel(u.dict(), name) }

// withModel adds to a usage which model it is of; "" is one that nobody has named.
func withModel(v starlark.Value, name string) starlark.Value {
	if d, ok := v.(*starlark.Dict); ok && name != "" {
		_ = d.SetKey(starlark.String("model"), starlark.String(name)) // a fresh dict and a string key
	}
	return v
}

// onlyOne is the one text of a list, "" where there is none or another.
func onlyOne(list []string) string {
	if list = slices.Compact(slices.Sorted(slices.Values(list))); len(list) == 1 {
		return list[0]
	}
	return ""
}

// withCost adds what the backend says that it cost, in US dollars.
func (u usage) withCost(usd *float64) starlark.Value {
	v := u.dict()
	if usd == nil {
		return v
	}
	d, ok := v.(*starlark.Dict)
	if !ok {
		d = new(starlark.Dict)
	}
	_ = d.SetKey(starlark.String("usd"), starlark.Float(*usd)) // a fresh dict and a string key
	return d
}
