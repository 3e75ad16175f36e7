package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"starling/runtime"
)

// endpoint answers one request with the bytes and the type of the answer.
type endpoint func(ctx context.Context, e runtime.Engine, r *http.Request) (content []byte, contentType string, err error)

func (s *Server) routes() http.Handler {
	mux := s.anywhere()
	mux.Handle("GET /hello", s.greeting(nil))
	mux.Handle("POST /stop", s.greeting(s.stop))
	mux.Handle("GET /attach", s.stream(s.attach))
	mux.Handle("POST /start", s.call(post(runtime.Engine.Start)))
	mux.Handle("POST /signal", s.call(post(runtime.Engine.Signal)))
	mux.Handle("POST /carry", s.call(post(runtime.Engine.Resume)))
	mux.Handle("POST /replay", s.call(postTo(runtime.Reruns.Replay)))
	mux.Handle("POST /move", s.call(postTo(runtime.Reruns.Move)))
	mux.Handle("POST /fork", s.call(postTo(runtime.Reruns.Fork)))
	mux.Handle("POST /look", s.call(postTo(runtime.Moments.Look)))
	mux.Handle("POST /trust", s.call(postTo(runtime.Trusts.Trust)))
	mux.Handle("POST /token/add", s.call(postTo(runtime.Tokens.AddToken)))
	mux.Handle("POST /token/list", s.call(postTo(runtime.Tokens.ListTokens)))
	mux.Handle("POST /token/remove", s.call(postTo(runtime.Tokens.RemoveToken)))
	mux.Handle("POST /care", s.call(postTo(runtime.Maintenance.Maintain)))
	mux.Handle("GET /export", s.call(getExport))
	mux.Handle("POST /bring", s.call(postBring))
	return mux
}

// anywhere has the requests that are answered alike on this machine and from others: of these a
// caller's rights say all.
func (s *Server) anywhere() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("POST /whoami", s.call(postTo(whoami)))
	mux.Handle("POST /cancel", s.call(post(runtime.Engine.Cancel)))
	mux.Handle("GET /run", s.call(getRun))
	mux.Handle("POST /list", s.call(post(runtime.Engine.List)))
	mux.Handle("POST /watch", s.stream(s.watch))
	mux.Handle("GET /blob", s.call(getBlob))
	mux.Handle("POST /define", s.call(postTo(runtime.Definitions.Define)))
	mux.Handle("POST /defined", s.call(postTo(runtime.Definitions.Defined)))
	mux.Handle("POST /steps", s.call(postTo(runtime.Pages.StepPage)))
	mux.Handle("POST /decisions", s.call(postTo(runtime.Decisions.Decisions)))
	mux.Handle("POST /declared", s.call(postTo(runtime.Pages.Declared)))
	mux.Handle("POST /spent", s.call(postTo(runtime.Spending.SpentOn)))
	mux.Handle("POST /spent-by", s.call(postTo(runtime.Spending.SpentBy)))
	mux.Handle("POST /budgets", s.call(postTo(budgets)))
	mux.Handle("POST /schedule", s.call(postTo(runtime.Schedules.Schedule)))
	mux.Handle("POST /reschedule", s.call(postTo(runtime.Schedules.Reschedule)))
	mux.Handle("POST /scheduled", s.call(postTo(runtime.Schedules.Scheduled)))
	mux.Handle("POST /push", s.call(postTo(runtime.Queues.Push)))
	mux.Handle("POST /attended", s.call(postTo(runtime.Queues.Attended)))
	mux.Handle("/", s.call(nothing))
	return mux
}

// call makes a handler of an endpoint.
func (s *Server) call(answer endpoint) http.Handler {
	return s.handler(false, func(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
		e, err := s.begin()
		if err != nil {
			return err
		}
		defer s.end()
		ctx, err = bearer(ctx, e, r)
		if err != nil {
			return err
		}
		content, contentType, err := answer(ctx, e, r)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", contentType)
		w.Write(content)
		return nil
	})
}

// greeting makes a handler that says hello after it has done something.
func (s *Server) greeting(do func()) http.Handler {
	return s.handler(true, func(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
		if do != nil {
			if err := s.mayStop(ctx, r); err != nil {
				return err
			}
			do()
		}
		content, contentType, err := encode(s.hello())
		w.Header().Set("Content-Type", contentType)
		w.Write(content)
		return err
	})
}

func (s *Server) stop() {
	if s.options.OnStop != nil {
		s.options.OnStop()
	}
}

// mayStop refuses who may not end the owner. Whose a token is only the engine knows: one that
// brings it asks again when there is one. Its user is heard in every state.
func (s *Server) mayStop(ctx context.Context, r *http.Request) error {
	if _, found := bearerOf(r); found {
		e, err := s.begin()
		if err != nil {
			return err
		}
		defer s.end()
		if ctx, err = bearer(ctx, e, r); err != nil {
			return err
		}
	} else if who := r.Context().Value(identityKey{}).(identity); who.err != nil {
		return who.err
	}
	const doing = "%s may not stop the owner of the store"
	switch c := runtime.CallerOf(ctx); {
	case c.May(runtime.CanAdmin):
		return nil
	case c.Agent != "":
		return runtime.Refusef(runtime.ErrDenied, doing+": it acts for an agent", c.Name)
	default:
		help := "the token needs the capability admin"
		return runtime.Refuse(runtime.ErrDenied, help, doing, c.Name)
	}
}

// handler checks who asks and turns an error, and a panic of the engine, into an answer.
func (s *Server) handler(anyProtocol bool, serve func(context.Context, http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(headerProtocol, strconv.Itoa(Protocol))
		ctx, err := s.admit(r, anyProtocol)
		if err == nil {
			err = guarded(func() error { return serve(ctx, w, r) })
		}
		if err != nil {
			s.refuse(w, err)
		}
	})
}

// guarded calls f and makes an error of a panic: it must not cost the other clients their owner,
// and the asker must not send it again and again.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine panicked: %v", p)
		}
	}()
	return f()
}

// refuse answers no. An engine that is closed under a call fails it in its own way; what the client
// needs to know then is that the owner leaves, and it needs to know it when the store is free.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	refusal := runtime.AsRefusal(err)
	away := (*Away)(nil)
	if !errors.As(err, &away) && s.cutByLeaving(refusal) {
		<-s.closed
		away = &Away{State: Leaving}
	}
	if away != nil {
		w.Header().Set(headerOwner, string(away.State))
		refusal = runtime.Refuse(runtime.ErrOwnerUnreachable, "try again in a moment", "the owner of the store is %s", away.State)
	}
	content, _, _ := encode(refusalBody{refusal})
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(StatusOf(refusal.Kind))
	w.Write(content)
}

// cutByLeaving tells whether an error comes from the engine being closed.
func (s *Server) cutByLeaving(r *runtime.Refusal) bool {
	return (r.Kind == runtime.ErrInternal || r.Kind == runtime.ErrOwnerUnreachable) && s.leaving()
}

// post makes an endpoint of an engine's method that takes one document and gives one.
func post[Q, A any](method func(runtime.Engine, context.Context, Q) (A, error)) endpoint {
	return func(ctx context.Context, e runtime.Engine, r *http.Request) ([]byte, string, error) {
		var q Q
		if err := decode(r, &q); err != nil {
			return nil, "", err
		}
		return encoded(method(e, ctx, q))
	}
}

// postTo makes an endpoint of a method of a further interface of the engine.
func postTo[I, Q, A any](method func(I, context.Context, Q) (A, error)) endpoint {
	return post(func(e runtime.Engine, ctx context.Context, q Q) (A, error) {
		extension, err := runtime.Extension[I](e)
		if err != nil {
			var none A
			return none, err
		}
		return method(extension, ctx, q)
	})
}

func getRun(ctx context.Context, e runtime.Engine, r *http.Request) ([]byte, string, error) {
	return encoded(e.Get(ctx, r.URL.Query().Get("run")))
}

func getBlob(ctx context.Context, e runtime.Engine, r *http.Request) ([]byte, string, error) {
	content, err := e.Blob(ctx, r.URL.Query().Get("hash"))
	return content, typeBytes, err
}

func getExport(ctx context.Context, e runtime.Engine, r *http.Request) ([]byte, string, error) {
	archive, err := runtime.Extension[runtime.Archive](e)
	if err != nil {
		return nil, "", err
	}
	content, err := archive.Export(ctx, r.URL.Query().Get("run"))
	return content, typeBytes, err
}

// postBring takes a line with the request, and the file behind it.
func postBring(ctx context.Context, e runtime.Engine, r *http.Request) ([]byte, string, error) {
	archive, err := runtime.Extension[runtime.Archive](e)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, runtime.MaxExport+MaxRequest+1))
	if err != nil {
		return nil, "", runtime.Refusef(runtime.ErrUsage, "import: %v", err)
	}
	line, file, _ := bytes.Cut(body, []byte{'\n'})
	var request runtime.ImportRequest
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&request); err != nil {
		return nil, "", runtime.Refusef(runtime.ErrUsage, "import: the request cannot be read: %v", err)
	}
	if len(file) > runtime.MaxExport {
		return nil, "", runtime.Refusef(runtime.ErrBadPayload, "import: the file is larger than %d bytes", runtime.MaxExport)
	}
	request.File = file
	return encoded(archive.Import(ctx, request))
}

func nothing(_ context.Context, _ runtime.Engine, r *http.Request) ([]byte, string, error) {
	return nil, "", runtime.Refusef(runtime.ErrUsage, "%s %s: protocol %d has no such request", r.Method, r.URL.Path, Protocol)
}

// decode reads the one JSON value of a body. One that says how large it is, as those of our client
// do, is refused before it is read.
func decode(r *http.Request, into any) error {
	if r.ContentLength > MaxRequest {
		return tooLargeRequest(r)
	}
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, MaxRequest))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		err = errors.New("more than one value")
	}
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return tooLargeRequest(r)
	}
	return runtime.Refusef(runtime.ErrUsage, "%s %s: the body is not what protocol %d expects: %v", r.Method, r.URL.Path, Protocol, err)
}

func tooLargeRequest(r *http.Request) error {
	return runtime.Refusef(runtime.ErrBadPayload, "%s %s: the body is larger than %d bytes", r.Method, r.URL.Path, MaxRequest)
}

func encoded[A any](answer A, err error) ([]byte, string, error) {
	if err != nil {
		return nil, "", err
	}
	return encode(answer)
}

// encode writes one JSON value and a newline, with <, > and & as they are.
func encode(v any) ([]byte, string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, "", err
	}
	return b.Bytes(), typeJSON, nil
}
