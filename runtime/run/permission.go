package run

import (
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// An agent may ask for leave while it works: see [effect.Leave]. The question is a system gate of
// the step, with the options approve and reject, and its decision is kept with the step: a further
// attempt that asks the same is not asked again, and one that comes to a question which is still
// open waits for the same answer. The gate closes with the step.

// permission is what was decided about one question.
type permission struct {
	Asked   string // identity of the question
	Granted bool
}

// IdentityOf tells questions apart: by what the agent's adapter says, else by all that is asked.
func IdentityOf(question effect.Payload) string {
	v, _ := question.View()
	if same := v.Text("same"); same != "" {
		return same
	}
	return journal.HashOf(question)
}

func permissionGate(step string) string { return runtime.GatePermission + step }

// ask opens the gate of a question, unless it was decided before or is open.
func (t *Turn) ask(step string, attempt int, question effect.Payload) {
	st := t.flying(step, attempt)
	if st == nil || st.Stopped {
		return // its context has ended
	}
	same := IdentityOf(question)
	for _, p := range st.Permissions {
		if p.Asked == same {
			t.Effects.Granted = append(t.Effects.Granted, Granted{Step: step, permission: p})
			return
		}
	}
	if g := t.State.Gates[permissionGate(step)]; g != nil {
		if IdentityOf(g.Args) == same {
			return
		}
		t.withdrawGate(g, "") // an attempt before has asked that
	}
	t.record(journal.GateOpened, permissionGate(step), (&effect.Object{}).Raw("args", question).Payload())
}

// Granted is a decision for the attempt in flight that waits for it.
type Granted struct {
	Step string
	permission
}

// decidePermission records the decision of a question and hands it on.
func (t *Turn) decidePermission(name, step, choice string, b *effect.Object) {
	p := permission{IdentityOf(t.State.Gates[name].Args), choice == "approve"}
	t.record(journal.GateDecided, name, b.Text("permission", step).Text("asked", p.Asked).Flag("granted", p.Granted).Payload())
	t.Effects.Granted = append(t.Effects.Granted, Granted{Step: step, permission: p})
}

func permissionsPayload(list []permission) effect.Payload {
	if len(list) == 0 {
		return nil
	}
	var b effect.Object
	for _, p := range list {
		var o effect.Object
		b.Raw(p.Asked, o.Flag("granted", p.Granted).Payload())
	}
	return b.Payload()
}

func permissionsOf(v effect.View) (list []permission) {
	v.Each(func(asked string, f effect.View) { list = append(list, permission{asked, f.Flag("granted")}) })
	return list
}
