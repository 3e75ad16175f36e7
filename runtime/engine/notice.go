package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// A project may name who is told what happens in its runs: see [effect.Notice]. That somebody is to be told is a row, which is written with the commit of what has happened; the handler
// "notify" tells them, again and again with growing pauses, until it has or gives up, and then a record of the run takes the place of the row. So a crash loses nothing, and what is told
// again has the same id. Telling is not part of the run: it holds nothing up, and the run may have ended.

// notice is one thing that one channel is to be told.
type notice struct {
	ID       string          `json:"id"` // the same however often it is told
	Run      string          `json:"run"`
	Gate     string          `json:"gate,omitempty"`
	Asks     bool            `json:"asks,omitempty"`  // for an answer at the gate
	Level    int             `json:"level,omitempty"` // of the gate's escalation
	Channel  string          `json:"channel"`
	Body     json.RawMessage `json:"body"`
	Settings string          `json:"settings"` // hash of those that say how
	Tries    int             `json:"tries"`    // so far
	Due      time.Time       `json:"due"`      // of the next

	env map[string]string // variables of whoever carried the run; in memory only
}

// noticeBody is what is told. It has nothing that a run works on: who may see that looks it up.
type noticeBody struct {
	Schema string      `json:"schema"` // "starling/notice/v1"
	ID     string      `json:"id"`
	Type   string      `json:"type"` // "gate.opened", "gate.escalated", "gate.decided", "run.completed", "run.failed", "run.cancelled" or "budget.reached"
	At     time.Time   `json:"at"`
	Run    string      `json:"run"`
	Script string      `json:"script"`
	Gate   *noticeGate `json:"gate,omitempty"`

	StartedBy string         `json:"started_by,omitempty"` // who started the run, or the top one above it
	Decision  *noticeDecided `json:"decision,omitempty"`   // of a gate that is decided

	Error string `json:"error,omitempty"` // of a run that failed, or why a step did not start
}

type noticeGate struct {
	Gate       string           `json:"gate"`
	Address    string           `json:"address"`
	Prompt     string           `json:"prompt"`
	Options    []runtime.Option `json:"options"`
	Target     string           `json:"target,omitempty"`
	Deadline   *time.Time       `json:"deadline,omitempty"`
	AnswerWith string           `json:"answer_with,omitempty"` // while it is open
}

// noticeDecided is a decision without its payload, which the run works on.
type noticeDecided struct {
	Choice  string `json:"choice,omitempty"`
	Reason  string `json:"reason,omitempty"`
	By      string `json:"by"`
	Through string `json:"through,omitempty"`
	Via     string `json:"via"`
}

const (
	noticeSchema = "starling/notice/v1"
	noticeTime   = 30 * time.Second // for one try
	noticeTries  = 20               // the last some eight hours after the first
	maxNoticeGap = time.Hour
	noticeHands  = 8 // tries at a time, of one channel
)

// noticed lists what somebody is to be told of a turn.
func (t *turn) noticed() {
	if t.host == nil || t.host.settings == nil || len(t.host.settings.Notify) == 0 {
		return
	}
	shut := map[string]*gate{}
	for _, g := range t.shut {
		shut[g.name] = g.gate
	}
	starter := ""
	for i := range t.records {
		r := &t.records[i]
		kind, body := t.notable(r, shut[r.Step])
		if kind == "" {
			continue
		}
		if starter == "" {
			starter = t.starter()
		}
		body.StartedBy = starter
		for _, n := range t.host.settings.Notify {
			if wants(&n, kind, &body) {
				t.tellAbout(n.Channel, r, kind, body)
			}
		}
	}
}

// wants tells whether a channel is told of something.
func wants(n *effect.Notice, kind string, body *noticeBody) bool {
	return slices.Contains(n.On, kind) &&
		(body.Gate == nil || n.Targets == nil || slices.Contains(n.Targets, body.Gate.Target)) &&
		(n.StartedBy == nil || slices.Contains(n.StartedBy, body.StartedBy))
}

// starter is who has started the run: of a child run, the one at the top.
func (t *turn) starter() string {
	if parent, _, child := cutParent(t.s.Parent); child {
		return t.host.world.Starter(parent)
	}
	return t.s.By
}

// notable says what kind of notice a record is, "" for none. shut is the gate that it has closed.
func (t *turn) notable(r *journal.Record, shut *gate) (kind string, body noticeBody) {
	body = noticeBody{Schema: noticeSchema, At: r.Time, Run: t.s.ID, Script: t.s.Script, Type: r.Type.String()}
	v := r.View()
	switch r.Type {
	case journal.GateOpened, journal.GateEscalated:
		g := t.s.Gates[r.Step]
		if g == nil {
			return "", body // closed in the same turn
		}
		kind, body.Gate = effect.NoticeGate, gateNotice(t.s.ID, g)
		if strings.HasPrefix(r.Step, runtime.GateBudget) {
			kind, body.Type = effect.NoticeBudget, "budget.reached"
		}
	case journal.GateDecided:
		if shut == nil {
			return "", body
		}
		kind, body.Gate = effect.NoticeDecision, gateNotice(t.s.ID, shut)
		body.Gate.AnswerWith = ""
		d := decidedOf(shortDecision(r), contract.People)
		body.Decision = &noticeDecided{d.Choice, d.Reason, d.By, d.Through, d.Via}
	case journal.AttemptSkipped:
		if !v.Has("budget") || v.Flag("ask") {
			return "", body
		}
		kind, body.Type, body.Error = effect.NoticeBudget, "budget.reached", v.Sub("error").Text("message")
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		if t.s.Parent != "" || t.s.Session {
			return "", body
		}
		kind, body.Error = effect.NoticeEnd, v.Sub("error").Text("message")
	}
	return kind, body
}

func gateNotice(run string, g *gate) *noticeGate {
	args, _ := g.Args.View()
	var o effect.Object
	v, _ := o.Raw("args", g.Args).Int("deadline", micros(g.Deadline)).Int("level", int64(g.Level)).Payload().View()
	d := gateDocument(run, g.Name, g.OpenedAt, v, contract.Agents)
	return &noticeGate{Gate: g.Name, Address: d.Address, Prompt: d.Prompt, Options: d.Options, Target: g.target(args), Deadline: d.Deadline, AnswerWith: d.AnswerWith}
}

// tellAbout adds one notice, with its row. A budget that many steps reach has one id, so that who is told of it twice knows.
func (t *turn) tellAbout(channel string, r *journal.Record, kind string, body noticeBody) {
	what := fmt.Sprint(r.Seq)
	if kind == effect.NoticeBudget && body.Gate == nil {
		what = journal.HashOf([]byte(r.View().Text("budget")))[:12]
	}
	body.ID = fmt.Sprintf("%s_%s_%s", t.s.ID, what, channel)
	text, _ := json.Marshal(body) // plain data
	n := &notice{ID: body.ID, Run: t.s.ID, Channel: channel, Body: text, Settings: t.s.Settings, Due: t.now}
	if body.Gate != nil {
		n.Gate, n.Asks = body.Gate.Gate, kind == effect.NoticeGate
		if g := t.s.Gates[r.Step]; g != nil {
			n.Level = g.Level
		}
	}
	t.effects.notices = append(t.effects.notices, n)
	t.rows = append(t.rows, n.write())
}

func (n *notice) key() []byte { return []byte(journal.PrefixNotice + n.Run + "/" + n.ID) }

func (n *notice) write() runtime.Write {
	text, _ := json.Marshal(n) // plain data
	return runtime.Write{Key: n.key(), Value: text}
}

// notifier tells. It is used concurrently.
type notifier struct {
	e *Local

	mu       sync.Mutex             // guards what follows
	pending  map[string]func() bool // ids that wait or are being told, with what stops the timer of their next try
	channels map[string]*channel
}

// channel is what of one channel is due. At most noticeHands are told at a time, so that a thousand runs that end at once are no thousand connections, and one that answers slowly holds up no other.
type channel struct {
	busy    int
	waiting []*notice
}

// resume tells what an owner before has left.
func (t *notifier) resume() error {
	return journal.ScanEach(t.e.store, journal.PrefixNotice, func(_ string, v []byte, damage error) error {
		n := new(notice)
		if damage == nil && json.Unmarshal(v, n) == nil {
			t.add(n, nil)
		}
		return nil
	})
}

// add has a notice told when it is due.
func (t *notifier) add(n *notice, env map[string]string) {
	if t.begins(n) {
		n.env = env
		t.wait(n)
	}
}

// begins notes a notice, unless it is pending.
func (t *notifier) begins(n *notice) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, pending := t.pending[n.ID]; pending {
		return false
	}
	if t.pending == nil {
		t.pending, t.channels = map[string]func() bool{}, map[string]*channel{}
	}
	t.pending[n.ID] = nil
	return true
}

// wait tells a notice when its time has come; one whose time has come is in motion at once, so that Close waits for it.
func (t *notifier) wait(n *notice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gap := n.Due.Sub(t.e.now())
	switch {
	case gap <= 0:
		t.begin(n)
	case !t.e.leaving.Load(): // else the next owner finds the row
		t.pending[n.ID] = t.e.afterFunc(gap, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.begin(n)
		})
	}
}

// close lets go of what waits for its time: of an engine that is leaving no timer stays.
func (t *notifier) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, stop := range t.pending {
		if stop != nil {
			stop()
		}
	}
}

// begin has a notice told that is due. It is called with mu held.
func (t *notifier) begin(n *notice) {
	c := t.channels[n.Channel]
	if c == nil {
		c = new(channel)
		t.channels[n.Channel] = c
	}
	if c.busy == noticeHands {
		c.waiting = append(c.waiting, n)
		return
	}
	if t.e.leaving.Load() || !t.e.enter() {
		return // the next owner finds the row
	}
	c.busy++
	go func() {
		defer t.e.exit()
		for ; n != nil; n = t.following(c) {
			t.tell(n)
		}
	}()
}

// following is what is to be told next, nil for nothing.
func (t *notifier) following(c *channel) (n *notice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(c.waiting) == 0 || t.e.ctx.Err() != nil {
		c.busy--
		return nil
	}
	n, c.waiting = c.waiting[0], c.waiting[1:]
	return n
}

// tell tries once, and decides what follows. Of a run that was pruned meanwhile nobody is told any more; the row may have been written after that. Nobody is asked to a gate that is over, either.
func (t *notifier) tell(n *notice) {
	if _, err := t.e.summary(n.Run); err != nil && runtime.AsRefusal(err).Kind == runtime.ErrUnknownRun {
		t.forget(n, t.e.commit(context.Background(), &runtime.Batch{Writes: []runtime.Write{{Key: n.key(), Value: nil}}}))
		return
	}
	if t.over(n) {
		t.settle(n, journal.NoticeWithdrawn, nil)
		return
	}
	r := t.perform(n)
	n.Tries++
	if t.e.ctx.Err() != nil {
		return
	}
	gap := min(time.Second<<min(n.Tries-1, 20), maxNoticeGap)
	switch {
	case r.Err == nil:
		t.settle(n, journal.NoticeSent, nil)
	case r.Class == effect.Final, n.Tries >= noticeTries:
		t.settle(n, journal.NoticeSent, r.Err)
	default:
		n.Due = t.e.now().Add(max(gap, r.After))
		if err := t.e.commit(context.Background(), &runtime.Batch{Writes: []runtime.Write{n.write()}}); err != nil {
			t.e.log("the notice %s is not written down: %v", n.ID, err)
		}
		t.wait(n)
	}
}

// over tells whether a notice asks for an answer that nobody can give any more: the gate is closed, or has passed on to somebody else, who has a notice of his own.
func (t *notifier) over(n *notice) bool {
	if !n.Asks {
		return false
	}
	row, err := t.e.store.Get(inboxKey(n.Run, n.Gate))
	level := n.Level
	if err == nil {
		err = eachRecord(row, func(r *journal.Record) error { level = int(r.View().Int("level")); return nil })
	}
	return errors.Is(err, runtime.ErrNoKey) || level != n.Level
}

func (t *notifier) perform(n *notice) (r effect.Reply) {
	defer func() {
		if p := recover(); p != nil {
			r = effect.Reply{Err: effect.Errorf(effect.KindEffect, "the handler failed: %v", p)}
		}
	}()
	handler := t.e.env.Handlers["notify"]
	if handler == nil {
		return effect.Reply{Err: effect.Errorf(effect.KindRefused, "nothing here tells anybody")}
	}
	settings, err := t.e.settings(n.Settings)
	if err != nil {
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "%v", err), Class: effect.Retryable}
	}
	ctx, cancel := context.WithTimeout(t.e.ctx, noticeTime)
	defer cancel()
	var o effect.Object
	args, err := o.Text("channel", n.Channel).Text("body", string(n.Body)).Payload().Value()
	if err != nil {
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "%v", err)}
	}
	return handler.Perform(ctx, &effect.Attempt{Enlisted: t.e.opts.Enlist,
		Run: n.Run, Step: n.Gate, Kind: "notify", Number: n.Tries + 1, Key: n.ID, Args: args, Resolved: starlark.None, Settings: settings,
		Store: t.e.store.Info().Path, Env: func(name string) (string, bool) { return t.variable(n, name) }, Emit: func(string, starlark.Value) {}})
}

// variable is one of whoever carried the run then or carries it now, or else of the owner of the store.
func (t *notifier) variable(n *notice, name string) (string, bool) {
	if v, ok := n.env[name]; ok {
		return v, true
	}
	if v, ok := t.e.variable(n.Run, name); ok || t.e.opts.Env == nil {
		return v, ok
	}
	return t.e.opts.Env(name)
}

// settle records in the run what became of a notice, and drops its row with the same commit.
func (t *notifier) settle(n *notice, as journal.RecordType, failed *effect.Error) {
	t.e.post(n.Run, event{in: &notified{n, as, failed}, urgent: true, done: func(err error) { t.forget(n, err) }})
}

// forget ends a notice. Where that could not be written down the next owner finds its row.
func (t *notifier) forget(n *notice, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pending, n.ID)
	if err != nil {
		t.e.log("the notice %s is told again by the next owner: that it was told is not written down: %v", n.ID, err)
	}
}

func noticesPayload(list []effect.Notice) effect.Payload {
	if len(list) == 0 {
		return nil
	}
	var b effect.Object
	for _, n := range list {
		var o effect.Object
		b.Raw(n.Channel, o.Texts("on", n.On).Texts("targets", n.Targets).Texts("started_by", n.StartedBy).Payload())
	}
	return b.Payload()
}

func noticesOf(v effect.View) (list []effect.Notice) {
	v.Each(func(channel string, f effect.View) {
		list = append(list, effect.Notice{Channel: channel, On: f.Texts("on"), Targets: f.Texts("targets"), StartedBy: f.Texts("started_by")})
	})
	return list
}
