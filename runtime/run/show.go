package run

import (
	"cmp"

	"starling/lang/effect"
	"starling/runtime"
)

// Project tells of the project that the run works under.
func (s *State) Project(set *effect.Settings) *runtime.Project {
	p := &runtime.Project{File: set.ProjectFile, From: cmp.Or(runtime.ProjectFrom(set.Imported), runtime.ProjectOwn)}
	switch {
	case s.Imported == nil || set.Imported != "":
	case s.Settings == s.Original:
		p.From = runtime.ProjectKept
	default:
		p.From = runtime.ProjectLocal
	}
	return p
}
