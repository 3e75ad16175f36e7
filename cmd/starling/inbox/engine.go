package inbox

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"starling/runtime"
	"starling/runtime/filter"
	"starling/runtime/query"
)

// At has the desk work with an engine. values reads declared variables, which travel with an
// answer; key makes the idempotency key of one.
func (d *Desk) At(e runtime.Engine, values func(names []string) map[string]string, key func() string) {
	at := &engine{e, d, values}
	d.Gates, d.Gone, d.Send = at.gates, at.gone, at.send
	d.Answer = func(g runtime.Gate, choice, reason string) runtime.Signal {
		run, name, _ := strings.Cut(g.Address, "/")
		return runtime.Signal{Key: key(), Kind: runtime.SignalAnswer, Run: run, Gate: name, Choice: choice, Reason: reason, As: g.Target}
	}
}

// engine is where the gates of a desk are.
type engine struct {
	runtime.Engine
	desk   *Desk
	values func(names []string) map[string]string
}

// piece is how many gates are listed at once.
const piece = 500

// gates lists a section. Where a filter has to look at all runs, it is listed in one piece.
func (e *engine) gates(ctx context.Context, s Section, after string) ([]runtime.Gate, string, error) {
	f, err := filter.Parse(s.Filter)
	if err != nil {
		return nil, "", err
	}
	some := piece
	if s.Filter != "" {
		some = 0
	}
	listed, err := f.Gates(ctx, e.Engine, runtime.Query{Target: s.Target, Limit: some, After: after}, e.desk.Clock())
	if err != nil {
		return nil, "", err
	}
	for i := range listed.List { // whoever sits here answers in the name that is asked for
		listed.List[i].Target = cmp.Or(s.Target, listed.List[i].Target)
	}
	return listed.List, listed.Next, nil
}

// gone says who was faster, or what has ended the gate.
func (e *engine) gone(ctx context.Context, g runtime.Gate) (string, error) {
	run, name, _ := strings.Cut(g.Address, "/")
	r, err := e.Get(ctx, run)
	if err != nil {
		return "", err
	}
	for _, open := range r.Gates {
		if open.Gate == name && open.OpenedAt.Equal(g.OpenedAt) {
			return "", nil
		}
	}
	f, err := filter.ParseDecisions("")
	if err != nil {
		return "", err
	}
	const newest = 100
	decided, err := f.Of(ctx, e.Engine, runtime.DecisionQuery{Run: run, Limit: newest}, e.desk.Clock())
	if err != nil {
		return "", err
	}
	for _, by := range decided.List {
		if by.Address == g.Address {
			return fmt.Sprintf("%s by %s was faster", cmp.Or(by.Choice, "an answer"), by.By), nil
		}
	}
	return fmt.Sprintf("it is not open any more; its run is %s", r.Status), nil
}

// send answers a gate.
func (e *engine) send(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	r, err := query.DeclaredBy(ctx, e.Engine, s.Run)
	if err != nil {
		return nil, err
	}
	s.Run, s.Env = r.Run, e.values(r.Env)
	return e.Signal(ctx, s)
}
