package project

import (
	"fmt"
	"time"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// Telemetry is [telemetry]: a collector of OpenTelemetry, which is told each run that has ended,
// and by whoever serves how the store stands.
type Telemetry struct {
	Endpoint string      // its address, without a path of OTLP
	Headers  []SecretUse // of requests; texts in which {NAME} may stand for a secret
	Protocol string      // ProtobufOverHTTP or JSONOverHTTP
	Timeout  time.Duration
	Interval time.Duration // between two reports of metrics
}

// The protocols of OTLP that are spoken.
const (
	ProtobufOverHTTP = "http/protobuf"
	JSONOverHTTP     = "http/json"
)

// TelemetryChannel is told of runs that end as a channel of [notify] is. No channel of the file can
// have this name.
const TelemetryChannel = "!telemetry"

// What holds where the file does not say, and the shortest interval.
const (
	telemetryTimeout  = 10 * time.Second
	telemetryInterval = time.Minute
	leastInterval     = time.Second
	mostTimeout       = 25 * time.Second // a notice has thirty seconds
)

// telemetry reads [telemetry].
func (r *reader) telemetry(f *File, root table) {
	t, ok := r.table(root, "telemetry")
	if !ok {
		return
	}
	r.onlyKeys(t, "endpoint", "headers", "protocol", "timeout", "interval")
	o := &Telemetry{Protocol: ProtobufOverHTTP, Timeout: telemetryTimeout, Interval: telemetryInterval}
	if _, given := t.values["endpoint"]; !given {
		r.complain(t.path, diagnostic.Diagnostic{Message: "endpoint is missing: the address of the collector", Hint: `write endpoint = "http://localhost:4318"`})
	}
	if o.Endpoint, ok = r.string(t, "endpoint"); ok {
		r.checkAddress(t.at("endpoint"), o.Endpoint, o.Endpoint)
	}
	if p, given := r.oneOf(t, "protocol", "", ProtobufOverHTTP, JSONOverHTTP); given {
		o.Protocol = p
	}
	for key, into := range map[string]*time.Duration{"timeout": &o.Timeout, "interval": &o.Interval} {
		if d := r.duration(t, key); d > 0 {
			*into = d
		}
	}
	if o.Timeout > mostTimeout {
		r.refuse(t.at("timeout"), show(t.values["timeout"]), fmt.Sprintf("%v at most", mostTimeout), "")
	}
	if o.Interval < leastInterval {
		r.refuse(t.at("interval"), show(t.values["interval"]), fmt.Sprintf("%v at least", leastInterval), "")
	}
	headers, _ := r.table(t, "headers")
	for _, key := range r.inOrder(headers) {
		text, isText := r.string(headers, key)
		if !headerName().MatchString(key) {
			r.refuse(headers.at(key), fmt.Sprintf("%q", key), "the name of a header", "")
		}
		if isText {
			r.checkUse(f, headers.at(key), text)
		}
		o.Headers = append(o.Headers, SecretUse{key, text})
	}
	f.Telemetry = o
}

// told is what runs are to note for a collector.
func (t *Telemetry) told() effect.Notice {
	return effect.Notice{Channel: TelemetryChannel, On: []string{effect.NoticeEnd}}
}
