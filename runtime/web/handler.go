package web

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/mcp"
	"starling/runtime/metrics"
	"starling/runtime/tool"
)

// Bounds of one request.
const (
	MaxBody     = 8 << 20          // bytes
	bodyWithin  = 30 * time.Second // for a body to arrive
	writeWithin = time.Minute      // for one write to be taken
)

// Options say what is served.
type Options struct {
	Desk  *tool.Desk
	Build string   // version of the program, for people
	Hosts []string // names under which the server is reached; this machine's own loopback names always are
	MCP   bool     // mount the Model Context Protocol at /mcp

	// Webhooks takes what is posted to /webhooks/NAME and gives the answer; nil: there are none.
	// Who posts there brings no token: whoever takes it has to know the sender by its signature.
	Webhooks func(r *http.Request, name string, body []byte) (answer any, err error)

	Wait time.Duration // how long a body waits for room while those of others fill it; default 5 s
}

// Handler serves the desk of an engine. It is refused with usage if the engine knows no tokens:
// there would be no callers.
func Handler(o Options) (http.Handler, error) {
	known, err := runtime.Extension[runtime.Bearers](o.Desk.Engine)
	if err != nil {
		return nil, err
	}
	s := &server{options: o, known: known, budget: newBudget(o.Wait), pages: map[audience]*page{}, began: time.Now(), numbers: metrics.Reader{Desk: o.Desk}}
	routes := newRoutes()
	for _, t := range tool.Tools() {
		routes.add(http.MethodPost, "/v1/"+t.Name, s.served(s.call(t)))
	}
	routes.add(http.MethodGet, "/v1/events", s.served(s.events))
	routes.add(http.MethodGet, "/v1/blob", s.served(s.blob))
	routes.add(http.MethodGet, "/metrics", s.served(s.metrics))
	routes.add(http.MethodGet, "/openapi.json", s.served(s.document))
	routes.mux.Handle("/engine/", http.StripPrefix("/engine", s.served(s.remote(api.Remote(o.Desk.Engine, o.Build)))))
	if o.MCP {
		routes.mount("/mcp", s.served(s.passed(mcp.NewServer(o.Desk, o.Build).Handler())))
	}
	if o.Webhooks == nil {
		return s.bounded(s.identified(routes.mux)), nil
	}
	front := http.NewServeMux()
	front.Handle("/", s.identified(routes.mux))
	front.HandleFunc("POST /webhooks/{name}", s.webhook)
	return s.bounded(front), nil
}

type server struct {
	options Options
	known   runtime.Bearers
	budget  *budget
	began   time.Time
	numbers metrics.Reader

	mu    sync.Mutex // protects what is below
	pages map[audience]*page
}

// bounded is the outermost layer: where a request comes from, and how much of it is read.
func (s *server) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := s.here(r); err != nil {
			refuse(w, err)
			return
		}
		leave, err := enter(s.budget.requests, "requests")
		if err != nil {
			refuse(w, err)
			return
		}
		defer leave()
		h.ServeHTTP(&patient{w, http.NewResponseController(w)}, r)
	})
}

// patient gives each write some time to be taken, and no more: a client that does not read keeps a
// goroutine.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write writes within the time.
func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(writeWithin)) // what cannot have a deadline is no connection
	return p.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// here refuses what was meant for another host, or comes from a page of another.
func (s *server) here(r *http.Request) error {
	if !s.own(r.Host) {
		return runtime.Refuse(runtime.ErrDenied, "serve --host NAME adds a name", "the host %q is not this server", r.Host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
		return runtime.Refusef(runtime.ErrDenied, "the origin %q is not this server", origin)
	}
	return nil
}

// own tells whether a Host header names this server.
func (s *server) own(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(strings.ToLower(host), "[]")
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.Contains(s.options.Hosts, host)
}

// errUnidentified is what a request gets that says of nobody whom it comes from.
type errUnidentified struct{ *runtime.Refusal }

// Unwrap gives the refusal.
func (e errUnidentified) Unwrap() error { return e.Refusal }

// errTooLarge is what a body gets that is not read to its end.
type errTooLarge struct{ *runtime.Refusal }

// Unwrap gives the refusal.
func (e errTooLarge) Unwrap() error { return e.Refusal }

// caller is the bearer of a request's token.
func (s *server) caller(r *http.Request) (runtime.Caller, error) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return runtime.Caller{}, errUnidentified{runtime.Refuse(runtime.ErrDenied, "send the header Authorization: Bearer SECRET; starling token add NAME makes one", "the request has no token")}
	}
	c, err := s.known.Bearer(secret)
	if refused := (*runtime.Refusal)(nil); errors.As(err, &refused) && refused.Kind == runtime.ErrDenied {
		return c, errUnidentified{refused}
	}
	if err == nil && c.Name == "" {
		err = errUnidentified{runtime.Refuse(runtime.ErrDenied, "starling token add NAME makes one here", "the token is not one of this store")}
	}
	return c, err
}

// identified serves in the name of the caller. Who says of nobody whom a request comes from learns
// nothing, not even what there is.
func (s *server) identified(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.caller(r)
		if err != nil {
			refuse(w, err)
			return
		}
		h.ServeHTTP(w, r.WithContext(runtime.WithCaller(r.Context(), c)))
	})
}

// served refuses what the handler refuses. Nothing is read of a body before it is known whose it is
// and what it is for.
func (s *server) served(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done, err := s.budget.arrive(w, r)
		if err == nil {
			defer done()
			err = serve(w, r)
		}
		if err != nil {
			refuse(w, err)
		}
	})
}

// passed serves with a handler that refuses by itself.
func (s *server) passed(h http.Handler) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodGet { // it is a stream
			leave, err := enter(s.budget.streams, "streams")
			if err != nil {
				return err
			}
			defer leave()
		}
		h.ServeHTTP(w, r)
		return nil
	}
}

// remote serves the command lines of other machines.
func (s *server) remote(h http.Handler) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.URL.Path == "/watch" {
			leave, err := enter(s.budget.streams, "streams")
			if err != nil {
				return err
			}
			defer leave()
			h.ServeHTTP(w, r) // its events take room by themselves
			return nil
		}
		h.ServeHTTP(&lending{w, s.budget}, r)
		return nil
	}
}

// lending has a large answer take room until it was taken, as [budget.answer] does.
type lending struct {
	http.ResponseWriter
	budget *budget
}

// Write writes all of an answer, or a refusal in its place.
func (l *lending) Write(b []byte) (int, error) {
	if len(b) > smallAnswer {
		release, ok := l.budget.lent.Try(int64(len(b)))
		if !ok {
			refuse(l.ResponseWriter, busy("answers that others have not read fill the %d MiB that there are for them", lentRoom>>20))
			return len(b), nil
		}
		defer release()
	}
	return l.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (l *lending) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// refusalBody is the body of an answer that is no.
type refusalBody struct {
	Error *runtime.Refusal `json:"error"`
}

func refuse(w http.ResponseWriter, err error) {
	refused := tool.RefusalOf(err)
	status := api.StatusOf(refused.Kind)
	if who := (errUnidentified{}); errors.As(err, &who) {
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if large := (errTooLarge{}); errors.As(err, &large) {
		status = http.StatusRequestEntityTooLarge
	}
	if none := (errBusy{}); errors.As(err, &none) {
		retryAfter(w)
	}
	write(w, status, refusalBody{refused})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // a client that is gone needs no answer
}

// call serves a tool.
func (s *server) call(t tool.Tool) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		v, err := t.Call(r.Context(), s.options.Desk, body)
		if err != nil {
			return err
		}
		content, err := encoded(v)
		if err != nil {
			return err
		}
		return s.budget.answer(w, "application/json", content)
	}
}

func (s *server) blob(w http.ResponseWriter, r *http.Request) error {
	hash := r.URL.Query().Get("hash")
	if hash == "" {
		return runtime.Refuse(runtime.ErrUsage, "GET /v1/blob?hash=HASH", "blob: hash: got nothing, want the hash of a content")
	}
	content, err := s.options.Desk.Engine.Blob(r.Context(), hash)
	if err != nil {
		return err
	}
	return s.budget.answer(w, "application/octet-stream", content)
}
