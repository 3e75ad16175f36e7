package temporal

import (
	"context"
	"slices"
	"time"

	"starling/lang"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/run"
)

func errUnsupported(what string) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrUnsupported, "a store in a folder or in PostgreSQL has it", "%s: not there on Temporal in this version", what)
}

// Lacks says what a script needs that runs on Temporal do not have.
func Lacks(p *lang.Program) (list diagnostic.List) {
	for _, m := range p.Modules {
		for _, n := range m.Names {
			if n.Name == "queue" || n.Name == effect.KindSchedule || n.Name == effect.KindWorkspace {
				list = append(list, diagnostic.Diagnostic{Severity: diagnostic.Error, Kind: string(runtime.ErrUnsupported), File: m.Name,
					Message: n.Name + ": not there for runs on Temporal in this version", Hint: "a store in a folder or in PostgreSQL has it"})
			}
		}
	}
	return list
}

// supported refuses what a run cannot have, before it exists.
func supported(r *runtime.StartRequest, p *run.Program) error {
	switch {
	case r.Session:
		return errUnsupported("sessions")
	case slices.ContainsFunc(r.Settings.Budgets, func(c effect.Ceiling) bool { return c.Daily }):
		return errUnsupported(`[budgets] with per = "day", which count what all runs spend`)
	case len(r.Settings.Notify) > 0:
		return errUnsupported("[notify] and [telemetry]")
	}
	if list := Lacks(p.Code); len(list) > 0 {
		return runtime.Refuse(runtime.ErrUnsupported, list[0].Hint, "%s: %s", list[0].File, list[0].Message)
	}
	return nil
}

// Examine looks whether runs can be carried: whether the server has the namespace, whether its
// lists answer what is asked of them, and whether a worker is there. No search attribute has to be
// made.
func (e *Engine) Examine(ctx context.Context) error {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, err := e.listing(ctx, "WorkflowId STARTS_WITH '0'"); err != nil {
		return err
	}
	return e.attended(ctx, time.Now())
}
