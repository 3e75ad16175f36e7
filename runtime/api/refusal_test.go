package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/engine/enginetest"
	"starling/runtime/journal"
)

// stub is an engine of which a test says what it needs.
type stub struct {
	runtime.Engine
	get   func(context.Context, string) (*runtime.Run, error)
	watch func(context.Context, runtime.WatchRequest, func(runtime.Event) error) error
}

func (s stub) Get(ctx context.Context, run string) (*runtime.Run, error) { return s.get(ctx, run) }

func (s stub) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	return s.watch(ctx, w, fn)
}

// TestRefusalsTravelUnchanged sends one of each kind over the socket.
func TestRefusalsTravelUnchanged(t *testing.T) {
	want := &runtime.Refusal{Message: "gate <review> & more", Help: "try 'this'", Data: []byte(`{"by":"ann","n":12345678901234567890}`)}
	_, path := serve(t, stub{get: func(_ context.Context, kind string) (*runtime.Run, error) {
		r := *want
		r.Kind = runtime.ErrorKind(kind)
		return nil, fmt.Errorf("wrapped: %w", &r)
	}}, api.Options{})
	c := dial(t, path)
	for kind, status := range map[runtime.ErrorKind]int{
		runtime.ErrUsage: 400, runtime.ErrBadPayload: 422, runtime.ErrBadChoice: 422, runtime.ErrBadInput: 422, runtime.ErrCheckFailed: 422,
		runtime.ErrRunFailed: 422, runtime.ErrRunCancelled: 422, runtime.ErrUnknownRun: 404, runtime.ErrUnknownGate: 404, runtime.ErrNotOpen: 409,
		runtime.ErrAmbiguous: 409, runtime.ErrDecided: 409, runtime.ErrExpired: 409, runtime.ErrClosed: 409, runtime.ErrKeyConflict: 409,
		runtime.ErrBudget: 402, runtime.ErrDenied: 403, runtime.ErrWrongTarget: 403, runtime.ErrKindNotAStore: 503, runtime.ErrKindDamaged: 503,
		runtime.ErrKindNewer: 503, runtime.ErrOwnerUnreachable: 503, runtime.ErrInternal: 500, "of tomorrow": 500,
		runtime.ErrDrifted: 409, runtime.ErrTrimmed: 410, runtime.ErrKindFull: 507, runtime.ErrKindFailed: 503, runtime.ErrUnknownName: 404, runtime.ErrNotAnExport: 422,
		runtime.ErrUnsupported: 501,
	} {
		_, err := c.Get(within(t), string(kind))
		want.Kind = kind
		var got *runtime.Refusal
		if !errors.As(err, &got) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", kind, err, want)
		}
		if resp, _ := raw(t, path, "GET", "/run?run="+strings.ReplaceAll(string(kind), " ", "+"), "1", ""); resp.StatusCode != status {
			t.Errorf("%s: got status %d, want %d", kind, resp.StatusCode, status)
		}
	}
}

// TestOnlyDefectsAreInternal: a status of 500 says that the server is at fault.
func TestOnlyDefectsAreInternal(t *testing.T) {
	for _, kind := range runtime.ErrorKinds() {
		if internal := api.StatusOf(kind) == http.StatusInternalServerError; internal != (kind == runtime.ErrInternal) {
			t.Errorf("%s has the status %d", kind, api.StatusOf(kind))
		}
	}
}

func TestOtherErrorsAreInternal(t *testing.T) {
	_, path := serve(t, stub{get: func(_ context.Context, run string) (*runtime.Run, error) {
		if run == "panic" {
			panic("out of cheese")
		}
		return nil, errors.New("the disk is full")
	}}, api.Options{})
	c := dial(t, path)
	for run, want := range map[string]string{"any": "the disk is full", "panic": "the engine panicked: out of cheese"} {
		_, err := c.Get(within(t), run)
		if r := runtime.AsRefusal(err); r.Kind != runtime.ErrInternal || r.Message != want {
			t.Errorf("%s: got %s %q, want internal %q", run, r.Kind, r.Message, want)
		}
	}
}

// raw makes a request without the client, as curl would.
func raw(t *testing.T, path, method, target, protocol, body string) (*http.Response, string) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(within(t), method, "http://starling"+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if protocol != "" {
		req.Header.Set("Starling-Protocol", protocol)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(content)
}

// TestBadRequests checks the exact words for requests that no client of ours makes.
func TestBadRequests(t *testing.T) {
	_, path := serve(t, open(t), api.Options{})
	const unreachable = `the owner of the store speaks protocol 1, this command protocol `
	for _, c := range []struct{ name, method, target, protocol, body, kind, message string }{
		{"another protocol", "POST", "/list", "2", `{}`, "owner_unreachable", unreachable + "2"},
		{"no protocol", "POST", "/list", "", `{}`, "owner_unreachable", unreachable + "unknown"},
		{"another path", "GET", "/runs", "1", "", "usage", "GET /runs: protocol 1 has no such request"},
		{"another method", "DELETE", "/run", "1", "", "usage", "DELETE /run: protocol 1 has no such request"},
		{"no body", "POST", "/signal", "1", "", "usage", "POST /signal: the body is not what protocol 1 expects: EOF"},
		{"broken JSON", "POST", "/signal", "1", `{"run":`, "usage", "POST /signal: the body is not what protocol 1 expects: unexpected EOF"},
		{"an unknown field", "POST", "/signal", "1", `{"runn": "x"}`, "usage",
			`POST /signal: the body is not what protocol 1 expects: json: unknown field "runn"`},
		{"two values", "POST", "/list", "1", `{} {}`, "usage", "POST /list: the body is not what protocol 1 expects: more than one value"},
		{"a broken watch", "POST", "/watch", "1", `[]`, "usage",
			"POST /watch: the body is not what protocol 1 expects: json: cannot unmarshal array into Go value of type runtime.WatchRequest"},
	} {
		_, content := raw(t, path, c.method, c.target, c.protocol, c.body)
		var got struct {
			Error struct{ Kind, Message string }
		}
		if err := json.Unmarshal([]byte(content), &got); err != nil || got.Error.Kind != c.kind || got.Error.Message != c.message {
			t.Errorf("%s: got %.300s, want %s: %s", c.name, content, c.kind, c.message)
		}
	}
}

// TestTooLarge announces a body that is a byte too large, and sends none of it.
func TestTooLarge(t *testing.T) {
	_, path := serve(t, open(t), api.Options{})
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /signal HTTP/1.1\r\nHost: starling\r\nStarling-Protocol: 1\r\nContent-Length: %d\r\n\r\n", api.MaxRequest+1)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(resp.Body)
	if want := `{"error":{"kind":"bad_payload","message":"POST /signal: the body is larger than 67108864 bytes"}}`; string(content) != want+"\n" {
		t.Errorf("got %d %s, %v; want %s", resp.StatusCode, content, err, want)
	}
}

// TestForeignOwner dials an owner of a later version, which the client refuses before it asks for
// anything.
func TestForeignOwner(t *testing.T) {
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	later := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"protocol": 7, "build": "v9", "pid": 12, "state": "serving", "of_tomorrow": true}`)
	})}
	go later.Serve(l)
	defer later.Close()

	_, err = api.Dial(within(t), path)
	r := runtime.AsRefusal(err)
	if r.Kind != runtime.ErrOwnerUnreachable || r.Message != "the owner of the store speaks protocol 7, this command protocol 1" ||
		!strings.Contains(r.Help, "starling stop") {
		t.Errorf("got %s %q, help %q; want owner_unreachable, both protocols, and starling stop", r.Kind, r.Message, r.Help)
	}
	h, err := api.Greet(within(t), path)
	if err != nil || h.Build != "v9" || h.PID != 12 {
		t.Errorf("hello of a later version: got %+v, %v", h, err)
	}
	if h, err = api.Stop(within(t), path, ""); err != nil || h.Protocol != 7 {
		t.Errorf("stop of a later version: got %+v, %v", h, err)
	}
}

func TestBadJSONOfCallersIsRefusedByTheClient(t *testing.T) {
	_, path := serve(t, open(t), api.Options{})
	_, err := dial(t, path).Start(within(t), runtime.StartRequest{Inputs: []byte("{")})
	r := runtime.AsRefusal(err)
	if want := "start: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"; r.Kind != runtime.ErrBadPayload || r.Message != want {
		t.Errorf("got %s %q, want bad_payload %q", r.Kind, r.Message, want)
	}
}

func TestBlobsAreBytes(t *testing.T) {
	_, path := serve(t, open(t), api.Options{})
	c := dial(t, path)
	start(t, c)
	bundle := enginetest.Bundle(review)
	content, err := c.Blob(within(t), journal.HashOf(bundle))
	if err != nil || !bytes.Equal(content, bundle) {
		t.Errorf("got %q, %v; want the bundle", content, err)
	}
	if _, err = c.Blob(within(t), "0000"); err == nil || err.Error() != `no content with the hash "0000"` {
		t.Errorf("unknown hash: got %v", err)
	}
}
