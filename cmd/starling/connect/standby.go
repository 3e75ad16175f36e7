package connect

import (
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"starling/runtime"
	"starling/runtime/postgres"
	"starling/runtime/web"
)

// Entrance is an address at which a process answers while it owns a store and while it stands by.
type Entrance struct {
	from  net.Listener
	conns chan net.Conn
	done  chan struct{} // closed when from is

	mu      sync.Mutex // guards what is below
	waiting *http.Server
	owner   postgres.Holder
}

// NewEntrance begins to accept connections. They wait until somebody answers.
func NewEntrance(l net.Listener) *Entrance {
	e := &Entrance{from: l, conns: make(chan net.Conn), done: make(chan struct{})}
	go func() {
		defer close(e.done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.conns <- c
		}
	}()
	return e
}

// Standby answers that another process owns the store, until [Entrance.Own].
func (e *Entrance) Standby(owner postgres.Holder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.owner = owner
	if e.waiting != nil {
		return
	}
	e.waiting = &http.Server{
		Handler:           web.Standby(e.refusal),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // requests carry secrets
	}
	go e.waiting.Serve(e.listener()) // ends with the server
}

func (e *Entrance) refusal() *runtime.Refusal {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.owner.Name == "":
		return runtime.Refuse(runtime.ErrOwnerUnreachable, "try again in a moment", "this server stands by: who owns the store is not known yet")
	case e.owner.Address == "":
		return runtime.Refuse(runtime.ErrOwnerUnreachable, "", "this server stands by: %s owns the store, and serves no other machine", e.owner.Name)
	}
	return runtime.Refuse(runtime.ErrOwnerUnreachable, "ask there: --server "+e.owner.Address, "this server stands by: %s owns the store, at %s", e.owner.Name, e.owner.Address).
		WithData(map[string]string{"owner": e.owner.Name, "address": e.owner.Address})
}

// Own ends the standing by, and gives a listener for who owns the store now. To close it does not
// close the address.
func (e *Entrance) Own() net.Listener {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting != nil {
		e.waiting.Close()
		e.waiting = nil
	}
	return e.listener()
}

func (e *Entrance) listener() net.Listener {
	return &shift{entrance: e, over: make(chan struct{})}
}

// shift is the time in which one server has the connections of an entrance.
type shift struct {
	entrance *Entrance
	over     chan struct{}
	once     sync.Once
}

// Accept implements net.Listener.
func (s *shift) Accept() (net.Conn, error) {
	select {
	case <-s.over:
		return nil, net.ErrClosed
	case <-s.entrance.done:
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-s.entrance.conns:
		return c, nil
	case <-s.over:
		return nil, net.ErrClosed
	case <-s.entrance.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *shift) Close() error {
	s.once.Do(func() { close(s.over) })
	return nil
}

// Addr implements net.Listener.
func (s *shift) Addr() net.Addr { return s.entrance.from.Addr() }
