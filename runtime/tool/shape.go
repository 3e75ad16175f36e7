package tool

import (
	"encoding/json"

	"starling/lang/effect"
	"starling/runtime"
)

// Standing is how a run stands, as tools tell it: no more than a model needs.
type Standing struct {
	Run    string            `json:"run"`
	Status runtime.Status    `json:"status"`
	Script string            `json:"script"`
	Output json.RawMessage   `json:"output,omitempty"` // once it has completed
	Error  *runtime.RunError `json:"error,omitempty"`  // once it has failed or was cancelled
	Gates  []Gate            `json:"gates,omitempty"`  // the open ones
	Steps  []runtime.Step    `json:"steps,omitempty"`

	Failed []runtime.FailedBranch `json:"failed_branches,omitempty"` // with its steps

	Labels    effect.Labels     `json:"labels,omitempty"`
	WaitsFor  string            `json:"waits_for,omitempty"` // in one line
	Decisions []runtime.Decided `json:"decisions,omitempty"` // once it has ended

	Next    uint64 `json:"next,omitempty"`    // the after of the page behind these steps, where there are more
	Earlier bool   `json:"earlier,omitempty"` // there are older steps: after a record, 1 for the first, lists them

	Progress []runtime.Track `json:"progress,omitempty"` // with its steps: what its script tells of how far it is
}

// Stand tells how a run stands.
func Stand(r *runtime.Run) *Standing {
	at := &Standing{Run: r.ID, Status: r.Status, Script: r.Script, Error: r.Error, Gates: shown(r.Gates),
		WaitsFor: r.WaitsFor(), Decisions: r.Decisions}
	if r.Details != nil {
		at.Labels = r.Details.Labels
	}
	if r.Status == runtime.Completed {
		at.Output = r.Output
	}
	return at
}

// open keeps the engine's gate from taking the name of its own field Gate where it is embedded.
type open = runtime.Gate

// Gate is an open gate with the call that answers it.
type Gate struct {
	open
	Run        string         `json:"run"`
	AnswerWith map[string]any `json:"answer_with"` // arguments of signal
}

// shown gives gates their answers.
func shown(list []runtime.Gate) []Gate {
	all := make([]Gate, 0, len(list))
	for _, g := range list {
		run, _ := address(g.Address, "")
		how := map[string]any{"run": run, "gate": g.Gate}
		if len(g.Options) > 0 {
			how["choice"] = g.Options[0].Name
		}
		if !g.Editable && (len(g.Options) == 0 || g.Contract != "") { // as on the command line
			how["data"] = "…"
		}
		all = append(all, Gate{g, run, how})
	}
	return all
}
