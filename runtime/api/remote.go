package api

import (
	"context"
	"net/http"

	"starling/lang/effect"
	"starling/runtime"
)

// Remote answers the clients of other machines (see [DialURL]): what tools ask of an engine, and
// what looks. What would bring this machine a project file, variables, a path or the text of a
// session has no request here, or is left out of one. Who calls is in the context of each request,
// as whoever has looked at its token has put it there.
func Remote(e runtime.Engine, build string) http.Handler {
	s := NewServer(Options{Build: build})
	s.Ready(e)
	mux := s.anywhere()
	mux.Handle("GET /hello", s.call(s.welcome))
	mux.Handle("POST /start", s.call(post(startFromAfar)))
	mux.Handle("POST /signal", s.call(post(signalFromAfar)))
	mux.Handle("POST /fork", s.call(postTo(forkFromAfar)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := identity{caller: runtime.CallerOf(r.Context())}
		if who.caller.Name == "" {
			who.caller, who.err = nobody("", "the request has no token")
		}
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, who)))
	})
}

// welcome says hello, and nothing of the process and of where its store lies.
func (s *Server) welcome(context.Context, runtime.Engine, *http.Request) ([]byte, string, error) {
	return encode(Hello{Protocol: Protocol, Build: s.options.Build, State: Serving, KeepAlive: s.options.KeepAlive})
}

// startFromAfar starts a run under the project of the owner, whatever the caller may do there.
func startFromAfar(e runtime.Engine, ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	if r.Session {
		return nil, runtime.Refuse(runtime.ErrUsage, "log in there and type starling repl", "a session is begun on the machine of its store only")
	}
	r.Settings, r.Env = effect.Settings{}, nil
	c := runtime.CallerOf(ctx)
	c.Local, c.Can = false, c.Can&^runtime.CanAdmin
	return e.Start(runtime.WithCaller(ctx, c), r)
}

func signalFromAfar(e runtime.Engine, ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	if s.Kind == runtime.SignalChunk || s.Kind == runtime.SignalInterrupt {
		return nil, runtime.Refuse(runtime.ErrUsage, "log in there and type starling repl", "a session is gone on with on the machine of its store only")
	}
	s.Env = nil
	return e.Signal(ctx, s)
}

func forkFromAfar(e runtime.Reruns, ctx context.Context, r runtime.ForkRequest) (*runtime.Run, error) {
	r.Env = nil
	return e.Fork(ctx, r)
}
