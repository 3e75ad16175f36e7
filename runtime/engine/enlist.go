package engine

import "starling/lang/effect"

// enlist tells of a process that is started for the attempt, and warns, at the first, of what this
// machine cannot tell about who calls.
func (j *job) enlist(w effect.Worker) (dismiss func()) {
	if doubt := j.e.opts.Doubt; doubt != "" {
		j.doubt.Do(func() { j.at.Warn("who calls cannot be told for certain: " + doubt) })
	}
	if j.e.opts.Enlist == nil {
		return func() {}
	}
	return j.e.opts.Enlist(w)
}
