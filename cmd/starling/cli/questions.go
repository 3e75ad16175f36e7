package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/listing"
	"starling/cmd/starling/repl"
	"starling/cmd/starling/stay"
	"starling/runtime"
	"starling/runtime/filter"
	"starling/runtime/tool"
)

// questions are what a person is asked: the gates that are open, and the questions about what is
// known that wait in the queue while no run asks them. The hook counts
// them, and review puts them.
type questions struct {
	gates   []runtime.Gate
	unasked int
	parked  int // what was remembered and could not be filed
}

func (q *questions) count() int { return len(q.gates) + q.unasked }

// questionsFor is the one query for both. What waits in the queue has no gate yet that a filter or
// a target could mean.
func questionsFor(ctx context.Context, s connect.Session, q gateQuery) (*questions, error) {
	f, err := filter.Parse(q.filter)
	if err != nil {
		return nil, err
	}
	gates, err := f.Gates(ctx, s, runtime.Query{Target: q.target}, time.Now())
	if err != nil || q != (gateQuery{}) {
		return &questions{gates: listOf(gates)}, err
	}
	list, err := s.List(ctx, runtime.Query{Queue: tool.Reviews})
	if err != nil {
		return nil, err
	}
	found := &questions{gates: gates.List}
	for _, it := range list.Items {
		if it.Status == "waiting" && listing.ReviewOf(it.Value).Waits(it.By) {
			found.unasked++
		}
	}
	if list, err = s.List(ctx, runtime.Query{Queue: tool.RememberQueue}); err != nil {
		return nil, err
	}
	for _, it := range list.Items {
		if it.Status == "parked" {
			found.parked++
		}
	}
	return found, nil
}

// unfiled says what was remembered and nobody has filed, "" for nothing.
func (q *questions) unfiled() string {
	if q.parked == 0 {
		return ""
	}
	return fmt.Sprintf("Remembered, but not filed: %d (starling queue show %s)", q.parked, tool.RememberQueue)
}

func listOf(page *filter.Page[runtime.Gate]) []runtime.Gate {
	if page == nil {
		return nil
	}
	return page.List
}

// gateData is what a gate is about, as a sitting shows it.
func gateData(g runtime.Gate) string {
	if r := listing.ReviewOf(g.Data); r.Entry != "" && r.File != "" {
		return r.Shown()
	}
	if text := indent(g.Data, "  "); text != "" && text != "null" {
		return "  " + text
	}
	return ""
}

// askUnasked has a run ask what waits in the queue, and waits until it does.
func (c *call) askUnasked(ctx context.Context, s connect.Session) error {
	run, err := c.desk(s).StartKnown(ctx, tool.KnowledgeQuestions, "")
	if err != nil {
		return err
	}
	f := stay.Follower{Session: s, Run: run.ID, Show: func(runtime.Event) {}}
	_, err = f.Stay(ctx, stay.AtRest)
	return err
}

// textFor has a person write the text that is to stand in place of what a gate proposes: in their
// editor, or in lines up to a single full stop.
func (c *call) textFor(ctx context.Context, lines repl.Lines, g runtime.Gate) (string, error) {
	r := listing.ReviewOf(g.Data)
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if editor, _ := c.getenv(name); editor != "" {
			return c.inEditor(ctx, editor, cmp.Or(r.Proposal, r.Text))
		}
	}
	c.notice("the text, and a line with a full stop behind it:")
	var text []string
	for {
		line, err := lines.Line(ctx, "| ")
		if err != nil || line == "." {
			return strings.Join(text, "\n"), err
		}
		text = append(text, line)
	}
}

// inEditor opens a text in an editor, which is a command line, and gives what was saved.
func (c *call) inEditor(ctx context.Context, editor, text string) (string, error) {
	dir, err := os.MkdirTemp("", "starling-review")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "entry.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stderr, c.stderr
	if err := cmd.Run(); err != nil {
		return "", runtime.Refusef(runtime.ErrBadPayload, "the editor %q: %v", editor, err)
	}
	saved, err := os.ReadFile(file)
	return string(saved), err
}
