package agent

import "starling/lang/effect"

// Names lists the agents that a run with these settings would find: those of its fake, as the dict agents or their functions call them, and those of its project
// file. An error says why the fake or the file cannot be read.
func Names(load LoadScript, s *effect.Settings) ([]string, error) {
	f := &fakes{load: load}
	fake, fault := f.of(s)
	if fault != nil {
		return nil, fault
	}
	p, fault := projectOf(s)
	if fault != nil {
		return nil, fault
	}
	return append(p.Names(), fake.names()...), nil
}
