package stdlib

import (
	"math"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// timeModule holds what can be said of times without a clock, and now.
func timeModule(now *effect.Builtin) starlark.StringDict {
	members := members(
		&effect.Builtin{
			FullName: "time.parse",
			Doc:      "The seconds since 1970 of a timestamp, such as now() gives.",
			Params:   []effect.Param{{Name: "timestamp", Type: "string", Doc: "RFC 3339, with any offset."}},
			Result:   "float",
			Pure:     timeParse,
		},
		&effect.Builtin{
			FullName: "time.format",
			Doc:      "The timestamp of a number of seconds since 1970, as now() writes it.",
			Params:   []effect.Param{{Name: "seconds", Type: "number", Doc: "From the year 0 to 9999."}},
			Result:   "timestamp",
			Pure:     timeFormat,
		},
		&effect.Builtin{
			FullName: "time.duration",
			Doc:      "The seconds of a duration.",
			Params:   []effect.Param{{Name: "duration", Type: "duration", Doc: "Such as \"90s\" or \"2h\"."}},
			Result:   "float",
			Pure: func(c *effect.Call) (starlark.Value, error) {
				return starlark.Float(c.Duration("duration", 0).Seconds()), nil
			},
		},
	)
	members["now"] = now
	return members
}

func timeParse(c *effect.Call) (starlark.Value, error) {
	text := c.Text("timestamp", "")
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, wrong(c, "timestamp", "got %q, want RFC 3339, such as \"2026-01-31T09:30:00Z\"", text)
	}
	return starlark.Float(float64(t.Unix()) + float64(t.Nanosecond())/1e9), nil
}

// The years that RFC 3339 can write, as seconds since 1970.
var (
	firstSecond = float64(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	lastSecond  = float64(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix())
)

func timeFormat(c *effect.Call) (starlark.Value, error) {
	seconds, _ := starlark.AsFloat(c.Get("seconds"))
	if !(seconds >= firstSecond && seconds <= lastSecond) { // NaN is neither
		return nil, wrong(c, "seconds", "got %v, want a time from the year 0 to 9999", c.Get("seconds"))
	}
	// Milliseconds, rounded: the float nearest to .123 may lie below it.
	return effect.Timestamp(time.UnixMilli(int64(math.Round(seconds * 1000)))), nil
}
