package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// A checkpoint is the state and the machine of a run as they were after one record. It is a cache: a run whose checkpoint is missing, damaged or of
// another format is rebuilt from its journal. The newest two are kept.
//
//	checksum (as for the journal) · uvarint length, state (a dict as effect.Payload) · machine (vm's snapshot with its own header and MAC)

// When a checkpoint is taken: at rest when it is small, and in any case when replaying the journal since the last one would cost too much.
const (
	smallCheckpoint = 32 << 10 // bytes that may ride along with the commit of a suspension
	maxTailBytes    = 64 << 10
	maxTailRecords  = 2000
	maxTailSteps    = 20_000_000
)

func (a *actor) wantsCheckpoint() (want, onlySmall bool) {
	switch {
	case a.s.Status.Ended() || a.s.Session || a.m == nil: // a session is replayed chunk by chunk; a run that was set aside has no machine
		return false, false
	case a.tail.bytes > maxTailBytes || a.tail.records > maxTailRecords || a.m != nil && a.m.Steps()-a.tail.steps > maxTailSteps:
		return true, false
	}
	return a.s.Status == Suspended && a.tail.records > 0, true
}

// checkpoint encodes the run as it is now.
func (a *actor) checkpoint() ([]byte, error) {
	st := a.s.payload()
	b := binary.AppendUvarint(make([]byte, checksumSize), uint64(len(st)))
	b = append(b, st...)
	snap, err := a.m.Snapshot(a.e.macKey)
	if err != nil {
		return nil, fmt.Errorf("run %s cannot be written down: %w", a.run, err)
	}
	return seal(append(b, snap...)), nil
}

func readCheckpoint(run string, b []byte) (*state, []byte, error) {
	b, err := open(b)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, errors.New("checkpoint: malformed length")
	}
	v, err := effect.Payload(b[w : w+int(n)]).View()
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	return stateOf(run, v), b[w+int(n):], nil
}

// payload encodes the state.
func (s *state) payload() effect.Payload {
	var b effect.Object
	b.Int("seq", int64(s.Seq)).Text("status", string(s.Status)).Text("script", s.Script).Text("bundle", s.Bundle).Text("program", s.Program).
		Text("settings", s.Settings).Raw("inputs", s.Inputs).Text("by", s.By).Text("parent", s.Parent).Int("depth", int64(s.Depth)).
		Flag("session", s.Session).Int("started", micros(s.Started)).Int("updated", micros(s.Updated)).Int("deadline", micros(s.Deadline)).
		Flag("busy", s.Busy)
	for _, st := range s.inOrder() {
		b.Raw("step:"+st.Step, st.payload())
	}
	for _, g := range s.openGates() {
		b.Raw("gate:"+g.Name, g.payload())
	}
	for _, id := range sortedKeys(s.Timers) {
		t := s.Timers[id]
		var o effect.Object
		b.Raw("timer:"+id, o.Text("purpose", t.Purpose).Text("step", t.Step).Int("due", micros(t.Due)).Payload())
	}
	for i, m := range s.Mailbox {
		var o effect.Object
		b.Raw(fmt.Sprintf("mail:%d", i), o.Text("name", m.Name).Raw("message", m.Data).Payload())
	}
	return b.Payload()
}

func (st *step) payload() effect.Payload {
	var b effect.Object
	return b.Text("kind", st.Kind).Int("seq", int64(st.Seq)).Int("at", micros(st.At)).Int("class", int64(st.Class)).Text("where", st.Where).
		Raw("args", st.Args).Raw("resolved", st.Resolved).Text("returns", st.Returns).Raw("policy", policyPayload(st.Policy)).
		Int("attempt", int64(st.Attempt)).Flag("ready", st.Ready).Flag("in_flight", st.InFlight).Int("failures", int64(st.Failures)).
		Int("reasks", int64(st.Reasks)).Raw("feedback", st.Feedback).Flag("uncertain", st.Uncertain).Payload()
}

func stateOf(run string, v effect.View) *state {
	s := newState(run)
	s.Seq, s.Status, s.Script, s.Bundle, s.Program = uint64(v.Int("seq")), Status(v.Text("status")), v.Text("script"), v.Text("bundle"), v.Text("program")
	s.Settings, s.Inputs, s.By, s.Parent, s.Depth = v.Text("settings"), v.Raw("inputs"), v.Text("by"), v.Text("parent"), int(v.Int("depth"))
	s.Session, s.Started, s.Updated, s.Deadline = v.Flag("session"), timeOf(v, "started"), timeOf(v, "updated"), timeOf(v, "deadline")
	s.Busy = v.Flag("busy")
	v.Each(func(key string, field starlark.Value) {
		kind, name, ok := cutKind(key)
		if !ok {
			return
		}
		f := effect.ViewOf(field)
		switch kind {
		case "step":
			s.Steps[name] = stepOf(name, f)
		case "gate":
			s.Gates[name] = gateOf(name, f)
		case "timer":
			s.Timers[name] = timer{ID: name, Purpose: f.Text("purpose"), Step: f.Text("step"), Due: timeOf(f, "due")}
		case "mail":
			s.Mailbox = append(s.Mailbox, message{Name: f.Text("name"), Data: f.Raw("message")})
		}
	})
	return s
}

func (g *gate) payload() effect.Payload {
	var o effect.Object
	for _, v := range g.Votes {
		o.Text("vote:"+v.who, v.choice+" ") // a blank keeps an empty choice
	}
	return o.Text("step", g.Step).Int("opened", micros(g.OpenedAt)).Int("deadline", micros(g.Deadline)).Raw("args", g.Args).Int("level", int64(g.Level)).Payload()
}

func gateOf(name string, v effect.View) *gate {
	g := &gate{Name: name, Step: v.Text("step"), OpenedAt: timeOf(v, "opened"), Deadline: timeOf(v, "deadline"), Args: v.Raw("args"), Level: int(v.Int("level"))}
	v.Each(func(key string, _ starlark.Value) {
		if kind, who, ok := cutKind(key); ok && kind == "vote" {
			g.Votes = append(g.Votes, vote{who, strings.TrimSuffix(v.Text(key), " ")})
		}
	})
	return g
}

func stepOf(name string, v effect.View) *step {
	return &step{Step: name, Kind: v.Text("kind"), Seq: uint64(v.Int("seq")), At: timeOf(v, "at"), Class: effect.Class(v.Int("class")), Where: v.Text("where"),
		Args: v.Raw("args"), Resolved: v.Raw("resolved"), Returns: v.Text("returns"), Policy: policyOf(v.Sub("policy")), Attempt: int(v.Int("attempt")),
		Ready: v.Flag("ready"), InFlight: v.Flag("in_flight"), Failures: int(v.Int("failures")), Reasks: int(v.Int("reasks")), Feedback: v.Raw("feedback"),
		Uncertain: v.Flag("uncertain")}
}
