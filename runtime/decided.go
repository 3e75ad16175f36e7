package runtime

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
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

	// Data is the payload of the answer, where it has one. One that is left out, because the record
	// of the decision has more than 4 KiB or because a contract hides some of it from people, has
	// its size in DataBytes; the journal has it, and the whole reason, of which the first KiB is
	// here then.
	Data      json.RawMessage `json:"data,omitempty"`
	DataBytes int             `json:"data_bytes,omitempty"`

	Voters []string `json:"voters,omitempty"` // all who have chosen so, where it took more than one; By is the last

	Imported bool `json:"imported,omitempty"` // made in the store that the run came from
}

// WaitsFor says in one line what a run waits for that somebody does; "" where it waits for nobody.
func (r *Run) WaitsFor() string {
	var all []string
	if r.Details != nil && r.Details.NeedsMemory > 0 {
		all = append(all, "other runs leave "+memoryWords(r.Details.NeedsMemory))
	}
	if r.Details != nil && r.Details.NeedsWorker != "" {
		all = append(all, r.Details.NeedsWorker)
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

// WaitsFor says in a few words what a run waits for that others hold, "" where it waits for
// nothing.
func (s *Summary) WaitsFor() string {
	if s.NeedsMemory == 0 {
		return ""
	}
	return "waits for " + memoryWords(s.NeedsMemory)
}

// shownWaits is how much one line names.
const shownWaits = 3
