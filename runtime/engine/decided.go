package engine

import (
	"slices"

	"starling/lang/contract"
	"starling/runtime"
	"starling/runtime/journal"
)

// maxDecided is how many decisions a run's document has: the newest. The journal has all.
const maxDecided = 1000

// decisions are how the gates of a run were decided, in the order of the decisions. A gate that was
// closed without one is not among them.
func (r *reader) decisions(run string, to contract.Audience) ([]runtime.Decided, error) {
	var list []runtime.Decided
	err := journal.Scan(r.store, journal.PrefixGate+run+"/", func(_ string, v []byte) error {
		return eachRecord(v, func(rec *journal.Record) error {
			if rec.Type == journal.GateDecided {
				list = append(list, journal.DecidedOf(journal.ShortDecision(rec), to))
			}
			return nil
		})
	})
	slices.SortStableFunc(list, func(a, b runtime.Decided) int { return a.At.Compare(b.At) })
	return list[max(0, len(list)-maxDecided):], err
}
