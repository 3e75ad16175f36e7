package journal

import (
	"encoding/binary"
	"fmt"
	"time"

	"starling/lang/effect"
	"starling/runtime"
)

// SummaryOf reads the summary of a run from what the row of the run has, its time of change aside.
func SummaryOf(run string, v effect.View) runtime.Summary {
	s := runtime.Summary{ID: run, Status: runtime.Status(v.Text("status")), Script: v.Text("script"), StartedAt: TimeIn(v, "started"), UpdatedAt: TimeIn(v, "updated"),
		Gates: int(v.Int("gates")), Parent: v.Text("parent"), StartedBy: v.Text("by"), Session: v.Flag("session"), Awaits: v.Flag("awaits"), Error: v.Text("error"),
		Labels: effect.ReadLabels(v.Text("labels"))}
	if due := TimeIn(v, "next_due"); !due.IsZero() {
		s.NextDue = &due
	}
	return s
}

// ReadSummary reads the row of a run: the time of its last change, and what it came to.
func ReadSummary(run string, row []byte) (runtime.Summary, error) {
	if len(row) < 8 {
		return runtime.Summary{}, fmt.Errorf("%w: the row of run %s is too short", runtime.ErrDamaged, run)
	}
	v, err := effect.Payload(row[8:]).View()
	if err != nil {
		return runtime.Summary{}, fmt.Errorf("%w: the row of run %s: %v", runtime.ErrDamaged, run, err)
	}
	s := SummaryOf(run, v)
	s.UpdatedAt = time.UnixMicro(int64(binary.BigEndian.Uint64(row))).UTC()
	return s, nil
}
