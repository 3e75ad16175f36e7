package inbox

import (
	"context"
	"errors"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"starling/runtime"
)

// A Desk is what the view works with. Its functions may be called concurrently.
type Desk struct {
	Sections []Section // at least one

	// Gates lists what is open in a section, the oldest first: a piece behind a cursor, and where
	// the next begins, "" where there is none.
	Gates func(ctx context.Context, s Section, after string) (gates []runtime.Gate, next string, err error)
	// Gone says how a gate was decided, or what else became of it, "" for one that is open.
	Gone func(ctx context.Context, g runtime.Gate) (string, error)
	// Answer is the signal that answers a gate, without its data.
	Answer func(g runtime.Gate, choice, reason string) runtime.Signal
	// Send answers a gate.
	Send func(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error)
	// Command is what a shell would answer with; data is the payload as people may see it.
	Command func(s runtime.Signal, data string) string

	Drafts   Drafts
	TakeBack time.Duration // how long an answer can be taken back, 0 for not at all
	Clock    func() time.Time
}

// TakeBack is how long an answer can be taken back, unless somebody says otherwise: as long as one
// needs to see that it was the wrong key, and no longer than one looks at the next gate.
const TakeBack = 5 * time.Second

// A Section is a part of the inbox.
type Section struct {
	Name   string
	Filter string // as --filter has it, "" for all
	Target string // only what this one may answer, in that name
}

// Done is an answer that has left the view.
type Done struct {
	Signal  runtime.Signal
	Receipt *runtime.Receipt
	Err     error // why it was not accepted, or is not known to be
}

// Left is what was done when the view was left.
type Left struct {
	Done   []Done
	Drafts int // answers that were begun in this view, and are kept
}

// Show draws the view on the terminal of this process until it is left. A context that ends leaves
// it at once: what is on its way then is not sent, and kept.
func Show(ctx context.Context, d *Desk) (Left, error) {
	v := newView(ctx, d)
	const mostFrames = 120 // a second: what is typed is drawn with the next one
	p := tea.NewProgram(v, tea.WithContext(ctx), tea.WithInput(os.Stdin), tea.WithOutput(os.Stdout), tea.WithoutSignalHandler(), tea.WithFPS(mostFrames))
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return v.left(), err
}
