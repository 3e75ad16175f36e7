package engine

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"starling/lang/effect"
	"starling/runtime"
)

// summary is the row of a run: all that a list shows. It is written with the commit that changes it.
func (s *state) summary() effect.Payload {
	var b effect.Object
	b.Text("status", string(s.Status)).Text("script", s.Script).Int("started", micros(s.Started)).Int("gates", int64(len(s.Gates))).
		Int("next_due", micros(s.due(false))).Text("parent", s.Parent).Flag("session", s.Session).Flag("awaits", len(s.asks) > 0).
		Flag("original", s.Settings == s.original).Text("by", s.By)
	if s.Err != nil {
		b.Text("error", s.Err.Message)
	}
	return b.Payload()
}

// row is what of a state its summary follows from, beyond what never changes: a turn after which it is the same writes no summary.
type row struct {
	status runtime.Status
	script string
	gates  int
	due    int64
	err    *effect.Error
	awaits bool
	pinned bool
}

func (s *state) row() row {
	return row{s.Status, s.Script, len(s.Gates), micros(s.due(false)), s.Err, len(s.asks) > 0, s.Settings != s.original}
}

func summaryOf(run string, v effect.View) runtime.Summary {
	s := runtime.Summary{ID: run, Status: runtime.Status(v.Text("status")), Script: v.Text("script"), StartedAt: timeOf(v, "started"), UpdatedAt: timeOf(v, "updated"),
		Gates: int(v.Int("gates")), Parent: v.Text("parent"), StartedBy: v.Text("by"), Session: v.Flag("session"), Awaits: v.Flag("awaits"), Error: v.Text("error")}
	if due := timeOf(v, "next_due"); !due.IsZero() {
		s.NextDue = &due
	}
	return s
}

func cutKind(key string) (kind, name string, ok bool) { return strings.Cut(key, ":") }

// readSummary reads the row of a run: the time of its last change, and what it came to.
func readSummary(run string, row []byte) (runtime.Summary, error) {
	if len(row) < 8 {
		return runtime.Summary{}, fmt.Errorf("%w: the row of run %s is too short", runtime.ErrDamaged, run)
	}
	v, err := effect.Payload(row[8:]).View()
	if err != nil {
		return runtime.Summary{}, fmt.Errorf("%w: the row of run %s: %v", runtime.ErrDamaged, run, err)
	}
	s := summaryOf(run, v)
	s.UpdatedAt = time.UnixMicro(int64(binary.BigEndian.Uint64(row))).UTC()
	return s, nil
}
