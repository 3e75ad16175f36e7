package otlp

import (
	"strconv"
	"time"
)

// What is said of the form of a field in the tag pb, behind its number: "hex" is bytes that are
// written as hexadecimal digits in JSON, "fixed" a number of 64 bits that is written as text,
// "always" one that is there also where it is 0.
type (
	// Spans is a request to take spans.
	Spans struct {
		Resources []ResourceSpans `json:"resourceSpans" pb:"1"`
	}
	// ResourceSpans are those of whoever tells.
	ResourceSpans struct {
		Resource Resource     `json:"resource" pb:"1"`
		Scopes   []ScopeSpans `json:"scopeSpans" pb:"2"`
	}
	// ScopeSpans are those that one part of it has made.
	ScopeSpans struct {
		Scope Scope  `json:"scope" pb:"1"`
		Spans []Span `json:"spans" pb:"2"`
	}
	// Span is something that took time.
	Span struct {
		TraceID    string      `json:"traceId" pb:"1,hex"`
		SpanID     string      `json:"spanId" pb:"2,hex"`
		Parent     string      `json:"parentSpanId,omitempty" pb:"4,hex"`
		Name       string      `json:"name" pb:"5"`
		Kind       int         `json:"kind" pb:"6"`
		Start      string      `json:"startTimeUnixNano" pb:"7,fixed"`
		End        string      `json:"endTimeUnixNano" pb:"8,fixed"`
		Attributes []Attribute `json:"attributes,omitempty" pb:"9"`
		Status     Status      `json:"status" pb:"15"`
	}
	// Status says whether it has failed.
	Status struct {
		Code int `json:"code,omitempty" pb:"3"`
	}
)

// Kinds of spans, and the code of one that has failed.
const (
	Internal = 1
	Client   = 3

	Failed = 2
)

type (
	// Metrics is a request to take metrics.
	Metrics struct {
		Resources []ResourceMetrics `json:"resourceMetrics" pb:"1"`
	}
	// ResourceMetrics are those of whoever tells.
	ResourceMetrics struct {
		Resource Resource       `json:"resource" pb:"1"`
		Scopes   []ScopeMetrics `json:"scopeMetrics" pb:"2"`
	}
	// ScopeMetrics are those that one part of it has made.
	ScopeMetrics struct {
		Scope   Scope    `json:"scope" pb:"1"`
		Metrics []Metric `json:"metrics" pb:"2"`
	}
	// Metric is one of Gauge, Sum and Histogram.
	Metric struct {
		Name        string     `json:"name" pb:"1"`
		Description string     `json:"description,omitempty" pb:"2"`
		Unit        string     `json:"unit,omitempty" pb:"3"`
		Gauge       *Gauge     `json:"gauge,omitempty" pb:"5"`
		Sum         *Sum       `json:"sum,omitempty" pb:"7"`
		Histogram   *Histogram `json:"histogram,omitempty" pb:"9"`
	}
	// Gauge is how something stands.
	Gauge struct {
		Points []Point `json:"dataPoints" pb:"1"`
	}
	// Sum is what something has come to since it began.
	Sum struct {
		Points      []Point `json:"dataPoints" pb:"1"`
		Temporality int     `json:"aggregationTemporality" pb:"2"`
		Monotonic   bool    `json:"isMonotonic" pb:"3"`
	}
	// Point is a value.
	Point struct {
		Attributes []Attribute `json:"attributes,omitempty" pb:"7"`
		Start      string      `json:"startTimeUnixNano,omitempty" pb:"2,fixed"`
		At         string      `json:"timeUnixNano" pb:"3,fixed"`
		Value      float64     `json:"asDouble" pb:"4,always"`
	}
	// Histogram is how values are spread.
	Histogram struct {
		Points      []Spread `json:"dataPoints" pb:"1"`
		Temporality int      `json:"aggregationTemporality" pb:"2"`
	}
	// Spread is how many values there were up to each bound, and above the last.
	Spread struct {
		Attributes []Attribute `json:"attributes,omitempty" pb:"9"`
		Start      string      `json:"startTimeUnixNano" pb:"2,fixed"`
		At         string      `json:"timeUnixNano" pb:"3,fixed"`
		Count      string      `json:"count" pb:"4,fixed"`
		Sum        float64     `json:"sum" pb:"5,always"`
		Counts     []string    `json:"bucketCounts" pb:"6,fixed"`
		Bounds     []float64   `json:"explicitBounds" pb:"7"`
	}
)

// Cumulative says of sums that they count from their start, and not from the point before.
const Cumulative = 2

type (
	// Resource is who tells.
	Resource struct {
		Attributes []Attribute `json:"attributes" pb:"1"`
	}
	// Scope is the part of it that does.
	Scope struct {
		Name    string `json:"name" pb:"1"`
		Version string `json:"version,omitempty" pb:"2"`
	}
	// Attribute is a name with a value.
	Attribute struct {
		Key   string `json:"key" pb:"1"`
		Value Value  `json:"value" pb:"2"`
	}
	// Value is one of three.
	Value struct {
		Text   *string  `json:"stringValue,omitempty" pb:"1"`
		Int    *Int     `json:"intValue,omitempty" pb:"3"`
		Double *float64 `json:"doubleValue,omitempty" pb:"4"`
	}
)

// Int is a number that is a text in JSON.
type Int int64

// MarshalJSON writes it as a text.
func (n Int) MarshalJSON() ([]byte, error) { return strconv.AppendQuote(nil, Decimal(int64(n))), nil }

// UnmarshalJSON reads it from a text.
func (n *Int) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseInt(string(text[1:max(1, len(text)-1)]), 10, 64)
	*n = Int(v)
	return err
}

// Text is an attribute.
func Text(key, v string) Attribute { return Attribute{key, Value{Text: &v}} }

// Whole is an attribute.
func Whole(key string, n int64) Attribute { return Attribute{key, Value{Int: (*Int)(&n)}} }

// Amount is an attribute.
func Amount(key string, x float64) Attribute { return Attribute{key, Value{Double: &x}} }

// Nanos is a time as documents have it, which begins in 1970.
func Nanos(t time.Time) string { return Decimal(max(0, t.UnixNano())) }

// Decimal is a number of 64 bits as documents have it.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }
