package run

// AtRest are the open steps of a run of which nothing more is told until they are settled: they wait
// for an answer, a timer, a message or a child run.
func (s *State) AtRest() map[string]bool {
	rest := map[string]bool{}
	for name, st := range s.Steps {
		rest[name] = native(st.Kind)
	}
	return rest
}
