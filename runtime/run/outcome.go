package run

import (
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime/journal"
)

// nextSettled is the next outcome that needs nobody to perform anything: why a request was refused,
// what on_event has ended, an attempt that was cut and must not be tried again, a message that is
// there. took is the name of the message that it takes.
func (s *State) nextSettled() (st *Step, out effect.Outcome, took string) {
	if len(s.Decided) > 0 {
		st = s.Decided[0]
		return st, st.verdict(), ""
	}
	if len(s.Mailbox) == 0 {
		return nil, effect.Outcome{}, ""
	}
	for _, st := range s.takes {
		if i := s.mail(st.Mail); i >= 0 {
			return st, effect.Outcome{Value: s.Mailbox[i].Data}, st.Mail
		}
	}
	return nil, effect.Outcome{}, ""
}

// verdict is the outcome of a step that is decided.
func (st *Step) verdict() effect.Outcome {
	switch {
	case st.Reused != nil:
		return st.Reused.outcome
	case st.Refused != nil:
		v, _ := st.Refused.View()
		return failure(st, effect.ErrorOf(v), nil)
	case st.Shut != nil:
		v, _ := st.Shut.View()
		return failure(st, effect.ErrorOf(v), nil)
	case st.Stopped:
		return success(st, effect.Reply{Status: "stopped", Text: st.Said, Note: st.Note})
	}
	return failure(st, uncertainError(st.Step, st.Cut), nil)
}

// success is the outcome of a step whose attempt succeeded.
func success(st *Step, r effect.Reply) effect.Outcome {
	v := OrNone(r.Value)
	if journal.AgentKind(st.Kind) {
		v = result(st, &r, nil)
	}
	return encoded(st, v)
}

// failure is the outcome of a step that failed for good: the error, raised or returned as the
// step's policy says. r is the last reply, if there was one.
func failure(st *Step, err *effect.Error, r *effect.Reply) effect.Outcome {
	if err.Where == "" {
		err.Where = st.Where
	}
	if st.Policy.OnError == effect.Return {
		switch {
		case journal.AgentKind(st.Kind):
			return encoded(st, result(st, r, err))
		case st.Kind == journal.KindRun:
			return encoded(st, effect.NewRecord(effect.OutcomeType, starlark.False, starlark.String("error"), starlark.None, err.Record()))
		}
	}
	return effect.Outcome{Err: err}
}

// childValue is the outcome of a child run that completed.
func childValue(st *Step, out effect.Payload) effect.Outcome {
	if st.Policy.OnError != effect.Return {
		return effect.Outcome{Value: out}
	}
	v, err := out.Value()
	if err != nil {
		return failure(st, effect.Errorf(effect.KindChild, "%s: the child's output cannot be read: %v", st.Step, err), nil)
	}
	return encoded(st, effect.NewRecord(effect.OutcomeType, starlark.True, starlark.String("ok"), v, starlark.None))
}

func encoded(st *Step, v starlark.Value) effect.Outcome {
	p, err := effect.Encode(v)
	if err != nil { // the error that says so is small
		return failure(st, effect.Errorf(effect.KindInvalid, "%s: the reply cannot be taken: %v", st.Step, err), nil)
	}
	return effect.Outcome{Value: p}
}

// result builds the Result of an agent call.
func result(st *Step, r *effect.Reply, err *effect.Error) *effect.Record {
	if r == nil {
		r = &effect.Reply{}
	}
	status := r.Status
	var failed starlark.Value = starlark.None
	switch {
	case err != nil:
		failed = err.Record()
		status = failedStatus(r, err)
	case status == "":
		status = "ok"
	}
	args, _ := st.Args.View()
	usage := r.Usage
	if usage == nil {
		usage = usageValue(st.Used)
	}
	return effect.NewRecord(effect.ResultType,
		starlark.Bool(status == "ok"), starlark.String(status), OrNone(r.Value), starlark.String(r.Text), failed, starlark.String(r.Note),
		starlark.String(journal.AgentName(args)), starlark.String(r.Backend), starlark.MakeInt(st.Attempt), starlark.Bool(r.Degraded), usage,
		starlark.String(st.Step), toolList(st.Tools))
}

func failedStatus(r *effect.Reply, err *effect.Error) string {
	switch {
	case r.Degraded:
		return "blocked"
	case err.Kind == effect.KindTimeout:
		return "timeout"
	case err.Kind == effect.KindInvalid:
		return "invalid"
	}
	return "error"
}

func violationText(vs []contract.Violation) string {
	lines := make([]string, len(vs))
	for i, v := range vs {
		lines[i] = v.Error()
	}
	return strings.Join(lines, "; ")
}

// violationPayload is the list of problems as the agent request's feedback and errors carry it:
// [{path, got, want}].
func violationPayload(vs []contract.Violation) effect.Payload {
	items := make([]starlark.Value, len(vs))
	for i, v := range vs {
		d := starlark.NewDict(3)
		for _, kv := range [][2]string{{"path", v.Path}, {"got", v.Got}, {"want", v.Want}} {
			_ = d.SetKey(starlark.String(kv[0]), starlark.String(kv[1])) // a fresh dict and a string key
		}
		items[i] = d
	}
	return effect.MustEncode(starlark.NewList(items))
}

// feedbackOf reads what violationPayload wrote.
func feedbackOf(p effect.Payload) []contract.Violation {
	v, err := p.Value()
	l, ok := v.(*starlark.List)
	if err != nil || !ok {
		return nil
	}
	var out []contract.Violation
	for e := range l.Elements() {
		d := effect.ViewOf(e)
		out = append(out, contract.Violation{Path: d.Text("path"), Got: d.Text("got"), Want: d.Text("want")})
	}
	return out
}
