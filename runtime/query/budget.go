package query

import (
	"bytes"
	"encoding/json"

	"starling/runtime"
	"starling/runtime/journal"
)

// claim is what an event says of the cost of an attempt.
type claim struct {
	USD    float64 `json:"usd"`
	Input  float64 `json:"input_tokens"`
	Output float64 `json:"output_tokens"`

	Model   string `json:"model"`
	Claimed bool   `json:"claimed"`
}

// noteCost takes what was said of the cost of an attempt, nil for nothing.
func noteCost(a *runtime.Try, c *claim) {
	if c == nil {
		return
	}
	a.Usage = &runtime.Usage{MicroUSD: journal.Claimed(c.USD, 1e6), InputTokens: journal.Claimed(c.Input, 1), OutputTokens: journal.Claimed(c.Output, 1)}
	a.Model, a.Claimed = c.Model, c.Claimed
}

// toldIn is what an event of an attempt says of its cost so far, nil if it is about something else.
func toldIn(ev *runtime.Event) *claim {
	var data struct {
		Kind string
		Data *claim
	}
	if !bytes.Contains(ev.Data, []byte(`"`+journal.EventUsage+`"`)) || json.Unmarshal(ev.Data, &data) != nil || data.Kind != journal.EventUsage {
		return nil
	}
	return data.Data
}

// nameIn is the name of an agent as a request has it: a text, or a role.
func nameIn(who json.RawMessage) string {
	var role struct{ Name string }
	if json.Unmarshal(who, &role.Name) != nil {
		_ = json.Unmarshal(who, &role) // an engine's own
	}
	return role.Name
}

// EachTry calls fn with every attempt of the agents that a run has asked, and with what it has
// taken, the request counted; child runs are runs of their own.
func EachTry(steps []runtime.Step, fn func(st *runtime.Step, t *runtime.Try, u runtime.Usage)) {
	for i := range steps {
		st := &steps[i]
		if !journal.AgentKind(st.Kind) {
			continue
		}
		for j := range st.Tries {
			u := runtime.Usage{Calls: 1}
			if told := st.Tries[j].Usage; told != nil {
				u = u.Plus(*told)
			}
			fn(st, &st.Tries[j], u)
		}
	}
}
