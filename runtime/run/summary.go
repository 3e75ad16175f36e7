package run

import (
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Summary is the row of a run: all that a list shows. It is written with the commit that changes it.
func (s *State) Summary() effect.Payload {
	var b effect.Object
	b.Text("status", string(s.Status)).Text("script", s.Script).Int("started", journal.Micros(s.Started)).Int("gates", int64(len(s.Gates))).
		Int("next_due", journal.Micros(s.NextDue(false))).Text("parent", s.Parent).Flag("session", s.Session).Flag("awaits", len(s.Asks) > 0).
		Flag("original", s.Settings == s.Original).Text("by", s.By)
	if s.Err != nil {
		b.Text("error", s.Err.Message)
	}
	return b.Payload()
}

// SummaryRow is what of a state its summary follows from, beyond what never changes: a turn after which it is the same writes no summary.
type SummaryRow struct {
	status runtime.Status
	script string
	gates  int
	due    int64
	err    *effect.Error
	awaits bool
	pinned bool
}

// SummaryRow is that of the state.
func (s *State) SummaryRow() SummaryRow {
	return SummaryRow{s.Status, s.Script, len(s.Gates), journal.Micros(s.NextDue(false)), s.Err, len(s.Asks) > 0, s.Settings != s.Original}
}

func cutKind(key string) (kind, name string, ok bool) { return strings.Cut(key, ":") }
