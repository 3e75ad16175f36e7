package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The forms in which a document is sent.
const (
	Protobuf = "http/protobuf"
	JSON     = "http/json"
)

// Target is a collector.
type Target struct {
	Spans, Metrics string // addresses
	Headers        [][2]string
	Timeout        time.Duration // of one request
	Protocol       string        // Protobuf or JSON
}

// The paths of a collector's address, and how long it may take where nobody says.
const (
	SpansPath      = "/v1/traces"
	MetricsPath    = "/v1/metrics"
	DefaultTimeout = 10 * time.Second
)

// At is the collector at an address.
func At(endpoint string) Target {
	base := strings.TrimSuffix(endpoint, "/")
	return Target{Spans: base + SpansPath, Metrics: base + MetricsPath, Timeout: DefaultTimeout, Protocol: Protobuf}
}

// Failure is why a document was not taken. Nothing of the address but its host, and nothing of the
// headers, is in it.
type Failure struct {
	Message string
	Final   bool          // it will not be taken when it is sent again
	After   time.Duration // which the collector wants to pass before
}

func (f *Failure) Error() string { return f.Message }

// maxSaid bounds what is read of an answer, in bytes.
const maxSaid = 64 << 10

// Send posts a document, a *Spans or a *Metrics. It follows no redirect, for the headers may have a
// secret. The error is a *Failure.
func (t Target) Send(ctx context.Context, document any) error {
	address := t.Spans
	if _, metrics := document.(*Metrics); metrics {
		address = t.Metrics
	}
	post, err := t.request(document, address)
	if err != nil {
		return failed(address, true, "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.Do(post.WithContext(ctx))
	if err != nil {
		if wrapped, ok := err.(*url.Error); ok {
			err = wrapped.Err // without the address, which may have a secret
		}
		return failed(address, false, "%v", err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxSaid)) // what was read is told
	if answer.StatusCode/100 != 2 {
		f := failed(address, answer.StatusCode == http.StatusBadRequest, "it answered %s: %s", answer.Status, sentence(answer.Header, said))
		if n, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && n > 0 && n < 1e6 {
			f.After = time.Duration(n) * time.Second
		}
		return f
	}
	if n, why := refused(answer.Header, said); n > 0 {
		return failed(address, true, "it refused %d of what it was told: %s", n, why)
	}
	return nil
}

// The content types of the two forms.
const (
	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"
)

func (t Target) request(document any, address string) (*http.Request, error) {
	encode, content := Binary, typeProtobuf
	if t.Protocol == JSON {
		encode, content = json.Marshal, typeJSON
	}
	body, err := encode(document)
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address cannot be asked for")
	}
	post.Header.Set("Content-Type", content)
	for _, kv := range t.Headers {
		post.Header.Set(kv[0], kv[1])
	}
	return post, nil
}

// maxSentence bounds what is shown of what a collector says, in bytes.
const maxSentence = 200

// sentence is what a collector says of a refusal: text, or a google.rpc.Status.
func sentence(h http.Header, said []byte) string {
	if h.Get("Content-Type") == typeProtobuf {
		said = find(said, 2)
	}
	return strings.ToValidUTF8(string(said[:min(len(said), maxSentence)]), "")
}

// find is the last field of a number in a message that has a length, nil where there is none.
func find(b []byte, number protowire.Number) (found []byte) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return nil
		}
		b = b[size:]
		if size = protowire.ConsumeFieldValue(n, kind, b); size < 0 {
			return nil
		}
		if n == number && kind == protowire.BytesType {
			found, _ = protowire.ConsumeBytes(b)
		}
		b = b[size:]
	}
	return found
}

// refused is how much of a document was not taken, and why: its partial success.
func refused(h http.Header, said []byte) (n int64, why string) {
	if h.Get("Content-Type") == typeProtobuf {
		partly := find(said, 1)
		if number, kind, size := protowire.ConsumeTag(partly); size > 0 && number == 1 && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(partly[size:])
			n = int64(v)
		}
		return n, string(find(partly, 2))
	}
	var partly struct {
		PartialSuccess struct {
			RejectedSpans, RejectedDataPoints json.Number
			ErrorMessage                      string
		}
	}
	if json.Unmarshal(said, &partly) != nil {
		return 0, ""
	}
	spans, _ := partly.PartialSuccess.RejectedSpans.Int64() // 0 where it says nothing
	points, _ := partly.PartialSuccess.RejectedDataPoints.Int64()
	return spans + points, partly.PartialSuccess.ErrorMessage
}

func failed(address string, final bool, format string, args ...any) *Failure {
	host := ""
	if u, err := url.Parse(address); err == nil {
		host = u.Host
	}
	return &Failure{Message: host + ": " + fmt.Sprintf(format, args...), Final: final}
}
