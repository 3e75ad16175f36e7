package run

import (
	"starling/runtime"
	"starling/runtime/journal"
)

// spentDaily is all that a run has spent under daily budgets, by their keys, nil for nothing.
func (s *State) spentDaily() (spent map[string]runtime.Usage) {
	for key, u := range s.Spent {
		if _, day := journal.CutDay(key); day != "" {
			put(&spent, key, u)
		}
	}
	return spent
}
