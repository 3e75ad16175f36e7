package runtime

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// Decided is how a gate was decided: who chose what, why and when.
type Decided struct {
	Gate    string    `json:"gate"`              // address within its run
	Choice  string    `json:"choice,omitempty"`  // "" where there were no options
	Reason  string    `json:"reason,omitempty"`  // in the words of who decided
	By      string    `json:"by"`                // the name that counts; "system" at a deadline
	Through string    `json:"through,omitempty"` // who has answered in that name, where it is not theirs
	Via     string    `json:"via"`               // "signal", "fallback", "auto" or "override"
	At      time.Time `json:"at"`
}

// maxDecided is how many decisions a run's document has: the newest. The journal has all.
const maxDecided = 1000

// decisions are how the gates of a run were decided, in the order of the decisions. A gate that was
// closed without one is not among them.
func (r *reader) decisions(run string) ([]Decided, error) {
	var list []Decided
	err := scan(r.store, prefixGate+run+"/", func(_ string, v []byte) error {
		return eachRecord(v, func(rec *Record) error {
			if rec.Type == GateDecided {
				list = append(list, decidedOf(rec))
			}
			return nil
		})
	})
	slices.SortStableFunc(list, func(a, b Decided) int { return a.At.Compare(b.At) })
	return list[max(0, len(list)-maxDecided):], err
}

func decidedOf(rec *Record) Decided {
	v := rec.view()
	d := Decided{Gate: rec.Step, At: rec.Time}
	if said, ok := v.Value("decision").(*effect.Record); ok {
		for field, to := range map[string]*string{
			"choice": &d.Choice, "reason": &d.Reason, "by": &d.By, "via": &d.Via,
		} {
			*to, _ = starlark.AsString(said.Field(field))
		}
	}
	if who := v.Texts("who"); len(who) > 1 {
		d.Through = who[1]
	}
	return d
}

// WaitsFor says in one line what a run waits for that somebody does; "" where it waits for nobody.
func (r *Run) WaitsFor() string {
	var all []string
	for _, g := range r.Gates {
		line := fmt.Sprintf("%s decides %s", cmp.Or(g.Target, "anybody"), g.Gate)
		if g.Deadline != nil {
			line += " by " + g.Deadline.UTC().Format(time.RFC3339)
		}
		all = append(all, line)
	}
	for _, w := range r.Work {
		all = append(all, fmt.Sprintf("%s does %s", w.Agent, w.Address))
	}
	for _, a := range r.Awaits {
		all = append(all, "somebody sends "+a.String())
	}
	if rest := len(all) - shownWaits; rest > 0 {
		all = append(all[:shownWaits], fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(all, "; ")
}

// shownWaits is how much one line names.
const shownWaits = 3
