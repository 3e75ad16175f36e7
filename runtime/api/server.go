package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"starling/runtime"
)

// Options say how a server introduces itself and whom it trusts.
type Options struct {
	Build     string                       // version of the program, for people
	Store     string                       // real path of the store's directory
	Identify  Identify                     // which agent a peer acts for; nil: no peer does
	Doubt     string                       // see [Doubt]; with one, Identify alone decides
	Peer      func(net.Conn) (Peer, error) // who is at the other end; nil asks the kernel
	KeepAlive time.Duration                // of silent streams; 0 means DefaultKeepAlive
	OnStop    func()                       // called when a client asks the owner to leave; it must return at once
	Passing   bool                         // the owner leaves by itself when its command is done
}

// What clients may hold of the owner's memory: as many streams at once, of some 60 KB each, and so
// many bytes of large events that they do not take.
const (
	maxStreams = 512
	lentRoom   = 16 << 20
)

// Server lets other processes use the engine of this one. Its life has four parts: from
// [Server.Serve] on it answers that it is starting, from [Server.Ready] on it serves, from
// [Server.Drain] on it takes nothing new, and [Server.Close] ends what is left.
type Server struct {
	options Options
	http    *http.Server
	closed  chan struct{} // streams say farewell
	lent    *runtime.Room // for large events that were not taken yet

	mu       sync.Mutex // protects what is below
	state    State
	engine   runtime.Engine
	calls    int // in flight
	streams  map[*Stream]struct{}
	lastCall time.Time // end of the newest call or stream
}

// NewServer makes a server that listens nowhere yet.
func NewServer(o Options) *Server {
	if o.Peer == nil {
		o.Peer = peerOf
		if o.Doubt != "" {
			o.Peer = endOf
		}
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = DefaultKeepAlive
	}
	s := &Server{options: o, closed: make(chan struct{}), lent: runtime.NewRoom(lentRoom), state: Starting, streams: map[*Stream]struct{}{}, lastCall: time.Now()}
	s.http = &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		ConnContext:       s.connected,
		ErrorLog:          log.New(io.Discard, "", 0), // requests carry values that nobody may write down
	}
	return s
}

// Serve answers on l until [Server.Close], and closes l.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// Ready lets requests through to the engine.
func (s *Server) Ready(e runtime.Engine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engine, s.state = e, Serving
}

// Quiet says for how long no client has asked for anything, negative while one is attached or waits
// for an answer.
func (s *Server) Quiet() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quiet()
}

func (s *Server) quiet() time.Duration {
	if s.calls > 0 || len(s.streams) > 0 {
		return -1
	}
	return time.Since(s.lastCall)
}

// DrainIfQuiet is [Server.Drain] if it has been quiet for that long, decided at one moment: no
// client slips in between.
func (s *Server) DrainIfQuiet(quiet time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet() < quiet || s.state != Serving {
		return false
	}
	s.state = Leaving
	return true
}

// Drain turns new requests away; those in flight and open streams go on until the engine ends them.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = Leaving
	for st := range s.streams {
		st.hurry()
	}
}

// Resume takes back a [Server.DrainIfQuiet].
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = Serving
}

// farewell is how long clients have to read the last words.
const farewell = time.Second

// Close tells the clients that the owner has left and ends every connection. What they sent and got
// no answer to, they send again to the next owner, so Close comes after the engine is closed and
// the store free.
func (s *Server) Close() error {
	s.Drain()
	close(s.closed)
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if s.http.Shutdown(ctx) == nil {
		return nil
	}
	return s.http.Close()
}

// begin admits a call, or tells in which state there is no engine to call.
func (s *Server) begin() (runtime.Engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Serving {
		return nil, &Away{State: s.state}
	}
	s.calls++
	return s.engine, nil
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	s.lastCall = time.Now()
}

func (s *Server) leaving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == Leaving
}

func (s *Server) hello() Hello {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Hello{Protocol: Protocol, Build: s.options.Build, PID: os.Getpid(), Store: s.options.Store, State: s.state, KeepAlive: s.options.KeepAlive, Passing: s.options.Passing}
}

// identity is who is at the other end of a connection, found out once, when it is made: a process
// that connects and is orphaned later stays what it was.
type identity struct {
	caller runtime.Caller
	err    error
}

type identityKey struct{}

func (s *Server) connected(ctx context.Context, c net.Conn) context.Context {
	var who identity
	var p Peer
	if p, who.err = s.options.Peer(c); who.err == nil {
		defer p.close()
		if s.options.Doubt != "" {
			p.Marked, p.Alive = "", nil
		}
		who.caller, who.err = Authenticate(p, s.options.Identify)
	} else {
		who.caller, who.err = nobody("", "it cannot be told who calls: %v", who.err)
	}
	return context.WithValue(ctx, identityKey{}, who)
}

// admit checks who asks, and in which protocol, and returns the context for the engine.
func (s *Server) admit(r *http.Request, anyProtocol bool) (context.Context, error) {
	who := r.Context().Value(identityKey{}).(identity)
	if who.err != nil && !(isNobody(who.err) && mayBeAnybody(r)) {
		return nil, who.err
	}
	if got := r.Header.Get(headerProtocol); got != strconv.Itoa(Protocol) && !anyProtocol {
		if got == "" {
			got = "unknown"
		}
		return nil, otherProtocol(strconv.Itoa(Protocol), got)
	}
	return runtime.WithCaller(r.Context(), who.caller), nil
}

func isNobody(err error) bool {
	n := (*Nobody)(nil)
	return errors.As(err, &n)
}

// mayBeAnybody tells whether a request brings a token, or asks for what needs none.
func mayBeAnybody(r *http.Request) bool {
	_, found := bearerOf(r)
	return found || r.Method == http.MethodGet && r.URL.Path == "/hello"
}

func bearerOf(r *http.Request) (secret string, found bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// bearer puts the bearer of a token in the place of the user who is at the other end. Who works for
// an agent stays who it is: a token that it found gives it nothing.
func bearer(ctx context.Context, e runtime.Engine, r *http.Request) (context.Context, error) {
	secret, found := bearerOf(r)
	if !found || runtime.CallerOf(ctx).Agent != "" {
		return ctx, nil
	}
	known, err := runtime.Extension[runtime.Bearers](e)
	if err != nil {
		return nil, err
	}
	c, err := known.Bearer(secret)
	if c.Name == "" {
		who := r.Context().Value(identityKey{}).(identity)
		return ctx, cmp.Or(err, who.err)
	}
	return runtime.WithCaller(ctx, c), err
}
