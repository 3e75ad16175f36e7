package run

// Contents are the hashes of the contents that a run in this state goes on to need.
func (s *State) Contents() []string { return []string{s.Bundle, s.Settings, s.Original} }
