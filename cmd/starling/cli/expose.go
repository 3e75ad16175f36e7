package cli

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"starling/cmd/starling/build"
	"starling/cmd/starling/connect"
	"starling/runtime"
	"starling/runtime/web"
)

// faces says how a server is reached by others than this user's commands.
type faces struct {
	http      string
	hosts     []string
	mcp       bool
	cert, key string // files of the certificate, "" for none

	tls *web.Certificate // nil for none
}

// scheme is that of the server's address.
func (f faces) scheme() string {
	if f.tls != nil {
		return "https"
	}
	return "http"
}

// listen takes the address before the store is opened: one that is taken is told at once.
func (f *faces) listen(notice func(format string, args ...any)) (net.Listener, error) {
	switch {
	case f.http == "" && (f.mcp || len(f.hosts) > 0 || f.cert+f.key != ""):
		return nil, usage("such as --http 127.0.0.1:7070", "serve: --mcp, --host, --tls-cert and --tls-key say more about --http")
	case f.http == "":
		return nil, nil
	case (f.cert == "") != (f.key == ""):
		return nil, usage("such as --tls-cert cert.pem --tls-key key.pem", "serve: got one of --tls-cert and --tls-key, want both or neither")
	}
	for _, h := range f.hosts {
		if strings.ContainsAny(h, ":/") && net.ParseIP(h) == nil {
			return nil, usage("such as --host starling.example.org", "serve: --host: got %q, want a name without scheme, port and path", h)
		}
	}
	if f.cert != "" {
		var err error
		if f.tls, err = web.NewCertificate(f.cert, f.key, notice); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("tcp", f.http)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, usage("another process listens there: choose another port, or end it; starling stop ends a server of this store", "serve: --http %s: %v", f.http, errors.Unwrap(err))
	}
	if err != nil {
		return nil, usage("want HOST:PORT, such as 127.0.0.1:7070", "serve: --http %s: %v", f.http, errors.Unwrap(err))
	}
	if f.tls != nil {
		l = tls.NewListener(l, f.tls.Config())
	}
	return l, nil
}

// names are those under which the server is reached: the address itself, what --host adds, and
// those of the certificate.
func (f faces) names() []string {
	var names []string
	if host, _, err := net.SplitHostPort(f.http); err == nil && host != "" {
		names = append(names, strings.ToLower(host))
	}
	for _, h := range f.hosts {
		names = append(names, strings.ToLower(h))
	}
	if f.tls != nil {
		names = append(names, f.tls.Names()...)
	}
	return names
}

// address is where other machines reach the server, as far as it can tell: under the first name of
// --host, else where it listens, and where that is everywhere, under the name of this machine.
func (f faces) address(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	if len(f.hosts) > 0 {
		host = f.hosts[0]
	}
	return f.scheme() + "://" + net.JoinHostPort(host, port)
}

// exposer is a session whose engine can be offered to others.
type exposer interface {
	Expose(l net.Listener, h func(runtime.Engine) (http.Handler, error)) error
}

// expose offers the engine at an address, for as long as this process serves. Who has no token is
// nobody there.
func (c *call) expose(s connect.Session, l net.Listener, f faces) error {
	e, ok := s.(exposer)
	if !ok {
		return runtime.Refusef(runtime.ErrInternal, "this session serves nobody else")
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && f.tls == nil {
		c.notice("warning: what is sent to %s is not encrypted, tokens too; give --tls-cert and --tls-key, or put a proxy with TLS before it", l.Addr())
	}
	return e.Expose(l, func(e runtime.Engine) (http.Handler, error) {
		desk := c.desk(e)
		hooks := c.receiver(desk)
		return web.Handler(web.Options{Desk: desk, Build: build.Version(), Hosts: f.names(), MCP: f.mcp, Webhooks: hooks.Receive})
	})
}
