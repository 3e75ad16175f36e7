package runtimetest

import (
	"io"
	"math/rand"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy passes connections on to a server, and does to them what networks do. Its methods may be
// called at any time.
type Proxy struct {
	Port int

	to       string
	listener net.Listener
	toServer atomic.Bool // what clients send is swallowed
	toClient atomic.Bool // what the server sends is swallowed
	trouble  atomic.Pointer[func() Trouble]
	delay    atomic.Int64

	mu    sync.Mutex // guards what is below
	conns map[net.Conn]bool
}

// Trouble is what becomes of one piece of what a client sends.
type Trouble int

// The troubles.
const (
	Passed     Trouble = iota
	Lost               // it never arrives, and the connection breaks
	Unanswered         // it arrives and is answered, and the connection breaks before the answer comes
)

// StartProxy starts a proxy of a server at an address. It ends with the test.
func StartProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Port: l.Addr().(*net.TCPAddr).Port, to: to, listener: l, conns: map[net.Conn]bool{}}
	t.Cleanup(p.End)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// Swallow has what is sent in a direction vanish, or no more; connections stay open.
func (p *Proxy) Swallow(toServer, toClient bool) {
	p.toServer.Store(toServer)
	p.toClient.Store(toClient)
}

// Delay has every piece that is sent, in both directions, take so much longer.
func (p *Proxy) Delay(by time.Duration) { p.delay.Store(int64(by)) }

// Cut breaks every connection. New ones are taken.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// End breaks every connection and takes no more.
func (p *Proxy) End() {
	p.listener.Close()
	p.Cut()
}

// Trouble has one of so many pieces lost or unanswered, by chance; 0 ends that.
func (p *Proxy) Trouble(oneOf int, seed int64) {
	var mu sync.Mutex
	chance := rand.New(rand.NewSource(seed))
	draw := func() Trouble {
		mu.Lock()
		defer mu.Unlock()
		if oneOf == 0 || chance.Intn(oneOf) > 0 {
			return Passed
		}
		return Lost + Trouble(chance.Intn(2))
	}
	p.trouble.Store(&draw)
}

func (p *Proxy) keep(c net.Conn, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open {
		p.conns[c] = true
	} else {
		delete(p.conns, c)
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		client.Close()
		return
	}
	for _, c := range []net.Conn{client, server} {
		p.keep(c, true)
		defer p.keep(c, false)
		defer c.Close()
	}
	deaf := new(atomic.Bool) // the answer to come is lost
	go func() {
		defer client.Close()
		pass(server, &p.toClient, func(b []byte) bool {
			time.Sleep(time.Duration(p.delay.Load()))
			if deaf.Load() {
				return false
			}
			_, err := client.Write(b)
			return err == nil
		})
	}()
	pass(client, &p.toServer, func(b []byte) bool {
		time.Sleep(time.Duration(p.delay.Load()))
		if draw := p.trouble.Load(); draw != nil {
			switch (*draw)() {
			case Lost:
				return false
			case Unanswered:
				deaf.Store(true)
			}
		}
		_, err := server.Write(b)
		return err == nil
	})
	if deaf.Load() {
		io.Copy(io.Discard, client) // until the other side has seen the answer and closed it
	}
}

// pass gives what comes from a connection on, until it ends or next does.
func pass(from net.Conn, swallowed *atomic.Bool, next func([]byte) bool) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if n > 0 && !swallowed.Load() && !next(b[:n]) || err != nil {
			return
		}
	}
}
