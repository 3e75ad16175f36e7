package trace

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"starling/cmd/starling/build"
	"starling/cmd/starling/connect"
	"starling/cmd/starling/otlp"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/query"
)

// Host is what the verb has of the command line.
type Host struct {
	Look   func(ctx context.Context, address string, do func(connect.Session, *runtime.Run) error) error
	Answer func(document any) error
	Notice func(format string, args ...any)
	Getenv func(name string) (string, bool)
	In     io.Reader
}

// Command is the verb trace.
func Command(h Host) *cobra.Command {
	send := false
	cmd := &cobra.Command{
		Use:     "trace RUN|-",
		Short:   "Tell OpenTelemetry what a run has done",
		GroupID: "look",
		Long: `Print the trace of a run that has ended as OTLP in JSON, or send it: a span for the run, for each of its steps and for each attempt of
an agent, with the attributes of the GenAI conventions. It is made of the journal: the same run gives the same spans with the same ids. There are no inputs, prompts, replies or outputs in it.

With - the run is that of a notice on standard input, so that [notify.NAME] in starling.toml has each run told when it ends.

` + otlp.EnvEndpoint + ` says where to (default ` + otlp.DefaultEndpoint + `), ` + otlp.EnvHeaders + ` and ` + otlp.EnvTimeout + ` how, or the
same of traces alone; ` + otlp.EnvService + ` and ` + otlp.EnvResource + ` who tells.`,
		Example: "  starling trace @last --send",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := h.address(args[0])
			if err != nil {
				return err
			}
			return h.Look(cmd.Context(), address, func(s connect.Session, r *runtime.Run) error { return h.tell(cmd.Context(), s, r, send) })
		},
	}
	cmd.Flags().BoolVar(&send, "send", false, "send it to the collector, and print nothing")
	return cmd
}

// maxNotice bounds what is read of a notice, in bytes.
const maxNotice = 1 << 20

// address is the run that is meant: for - that of a notice.
func (h Host) address(word string) (string, error) {
	if word != "-" {
		return word, nil
	}
	var notice struct{ Run string }
	text, err := io.ReadAll(io.LimitReader(h.In, maxNotice))
	if err == nil {
		err = json.Unmarshal(text, &notice)
	}
	if err != nil || notice.Run == "" {
		return "", runtime.Refuse(runtime.ErrUsage, `want {"run": "ID", …}`, "trace: standard input is no notice")
	}
	return notice.Run, nil
}

// tell prints the trace of a run, or sends it.
func (h Host) tell(ctx context.Context, s connect.Session, r *runtime.Run, send bool) error {
	if !r.Status.Ended() {
		return runtime.Refuse(runtime.ErrUsage, "starling wait "+r.ID+" stays until it has", "trace: the run %s has not ended: it is %s", r.ID, r.Status)
	}
	env := func(name string) string { v, _ := h.Getenv(name); return v }
	who, err := otlp.ResourceOf(env, build.Version())
	if err != nil {
		return err
	}
	list, _, err := Of(ctx, s, r)
	if err != nil {
		return err
	}
	doc := Document(who, list)
	if !send {
		return h.Answer(doc)
	}
	if env(otlp.EnvDisabled) == "true" {
		return nil
	}
	to, err := otlp.TargetOf(env)
	if err != nil {
		return err
	}
	if err := to.Send(ctx, doc); err != nil {
		return runtime.Refusef(runtime.ErrUnreachable, "trace: %v", err)
	}
	h.Notice("sent %d spans of the trace %s", len(list), list[0].TraceID)
	return nil
}

// Document is a request to take the spans of a trace.
func Document(who otlp.Resource, list []otlp.Span) *otlp.Spans {
	return &otlp.Spans{Resources: []otlp.ResourceSpans{{Resource: who, Scopes: []otlp.ScopeSpans{{Scope: otlp.Scope{Name: "starling", Version: build.Version()}, Spans: list}}}}}
}

// Of are the spans of a run that has ended, and of all below it, and the attempts of their agents.
func Of(ctx context.Context, s runtime.Engine, r *runtime.Run) ([]otlp.Span, []Attempt, error) {
	top := r
	for {
		up, _, child := journal.CutParent(top.Details.Parent)
		if !child {
			break
		}
		var err error
		if top, err = s.Get(ctx, up); err != nil {
			return nil, nil, err
		}
	}
	m := &maker{trace: traceID(top.ID)}
	err := m.below(ctx, s, r)
	return m.list, m.attempts, err
}

// below makes the spans of a run, as far as its journal was not trimmed, and of those that its
// steps have started.
func (m *maker) below(ctx context.Context, s runtime.Engine, r *runtime.Run) error {
	steps, err := query.StepsAfter(ctx, s, r.ID, r.Details.Horizon)
	if err != nil {
		return err
	}
	ended := r.Details.UpdatedAt
	ends := []string{journal.RunCompleted.String(), journal.RunFailed.String(), journal.RunCancelled.String()}
	err = s.Watch(ctx, runtime.WatchRequest{Run: r.ID, After: r.Details.Horizon, Types: ends}, func(ev runtime.Event) error {
		ended = ev.Time // what was updated later are notices of that
		return nil
	})
	if err != nil {
		return err
	}
	m.spans(r, ended, steps)
	if !slices.ContainsFunc(steps, func(st runtime.Step) bool { return st.Kind == journal.KindRun }) {
		return nil
	}
	started, err := children(ctx, s, r.ID)
	for _, id := range started {
		child, err := s.Get(ctx, id)
		if err == nil {
			err = m.below(ctx, s, child)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// readAtOnce is how many runs are read at once.
const readAtOnce = 1000

// children are the runs that a run has started, the first one first.
func children(ctx context.Context, s runtime.Engine, run string) (ids []string, err error) {
	q := runtime.Query{All: true, Limit: readAtOnce, Terms: [][]string{{runtime.Term(runtime.TermParent, run)}}}
	for {
		l, err := s.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range l.Runs {
			if up, _, _ := journal.CutParent(r.Parent); up == run { // an engine without terms lists all
				ids = append(ids, r.ID)
			}
		}
		if q.After = l.Next; q.After == "" {
			slices.Reverse(ids)
			return ids, nil
		}
	}
}

func sortedNames(labels map[string]string) []string { return slices.Sorted(maps.Keys(labels)) }
