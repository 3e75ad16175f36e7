package runtime

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"starling/lang/effect"
	"starling/lang/vm"
)

// A checkpoint is the state and the machine of a run as they were after one record. It is a cache: a run whose checkpoint is missing, damaged or of
// another format is rebuilt from its journal.
//
//	checksum (as for the journal) · uvarint length, state (a dict as effect.Payload) · machine (vm's snapshot with its own header and MAC)
//
// A small one of a run that rests or leaves memory is the run's head in the store: where the run stands and what it goes on from are one value, which the next commit replaces. So it is never
// older than the journal, and a load that finds it looks no further. The others are kept under the number of their record, the newest two; when one is due does not depend on how often the run
// has rested, so that no more is replayed if the head is damaged, or if the run's process ends while it is in motion.
//
// What a run was started with is in its first record, and not in its checkpoints; a head has the inputs and the name of what it shares with runs that were started alike. A gate's arguments are those of its step, where it has one.
// A large one is cut into parts, each a value of its own; it is whole when its checksum says so.

// When a checkpoint is taken: at rest when it is small, and to be kept when replaying the journal since the last one that is kept would cost too much. What is too much grows
// with the size of a checkpoint, so that a run with a large heap does not write it down again for every little step.
const (
	smallCheckpoint = MaxHead // bytes that may ride along with the commit of a turn
	checkpointPart  = 4 << 20 // bytes of one value
	maxTailBytes    = 64 << 10
	maxTailRecords  = 2000
	maxTailSteps    = 20_000_000
	bytesPerRecord  = 100 // of a checkpoint, that cost as much to write as a record to replay
)

// tail measures the journal since the newest checkpoint that is kept. A head has it beside state and machine.
type tail struct {
	records int
	bytes   int
	steps   uint64 // of the machine when that was taken
	size    int    // bytes of the newest checkpoint of all; a head does not say its own
}

func (l *tail) blob() []byte {
	var b []byte
	for _, n := range []uint64{uint64(l.records), uint64(l.bytes), l.steps} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func tailOf(b []byte) tail {
	var of [3]uint64
	for i := range of {
		n, w := binary.Uvarint(b)
		of[i], b = n, b[max(w, 0):]
	}
	return tail{records: int(of[0]), bytes: int(of[1]), steps: of[2]}
}

// kinBlob is the name of the run's origin and when the run was started, as a head has them: with the inputs, that spares a load the first record where another run was started alike.
func (s *state) kinBlob() []byte {
	kin := s.named()
	if kin == nil {
		return nil
	}
	return binary.AppendVarint(bytes.Clone(kin), micros(s.Started))
}

func (s *state) takeKin(b []byte) {
	if len(b) > kinSize {
		at, _ := binary.Varint(b[kinSize:])
		s.kin, s.Started = b[:kinSize:kinSize], time.UnixMicro(at).UTC()
	}
}

// long tells whether replaying the tail would cost too much.
func (l tail) long(steps uint64) bool {
	return l.bytes > max(maxTailBytes, l.size) || l.records > max(maxTailRecords, l.size/bytesPerRecord) || steps-l.steps > maxTailSteps
}

// point is a checkpoint that the store holds.
type point struct {
	seq   uint64
	parts int
}

// checkpoint is one in the making; nil is none.
type checkpoint struct {
	seq   uint64
	bytes []byte
	steps uint64 // of the machine
	head  bool   // it becomes the run's head
}

func (c *checkpoint) small() bool { return c != nil && len(c.bytes) <= smallCheckpoint }

// checkpointDue makes a checkpoint if the turn should end with one. That it cannot be made costs time when the run is loaded, and nothing else.
func (a *actor) checkpointDue(t *turn, length *tail) *checkpoint {
	if a.s.Status.Ended() || a.s.Session || t.m == nil || len(t.records) == 0 { // a session is replayed chunk by chunk
		return nil
	}
	long := t.moved || length.long(t.m.Steps()) // no older checkpoint serves a run that was moved
	if !long && (a.s.Status != Suspended || length.size > smallCheckpoint) {
		return nil
	}
	var head *tail
	if !long {
		head = length
	}
	c, err := a.e.checkpoint(a.s, t.m, head)
	if err != nil {
		a.e.log("%v", err)
		return nil
	}
	length.size = len(c.bytes)
	if !long && !c.small() {
		return nil
	}
	c.head = !long
	return c
}

// checkpoint encodes a run as its state and its machine have it; head is nil for one that is kept.
func (e *Local) checkpoint(s *state, m *vm.Machine, head *tail) (*checkpoint, error) {
	c := &checkpoint{seq: s.Seq, steps: m.Steps()}
	s.keepCeilings(m.Ceilings())
	st := s.payload(head)
	c.bytes = binary.AppendUvarint(make([]byte, checksumSize), uint64(len(st)))
	c.bytes = append(c.bytes, st...)
	err := guarded(func() error {
		snap, err := m.Snapshot(e.macKey)
		c.bytes = seal(append(c.bytes, snap...))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("run %s cannot be written down: %w", s.ID, err)
	}
	return c, nil
}

func pointKey(run string, seq uint64, part int) []byte {
	return binary.BigEndian.AppendUint16(seqKey(prefixCheckpoint, run, seq), uint16(part))
}

// ride adds a small checkpoint to the batch of the turn that it ends.
func (c *checkpoint) ride(a *actor, b *Batch) {
	if c.head {
		b.Fences[len(b.Fences)-1].Head = c.bytes // of the turn's records
	} else {
		b.Writes = append(b.Writes, c.writes(a)...)
	}
}

// writes are the values of a checkpoint that is kept, and the end of the one that is superseded.
func (c *checkpoint) writes(a *actor) []Write {
	a.findPoints()
	var all []Write
	for part := range slices.Chunk(c.bytes, checkpointPart) {
		all = append(all, Write{pointKey(a.run, c.seq, len(all)), part})
	}
	if len(a.points) < 2 {
		return all
	}
	for part := range a.points[0].parts {
		all = append(all, Write{pointKey(a.run, a.points[0].seq, part), nil})
	}
	return all
}

// checkpointed notes a checkpoint that rode along, or writes down one that was too large for that.
func (a *actor) checkpointed(c *checkpoint) error {
	if c == nil {
		return nil
	}
	if !c.small() {
		if err := a.writeApart(c); err != nil {
			return err
		}
	}
	a.saved = c.seq
	if !c.head {
		a.points = append(a.points, point{c.seq, (len(c.bytes) + checkpointPart - 1) / checkpointPart})
		a.points = a.points[max(0, len(a.points)-2):]
		a.tail = tail{steps: c.steps, size: len(c.bytes)}
	}
	return nil
}

// writeApart writes a checkpoint of what is durable already, one value a commit.
func (a *actor) writeApart(c *checkpoint) error {
	for _, w := range c.writes(a) {
		b := &Batch{Fences: []Fence{{Run: a.run, Expect: c.seq, Next: c.seq}}, Writes: []Write{w}}
		if err := a.e.commit(context.Background(), b); err != nil {
			return err
		}
	}
	return nil
}

// writeDown writes a checkpoint of the run as it is, when the newest one is older.
func (a *actor) writeDown() error {
	if a.s == nil || a.m == nil || a.s.Status.Ended() || a.s.Session || a.saved == a.s.Seq {
		return nil
	}
	c, err := a.e.checkpoint(a.s, a.m, &a.tail)
	if err != nil {
		a.e.log("%v", err)
		return nil
	}
	if c.small() {
		err = a.e.commit(context.Background(), &Batch{Fences: []Fence{{Run: a.run, Expect: c.seq, Next: c.seq, Head: c.bytes}}})
	} else {
		err = a.writeApart(c)
		a.points, a.sought = nil, false
	}
	if err == nil {
		a.saved = c.seq
	}
	return err
}

// findPoints looks which checkpoints the store has, where the load did not.
func (a *actor) findPoints() {
	if a.sought {
		return
	}
	sv := &saved{run: a.run}
	if err := sv.readCheckpoints(a.e.store, nil, math.MaxInt); err != nil {
		a.e.log("run %s: older checkpoints stay where they are: %v", a.run, err)
	}
	a.points, a.sought = sv.points, true
}

// readHead takes the head: then it is all that there is to read, but for the first record where no other run is known that was started alike.
func (sv *saved) readHead(s Store, head []byte) bool {
	if len(head) == 0 {
		return false
	}
	st, snap, err := readCheckpoint(sv.run, head)
	if err != nil {
		return false
	}
	if !sv.readKin(s, st) {
		if _, err := sv.readStart(s); err != nil || sv.start == nil || st.Seq <= sv.begins {
			return false
		}
	}
	sv.take(st, snap, len(head))
	sv.headed, st.beside.size = true, len(head)
	sv.length = st.beside
	return true
}

// readKin takes what the run has in common with others from those, or has it ready for them.
func (sv *saved) readKin(s Store, st *state) bool {
	if sv.origins == nil || st.kin == nil {
		return false
	}
	o, err := sv.origins.of(string(st.kin), func() (*origin, error) {
		first, err := firstRecord(s, sv.run)
		if err != nil {
			return nil, err
		}
		o := originOf(first.view())
		if !bytes.Equal(o.kin(), st.kin) {
			err = fmt.Errorf("%w: run %s was not started like its head says", ErrDamaged, sv.run)
		}
		return o, err
	})
	if err == nil {
		st.likeOthers(o)
	}
	return err == nil
}

// readCheckpoints takes the newest checkpoint that serves, the head or one that is kept, leaving out some, and notes which are kept. One whose value cannot be read is as one that was not
// written, and so is one from before the horizon or from behind what is wanted.
func (sv *saved) readCheckpoints(s Store, head []byte, skip int) error {
	all, err := sv.checkpoints(s)
	for _, c := range all {
		sv.points = append(sv.points, c.point)
	}
	sv.sought = err == nil
	if head != nil {
		all = append(all, stored{body: head})
	}
	for i := len(all) - 1 - skip; i >= 0 && err == nil; i-- {
		st, snap, err := readCheckpoint(sv.run, all[i].body)
		if err == nil && st.Seq > sv.begins && (sv.upTo == 0 || st.Seq <= sv.upTo) {
			sv.take(st, snap, len(all[i].body))
			break
		}
	}
	return err
}

// stored is a checkpoint as the store has it.
type stored struct {
	point
	body []byte
}

// checkpoints reads all that are kept, the newest last.
func (sv *saved) checkpoints(s Store) (all []stored, err error) {
	err = scanEach(s, prefixCheckpoint+sv.run, func(rest string, v []byte, _ error) error {
		if len(rest) != 10 {
			return fmt.Errorf("%w: run %s has a malformed checkpoint key", ErrDamaged, sv.run)
		}
		seq := binary.BigEndian.Uint64([]byte(rest))
		if n := len(all); n == 0 || all[n-1].seq != seq {
			all = append(all, stored{point: point{seq: seq}})
		}
		last := &all[len(all)-1]
		last.parts++
		last.body = append(last.body, v...)
		return nil
	})
	return all, err
}

// take begins with what a checkpoint or a keyframe has, completed by what the run was started with.
func (sv *saved) take(st *state, machine []byte, size int) {
	sv.state, sv.machine, sv.saved = st, machine, st.Seq
	sv.length = tail{size: size}
	at := *st
	if sv.start != nil {
		st.begun(sv.start, sv.start.view())
	}
	if at.moved {
		st.Script, st.Bundle, st.Program = at.Script, at.Bundle, at.Program
	}
	if st.Settings == "" {
		st.Settings = st.original
	}
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

// payload encodes the state; head is as for a checkpoint.
func (s *state) payload(head *tail) effect.Payload {
	var b effect.Object
	if head != nil {
		if kin := s.kinBlob(); kin != nil {
			b.Blob("kin", kin).Raw("inputs", s.Inputs)
		}
		b.Blob("beside", head.blob())
	}
	if s.Status != Suspended { // as nearly all are
		b.Text("status", string(s.Status))
	}
	b.Int("seq", int64(s.Seq)).Int("updated", micros(s.Updated)).Int("deadline", micros(s.Deadline)).Text("overtime", string(s.Overtime)).
		Flag("busy", s.Busy).Flag("bare", s.Bare).Texts("without", s.Without).Raw("shared", s.shared.payload()).Flag("queues", s.Queues).Raw("conversations", s.conversationsPayload()).Flag("trees", s.Trees)
	if s.moved {
		b.Text("script", s.Script).Text("bundle", s.Bundle).Text("program", s.Program)
	}
	if s.Settings != s.original {
		b.Text("settings", s.Settings)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Recalls)) { // before the steps that take them
		b.Raw("recall:"+name, s.Recalls[name].payload())
	}
	for _, st := range s.inOrder() {
		b.Raw("step:"+st.Step, st.payload())
	}
	for _, g := range s.openGates() {
		inner := *g
		if st := s.Steps[g.Step]; st != nil && bytes.Equal(st.Args, g.Args) {
			inner.Args = nil
		}
		b.Raw("gate:"+g.Name, inner.payload())
	}
	for _, t := range s.timers.all() {
		var o effect.Object
		b.Raw("timer:"+timerID(t.Purpose, t.Step), o.Text("purpose", t.Purpose).Text("step", t.Step).Int("due", micros(t.Due)).Payload())
	}
	for _, address := range slices.Sorted(maps.Keys(s.Spent)) {
		b.Raw("spent:"+address, s.Spent[address].payload(s.Raised[address]))
	}
	for _, tree := range slices.Sorted(maps.Keys(s.Owned)) {
		var o effect.Object
		b.Raw("owned:"+tree, o.Texts("paths", s.Owned[tree]).Payload())
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
		Int("reasks", int64(st.Reasks)).Raw("feedback", st.Feedback).Text("session", st.Session).Raw("refused", st.Refused).Flag("stopped", st.Stopped).Text("said", st.Said).Flag("aside", st.Aside).Raw("used", usedPayload(st.Used)).Text("note", st.Note).
		Text("cut", st.Cut).Text("mail", st.Mail).Texts("backends", st.Backends).Texts("pulls", st.Pulls).Texts("steers", st.Steers).Raw("told", toldPayload(st.Told)).Raw("permissions", permissionsPayload(st.Permissions)).Flag("offered", st.Offered).Int("claim", int64(st.Claim)).Text("worker", st.Worker).Int("lease", int64(st.Lease)).Flag("breaker", st.Breaker).Int("serving", int64(st.Serving)).Raw("shut", st.Shut).
		Flag("recalls", st.Recall != nil).Raw("ceilings", effect.CeilingsPayload(st.Ceilings)).Text("held", st.Held).
		Int("heard", int64(st.Heard)).Texts("changes", st.Changes).Raw("overlaps", overlapsPayload(st.Overlaps)).Flag("behind", st.Behind).Text("tree", st.Tree).Int("limit", int64(st.Limit)).Int("total", int64(st.Total)).Payload()
}

func stateOf(run string, v effect.View) *state {
	s := newState(run)
	s.beside, s.Inputs = tailOf(v.Blob("beside")), v.Raw("inputs")
	s.takeKin(v.Blob("kin"))
	s.Seq, s.Status, s.Settings, s.moved = uint64(v.Int("seq")), cmp.Or(Status(v.Text("status")), Suspended), v.Text("settings"), v.Has("bundle")
	s.Script, s.Bundle, s.Program = v.Text("script"), v.Text("bundle"), v.Text("program")
	s.Updated, s.Deadline, s.Overtime = timeOf(v, "updated"), timeOf(v, "deadline"), Overtime(v.Text("overtime"))
	s.Busy, s.Bare, s.Without, s.shared, s.Queues = v.Flag("busy"), v.Flag("bare"), v.Texts("without"), sharedOf(v.Sub("shared")), v.Flag("queues")
	s.Conversations = conversationsOf(v.Sub("conversations"))
	s.Trees = v.Flag("trees")
	v.Each(func(key string, f effect.View) {
		kind, name, ok := cutKind(key)
		if !ok {
			return
		}
		switch kind {
		case "recall":
			put(&s.Recalls, name, recallOf(f))
		case "step":
			st := stepOf(name, f)
			if f.Flag("recalls") {
				st.Recall = s.Recalls[name]
			}
			s.adopt(st)
		case "gate":
			g := gateOf(name, f)
			if st := s.Steps[g.Step]; st != nil && g.Args == nil { // steps stand before gates
				g.Args = st.Args
			}
			s.Gates[name] = g
		case "timer":
			s.timers.set(timer{Purpose: f.Text("purpose"), Step: f.Text("step"), Due: timeOf(f, "due")})
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

func (g *gate) payload() effect.Payload {
	var o effect.Object
	for _, v := range g.Votes {
		o.Text("vote:"+v.who, v.choice+" ") // a blank keeps an empty choice
	}
	return o.Text("step", g.Step).Int("seq", int64(g.Seq)).Int("opened", micros(g.OpenedAt)).Int("deadline", micros(g.Deadline)).Raw("args", g.Args).Int("level", int64(g.Level)).Payload()
}

func gateOf(name string, v effect.View) *gate {
	g := &gate{Name: name, Step: v.Text("step"), Seq: uint64(v.Int("seq")), OpenedAt: timeOf(v, "opened"), Deadline: timeOf(v, "deadline"), Args: v.Raw("args"), Level: int(v.Int("level"))}
	v.Each(func(key string, _ effect.View) {
		if kind, who, ok := cutKind(key); ok && kind == "vote" {
			g.Votes = append(g.Votes, vote{who, strings.TrimSuffix(v.Text(key), " ")})
		}
	})
	return g
}

func stepOf(name string, v effect.View) *step {
	st := &step{Step: name, Kind: v.Text("kind"), Named: sessionOf(v.Text("kind"), v.Raw("args")), Seq: uint64(v.Int("seq")), At: timeOf(v, "at"), Class: effect.Class(v.Int("class")), Where: v.Text("where"),
		Args: v.Raw("args"), Resolved: v.Raw("resolved"), Returns: v.Text("returns"), Policy: policyOf(v.Sub("policy")), Attempt: int(v.Int("attempt")),
		Ready: v.Flag("ready"), InFlight: v.Flag("in_flight"), Failures: int(v.Int("failures")), Reasks: int(v.Int("reasks")), Feedback: v.Raw("feedback"), Session: v.Text("session"),
		Refused: v.Raw("refused"), Stopped: v.Flag("stopped"), Said: v.Text("said"), Aside: v.Flag("aside"), Used: keptUsage(v.Sub("used")), Note: v.Text("note"), Cut: v.Text("cut"), Mail: v.Text("mail"),
		Backends: v.Texts("backends"), Pulls: v.Texts("pulls"), Steers: v.Texts("steers"), Told: toldOf(v.Sub("told")), Permissions: permissionsOf(v.Sub("permissions")), Offered: v.Flag("offered"), Claim: int(v.Int("claim")), Worker: v.Text("worker"),
		Lease: time.Duration(v.Int("lease")), Breaker: v.Flag("breaker"), Serving: int(v.Int("serving")), Shut: v.Raw("shut"),
		Ceilings: effect.CeilingsOf(v.Raw("ceilings")), Held: v.Text("held"), Heard: int(v.Int("heard")),
		Changes: v.Texts("changes"), Overlaps: overlapsOf(v.Sub("overlaps")), Behind: v.Flag("behind"), Tree: v.Text("tree")}
	st.limits(v)
	return st
}
