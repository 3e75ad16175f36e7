package temporal

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"starling/lang"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// How long a turn lets a machine go on that does not come to rest, before its records are written
// down and a cancel can come in between; and how much one turn writes at most, for a history takes
// no more than 2 MB at once.
const (
	turnTime  = 700 * time.Millisecond
	turnBytes = 512 << 10
)

// turner takes turns: what a worker has beside its connection.
type turner struct {
	desk   *engine.Desk
	env    *effect.Environment
	getenv func(string) (string, bool)
	quotas *quotas
	label  func(s *effect.Settings, backend string) string // queue of the workers for a backend
	log    func(format string, args ...any)
	*library
}

// macKey authenticates snapshots. Who can write a history may have a worker run what he likes, so
// it keeps nobody out; it tells of damage.
var macKey = []byte("starling/temporal: a history is trusted")

func (w *turner) equip(b *book) func(*run.Host) {
	return func(h *run.Host) {
		h.World, h.Commons, h.Quotas, h.MacKey = world{w.env, w.getenv, b.past, b}, nothingShared{}, w.quotas, macKey
	}
}

// turn takes what waits in a book. It changes the state and the machine, and nothing else of the
// book: what it leaves is applied when it is recorded.
func (w *turner) turn(ctx context.Context, b *book) (*turned, error) {
	now := time.UnixMicro(b.now).UTC()
	if b.loaded != nil && b.loaded.State.Seq != b.seq {
		b.loaded = nil // a turn before was not recorded
	}
	if err := w.load(b, now); err != nil {
		return nil, err
	}
	t := &taking{turner: w, ctx: ctx, book: b, now: now, out: &turned{}}
	if b.loaded.Poison != nil {
		return t.quarantine(b.loaded.Poison.Error())
	}
	inputs, err := t.arrive()
	if err != nil {
		return nil, err
	}
	out, err := t.take(inputs)
	if err != nil {
		b.loaded = nil
	}
	return out, err
}

func (w *turner) load(b *book, now time.Time) (err error) {
	if b.loaded != nil {
		return nil
	}
	b.loaded, err = w.desk.Load(b.store, b.run, w.equip(b), now)
	if err != nil {
		return err
	}
	b.fresh, b.tail, b.yielded = true, b.loaded.Tail, b.loaded.Runnable()
	b.row = b.loaded.State.SummaryRow()
	return nil
}

// taking is a turn in progress.
type taking struct {
	*turner
	ctx  context.Context
	book *book
	now  time.Time
	out  *turned
	size int
	rest bool  // some of what came in had no room
	err  error // what of the turn could not be kept

	begins bool // the run is being started: what it asks for is for its workers to begin
	leaves bool // it asks for something
}

// arrivals are the inputs of a turn, in their order, with the letters that they came with.
type arrivals struct {
	inputs []run.Input
	letter []int // of each input, -1 for none
	taken  int
}

// Next implements what [run.Turn.Process] takes.
func (a *arrivals) Next() (run.Input, bool) {
	if a.taken == len(a.inputs) {
		return nil, false
	}
	_, urgent := a.inputs[a.taken].(*run.Cancelled)
	return a.inputs[a.taken], urgent
}

// Taken tells that the first was applied.
func (a *arrivals) Taken() { a.taken++ }

// arrive opens the letters. While a run has no machine, what attempts have come to waits; while
// its machine is busy, what is urgent comes first.
func (t *taking) arrive() (*arrivals, error) {
	b, in := t.book, new(arrivals)
	for _, left := range b.pending {
		in.inputs, in.letter = append(in.inputs, left), append(in.letter, -1)
	}
	b.pending = nil
	s := b.loaded.State
	parked := b.loaded.Machine == nil && s.Seq > 0 && !s.Status.Ended()
	for _, first := range []bool{true, false} {
		for i, l := range b.letters {
			urgent := letterKind(l.body[0]) == letterCancel || letterKind(l.body[0]) == letterOrphan
			if urgent != first || parked && waitsForMachine(letterKind(l.body[0])) {
				continue
			}
			inputs, err := b.inputs(l.body)
			if errors.Is(err, runtime.ErrNewer) {
				return nil, err // it is for a later build
			}
			if err != nil { // nobody who has written it is served better by another worker
				t.out.answers = append(t.out.answers, answer{l.at, told{Refused: runtime.Refusef(runtime.ErrBadPayload, "a letter that cannot be read: %v", err)}.encode()})
				continue
			}
			for _, each := range inputs {
				in.inputs, in.letter = append(in.inputs, each), append(in.letter, i)
			}
		}
	}
	return in, nil
}

func waitsForMachine(k letterKind) bool {
	return k == letterReply || k == letterEvents || k == letterChild
}

// take processes inputs until nothing is left to do, or there is no more room.
func (t *taking) take(in *arrivals) (*turned, error) {
	b := t.book
	began := time.Now()
	for first := true; first || b.yielded && in.taken == len(in.inputs) && time.Since(began) < turnTime && t.size < turnBytes; first = false {
		if poison := t.process(in); poison != "" {
			return t.quarantine(poison)
		}
	}
	t.rest = in.taken < len(in.inputs)
	if err := t.answer(in); err != nil {
		return nil, err
	}
	out := t.finish()
	return out, t.err
}

// process makes one turn of the core, and gives why the run is poison, "" for none.
func (t *taking) process(in *arrivals) (poison string) {
	b, l := t.book, t.book.loaded
	turn := &run.Turn{State: l.State, Machine: l.Machine, Host: l.Host, Now: t.now, Had: &b.row, Yielded: b.yielded, MaxBytes: turnBytes}
	defer turn.UnlockCommons()
	defer func() {
		if p := recover(); p != nil {
			t.log("run %s: %v\n%s", b.run, p, debug.Stack())
			poison = fmt.Sprintf("the machine failed: %v", p)
		}
	}()
	var recovery *run.Recovered
	if b.fresh {
		recovery = &run.Recovered{Rest: l.Rest, Flying: b.flying}
	}
	c := turn.Process(in, recovery, false)
	b.fresh, l.Machine, l.Host, b.yielded = false, turn.Machine, turn.Host, turn.Yielded
	t.write(c)
	t.perform(&c.Effects)
	b.row = c.Row
	t.quotas.learn(c.Lessons, t.now)
	b.pending = append(b.pending, c.Effects.Inputs...)
	return ""
}

// write adds what a commit of the core has to what the turn leaves.
func (t *taking) write(c *run.Commit) {
	add := func(w runtime.Write) {
		t.out.writes = append(t.out.writes, w)
		t.size += len(w.Key) + len(w.Value)
	}
	if len(c.Records) > 0 {
		w := runtime.Write{Key: journal.SeqKey(journal.PrefixJournal, t.book.run, c.Records[0].Seq), Value: journal.SealAll(c.Records)}
		add(w)
		t.book.tail.Records += len(c.Records)
		t.book.tail.Bytes += len(w.Value)
	}
	for _, w := range c.Rows {
		if keptRow(w.Key) {
			add(w)
		}
	}
	for hash, content := range c.Blobs {
		if !t.book.left[hash] {
			add(runtime.Write{Key: []byte(journal.PrefixBlob + hash), Value: content})
		}
	}
}

// keptRow tells whether a history has a row. Of the indexes of a store it has none: who lists makes
// them of what lists find.
func keptRow(key []byte) bool {
	switch key[0] {
	case 'r', 'i', 'g', 'k', 'c', 'w', 'o', 'n':
		return true
	}
	return false
}

// perform lists what is to be done once the turn is recorded.
func (t *taking) perform(do *run.Effects) {
	if t.begins {
		t.leaves = t.leaves || len(do.Start)+len(do.Children)+len(do.Abort)+len(do.Deliveries)+len(do.Orphans) > 0
		return
	}
	s, h := t.book.loaded.State, t.book.loaded.Host
	for _, step := range do.Abort {
		t.order(order{kind: orderAbort, step: step})
	}
	for _, d := range do.Deliveries {
		if st := s.Steps[d.Step]; st != nil && st.Steering() == effect.SteerResume {
			t.order(order{kind: orderSteer, step: d.Step})
		}
	}
	for _, st := range do.Start {
		if s.Steps[st.Step] == st && st.InFlight {
			t.begin(st, h)
		}
	}
	for _, st := range do.Children {
		if s.Steps[st.Step] == st && t.book.loaded.Machine != nil {
			t.child(st)
		}
	}
	for _, step := range do.Orphans {
		if id := t.childOf(step); id != "" {
			t.order(order{kind: orderOrphan, step: step, queue: id})
		}
	}
}

func (t *taking) order(o order) {
	t.out.orders = append(t.out.orders, o)
	t.size += len(o.body)
}

// begin orders an attempt.
func (t *taking) begin(st *run.Step, h *run.Host) {
	queue := ""
	if t.label != nil && st.Serving < len(st.Backends) {
		queue = t.label(h.Settings, st.Backends[st.Serving])
	}
	k := task{run: t.book.run, step: st.Step, timeout: st.Policy.Timeout, settings: t.book.loaded.State.Settings, excerpt: t.book.loaded.State.Excerpt(st.Step)}
	body, tooLarge := t.fit(st.Step, k.encode())
	if tooLarge != nil {
		failed := effect.Reply{Class: effect.Final, Err: tooLarge}
		t.book.pending = append(t.book.pending, &run.Replied{Step: st.Step, Attempt: st.Attempt, Reply: &failed})
		return
	}
	t.order(order{kind: orderAttempt, step: st.Step, number: uint64(st.Attempt), queue: queue, body: body})
}

// fit is a body that an order has, as a history takes it. What is too large for that fails a step,
// and not the run.
func (t *taking) fit(step string, body []byte) ([]byte, *effect.Error) {
	packed, err := t.pack(t.ctx, body, maxBody)
	if large := (*errTooLarge)(nil); errors.As(err, &large) {
		return nil, effect.Errorf(kindTooLarge, "%s: it takes %v", step, err)
	}
	if err != nil && t.err == nil {
		t.err = err
	}
	return packed, nil
}

// childOf is the child run of a step, in the store or in what this turn writes.
func (t *taking) childOf(step string) string {
	key := string(journal.ChildKey(t.book.run + "@" + step))
	for _, w := range t.out.writes {
		if string(w.Key) == key {
			return string(w.Value)
		}
	}
	return t.book.past.ChildOf(t.book.run, step)
}

// child orders the child run of a step, unless it has one. One that cannot be started has failed.
func (t *taking) child(st *run.Step) {
	if id := t.childOf(st.Step); id != "" {
		if t.book.kids[id] != "" {
			t.book.pending = append(t.book.pending, &run.ChildChanged{Step: st.Step, Child: id})
		}
		return
	}
	id, first, err := t.startChild(st)
	if errors.As(err, new(*errAway)) {
		t.err = err
		return
	}
	if err != nil {
		t.book.pending = append(t.book.pending, &run.ChildEnded{Step: st.Step, Failed: effect.Errorf(effect.KindRefused, "%s: %v", st.Step, err)})
		return
	}
	body, tooLarge := t.fit(st.Step, first.encode())
	if tooLarge != nil {
		t.book.pending = append(t.book.pending, &run.ChildEnded{Step: st.Step, Failed: tooLarge})
		return
	}
	t.out.writes = append(t.out.writes, runtime.Write{Key: journal.ChildKey(t.book.run + "@" + st.Step), Value: []byte(id)})
	t.order(order{kind: orderChild, step: st.Step, queue: id, body: body})
}

// maxDepth bounds the nesting of child runs.
const maxDepth = 8

func (t *taking) startChild(st *run.Step) (string, *turned, error) {
	l := t.book.loaded
	if l.State.Depth >= maxDepth {
		return "", nil, fmt.Errorf("child runs are nested deeper than %d", maxDepth)
	}
	args, err := st.Args.View()
	if err != nil {
		return "", nil, err
	}
	r := runtime.StartRequest{Script: args.Text("script"), Settings: *l.Host.Settings, Labels: l.State.LabelsBelow(st)}
	if args.Has("inputs") {
		if r.Inputs, err = contract.ToJSON(args.Value("inputs")); err != nil {
			return "", nil, err
		}
	}
	made, ok := l.Host.Program.Bundle.Child(r.Script)
	switch {
	case !ok && !lang.NamesFile(r.Script):
		return "", nil, fmt.Errorf("%q: scripts that are kept under a name are not there for runs on Temporal in this version", r.Script)
	case !ok:
		return "", nil, fmt.Errorf("the script %q is not part of this run's program; name it with a literal", r.Script)
	}
	r.Bundle = made.Encode()
	id := childID(t.book.run, st.Step)
	first, err := t.first(t.ctx, id, r, "run:"+t.book.run, t.book.run+"@"+st.Step, l.State.Depth+1, t.now)
	return id, first, err
}

// first is what the history of a new run begins with: its first turn, in which nothing of what it
// asks for begins. That is for the workers.
func (w *turner) first(ctx context.Context, id string, r runtime.StartRequest, by, parent string, depth int, now time.Time) (*turned, error) {
	program, inputs, err := w.desk.Accept(&r)
	if err != nil {
		return nil, err
	}
	if err := supported(&r, program); err != nil {
		return nil, err
	}
	b := newBook(id)
	h := &run.Host{Run: id, Program: program, Settings: &r.Settings}
	w.equip(b)(h)
	h.World = world{w.env, w.getenv, b.past, nil}
	b.loaded = &engine.Loaded{State: run.NewState(id), Host: h}
	t := &taking{turner: w, ctx: ctx, book: b, now: now, out: &turned{}, begins: true}
	in := &run.Started{Request: &r, Program: program, Behaviour: w.env.Behaviour, Inputs: inputs, By: by, Parent: parent, Depth: depth}
	if poison := t.process(&arrivals{inputs: []run.Input{in}, letter: []int{-1}}); poison != "" {
		return nil, runtime.Refusef(runtime.ErrInternal, "%s", poison)
	}
	out := t.finish()
	out.rests = out.status == runtime.Suspended && !out.more && !t.leaves && !systemGates(b.loaded.State)
	return out, t.err
}

// systemGates tells whether a run waits for what its workers may have.
func systemGates(s *run.State) bool {
	return slices.ContainsFunc(s.OpenGates(), func(g *run.Gate) bool { return strings.HasPrefix(g.Name, "!") })
}

// answer answers the letters whose inputs were all taken.
func (t *taking) answer(in *arrivals) error {
	left := map[int]bool{}
	for _, i := range in.letter[in.taken:] {
		left[i] = true
	}
	for n, each := range in.inputs[:in.taken] {
		i := in.letter[n]
		if i < 0 || left[i] || n+1 < in.taken && in.letter[n+1] == i {
			continue
		}
		t.out.answers = append(t.out.answers, answer{t.book.letters[i].at, toldOf(each)})
	}
	for n, each := range in.inputs[in.taken:] {
		if in.letter[in.taken+n] < 0 {
			t.book.pending = append(t.book.pending, each)
		}
	}
	return nil
}

// finish says how the run stands.
func (t *taking) finish() *turned {
	b, out := t.book, t.out
	s := b.loaded.State
	out.seq, out.status, out.ended = s.Seq, s.Status, s.Status.Ended()
	out.more = t.rest || !out.ended && (b.yielded || len(b.pending) > 0)
	if due := s.NextDue(b.loaded.Machine == nil); !due.IsZero() {
		out.due = due.UnixMicro()
	}
	if b.loaded.Machine == nil && !out.ended && s.Gates[runtime.GateQuarantine] == nil {
		b.loaded, out.more = nil, true // it was let go on: load it with its machine
		return out
	}
	t.tellParent()
	t.checkpoint()
	return out
}

// tellParent tells the parent of a child run how this one stands when it has come to rest, moves on
// or has ended.
func (t *taking) tellParent() {
	s := t.book.loaded.State
	parent, step, child := journal.CutParent(s.Parent)
	if !child || t.book.told == s.Status {
		return
	}
	t.book.told = s.Status
	c := &came{Step: step, Child: s.ID, Status: s.Status}
	if in, ok := run.OfChild(step, s).(*run.ChildEnded); ok {
		c.Output, c.Failed = in.Output, in.Failed.Payload()
	}
	body, tooLarge := t.fit(step, c.encode())
	if tooLarge != nil {
		c.Output, c.Failed = nil, tooLarge.Payload()
		body = c.encode()
	}
	t.order(order{kind: orderParent, step: step, queue: parent, body: body})
}

// checkpoint adds one where the journal since the last has become long, or the history is to go on
// in another. One that cannot be made costs time when the run is loaded, and nothing else.
func (t *taking) checkpoint() {
	b, l := t.book, t.book.loaded
	if l.State.Status.Ended() || l.Machine == nil || !b.leave && !b.tail.Long(l.Machine.Steps()) {
		return
	}
	point, err := engine.EncodeCheckpoint(l.State, l.Machine, nil, macKey)
	most := maxCheckpoint
	if t.Contents != nil {
		most = maxUnpacked / 2
	}
	if err != nil || len(point) > most {
		t.log("run %s: its checkpoint of %d bytes: %v", b.run, len(point), err)
		return
	}
	key := append(journal.SeqKey(journal.PrefixCheckpoint, b.run, l.State.Seq), 0, 0)
	t.out.writes = append(t.out.writes, runtime.Write{Key: key, Value: point})
	b.tail = run.Tail{Steps: l.Machine.Steps(), Size: len(point)}
}

// maxCheckpoint is the size of the largest that a history takes itself.
const maxCheckpoint = 1 << 20

// maxTurned is how large what a turn leaves may be as it is recorded.
const maxTurned = 1900 << 10

// record takes a turn, as it is recorded. One that leaves more than can be read again, or than a
// history takes at once though it is deflated, would be taken again for ever: the run is
// quarantined.
func (w *turner) record(ctx context.Context, b *book) ([]byte, error) {
	left, err := w.turn(ctx, b)
	if err != nil {
		return nil, err
	}
	plain, most := left.plain(), maxTurned
	if w.Contents != nil {
		most = maxBody
	}
	body, err := plain, error(&errTooLarge{len(plain), maxUnpacked})
	if len(plain) <= maxUnpacked {
		body, err = w.pack(ctx, squeezed(plain), most)
	}
	if large := (*errTooLarge)(nil); !errors.As(err, &large) {
		return body, err
	}
	t := &taking{turner: w, ctx: ctx, book: b, now: time.UnixMicro(b.now).UTC()}
	left, err = t.quarantine(fmt.Sprintf("%s: one turn leaves %v", kindTooLarge, err))
	if err != nil {
		return nil, err
	}
	return left.encode(), nil
}

// quarantine lets the run rest at the gate !quarantine.
func (t *taking) quarantine(why string) (*turned, error) {
	b := t.book
	l, err := t.desk.Load(b.store, b.run, t.equip(b), t.now)
	if err != nil {
		return nil, err
	}
	l.Machine, l.Poison, l.Host = nil, nil, &run.Host{Run: b.run}
	t.equip(b)(l.Host)
	row := l.State.SummaryRow()
	turn := &run.Turn{State: l.State, Host: l.Host, Now: t.now, Had: &row}
	b.loaded, b.yielded, b.pending = l, false, nil
	t.out, t.size = &turned{}, 0
	c := turn.Quarantine(why)
	b.row = c.Row
	t.write(c)
	out := t.finish()
	out.more = true // the letters are still there
	return out, nil
}
