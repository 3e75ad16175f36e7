package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"starling/cmd/starling/plain"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib/process"
)

// call is one call of the program: what it was given, where it answers, how it reaches the engine.
// Tests make their own.
type call struct {
	args    []string // without the program's name
	program string   // how a shell calls this program, ready to be pasted
	stdin   io.Reader
	stdout  plain.Output
	stderr  io.Writer
	getenv  func(string) (string, bool)
	signals <-chan os.Signal // interruptions
	exit    func(code int)   // leaves at once
	door    func() connector // opens the store of the place
	env     *effect.Environment
	open    opener
	clock   func() time.Time // what the clock on the wall shows to an engine
	doubt   func() string    // why this machine cannot tell for certain who calls, see api.Doubt
	guards  process.Guards   // that this process has started

	// Flags of all verbs.
	dirFlag   string
	storeFlag string
	json      bool

	code     int  // exit code when no error says more
	answered bool // the one JSON document was printed
	place    *place

	interrupt context.CancelCauseFunc // ends the call
}

// connector are the ways to an engine; see connect.go for the real ones.
type connector interface {
	// OpenOwner is for commands that carry a run or stay to watch: the owner of the store, or a
	// client of the process that owns it. With create a store is made where there is none; without
	// it, it is refused as an unknown run.
	OpenOwner(ctx context.Context, create bool) (session, error)
	// OpenReader is for commands that print and leave: nothing is started, no timer fires, and
	// without an owner the store is only read.
	OpenReader(ctx context.Context) (session, error)
	// Detach is a client of a process that outlives this one, which is started if there is none.
	Detach(ctx context.Context) (session, error)
	// Connect is always a client: of a process that outlives this one and is started whenever there
	// is none.
	Connect(ctx context.Context) (session, error)
	// Serve owns the store until ctx ends, or, with idle above zero, until nothing was in motion
	// and nobody attached for so long.
	Serve(ctx context.Context, s serving) error
	// Stop asks the owner to leave and waits until it has. It gives the owner's pid, 0 if there was
	// none.
	Stop(ctx context.Context) (pid int, err error)
}

// session is an open engine.
type session interface {
	runtime.Engine // Close lets an owner stay for as long as others need it
	// Owner is the pid of the process that owns the store, 0 when it is this one.
	Owner() int
}

// answerJSON prints the result of a verb as one document, the only one.
func (c *call) answerJSON(doc any) error {
	c.answered = true
	e := json.NewEncoder(c.stdout.JSON())
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

// notice tells people something that is not the result.
func (c *call) notice(format string, args ...any) { fmt.Fprintf(c.stderr, format+"\n", args...) }

// print writes one line of a result that is for people.
func (c *call) print(format string, args ...any) { fmt.Fprintf(c.stdout, format+"\n", args...) }

// leave ends a session. What goes wrong then changes no result, for what was told was durable; it
// is told all the same.
func (c *call) leave(s session) {
	if err := s.Close(); err != nil {
		c.notice("warning: leaving the store: %v", err)
	}
}

// lookAt opens the store to look, and hands over a run.
func (c *call) lookAt(ctx context.Context, address string, do func(s session, r *runtime.Run) error) error {
	return c.withRun(ctx, c.door().OpenReader, address, do)
}

// withRun opens the store one way, and hands over a run.
func (c *call) withRun(ctx context.Context, door func(context.Context) (session, error), address string, do func(s session, r *runtime.Run) error) error {
	s, err := door(ctx)
	if err != nil {
		return err
	}
	defer c.leave(s)
	r, err := s.Get(ctx, address)
	if err != nil {
		return err
	}
	return do(s, r)
}

// values reads declared variables from the environment of this process.
func (c *call) values(names []string) map[string]string {
	env := make(map[string]string, len(names))
	for _, n := range names {
		if v, ok := c.getenv(n); ok {
			env[n] = v
		}
	}
	return env
}

// requestKey is the idempotency key of one request: the user's, or a random one, so that a client
// which loses its owner can send again without doing it twice.
func requestKey(given string) string {
	if given != "" {
		return given
	}
	var b [12]byte
	rand.Read(b[:]) // never fails
	return "cli-" + hex.EncodeToString(b[:])
}

// usage makes a refusal of the command line itself.
func usage(help, format string, args ...any) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrUsage, help, format, args...)
}
