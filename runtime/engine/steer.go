package engine

import (
	"starling/lang/effect"
	"starling/runtime/run"
)

// deliver hands out messages after their commit: into the conversation, or by ending the attempt so that the next goes on with it.
func (a *actor) deliver(tl run.Delivery) {
	f, ok := a.flights[tl.Step]
	st := a.s.Steps[tl.Step]
	switch {
	case !ok || st == nil:
	case st.Steering() == effect.SteerResume:
		f.end(errSteered)
	default:
		taken := a.taken(tl.Step, f.attempt, tl.Seq)
		f.job.tell(effect.Steer{Message: tl.Message, Taken: taken})
	}
}

// taken records that the agent has a message.
func (a *actor) taken(step string, attempt int, seq uint64) func() {
	return func() {
		a.e.post(a.run, event{in: &run.Heard{Step: step, Attempt: attempt, Seq: seq}, parks: true})
	}
}
