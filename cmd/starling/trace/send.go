package trace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"starling/runtime"
)

// The variables of OpenTelemetry's specification that are heard, with those of traces before the
// general ones.
const (
	envEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envHeaders  = "OTEL_EXPORTER_OTLP_HEADERS"
	envTimeout  = "OTEL_EXPORTER_OTLP_TIMEOUT"
	envProtocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envService  = "OTEL_SERVICE_NAME"
	envResource = "OTEL_RESOURCE_ATTRIBUTES"
	envDisabled = "OTEL_SDK_DISABLED"

	defaultEndpoint = "http://localhost:4318"
	tracePath       = "/v1/traces"
	defaultTimeout  = 10 * time.Second
	protocol        = "http/json"
)

// ofTraces is the variable that says the same of traces alone.
func ofTraces(name string) string {
	return strings.Replace(name, "_OTLP_", "_OTLP_TRACES_", 1)
}

// target is where spans are sent.
type target struct {
	url     string
	headers [][2]string
	timeout time.Duration
}

// targetOf reads the variables. What is wrong with a secret's value is said without it.
func targetOf(env func(string) string) (t target, err error) {
	specific := func(name string) string { return cmp.Or(env(ofTraces(name)), env(name)) }
	if p := specific(envProtocol); p != "" && p != protocol {
		return t, runtime.Refusef(runtime.ErrUsage, "%s: got %q, want %s, which collectors take at the same address as http/protobuf", envProtocol, p, protocol)
	}
	t.url = env(ofTraces(envEndpoint))
	if t.url == "" {
		t.url = strings.TrimSuffix(cmp.Or(env(envEndpoint), defaultEndpoint), "/") + tracePath
	}
	if u, err := url.Parse(t.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return t, runtime.Refusef(runtime.ErrUsage, "%s: want an address such as %s", envEndpoint, defaultEndpoint)
	}
	t.timeout = defaultTimeout
	if text := specific(envTimeout); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return t, runtime.Refusef(runtime.ErrUsage, "%s: got %q, want milliseconds, such as 10000", envTimeout, text)
		}
		t.timeout = time.Duration(n) * time.Millisecond
	}
	t.headers, err = pairs(envHeaders, specific(envHeaders))
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

// resourceOf is who tells.
func resourceOf(env func(string) string, version string) (r resource, err error) {
	given, err := pairs(envResource, env(envResource))
	if err != nil {
		return r, err
	}
	service := env(envService)
	for _, kv := range given {
		if kv[0] == "service.name" {
			service = cmp.Or(service, kv[1])
			continue
		}
		r.Attributes = append(r.Attributes, text(kv[0], kv[1]))
	}
	r.Attributes = append(r.Attributes, text("service.name", cmp.Or(service, "starling")), text("service.version", version))
	return r, nil
}

// maxSaid bounds what is read of an answer.
const maxSaid = 64 << 10

// send posts spans. It follows no redirect, for the headers may have a secret.
func (t target) send(ctx context.Context, r *request) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return t.failed("%v", err)
	}
	post.Header.Set("Content-Type", "application/json")
	for _, kv := range t.headers {
		post.Header.Set(kv[0], kv[1])
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.Do(post)
	if err != nil {
		if wrapped, ok := err.(*url.Error); ok {
			err = wrapped.Err // without the address, which may have a secret
		}
		return t.failed("%v", err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxSaid)) // what was read is told
	if answer.StatusCode/100 != 2 {
		return t.failed("it answered %s: %.200s", answer.Status, said)
	}
	var partly struct {
		PartialSuccess struct {
			RejectedSpans json.Number
			ErrorMessage  string
		}
	}
	if json.Unmarshal(said, &partly) == nil && partly.PartialSuccess.RejectedSpans.String() > "0" {
		return t.failed("it refused %s spans: %s", partly.PartialSuccess.RejectedSpans, partly.PartialSuccess.ErrorMessage)
	}
	return nil
}

func (t target) failed(format string, args ...any) error {
	host := ""
	if u, err := url.Parse(t.url); err == nil {
		host = u.Host
	}
	return runtime.Refusef(runtime.ErrUnreachable, "trace: %s: %s", host, fmt.Sprintf(format, args...))
}
