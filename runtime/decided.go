package runtime

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
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

	// Data is the payload of the answer, where it has one. One that is left out, because the record of
	// the decision has more than 4 KiB or because a contract hides some of it from people, has its
	// size in DataBytes; the journal has it, and the whole reason, of which the first KiB is here then.
	Data      json.RawMessage `json:"data,omitempty"`
	DataBytes int             `json:"data_bytes,omitempty"`

	Voters []string `json:"voters,omitempty"` // all who have chosen so, where it took more than one; By is the last

	Imported bool `json:"imported,omitempty"` // made in the store that the run came from
}

// maxDecided is how many decisions a run's document has: the newest. The journal has all.
const maxDecided = 1000

// decisions are how the gates of a run were decided, in the order of the decisions. A gate that was
// closed without one is not among them.
func (r *reader) decisions(run string, to contract.Audience) ([]Decided, error) {
	var list []Decided
	err := scan(r.store, prefixGate+run+"/", func(_ string, v []byte) error {
		return eachRecord(v, func(rec *Record) error {
			if rec.Type == GateDecided {
				list = append(list, decidedOf(rec.short(), to))
			}
			return nil
		})
	})
	slices.SortStableFunc(list, func(a, b Decided) int { return a.At.Compare(b.At) })
	return list[max(0, len(list)-maxDecided):], err
}

// decidedOf is a decision as an audience sees it.
func decidedOf(rec *Record, to contract.Audience) Decided {
	v := rec.view()
	d := Decided{Gate: rec.Step, At: rec.Time, Voters: v.Texts("voters"), Imported: v.Flag("imported"), DataBytes: int(v.Int("data_bytes"))}
	if said, ok := v.Value("decision").(*effect.Record); ok {
		for field, to := range map[string]*string{
			"choice": &d.Choice, "reason": &d.Reason, "by": &d.By, "via": &d.Via,
		} {
			*to, _ = starlark.AsString(said.Field(field))
		}
		if data := said.Field("payload"); data != starlark.None {
			d.Data = jsonOf(data)
		}
		if v.Flag("hidden") && to == contract.People {
			d.Data, d.DataBytes = nil, max(d.DataBytes, len(d.Data))
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
	if r.Details != nil && r.Details.NeedsMemory > 0 {
		all = append(all, "other runs leave "+memoryWords(r.Details.NeedsMemory))
	}
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

// memoryWords says how much memory a run waits for.
func memoryWords(bytes int64) string {
	return fmt.Sprintf("%d MiB of memory", (bytes+1<<20-1)>>20)
}

// WaitsFor says in a few words what a run waits for that others hold, "" where it waits for nothing.
func (s *Summary) WaitsFor() string {
	if s.NeedsMemory == 0 {
		return ""
	}
	return "waits for " + memoryWords(s.NeedsMemory)
}

// shownWaits is how much one line names.
const shownWaits = 3
