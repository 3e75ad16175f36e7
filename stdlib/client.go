package stdlib

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/project"
	"starling/stdlib/redact"
	"starling/stdlib/secret"
)

// maxRedirects bounds how far one request is sent on.
const maxRedirects = 10

// httpHandler performs requests of kind "http". Connections are kept between attempts and shared by
// all runs.
func httpHandler(transport http.RoundTripper) *effect.Handler {
	if transport == nil {
		transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	return &effect.Handler{
		Resolve: func(s *effect.Settings, r *effect.Request) *effect.Error {
			args, err := r.Args.View()
			if err != nil {
				return effect.Errorf(effect.KindRefused, "http: %v", err)
			}
			if fault := grantedURL(s, args.Text("url")); fault != nil {
				return fault
			}
			return usableSecrets(s, args)
		},
		Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
			e := &exchange{attempt: a, args: effect.ViewOf(a.Args), transport: transport}
			return e.perform(ctx)
		},
	}
}

// exchange is one attempt of one request.
type exchange struct {
	attempt   *effect.Attempt
	args      effect.View
	transport http.RoundTripper
	secret    []string        // names of the headers whose values are secret
	shown     redact.Redactor // what a response may not show
	host      string          // the one that was asked for
	sent      atomic.Bool     // some of a request has left: the other side may have acted on it
}

func (e *exchange) perform(ctx context.Context) effect.Reply {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { e.sent.Store(true) }})
	req, err := e.request(ctx)
	if err != nil {
		return e.failed(effect.Errorf(effect.KindRefused, "%s: %v", e.title(), err), effect.Final)
	}
	client := http.Client{Transport: e.transport, CheckRedirect: e.redirect}
	resp, err := client.Do(req)
	if err != nil {
		return e.broken(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, effect.MaxPayload+1))
	if err != nil {
		return e.broken(ctx, err)
	}
	return e.response(resp, body)
}

func (e *exchange) request(ctx context.Context) (*http.Request, error) {
	body, kind, err := e.body()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, e.args.Text("method"), e.args.Text("url"), body)
	if err != nil {
		return nil, err
	}
	e.host = req.URL.Host
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("User-Agent", "starling")
	req.Header.Set("Idempotency-Key", e.attempt.Key)
	return req, e.setHeaders(ctx, req.Header)
}

func (e *exchange) body() (body io.Reader, kind string, err error) {
	if e.args.Has("json") {
		text, err := contract.ToJSON(e.args.Value("json"))
		return bytes.NewReader(text), "application/json", err
	}
	switch b := e.args.Value("body").(type) {
	case starlark.String:
		return strings.NewReader(string(b)), "text/plain; charset=utf-8", nil
	case starlark.Bytes:
		return strings.NewReader(string(b)), "application/octet-stream", nil
	}
	return nil, "", nil
}

func (e *exchange) setHeaders(ctx context.Context, h http.Header) error {
	headers, _ := e.args.Value("headers").(*starlark.Dict)
	if headers == nil {
		return nil
	}
	for k, v := range headers.Entries() {
		name, _ := starlark.AsString(k)
		switch v := v.(type) {
		case starlark.String:
			h.Set(name, string(v))
		case *effect.Secret:
			value, err := secret.Reveal(ctx, e.attempt, v.Name)
			if err != nil {
				return fmt.Errorf("the header %s: %w", name, err)
			}
			e.shown.Hide(v.Name, value)
			if text := v.Reveal(value); !strings.ContainsAny(text, "\r\n\x00") {
				h.Set(name, text)
				e.secret = append(e.secret, name)
				continue
			}
			return fmt.Errorf("the secret %s of the header %s is more than one line", v.Name, name)
		}
	}
	return nil
}

// redirect bounds redirects, and keeps secrets from any host but the one that they were meant for.
// One that would make a GET of what was sent is not followed: the page behind it may well answer
// 200, and nothing would have taken the body. The script sees the redirect itself. One that takes
// the body along is followed where the same server is, and refused where another would be given it.
func (e *exchange) redirect(req *http.Request, via []*http.Request) error {
	if req.Method != via[0].Method {
		return http.ErrUseLastResponse
	}
	if len(via) > maxRedirects {
		return errRedirects
	}
	same := req.URL.Host == e.host
	if same && req.URL.Scheme == via[0].URL.Scheme {
		return nil
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead && (!same || req.URL.Scheme != "https") {
		return e.astray(req.URL, same)
	}
	if fault := grantedURL(e.attempt.Settings, req.URL.String()); fault != nil {
		return fault
	}
	for _, name := range e.secret {
		req.Header.Del(name)
	}
	return nil
}

// astray is why a body is not sent on: the script has named who is to have it, and a server that it
// sends elsewhere, or in the clear, would decide that anew.
func (e *exchange) astray(to *url.URL, same bool) *effect.Error {
	why := "another host"
	if same {
		why = "without TLS"
	}
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	return effect.Errorf(effect.KindRefused, "%s: redirected to %s, %s, and nothing was sent there; name that address if it is meant", e.title(), e.shown.Redact(to.String()), why)
}

var errRedirects = fmt.Errorf("redirected more than %d times", maxRedirects)

// broken makes the reply of a request that got no response.
func (e *exchange) broken(ctx context.Context, err error) effect.Reply {
	var fault *effect.Error // why it was not sent on
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return e.failed(effect.Errorf(effect.KindTimeout, "%s: no response before the deadline", e.title()), effect.Final)
	case ctx.Err() != nil:
		return e.failed(effect.Errorf(effect.KindCancelled, "%s: cancelled", e.title()), effect.Final)
	case errors.As(err, &fault):
		return e.failed(fault, effect.Final)
	case errors.Is(err, errRedirects):
		return e.failed(effect.Errorf(effect.KindEffect, "%s: %v", e.title(), errRedirects), effect.Final)
	}
	return e.failed(effect.Errorf(effect.KindEffect, "%s: %s", e.title(), e.shown.Redact(reason(err))), e.class())
}

// class says whether another attempt can do no harm: of what may be repeated, and of anything that
// never left.
func (e *exchange) class() effect.Failure {
	if e.args.Flag("idempotent") || !e.sent.Load() {
		return effect.Retryable
	}
	return effect.Final
}

// reason is what went wrong without the URL around it, which title has already said, and without
// what sockets and redirects may have added to it.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection ended before the response did"
	}
	return strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ")
}

func (e *exchange) title() string { return e.args.Text("method") + " " + e.args.Text("url") }

func (e *exchange) failed(err *effect.Error, class effect.Failure) effect.Reply {
	return effect.Reply{Err: err, Class: class}
}

// response makes the record that is kept. A server that repeats a secret does not bring it into the
// journal.
func (e *exchange) response(resp *http.Response, body []byte) effect.Reply {
	body = []byte(e.shown.Cut(string(body)))
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	value, err := contract.FromJSON(body)
	if err != nil {
		value = starlark.None
	}
	r := effect.NewRecord(effect.ResponseType, starlark.Bool(resp.StatusCode/100 == 2), starlark.MakeInt(resp.StatusCode), headerDict(resp.Header, &e.shown),
		starlark.String(text), value)
	if _, err := effect.Encode(r); err != nil {
		return e.failed(effect.Errorf(effect.KindEffect, "%s: the response with status %d cannot be kept: %v", e.title(), resp.StatusCode, err),
			effect.Final)
	}
	return effect.Reply{Value: r}
}

// headerDict has the names in lower case and in order; several values of one name are joined with
// commas.
func headerDict(h http.Header, shown *redact.Redactor) *starlark.Dict {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	d := starlark.NewDict(len(names))
	for _, name := range names {
		value := strings.ToValidUTF8(shown.Redact(strings.Join(h[name], ", ")), "\uFFFD")
		if err := d.SetKey(starlark.String(strings.ToLower(name)), starlark.String(value)); err != nil {
			panic("stdlib: " + err.Error()) // a fresh dict with keys that are strings
		}
	}
	return d
}

// grantedURL refuses hosts that a script of others is not granted.
func grantedURL(s *effect.Settings, text string) *effect.Error {
	g, fault := grant(s)
	if g == nil {
		return fault
	}
	u, err := url.Parse(text)
	if err != nil {
		return effect.Errorf(effect.KindRefused, "http: %v", err)
	}
	if hosts := g.Hosts; slices.Contains(hosts, u.Host) || slices.Contains(hosts, u.Hostname()) {
		return nil
	}
	return effect.Errorf(effect.KindDenied, "the script is not the project's own and is not granted the host %s; add it to hosts under [grants.%q] in %s", u.Host, s.Grant,
		project.Name)
}
