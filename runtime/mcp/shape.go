package mcp

import (
	"encoding/json"

	"starling/runtime"
)

// stand is how a run stands, as tools tell it: no more than a model needs.
type stand struct {
	Run    string            `json:"run"`
	Status runtime.Status    `json:"status"`
	Script string            `json:"script"`
	Output json.RawMessage   `json:"output,omitempty"` // once it has completed
	Error  *runtime.RunError `json:"error,omitempty"`  // once it has failed or was cancelled
	Gates  []gate            `json:"gates,omitempty"`  // the open ones
	Steps  []runtime.Step    `json:"steps,omitempty"`
}

func standing(r *runtime.Run) *stand {
	at := &stand{Run: r.ID, Status: r.Status, Script: r.Script, Error: r.Error, Gates: shown(r.Gates)}
	if r.Status == runtime.Completed {
		at.Output = r.Output
	}
	return at
}

// gate is an open gate with the call that answers it.
type gate struct {
	runtime.Gate
	Run        string         `json:"run"`
	AnswerWith map[string]any `json:"answer_with"` // arguments of signal
}

// shown gives gates their answers.
func shown(list []runtime.Gate) []gate {
	all := make([]gate, 0, len(list))
	for _, g := range list {
		run, _ := address(g.Address, "")
		how := map[string]any{"run": run, "gate": g.Gate}
		if len(g.Options) > 0 {
			how["choice"] = g.Options[0].Name
		} else {
			how["data"] = "…"
		}
		all = append(all, gate{g, run, how})
	}
	return all
}
