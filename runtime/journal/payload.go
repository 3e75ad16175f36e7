package journal

import (
	"encoding/json"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// TimeFormat is how times look in values.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// TimeIn is a time of a record: microseconds since 1970, the zero time where the field is absent.
func TimeIn(v effect.View, field string) time.Time {
	if n := v.Int(field); n != 0 {
		return time.UnixMicro(n).UTC()
	}
	return time.Time{}
}

// Micros is a time as [TimeIn] reads it; the zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// JSONOf is a decoded value as JSON, for those who look.
func JSONOf(v starlark.Value) []byte {
	text, err := contract.Readable(v)
	if err != nil {
		return []byte("null") // it was decoded from a payload, which holds only what JSON can show
	}
	return text
}

// JSONOfPayload is a payload as JSON, null where it cannot be read.
func JSONOfPayload(p effect.Payload) json.RawMessage {
	v, err := p.Value()
	if err != nil {
		return []byte("null")
	}
	return JSONOf(v)
}
