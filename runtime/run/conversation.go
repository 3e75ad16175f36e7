package run

import (
	"starling/lang/effect"
	"starling/runtime/journal"
)

// Calls of a run that name the same session go on with one conversation of their backend, one after
// the other. Which conversation that is follows from the journal: the newest one that came to a
// reply. One that an attempt has failed in is left, whether its context is full or it is gone: what
// follows begins anew.

// conversation is that of a session.
type conversation struct{ serves, id string }

// sessionOf is the session that the arguments of a request name, "" for none.
func sessionOf(kind string, args effect.Payload) string {
	if !journal.AgentKind(kind) {
		return ""
	}
	v, _ := args.View()
	return v.Text("session")
}

// talks takes from an event which conversation the attempt in flight leads.
func (st *Step) talks(kind, id string) {
	if kind == "session" && st.InFlight && st.Claim == 0 && id != "" {
		st.Talk = id
	}
}

// hangUp leaves the conversation of an attempt that has ended. What comes after one that was cut
// goes on with it; one that was itself to go on, and was cut before it told of any, leaves that as
// it found it. After a failure the conversation may be what failed.
func (st *Step) hangUp(class string) {
	cut := class == journal.ClassUncertain || class == journal.ClassInterrupted
	if cut && st.Talk != "" {
		st.Session = st.Talk
	}
	st.Interrupted = cut && (st.Talk != "" || st.Interrupted)
	st.Talk = ""
}

// goesOn is the conversation that the next attempt of a step goes on with, "" where it begins anew.
func (s *State) goesOn(st *Step) string {
	name := st.Named
	if name == "" || st.Failures > 0 {
		return ""
	}
	if c := s.Conversations[name]; c.serves == st.serves() {
		return c.id
	}
	return ""
}

// keepConversation takes from the end of an attempt what its session goes on with.
func (s *State) keepConversation(st *Step, class, id string) {
	name := st.Named
	switch {
	case name == "":
	case class == journal.ClassRetryable || class == journal.ClassFinal:
		delete(s.Conversations, name)
	case id != "":
		put(&s.Conversations, name, conversation{st.serves(), id})
	}
}

// conversing refuses a request whose session is at work: two that went on with it at once would not
// know of each other.
func (s *State) conversing(r *effect.Request) *effect.Error {
	name := sessionOf(r.Kind, r.Args)
	if name == "" {
		return nil
	}
	for _, st := range s.Steps {
		if st.Named == name {
			return effect.Errorf(effect.KindRefused, "%s: the session %q is at work at %s; calls of one session come one after the other: give each branch a session of its own", r.Step, name, st.Step)
		}
	}
	return nil
}

func (s *State) conversationsPayload() effect.Payload {
	if len(s.Conversations) == 0 {
		return nil
	}
	var b effect.Object
	for _, name := range sortedKeys(s.Conversations) {
		var o effect.Object
		b.Raw(name, o.Text("serves", s.Conversations[name].serves).Text("id", s.Conversations[name].id).Payload())
	}
	return b.Payload()
}

func conversationsOf(v effect.View) (m map[string]conversation) {
	v.Each(func(name string, f effect.View) { put(&m, name, conversation{f.Text("serves"), f.Text("id")}) })
	return m
}
