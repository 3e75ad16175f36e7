package live

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"starling/cmd/starling/plain"
	"starling/cmd/starling/progress"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/query"
)

// A Board is what is known of one run that is watched. It belongs to one goroutine.
type Board struct {
	run, script string
	status      runtime.Status
	began, last time.Time // of the first and the newest event
	answer      func(runtime.Gate) []string

	list  *query.StepList
	root  *branch
	tasks map[string]*task // by address
}

// branch is a place in the tree of addresses.
type branch struct {
	name   string
	fans   bool // what is below goes on beside each other
	above  *branch
	items  []item // in the order in which they were first seen
	below  map[string]*branch
	known  int // how many branches it has, as far as a step below has told; 0 if it is none that fans
	open   int // tasks below, at any depth, that have not ended
	failed int // that have failed, and branches

	why string // it has ended with an error; "" if it has not
}

// item is a task or a branch; the other is nil.
type item struct {
	*task
	*branch
}

// task is a step, or a gate that the runtime has opened.
type task struct {
	address string
	name    string // the last part of the address
	in      *branch
	state   state
	began   time.Time
	ended   time.Time
	attempt int
	about   string // what it was asked
	note    string // what it does, or how it has ended
	gate    *runtime.Gate
	step    *runtime.Step // what it has cost, nil of a gate of the runtime's
}

// state is how a task stands.
type state int

const (
	waiting state = iota
	running
	asking
	done
	failed
	gone
)

func (s state) ended() bool { return s >= done }

// NewBoard is the board of a run, with the commands that answer one of its gates.
func NewBoard(r *runtime.Run, answer func(runtime.Gate) []string) *Board {
	b := &Board{run: r.ID, script: r.Script, status: r.Status, answer: answer, root: &branch{below: map[string]*branch{}}, tasks: map[string]*task{}}
	var lineage *runtime.Lineage
	if r.Details != nil {
		lineage, b.began = r.Details.Lineage, r.Details.StartedAt
	}
	b.list = query.NewStepList(lineage)
	return b
}

// Add takes one event.
func (b *Board) Add(ev runtime.Event) {
	if b.began.IsZero() {
		b.began = ev.Time
	}
	b.last = ev.Time
	if status, ok := strings.CutPrefix(ev.Type, "run."); ok {
		b.turn(status)
	}
	b.list.Add(&ev)
	if ev.Type == journal.BranchFailed.String() {
		b.root.at(strings.Split(ev.Branch, "/")).fail(query.BranchEnd(&ev))
		return
	}
	if ev.Step == "" {
		return
	}
	t := b.tasks[ev.Step]
	if t == nil {
		if t = b.begin(&ev); t == nil {
			return
		}
	}
	before := t.state
	t.take(&ev, b.list.Of(ev.Step))
	t.in.count(before, t.state)
}

func (b *Board) turn(status string) {
	switch s := runtime.Status(status); {
	case s == "started" || s == "resumed":
		b.status = runtime.Running
	case s == runtime.Suspended || s.Ended():
		b.status = s
	}
}

// begin is a new task, nil where the event begins none.
func (b *Board) begin(ev *runtime.Event) *task {
	switch ev.Type {
	case journal.StepRequested.String(), journal.StepAnswered.String(), journal.GateOpened.String():
	default:
		return nil
	}
	segments := strings.Split(ev.Step, "/")
	if strings.HasPrefix(ev.Step, "!") { // behind the colon stands another address
		segments = []string{ev.Step}
	}
	at := b.root.at(segments[:len(segments)-1])
	t := &task{address: ev.Step, name: shown(segments[len(segments)-1]), in: at, began: ev.Time}
	at.items = append(at.items, item{task: t})
	at.count(done, waiting)
	at.learn(ev)
	b.tasks[ev.Step] = t
	return t
}

// learn notes how many branches those have that a step is in, of which there may be more each time.
func (b *branch) learn(ev *runtime.Event) {
	var data struct{ Among []int }     // the innermost first
	_ = json.Unmarshal(ev.Data, &data) // journals did not always have it
	for ; b != nil && len(data.Among) > 0; b = b.above {
		if b.fans {
			b.known, data.Among = data.Among[0], data.Among[1:]
		}
	}
}

// over tells whether a parallel has ended: what has called it went on. What the runtime opens (!…)
// says nothing of that.
func (b *branch) over() bool {
	for i := len(b.above.items) - 1; b.above.items[i].branch != b; i-- {
		if t := b.above.items[i].task; t == nil || !strings.HasPrefix(t.address, "!") {
			return true
		}
	}
	return b.above.above != nil && b.above.above.over()
}

// at is the branch below with these names.
func (b *branch) at(names []string) *branch {
	for _, name := range names {
		b = b.under(name)
	}
	return b
}

func (b *branch) under(name string) *branch {
	next := b.below[name]
	if next == nil {
		next = &branch{name: shown(name), fans: !b.fans, above: b, below: map[string]*branch{}}
		b.below[name] = next
		b.items = append(b.items, item{branch: next})
	}
	return next
}

// fail notes why a branch has ended. Of the step with which it did the name is enough, which stands
// below it.
func (b *branch) fail(end runtime.FailedBranch) {
	if step, message, ok := strings.Cut(end.Message, ": "); ok && journal.BranchOf(step) == end.Branch {
		end.Message = message
	}
	b.why = clean(end.Why())
	for ; b != nil; b = b.above {
		b.failed++
	}
}

// count notes how a task has changed, here and above.
func (b *branch) count(before, after state) {
	for ; b != nil; b = b.above {
		if before.ended() && !after.ended() {
			b.open++
		} else if !before.ended() && after.ended() {
			b.open--
		}
		if after == failed && before != failed {
			b.failed++
		} else if before == failed && after != failed {
			b.failed--
		}
	}
}

// take notes what an event says of a task, whose step is st.
func (t *task) take(ev *runtime.Event, st *runtime.Step) {
	t.step = st
	switch ev.Type {
	case journal.StepRequested.String():
		t.about = asked(ev)
		t.state = waiting
	case journal.StepAnswered.String():
		t.end(done, ev.Time, "")
	case journal.AttemptStarted.String():
		t.state = running
		if st != nil {
			t.attempt = st.Attempts
		}
	case journal.AttemptEnded.String():
		t.retry(ev)
	case journal.AgentEvent.String():
		t.note = cmp.Or(clean(progress.Said(ev)), t.note)
	case journal.GateOpened.String():
		t.state, t.gate = asking, opened(ev)
	case journal.GateEscalated.String():
		t.escalate(ev)
	case journal.GateDecided.String():
		t.end(done, ev.Time, clean(progress.Decided(ev)))
	case journal.StepSettled.String():
		t.settle(ev)
	case journal.StepWithdrawn.String(), journal.GateWithdrawn.String():
		if !t.state.ended() {
			t.end(gone, ev.Time, "withdrawn")
		}
	}
}

func (t *task) end(how state, at time.Time, note string) {
	t.state, t.ended, t.note = how, at, note
}

// retry notes why an attempt is not the last.
func (t *task) retry(ev *runtime.Event) {
	var data struct {
		Reason string
		Error  struct{ Message string }
	}
	_ = json.Unmarshal(ev.Data, &data) // an engine's own
	why := strings.TrimPrefix(cmp.Or(data.Error.Message, data.Reason), t.address+": ")
	t.state, t.note = waiting, clean(why)
}

func (t *task) escalate(ev *runtime.Event) {
	var data struct{ Target string }
	if json.Unmarshal(ev.Data, &data) == nil && t.gate != nil {
		t.gate.Target = data.Target
	}
}

// settle notes how a step has ended. The decision of a gate has told more than its settling does.
func (t *task) settle(ev *runtime.Event) {
	end := query.Settled(ev)
	switch {
	case end.Status == "ok" && t.gate != nil:
		t.end(done, ev.Time, t.note)
	case end.Status == "ok":
		t.end(done, ev.Time, "")
	case end.Status == query.StatusFailed:
		t.end(failed, ev.Time, end.Text)
	default:
		text := strings.TrimPrefix(end.Text, t.address+": ")
		t.end(failed, ev.Time, clean(strings.TrimSuffix(cmp.Or(end.Kind, end.Status)+": "+text, ": ")))
	}
}

// asked is what a step was asked for, on one line.
func asked(ev *runtime.Event) string {
	var data struct {
		Kind string
		Args struct {
			Task, Script, Name string
			Argv               []string
		}
	}
	_ = json.Unmarshal(ev.Data, &data) // a field of another type leaves the rest
	return clean(cmp.Or(data.Args.Task, strings.Join(data.Args.Argv, " "), data.Args.Script))
}

// opened is the gate of a gate.opened, as far as its commands need it.
func opened(ev *runtime.Event) *runtime.Gate {
	var data struct {
		Args struct {
			Prompt, Target string
			Options        json.RawMessage
			Escalate       [][]any
			Schema         json.RawMessage
		}
	}
	_ = json.Unmarshal(ev.Data, &data) // a field of another type leaves the rest
	g := &runtime.Gate{Address: ev.Run + "/" + ev.Step, Gate: ev.Step, Prompt: data.Args.Prompt, Target: data.Args.Target, OpenedAt: ev.Time}
	if levels := data.Args.Escalate; len(levels) > 0 && len(levels[0]) > 0 {
		g.Target, _ = levels[0][0].(string)
	}
	var names []string
	if json.Unmarshal(data.Args.Options, &names) != nil {
		names = keysOf(data.Args.Options)
	}
	for _, name := range names {
		g.Options = append(g.Options, runtime.Option{Name: name})
	}
	return g
}

// keysOf are the names in a JSON object, in their order.
func keysOf(object json.RawMessage) (names []string) {
	d := json.NewDecoder(strings.NewReader(string(object)))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return names
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// shown is a part of an address for people.
func shown(name string) string { return clean(query.Name(name)) }

// clean is what somebody else has said on one line that does nothing to a terminal.
func clean(text string) string {
	if len(text) > maxNote {
		text = strings.ToValidUTF8(text[:maxNote], "")
	}
	return strings.Join(strings.Fields(plain.Text(text)), " ")
}

// visible is a line that does nothing to a terminal, with its blanks.
func visible(line string) string {
	return strings.ReplaceAll(strings.TrimRight(plain.Text(line), "\n"), "\t", "    ")
}

// maxNote bounds what is kept of a text, in bytes: no screen is wider.
const maxNote = 1 << 10

// usage is what a task has taken so far.
func (t *task) usage() (u runtime.Usage) {
	if t.step == nil {
		return u
	}
	for _, try := range t.step.Tries {
		if try.Usage != nil {
			u = u.Plus(*try.Usage)
		}
	}
	return u
}
