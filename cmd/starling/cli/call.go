package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/collector"
	"starling/cmd/starling/connect"
	"starling/cmd/starling/jq"
	"starling/cmd/starling/live"
	"starling/cmd/starling/mend"
	"starling/cmd/starling/pager"
	"starling/cmd/starling/place"
	"starling/cmd/starling/plain"
	"starling/cmd/starling/repl"
	"starling/cmd/starling/table"
	"starling/cmd/starling/telemetry"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib/process"
)

// call is one call of the program: what it was given, where it answers, how it reaches the engine.
// Tests make their own. A verb has it in a field with a name: embedded, all its methods would be
// compiled once more for each verb, which was three quarters of what compiling this package cost.
type call struct {
	args    []string // without the program's name
	program string   // how a shell calls this program, ready to be pasted
	stdin   io.Reader
	stdout  plain.Output
	stderr  io.Writer
	getenv  func(string) (string, bool)
	signals <-chan os.Signal                  // interruptions
	exit    func(code int)                    // leaves at once
	door    func() connect.Connector          // opens the store of the place
	env     func() *effect.Environment        // made when it is first asked for: starting needs none
	around  func(runtime.Store) runtime.Store // what a store is wrapped in for its owner; tests do more than nothing
	clock   func() time.Time                  // what the clock on the wall shows to an engine
	doubt   func() string                     // why this machine cannot tell for certain who calls, see api.Doubt
	guards  process.Guards                    // that this process has started
	further *connect.Further                  // an engine that is not in every program, nil for none
	mended  mend.Texts                        // files that check --fix reads as they would be
	heap    *collector.Heap                   // of this process, nil where somebody else looks after it

	exporter *telemetry.Exporter // of the engine that this process owns, nil for none

	// Flags of all verbs.
	dirFlag    string
	storeFlag  string
	serverFlag string
	quiet      bool
	json       bool
	raw        bool         // texts are printed without quotes
	filter     *jq.Filter   // of --jq, nil without one
	pager      *pager.Pager // nil without one

	code     int  // exit code when no error says more
	answered bool // the one JSON document was printed
	place    *place.Place

	interrupt context.CancelCauseFunc            // ends the call
	view      atomic.Pointer[live.View]          // what is drawn now
	softly    atomic.Pointer[repl.Interruptions] // of a terminal, which may be for a statement
}

// answerJSON prints the result of a verb as one document, the only one.
func (c *call) answerJSON(doc any) error {
	c.answered = true
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return err
	}
	var err error
	switch {
	case c.filter == nil:
		_, err = c.stdout.JSON().Write(b.Bytes())
	case c.raw:
		err = c.filter.Print(b.Bytes(), c.stdout.JSON(), c.stdout)
	default:
		err = c.filter.Print(b.Bytes(), c.stdout.JSON(), nil)
	}
	return c.beyondOutput(err)
}

// beyondOutput is an error, unless it is that standard output took no more: how the run has ended
// still counts then, and conclude tells the other.
func (c *call) beyondOutput(err error) error {
	if lost := c.stdout.Lost(); lost != nil && errors.Is(err, lost) {
		return nil
	}
	return err
}

// notice tells people something that is not the result, unless they want to hear of nothing but
// what went wrong.
func (c *call) notice(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(c.stderr, format+"\n", args...)
	}
}

// paper is what results are written on.
func (c *call) paper() table.Paper {
	f, paged := c.stdout.File()
	if !paged && c.pager != nil {
		f = os.Stdout
	}
	p := table.On(f, c.getenv)
	p.Quiet = c.quiet
	return p
}

// page shows the results of a verb that looks in a pager, where they go to a terminal.
func (c *call) page(cmd *cobra.Command) {
	staying := func(name string) bool { f := cmd.Flags().Lookup(name); return f != nil && f.Changed }
	f, ok := c.stdout.File()
	if cmd.GroupID != "look" || !ok || !c.paper().Terminal() || staying("watch") || staying("follow") {
		return
	}
	if c.pager = pager.Open(f, c.getenv); c.pager != nil {
		c.stdout.To = &plain.Sink{To: c.pager}
	}
}

// print writes one line of a result that is for people.
func (c *call) print(format string, args ...any) { fmt.Fprintf(c.stdout, format+"\n", args...) }

// leave ends a session. What goes wrong then changes no result, for what was told was durable; it
// is told all the same.
func (c *call) leave(s connect.Session) {
	if err := s.Close(); err != nil {
		c.notice("warning: leaving the store: %v", err)
	}
}

// lookAt opens the store to look, and hands over a run.
func (c *call) lookAt(ctx context.Context, address string, do func(s connect.Session, r *runtime.Run) error) error {
	return c.withRun(ctx, c.door().OpenReader, address, do)
}

// withRun opens the store one way, and hands over a run.
func (c *call) withRun(ctx context.Context, door func(context.Context) (connect.Session, error), address string, do func(s connect.Session, r *runtime.Run) error) error {
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
