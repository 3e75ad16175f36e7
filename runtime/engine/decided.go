package engine

import (
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
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
				list = append(list, decidedOf(shortDecision(rec), to))
			}
			return nil
		})
	})
	slices.SortStableFunc(list, func(a, b runtime.Decided) int { return a.At.Compare(b.At) })
	return list[max(0, len(list)-maxDecided):], err
}

// decidedOf is a decision as an audience sees it.
func decidedOf(rec *journal.Record, to contract.Audience) runtime.Decided {
	v := rec.View()
	d := runtime.Decided{Gate: rec.Step, At: rec.Time, Voters: v.Texts("voters"), Imported: v.Flag("imported"), DataBytes: int(v.Int("data_bytes"))}
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
