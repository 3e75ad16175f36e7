package otlp

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"starling/runtime"
)

// The variables of OpenTelemetry's specification that are heard, with those of traces before the
// general ones.
const (
	EnvEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	EnvHeaders  = "OTEL_EXPORTER_OTLP_HEADERS"
	EnvTimeout  = "OTEL_EXPORTER_OTLP_TIMEOUT"
	EnvProtocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
	EnvService  = "OTEL_SERVICE_NAME"
	EnvResource = "OTEL_RESOURCE_ATTRIBUTES"
	EnvDisabled = "OTEL_SDK_DISABLED"

	DefaultEndpoint = "http://localhost:4318"
)

// ofTraces is the variable that says the same of traces alone.
func ofTraces(name string) string {
	return strings.Replace(name, "_OTLP_", "_OTLP_TRACES_", 1)
}

// TargetOf is where spans are sent, as the variables say. What is wrong with a secret's value is
// said without it.
func TargetOf(env func(string) string) (t Target, err error) {
	specific := func(name string) string { return cmp.Or(env(ofTraces(name)), env(name)) }
	t = At(cmp.Or(env(EnvEndpoint), DefaultEndpoint))
	switch p := cmp.Or(specific(EnvProtocol), t.Protocol); p {
	case Protobuf, JSON:
		t.Protocol = p
	default:
		return t, runtime.Refusef(runtime.ErrUsage, "%s: got %q, want %s or %s, which collectors take at the same address", EnvProtocol, p, Protobuf, JSON)
	}
	t.Spans = cmp.Or(env(ofTraces(EnvEndpoint)), t.Spans)
	if u, err := url.Parse(t.Spans); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return t, runtime.Refusef(runtime.ErrUsage, "%s: want an address such as %s", EnvEndpoint, DefaultEndpoint)
	}
	if text := specific(EnvTimeout); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return t, runtime.Refusef(runtime.ErrUsage, "%s: got %q, want milliseconds, such as 10000", EnvTimeout, text)
		}
		t.Timeout = time.Duration(n) * time.Millisecond
	}
	t.Headers, err = pairs(EnvHeaders, specific(EnvHeaders))
	return t, err
}

// pairs reads a list of KEY=VALUE with commas between, encoded as in addresses.
func pairs(name, text string) (list [][2]string, err error) {
	for i, one := range strings.Split(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		key, v, ok := strings.Cut(one, "=")
		v, err := url.PathUnescape(strings.TrimSpace(v))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
			return nil, runtime.Refusef(runtime.ErrUsage, "%s: want KEY=VALUE, percent-encoded, with commas between; number %d is none", name, i+1)
		}
		list = append(list, [2]string{key, v})
	}
	return list, nil
}

// ResourceOf is who tells.
func ResourceOf(env func(string) string, version string) (r Resource, err error) {
	given, err := pairs(EnvResource, env(EnvResource))
	if err != nil {
		return r, err
	}
	service := env(EnvService)
	for _, kv := range given {
		if kv[0] == "service.name" {
			service = cmp.Or(service, kv[1])
			continue
		}
		r.Attributes = append(r.Attributes, Text(kv[0], kv[1]))
	}
	r.Attributes = append(r.Attributes, Text("service.name", cmp.Or(service, "starling")), Text("service.version", version))
	return r, nil
}
