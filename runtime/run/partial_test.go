package run

import "testing"

// What an agent was stopped at is the last that it said: what it said before it used a tool was
// about what it was going to do.
func TestSaidSoFar(t *testing.T) {
	type event struct{ kind, text string }
	for want, events := range map[string][]event{
		"ab":  {{"delta", "a"}, {"delta", "b"}},
		"b":   {{"delta", "a"}, {"tool", ""}, {"delta", "b"}},
		"a":   {{"delta", "a"}, {"tool", ""}, {"plan", "p"}},
		"two": {{"message", "one"}, {"message", "two"}},
		"":    {{"thinking", "hm"}},
	} {
		st := &Step{}
		for _, e := range events {
			st.saying(e.kind, e.text)
		}
		if st.Said != want {
			t.Errorf("%v: got %q, want %q", events, st.Said, want)
		}
	}
	st := &Step{}
	for range 3 {
		st.saying("delta", string(make([]byte, maxSaid/2)))
	}
	if len(st.Said) != maxSaid {
		t.Errorf("%d bytes are kept, want %d", len(st.Said), maxSaid)
	}
}
