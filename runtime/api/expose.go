package api

import (
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"starling/runtime"
)

// Bounds of a face for others, who may be slow or mean harm.
const (
	maxHeaders     = 64 << 10 // bytes
	headersWithin  = 10 * time.Second
	idleConnection = 2 * time.Minute
)

// Expose answers on l with a handler of the engine, for others than this user's processes: who
// calls, and what they may send, is the handler's business. Its requests count as clients, and end
// with the server like the others. It returns when l is closed, by [Server.Close] or by whoever
// calls.
func (s *Server) Expose(l net.Listener, h http.Handler) error {
	face := &http.Server{
		Handler:           s.counted(h),
		ReadHeaderTimeout: headersWithin,
		IdleTimeout:       idleConnection,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          log.New(io.Discard, "", 0), // requests carry secrets
	}
	go func() {
		<-s.closed
		face.Close()
	}()
	if err := face.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// counted admits requests while there is an engine.
func (s *Server) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.begin(); err != nil {
			s.refuse(w, err)
			return
		}
		defer s.end()
		if err := guarded(func() error { h.ServeHTTP(w, r); return nil }); err != nil {
			s.refuse(w, runtime.AsRefusal(err))
		}
	})
}
