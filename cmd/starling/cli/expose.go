package cli

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"

	"starling/runtime"
	"starling/runtime/web"
)

// faces says how a server is reached by others than this user's commands.
type faces struct {
	http  string
	hosts []string
	mcp   bool
}

// listen takes the address before the store is opened: one that is taken is told at once.
func (f faces) listen() (net.Listener, error) {
	switch {
	case f.http == "" && (f.mcp || len(f.hosts) > 0):
		return nil, usage("such as --http 127.0.0.1:7070", "serve: --mcp and --host say more about --http")
	case f.http == "":
		return nil, nil
	}
	for _, h := range f.hosts {
		if strings.ContainsAny(h, ":/") && net.ParseIP(h) == nil {
			return nil, usage("such as --host starling.example.org", "serve: --host: got %q, want a name without scheme, port and path", h)
		}
	}
	l, err := net.Listen("tcp", f.http)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, usage("another process listens there: choose another port, or end it; starling stop ends a server of this store", "serve: --http %s: %v", f.http, errors.Unwrap(err))
	}
	if err != nil {
		return nil, usage("want HOST:PORT, such as 127.0.0.1:7070", "serve: --http %s: %v", f.http, errors.Unwrap(err))
	}
	return l, nil
}

// names are those under which the server is reached: the address itself, and what --host adds.
func (f faces) names() []string {
	var names []string
	if host, _, err := net.SplitHostPort(f.http); err == nil && host != "" {
		names = append(names, strings.ToLower(host))
	}
	for _, h := range f.hosts {
		names = append(names, strings.ToLower(h))
	}
	return names
}

// exposer is a session whose engine can be offered to others.
type exposer interface {
	Expose(l net.Listener, h func(runtime.Engine) (http.Handler, error)) error
}

// expose offers the engine at an address, for as long as this process serves. Who has no token is
// nobody there.
func (c *call) expose(s session, l net.Listener, f faces) error {
	e, ok := s.(exposer)
	if !ok {
		return runtime.Refusef(runtime.ErrInternal, "this session serves nobody else")
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		c.notice("warning: what is sent to %s is not encrypted, tokens too; put a proxy with TLS before it", l.Addr())
	}
	return e.Expose(l, func(e runtime.Engine) (http.Handler, error) {
		return web.Handler(web.Options{Desk: c.desk(e), Build: buildVersion(), Hosts: f.names(), MCP: f.mcp})
	})
}
