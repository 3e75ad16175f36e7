package run

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// When a checkpoint is taken: at rest when it is small, and to be kept when replaying the journal
// since the last one that is kept would cost too much. What is too much grows with the size of a
// checkpoint, so that a run with a large heap does not write it down again for every little step.
const (
	maxTailBytes   = 64 << 10
	maxTailRecords = 2000
	maxTailSteps   = 20_000_000
	bytesPerRecord = 100 // of a checkpoint, that cost as much to write as a record to replay
)

// Tail measures the journal since the newest checkpoint that is kept. A head has it beside state
// and machine.
type Tail struct {
	Records int
	Bytes   int
	Steps   uint64 // of the machine when that was taken
	Size    int    // bytes of the newest checkpoint of all; a head does not say its own
}

func (l *Tail) blob() []byte {
	var b []byte
	for _, n := range []uint64{uint64(l.Records), uint64(l.Bytes), l.Steps} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func tailOf(b []byte) Tail {
	var of [3]uint64
	for i := range of {
		n, w := binary.Uvarint(b)
		of[i], b = n, b[max(w, 0):]
	}
	return Tail{Records: int(of[0]), Bytes: int(of[1]), Steps: of[2]}
}

// Long tells whether replaying the tail would cost too much.
func (l Tail) Long(steps uint64) bool {
	return l.Bytes > max(maxTailBytes, l.Size) || l.Records > max(maxTailRecords, l.Size/bytesPerRecord) || steps-l.Steps > maxTailSteps
}

// This file is the form in which a checkpoint has a state: a dict of what is not as it is in most
// runs, with a dict for each open step, gate and timer.

// Payload encodes the state; head is as for a checkpoint.
func (s *State) Payload(head *Tail) effect.Payload {
	var b effect.Object
	if head != nil {
		if kin := s.originBlob(); kin != nil {
			b.Blob("kin", kin).Raw("inputs", s.Inputs)
		}
		b.Blob("beside", head.blob())
	}
	if s.Status != runtime.Suspended { // as nearly all are
		b.Text("status", string(s.Status))
	}
	b.Int("seq", int64(s.Seq)).Int("updated", journal.Micros(s.Updated)).Int("deadline", journal.Micros(s.Deadline)).Text("overtime", string(s.OnDeadline)).
		Flag("busy", s.Busy).Flag("bare", s.Bare).Texts("without", s.Without).Raw("shared", s.memory.payload()).Flag("queues", s.Queues).Raw("conversations", s.conversationsPayload()).Flag("trees", s.Trees)
	if s.Moved {
		b.Text("script", s.Script).Text("bundle", s.Bundle).Text("program", s.Program)
	}
	if s.Settings != s.Original {
		b.Text("settings", s.Settings)
	}
	for _, name := range sortedKeys(s.Reused) { // before the steps that take them
		b.Raw("recall:"+name, s.Reused[name].payload())
	}
	for _, st := range s.InOrder() {
		b.Raw("step:"+st.Step, st.payload())
	}
	for _, g := range s.OpenGates() {
		inner := *g
		if st := s.Steps[g.Step]; st != nil && bytes.Equal(st.Args, g.Args) {
			inner.Args = nil
		}
		b.Raw("gate:"+g.Name, inner.Payload())
	}
	for _, t := range s.timers.all() {
		var o effect.Object
		b.Raw("timer:"+timerID(t.Purpose, t.Step), o.Text("purpose", t.Purpose).Text("step", t.Step).Int("due", journal.Micros(t.Due)).Payload())
	}
	for _, address := range sortedKeys(s.Spent) {
		b.Raw("spent:"+address, journal.UsagePayload(s.Spent[address], s.Raised[address]))
	}
	for _, tree := range sortedKeys(s.Owned) {
		var o effect.Object
		b.Raw("owned:"+tree, o.Texts("paths", s.Owned[tree]).Payload())
	}
	for i, m := range s.Mailbox {
		var o effect.Object
		b.Raw(fmt.Sprintf("mail:%d", i), o.Text("name", m.Name).Raw("message", m.Data).Payload())
	}
	return b.Payload()
}

// Excerpt is the part of a state that an attempt of a step is made of, encoded as the whole is: for
// a process that has nothing else of the run.
func (s *State) Excerpt(step string) effect.Payload {
	st := s.Steps[step]
	part := NewState(s.ID)
	part.Seq, part.Settings, part.Steps[step], part.Owned = s.Seq, s.Settings, st, s.Owned
	if c, ok := s.Conversations[st.Named]; ok {
		part.Conversations = map[string]conversation{st.Named: c}
	}
	args, _ := st.Args.View()
	if name := args.Text("memory"); name != "" && s.memory.chats[name] != nil {
		part.memory.chats = map[string]*chat{name: s.memory.chats[name]}
	}
	return part.Payload(nil)
}

// StateOf reads what [State.Payload] wrote.
func StateOf(run string, v effect.View) *State {
	s := NewState(run)
	s.TailStats, s.Inputs = tailOf(v.Blob("beside")), v.Raw("inputs")
	s.loadOrigin(v.Blob("kin"))
	s.Seq, s.Status, s.Settings, s.Moved = uint64(v.Int("seq")), cmp.Or(runtime.Status(v.Text("status")), runtime.Suspended), v.Text("settings"), v.Has("bundle")
	s.Script, s.Bundle, s.Program = v.Text("script"), v.Text("bundle"), v.Text("program")
	s.Updated, s.Deadline, s.OnDeadline = journal.TimeIn(v, "updated"), journal.TimeIn(v, "deadline"), runtime.OnDeadline(v.Text("overtime"))
	s.Busy, s.Bare, s.Without, s.memory, s.Queues = v.Flag("busy"), v.Flag("bare"), v.Texts("without"), memoryOf(v.Sub("shared")), v.Flag("queues")
	s.Conversations = conversationsOf(v.Sub("conversations"))
	s.Trees = v.Flag("trees")
	v.Each(func(key string, f effect.View) {
		kind, name, ok := cutKind(key)
		if !ok {
			return
		}
		switch kind {
		case "recall":
			put(&s.Reused, name, reusedOutcomeOf(f))
		case "step":
			st := stepOf(name, f)
			if f.Flag("recalls") {
				st.Reused = s.Reused[name]
			}
			s.adopt(st)
		case "gate":
			g := gateOf(name, f)
			if st := s.Steps[g.Step]; st != nil && g.Args == nil { // steps stand before gates
				g.Args = st.Args
			}
			s.open(g)
		case "timer":
			s.timers.set(timer{Purpose: f.Text("purpose"), Step: f.Text("step"), Due: journal.TimeIn(f, "due")})
		case "spent":
			s.spentOf(name, f)
		case "owned":
			put(&s.Owned, name, f.Texts("paths"))
		case "mail":
			s.Mailbox = append(s.Mailbox, message{Name: f.Text("name"), Data: f.Raw("message")})
		}
	})
	return s
}

// Payload is what the row of an open gate has.
func (g *Gate) Payload() effect.Payload {
	var o effect.Object
	for _, v := range g.Votes {
		o.Text("vote:"+v.who, v.choice+" ") // a blank keeps an empty choice
	}
	return o.Text("step", g.Step).Int("seq", int64(g.Seq)).Int("opened", journal.Micros(g.OpenedAt)).Int("deadline", journal.Micros(g.Deadline)).Raw("args", g.Args).Int("level", int64(g.Level)).Payload()
}

func gateOf(name string, v effect.View) *Gate {
	g := &Gate{Name: name, Step: v.Text("step"), Seq: uint64(v.Int("seq")), OpenedAt: journal.TimeIn(v, "opened"), Deadline: journal.TimeIn(v, "deadline"), Args: v.Raw("args"), Level: int(v.Int("level"))}
	v.Each(func(key string, _ effect.View) {
		if kind, who, ok := cutKind(key); ok && kind == "vote" {
			g.Votes = append(g.Votes, vote{who, strings.TrimSuffix(v.Text(key), " ")})
		}
	})
	return g
}
