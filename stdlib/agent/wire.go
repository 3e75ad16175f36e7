package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/tmaxmax/go-sse"
)

const (
	maxEvent   = 2 * maxReply // bytes of one event of a stream
	maxTrouble = 64 << 10     // bytes of a refusal that are read
)

// wireRequest is a request to a model's API: JSON that is answered by a stream of server-sent
// events. One without a body asks what there is.
type wireRequest struct {
	base, path string
	header     map[string]string
	body       any
}

// staying keeps a request, which has a key, from being sent on to another server.
func staying(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > 3 || r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// send gives the data of each event to hear until it says that it is enough, or the stream does.
// Beside what the connection fails with, the error is an *apiError: a refusal, or trouble within
// the stream.
func (w wireRequest) send(ctx context.Context, hear func(data []byte) (more bool)) error {
	response, err := w.do(ctx)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxTrouble)) // what there is of it
		return troubleOf(response, text)
	}
	for event, err := range sse.Read(response.Body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return err
		}
		data := []byte(event.Data)
		switch { // a server may keep the connection open behind its last event
		case strings.HasPrefix(event.Data, "[DONE]"):
			return nil
		case len(bytes.TrimSpace(data)) == 0:
			continue
		case !json.Valid(data): // leaving out a piece would make another reply of it
			return fmt.Errorf("the stream has an event that is no JSON: %s", clipTo(event.Data, maxFault))
		}
		var within struct{ Error json.RawMessage }
		if json.Unmarshal(data, &within) == nil && len(within.Error) > 0 && string(within.Error) != "null" {
			return troubleOf(nil, data)
		}
		if !hear(data) {
			return nil
		}
	}
	return nil
}

// do posts the body or, where there is none, gets what is there.
func (w wireRequest) do(ctx context.Context) (*http.Response, error) {
	base, err := url.Parse(w.base)
	if err != nil {
		return nil, err
	}
	method, body := http.MethodGet, []byte(nil)
	if w.body != nil {
		method = http.MethodPost
		if body, err = json.Marshal(w.body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, base.JoinPath(w.path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if w.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("User-Agent", "starling")
	for name, value := range w.header {
		r.Header.Set(name, value)
	}
	client := http.Client{CheckRedirect: staying}
	return client.Do(r)
}

// apiError is what an API says of a request that has failed.
type apiError struct {
	status  int
	kind    string // as the API calls it, "overloaded_error"
	message string
	header  http.Header // of the response, nil for what came within a stream
}

func (e *apiError) Error() string {
	text := fmt.Sprintf("the API says %d %s", e.status, e.kind)
	return strings.TrimSpace(text) + ": " + firstOf(e.message, http.StatusText(e.status))
}

// troubleOf reads an error as the APIs write it: {"error": {"message", "type", "code"}}, or
// {"error": "message"} as some servers have it. A proxy may answer in its own words. response is
// nil for what came within a stream.
func troubleOf(response *http.Response, text []byte) *apiError {
	e := &apiError{status: http.StatusOK}
	if response != nil {
		e.status, e.header = response.StatusCode, response.Header
	}
	var body struct{ Error json.RawMessage }
	var named struct {
		Message, Type string
		Code          any // a number, of some servers
	}
	_ = json.Unmarshal(text, &body)
	if json.Unmarshal(body.Error, &e.message) == nil {
		return e
	}
	_ = json.Unmarshal(body.Error, &named)
	code, _ := named.Code.(string)
	e.kind = firstOf(code, named.Type)
	e.message = firstOf(named.Message, strings.TrimSpace(string(text)))
	return e
}
