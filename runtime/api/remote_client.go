package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"starling/lang/effect"
	"starling/runtime"
)

// RemoteClient is an engine on another machine, in the name of a token. Its runs work under the
// project there, with the variables there, and go on there whatever becomes of this process.
type RemoteClient struct{ *Client }

// remotePath is where a server has [Remote].
const remotePath = "/engine"

// DialURL returns a client of the server at an address such as https://HOST:PORT, in the name of a
// token. It is refused, before anything is sent, where the address would send the token unencrypted
// beyond this machine, and where there is no token.
func DialURL(ctx context.Context, address, token string) (*RemoteClient, error) {
	base, err := remoteURL(address)
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, runtime.Refuse(runtime.ErrDenied, "starling token add NAME, on the machine of the store, makes one", "%s needs a token, in STARLING_TOKEN", base.Host)
	}
	c := clientOf(&http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 4, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}})
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token is for this server
	c.there, c.base, c.token = address, strings.TrimSuffix(base.String(), "/")+remotePath, token
	if c, err = c.greeted(ctx); err != nil {
		return nil, unserved(address, err)
	}
	return &RemoteClient{c}, nil
}

// unserved says why nobody serves at an address.
func unserved(address string, err error) error {
	refused, away := (*runtime.Refusal)(nil), (*Away)(nil)
	switch {
	case errors.As(err, &refused), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case !errors.As(err, &away):
		return runtime.Refuse(runtime.ErrOwnerUnreachable, "it must be that of starling serve --http", "%s is not the address of a Starling server: %v", address, err)
	}
	help := "see that starling serve --http runs there, and that it can be reached"
	if bad := (*tls.CertificateVerificationError)(nil); errors.As(err, &bad) {
		help = "the file that SSL_CERT_FILE names says whom else to trust"
	}
	return runtime.Refuse(runtime.ErrOwnerUnreachable, help, "%s cannot be reached: %v", address, cmp.Or(away.Err, err))
}

// remoteURL reads the address of a server.
func remoteURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, runtime.Refuse(runtime.ErrUsage, "such as https://starling.example.org:7443", "got the server %q, want an address with https", address[strings.LastIndex(address, "@")+1:])
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, runtime.Refuse(runtime.ErrDenied, "give the server a certificate, with serve --tls-cert and --tls-key, and take https",
			"%s would send the token to another machine unencrypted", address)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Start leaves the project and the variables of this machine here.
func (c *RemoteClient) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	r.Settings, r.Env = effect.Settings{}, nil
	return c.Client.Start(ctx, r)
}

// Signal leaves the variables of this machine here.
func (c *RemoteClient) Signal(ctx context.Context, r runtime.Signal) (*runtime.Receipt, error) {
	r.Env = nil
	return c.Client.Signal(ctx, r)
}

// Fork leaves the variables of this machine here.
func (c *RemoteClient) Fork(ctx context.Context, r runtime.ForkRequest) (*runtime.Run, error) {
	r.Env = nil
	return c.Client.Fork(ctx, r)
}

// Resume has nothing to do: whoever serves there carries all runs.
func (*RemoteClient) Resume(_ context.Context, r runtime.ResumeRequest) ([]string, error) {
	return r.Runs, nil
}

// retries are how often, a second apart, a watch looks for a server that has gone, as one does that
// is started anew.
const retries = 30

// Watch goes on behind the last event when the server is there again.
func (c *RemoteClient) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	for tries := 0; ; tries++ {
		var own error // of fn
		err := c.Client.Watch(ctx, w, func(ev runtime.Event) error {
			if own = fn(ev); own == nil {
				w.Run, w.After, tries = ev.Run, ev.Seq, 0
			}
			return own
		})
		if own != nil || err == nil || tries == retries || runtime.AsRefusal(err).Kind != runtime.ErrOwnerUnreachable {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Trust is a matter of the machine whose files are trusted.
func (*RemoteClient) Trust(context.Context, runtime.TrustRequest) (*runtime.Trust, error) {
	return nil, runtime.Refusef(runtime.ErrDenied, "what is trusted is said on the machine of the store")
}
