package stdlib_test

import (
	"strings"
	"testing"

	"starling/lang/effect"
	"starling/stdlib"
)

// A script that is not the project's own makes no schedules: they would go on in the name of
// whoever has tried it.
func TestSchedulesOfStrangers(t *testing.T) {
	h := stdlib.Environment(stdlib.Options{}).Handlers[effect.KindSchedule]
	r := &effect.Request{Name: "schedule.set"}
	if err := h.Resolve(&effect.Settings{Grant: "theirs"}, r); err == nil || err.Kind != effect.KindDenied || !strings.Contains(err.Message, "makes no schedules") {
		t.Errorf("got %v, want it denied", err)
	}
	if err := h.Resolve(&effect.Settings{}, r); err != nil {
		t.Errorf("the project's own: %v", err)
	}
}
