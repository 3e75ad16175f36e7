package cli

import (
	"context"
	"errors"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/plain"
	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// Metamorphic: a script says and does the same however it is carried. Each story, and with them
// each script of scripts/, is played straight, with an engine that leaves whenever the run rests,
// so that everything goes on from snapshots, as a client of a socket, and with a crash before and
// after every commit that there is. Programs without effects are played with a snapshot before
// every instruction by lang/vm's TestEverywhere.
func TestMetamorphic(t *testing.T) {
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			play := func(h *house, n int, moment memory.Moment) *ending {
				p := &telling{t: t, dir: t.TempDir(), end: &ending{}, house: h}
				h.open(p)
				if n > 0 {
					h.store.FailCommit(n, errors.New("the power failed"), moment)
				}
				defer func() { _ = h.engine.Close() }()
				return s.telling(p, killer{})
			}
			want := play(&house{}, 0, 0)
			houses := map[string]*house{"both": {rests: true, socket: true}}
			if !s.long() {
				houses["snapshots"], houses["socket"] = &house{rests: true}, &house{socket: true}
			}
			for name, h := range houses {
				if diff := want.differs(play(h, 0, 0)); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			r := drawn(t)
			if s.passed(t, r) {
				return
			}
			for _, when := range s.sides(r) {
				moment := memory.BeforeApply
				if when == "after" {
					moment = memory.AfterApply
				}
				for n, hit := s.first(r), true; hit; n += 1 + r.IntN(s.apart(1)) {
					got := play(&house{rests: n%2 == 0}, n, moment)
					if diff := want.differs(got); diff != "" {
						t.Errorf("a crash %s commit %d: %s", when, n, diff)
					}
					hit = got.kills > 0
				}
			}
		})
	}
}

// house plays a story in this process: one engine over a store in memory that crashes as it is
// told, and the program's own verbs in front of it.
type house struct {
	rests  bool // the engine leaves after each command, so that the next one begins with a snapshot
	socket bool // the verbs are clients of the engine's socket

	store  *memory.Store
	engine *engine.Local
	end    func() // ends the engine, and returns when all that it had in hand is over
	server *api.Server
	client *api.Client
}

// failing is the store of a house: its engine ends with the first commit that fails, as a process
// would.
type failing struct {
	*memory.Store
	fail func()
}

func (f failing) Commit(ctx context.Context, b *runtime.Batch) error {
	err := f.Store.Commit(ctx, b)
	if f.Failure() != nil {
		f.fail()
	}
	return err
}

// open opens the store for its next owner.
func (h *house) open(p *telling) {
	p.t.Helper()
	if h.store == nil {
		h.store = memory.New()
	} else {
		h.end() // with a process goes what it has in hand
		h.store = h.store.Crash()
	}
	h.start(p)
}

func (h *house) start(p *telling) {
	p.t.Helper()
	opened := make(chan *engine.Local, 1) // the commit that fails may be one of Open
	end := sync.OnceFunc(func() {
		if e := <-opened; e != nil {
			_ = e.Close()
		}
	})
	e, err := engine.Open(failing{h.store, func() { go end() }}, environment(), engine.Options{Grace: time.Millisecond})
	opened <- e
	if err != nil && h.store.Failure() != nil {
		p.end.kills++
		h.store = h.store.Crash()
		h.start(p)
		return
	}
	if err != nil {
		p.t.Fatal(err)
	}
	h.engine, h.end = e, end
	if !h.socket {
		return
	}
	sockets, err := os.MkdirTemp("", "s") // a socket's path is short
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { os.RemoveAll(sockets) })
	l, err := net.Listen("unix", filepath.Join(sockets, "s"))
	if err != nil {
		p.t.Fatal(err)
	}
	h.server = api.NewServer(api.Options{})
	go h.server.Serve(l)
	h.server.Ready(e)
	if h.client, err = api.Dial(context.Background(), filepath.Join(sockets, "s")); err != nil {
		p.t.Fatal(err)
	}
}

// leave closes the engine in good order, and another goes on.
func (h *house) leave(p *telling) {
	p.t.Helper()
	if err := h.engine.Close(); err != nil {
		p.t.Fatal(err)
	}
	h.store = h.store.Reopen()
	h.start(p)
}

// exec runs a command. One during which a commit failed was killed: the next owner of the store has
// what was durable.
func (h *house) exec(p *telling, args ...string) ([]byte, exit) {
	p.t.Helper()
	back, err := os.Getwd()
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() {
		if err := os.Chdir(back); err != nil {
			p.t.Fatal(err)
		}
	}()
	var t terminal
	t.call = call{args: append([]string{"-C", p.dir}, args...), program: "starling", stdin: strings.NewReader(""), stdout: plain.Output{To: &t.out}, stderr: &t.err, getenv: os.LookupEnv,
		exit: os.Exit, door: func() connect.Connector { return houseConnector{h} }, env: environment, clock: time.Now}
	code := t.call.run()
	if h.store.Failure() != nil {
		h.open(p)
		return nil, exit{killed: true}
	}
	if h.rests {
		h.leave(p)
	}
	if t.out.Len() == 0 {
		return t.err.Bytes(), exit{code: code}
	}
	return t.out.Bytes(), exit{code: code}
}

// houseConnector all lead to the engine of the house.
type houseConnector struct{ *house }

// guest is a session of the house's engine, which it lets be when it ends.
type guest struct{ runtime.Engine }

func (guest) Owner() int   { return 0 }
func (guest) Close() error { return nil }

// Trust is for the commands that ask before they run something.
func (g guest) Trust(ctx context.Context, r runtime.TrustRequest) (*runtime.Trust, error) {
	return trust(ctx, g.Engine, r)
}

func trust(ctx context.Context, e runtime.Engine, r runtime.TrustRequest) (*runtime.Trust, error) {
	kept, err := runtime.Extension[runtime.Trusts](e)
	if err != nil {
		return nil, err
	}
	return kept.Trust(ctx, r)
}

// resident is the engine for who calls it in this process.
type resident struct{ runtime.Engine }

func asUser(ctx context.Context) context.Context {
	name := "local:?"
	if me, err := user.Current(); err == nil {
		name = "local:" + me.Username // as the socket has it
	}
	return runtime.WithCaller(ctx, runtime.Caller{Name: name, Local: true})
}

func (r resident) Start(ctx context.Context, s runtime.StartRequest) (*runtime.Run, error) {
	return r.Engine.Start(asUser(ctx), s)
}

func (r resident) Trust(ctx context.Context, t runtime.TrustRequest) (*runtime.Trust, error) {
	return trust(asUser(ctx), r.Engine, t)
}

func (r resident) Signal(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	return r.Engine.Signal(asUser(ctx), s)
}

func (r resident) Resume(ctx context.Context, c runtime.ResumeRequest) ([]string, error) {
	return r.Engine.Resume(asUser(ctx), c)
}

func (r resident) Get(ctx context.Context, run string) (*runtime.Run, error) {
	return r.Engine.Get(asUser(ctx), run)
}

func (r resident) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	return r.Engine.List(asUser(ctx), q)
}

func (r resident) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	return r.Engine.Watch(asUser(ctx), w, fn)
}

func (d houseConnector) guest() (connect.Session, error) {
	if d.socket {
		return guest{d.client}, nil
	}
	return guest{resident{d.engine}}, nil
}

func (d houseConnector) OpenOwner(context.Context, bool) (connect.Session, error) { return d.guest() }
func (d houseConnector) OpenReader(context.Context) (connect.Session, error)      { return d.guest() }
func (d houseConnector) Connect(context.Context) (connect.Session, error)         { return d.guest() }
func (d houseConnector) Detach(context.Context) (connect.Session, error)          { return d.guest() }
func (d houseConnector) Serve(context.Context, connect.Serving) error {
	return errors.New("nothing serves here")
}
func (d houseConnector) Stop(context.Context) (int, error) { return 0, nil }
