package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"starling/runtime"
)

// Client is the engine of another process. An error of its methods is a *runtime.Refusal, an
// [*Away], the context's, or that of a watch's function. Who calls is decided by the other end; a
// caller in the context is not sent.
type Client struct {
	http  *http.Client
	base  string // of the addresses of requests
	there string // the server's address, "" for a socket of this machine
	hello Hello
	token string          // in whose name requests are made, "" for the user's
	life  context.Context // ends with Close, and ends every request
	end   context.CancelFunc
}

var _ runtime.Engine = (*Client)(nil)

// Dial returns a client of the owner that listens at socket. It is refused with owner_unreachable
// if that speaks another protocol, and fails with an [*Away] if there is none or it does not serve
// now.
func Dial(ctx context.Context, socket string) (*Client, error) {
	return newClient(socket).greeted(ctx)
}

// greeted gives the client if the owner serves and speaks its protocol.
func (c *Client) greeted(ctx context.Context) (*Client, error) {
	hello, err := c.greet(ctx, http.MethodGet, "/hello")
	switch {
	case err != nil:
	case hello.Protocol != Protocol && c.there != "":
		err = runtime.Refuse(runtime.ErrOwnerUnreachable, "take builds that speak the same protocol on both machines",
			"%s speaks protocol %d, this command protocol %d", c.there, hello.Protocol, Protocol)
	case hello.Protocol != Protocol:
		err = otherProtocol(strconv.Itoa(hello.Protocol), strconv.Itoa(Protocol))
	case hello.State != Serving:
		err = &Away{State: hello.State}
	default:
		c.hello = hello
		return c, nil
	}
	c.Close()
	return nil, err
}

// Bring makes every request from now on in the name of a token. It must not be called while
// requests are in flight.
func (c *Client) Bring(secret string) { c.token = secret }

// Greet asks the owner at socket who it is, whatever protocol it speaks.
func Greet(ctx context.Context, socket string) (Hello, error) {
	c := newClient(socket)
	defer c.Close()
	return c.greet(ctx, http.MethodGet, "/hello")
}

// Stop asks the owner at socket to leave, whatever protocol it speaks, in the name of a token if it
// is not "". It returns when the owner has heard it.
func Stop(ctx context.Context, socket, token string) (Hello, error) {
	c := newClient(socket)
	defer c.Close()
	c.Bring(token)
	return c.greet(ctx, http.MethodPost, "/stop")
}

func newClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, err
		}
		return conn, trust(conn)
	}
	return clientOf(&http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 4})
}

func clientOf(t *http.Transport) *Client {
	c := &Client{http: &http.Client{Transport: t}, base: "http://starling"}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// trust closes a connection to a socket on which another user listens, or a process that was
// started for an attempt: what is sent here are secrets, and what comes back is believed.
func trust(conn net.Conn) error {
	p, err := endOf(conn)
	defer p.close()
	if err == nil && p.UID != os.Geteuid() {
		err = fmt.Errorf("the socket belongs to user %d", p.UID)
	}
	if err == nil {
		err = believe(p)
	}
	if err != nil {
		conn.Close()
	}
	return err
}

// believe refuses who listens in the place of an owner.
func believe(p Peer) error {
	why, err := p.forged()
	if err != nil {
		why = err.Error()
	}
	if why == "" {
		return nil
	}
	help := fmt.Sprintf("it may be an agent in the owner's place; look at it, and end it: kill %d", p.PID)
	return runtime.Refuse(runtime.ErrDenied, help,
		"process %d listens at the socket of the owner and is not believed: %s", p.PID, why)
}

// Hello is how the owner introduced itself.
func (c *Client) Hello() Hello { return c.hello }

// Start implements runtime.Engine.
func (c *Client) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	return ask[*runtime.Run](ctx, c, "/start", r)
}

// Signal implements runtime.Engine.
func (c *Client) Signal(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	if len(s.Data) > 0 && !json.Valid(s.Data) { // the engine refuses it, on the record
		s.Data, s.Text = nil, string(s.Data)
	}
	return ask[*runtime.Receipt](ctx, c, "/signal", s)
}

// Cancel implements runtime.Engine.
func (c *Client) Cancel(ctx context.Context, r runtime.CancelRequest) (*runtime.Receipt, error) {
	return ask[*runtime.Receipt](ctx, c, "/cancel", r)
}

// Resume implements runtime.Engine.
func (c *Client) Resume(ctx context.Context, r runtime.ResumeRequest) ([]string, error) {
	return ask[[]string](ctx, c, "/carry", r)
}

// List implements runtime.Engine.
func (c *Client) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	return ask[*runtime.Listing](ctx, c, "/list", q)
}

// Get implements runtime.Engine.
func (c *Client) Get(ctx context.Context, run string) (*runtime.Run, error) {
	content, err := c.content(ctx, http.MethodGet, "/run?"+url.Values{"run": {run}}.Encode(), nil)
	return decodeAnswer[*runtime.Run](content, err)
}

// Blob implements runtime.Engine.
func (c *Client) Blob(ctx context.Context, hash string) ([]byte, error) {
	return c.content(ctx, http.MethodGet, "/blob?"+url.Values{"hash": {hash}}.Encode(), nil)
}

// Close ends the requests in flight with an [*Away] and lets go of the connections. The owner's
// engine stays as it is.
func (c *Client) Close() error {
	c.end()
	c.http.CloseIdleConnections()
	return nil
}

func (c *Client) greet(ctx context.Context, method, path string) (Hello, error) {
	content, err := c.content(ctx, method, path, nil)
	return decodeAnswer[Hello](content, err)
}

// ask posts one document and reads one.
func ask[A any](ctx context.Context, c *Client, path string, q any) (A, error) {
	body, _, err := encode(q)
	if err != nil { // the only parts that may not encode are the JSON of others
		var none A
		return none, runtime.Refusef(runtime.ErrBadPayload, "%s: %v", path[1:], err)
	}
	content, err := c.content(ctx, http.MethodPost, path, body)
	return decodeAnswer[A](content, err)
}

func decodeAnswer[A any](content []byte, err error) (A, error) {
	var answer A
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return answer, fmt.Errorf("the owner's answer is not what protocol %d expects: %w", Protocol, err)
	}
	return answer, nil
}

// content makes a request and reads the whole answer.
func (c *Client) content(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, done := c.during(ctx)
	defer done()
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return nil, c.lost(ctx, err)
	case len(content) > MaxAnswer:
		return nil, tooLargeAnswer()
	case resp.StatusCode != http.StatusOK:
		return nil, c.refusalOf(resp, content)
	}
	return content, nil
}

func tooLargeAnswer() error {
	return runtime.Refusef(runtime.ErrInternal, "the owner's answer is larger than %d bytes", MaxAnswer)
}

// errClosed is the cause of the end of a request under [Client.Close].
var errClosed = errors.New("this client is closed")

// during returns a context that also ends with the client. After Close it has ended already when it
// is returned: AfterFunc alone would end it from a goroutine of its own, which a quick request
// outruns.
func (c *Client) during(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if c.life.Err() != nil {
		cancel(errClosed)
	}
	stop := context.AfterFunc(c.life, func() { cancel(errClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// send makes a request and returns the answer when its header is there.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set(headerProtocol, strconv.Itoa(Protocol))
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		req.Header.Set("Content-Type", typeJSON)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	return resp, nil
}

// lost tells an end that the caller ordered from one that came from the other side.
func (c *Client) lost(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = err
		if u := (*url.Error)(nil); errors.As(err, &u) {
			cause = u.Err // without the method and an address that means nothing
		}
	} else if !errors.Is(cause, errClosed) && !errors.Is(cause, errSilent) {
		return ctx.Err()
	}
	return c.away(&Away{State: Gone, Err: cause})
}

// away is a refusal where nobody of this machine could take the owner's place.
func (c *Client) away(a *Away) error {
	if c.there != "" {
		return unserved(c.there, a)
	}
	return a
}

// refusalOf reads an answer that is no.
func (c *Client) refusalOf(resp *http.Response, content []byte) error {
	if state := State(resp.Header.Get(headerOwner)); state != "" {
		return c.away(&Away{State: state})
	}
	var body refusalBody
	if err := json.Unmarshal(content, &body); err != nil || body.Error == nil {
		return fmt.Errorf("the owner answered %s with what is not a refusal", resp.Status)
	}
	return body.Error
}
