package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// A project may name who is told what happens in its runs: see [effect.Notice]. That somebody is to
// be told is a row, which is written with the commit of what has happened; the handler "notify"
// tells them, again and again with growing pauses, until it has or gives up, and then a record of
// the run takes the place of the row. So a crash loses nothing, and what is told again has the same
// id. Telling is not part of the run: it holds nothing up, and the run may have ended.

// Notice is one thing that one channel is to be told.
type Notice struct {
	ID       string          `json:"id"` // the same however often it is told
	Run      string          `json:"run"`
	Gate     string          `json:"gate,omitempty"`
	Asks     bool            `json:"asks,omitempty"`  // for an answer at the gate
	Level    int             `json:"level,omitempty"` // of the gate's escalation
	Work     string          `json:"work,omitempty"`  // the step whose work may be claimed
	Channel  string          `json:"channel"`
	Body     json.RawMessage `json:"body"`
	Settings string          `json:"settings"` // hash of those that say how
	Tries    int             `json:"tries"`    // so far
	Due      time.Time       `json:"due"`      // of the next

	Env map[string]string `json:"-"` // variables of whoever carried the run; in memory only
}

// noticeBody is what is told. It has nothing that a run works on: who may see that looks it up.
type noticeBody struct {
	Schema string      `json:"schema"` // "starling/notice/v1"
	ID     string      `json:"id"`
	Type   string      `json:"type"` // "gate.opened", "gate.escalated", "gate.decided", "run.completed", "run.failed", "run.cancelled", "budget.reached" or "work.offered"
	At     time.Time   `json:"at"`
	Run    string      `json:"run"`
	Script string      `json:"script"`
	Gate   *noticeGate `json:"gate,omitempty"`
	Work   *noticeWork `json:"work,omitempty"`

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

// noticeWork is work that may be claimed, without its task, which the agent works on.
type noticeWork struct {
	Step      string `json:"step"`
	Address   string `json:"address"`
	Agent     string `json:"agent"` // whom it is for
	ClaimWith string `json:"claim_with"`
}

// noticeDecided is a decision without its payload, which the run works on.
type noticeDecided struct {
	Choice  string `json:"choice,omitempty"`
	Reason  string `json:"reason,omitempty"`
	By      string `json:"by"`
	Through string `json:"through,omitempty"`
	Via     string `json:"via"`
}

const noticeSchema = "starling/notice/v1"

// noticed lists what somebody is to be told of a turn.
func (t *Turn) noticed() {
	if t.Host == nil || t.Host.Settings == nil || len(t.Host.Settings.Notify) == 0 {
		return
	}
	shut := map[string]*Gate{}
	for _, g := range t.shut {
		shut[g.name] = g.Gate
	}
	starter := ""
	for i := range t.Records {
		r := &t.Records[i]
		kind, body := t.notable(r, shut[r.Step])
		if kind == "" {
			continue
		}
		if starter == "" {
			starter = t.starter()
		}
		body.StartedBy = starter
		for _, n := range t.Host.Settings.Notify {
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
		(body.Work == nil || n.Targets == nil || slices.Contains(n.Targets, body.Work.Agent)) &&
		(n.StartedBy == nil || slices.Contains(n.StartedBy, body.StartedBy))
}

// starter is who has started the run: of a child run, the one at the top.
func (t *Turn) starter() string {
	if parent, _, child := journal.CutParent(t.State.Parent); child {
		return t.Host.World.Starter(parent)
	}
	return t.State.By
}

// notable says what kind of notice a record is, "" for none. shut is the gate that it has closed.
func (t *Turn) notable(r *journal.Record, shut *Gate) (kind string, body noticeBody) {
	body = noticeBody{Schema: noticeSchema, At: r.Time, Run: t.State.ID, Script: t.State.Script, Type: r.Type.String()}
	v := r.View()
	switch r.Type {
	case journal.GateOpened, journal.GateEscalated:
		g := t.State.Gates[r.Step]
		if g == nil {
			return "", body // closed in the same turn
		}
		kind, body.Gate = effect.NoticeGate, gateNotice(t.State.ID, g)
		if strings.HasPrefix(r.Step, runtime.GateBudget) {
			kind, body.Type = effect.NoticeBudget, "budget.reached"
		}
	case journal.GateDecided:
		if shut == nil {
			return "", body
		}
		kind, body.Gate = effect.NoticeDecision, gateNotice(t.State.ID, shut)
		body.Gate.AnswerWith = ""
		d := journal.DecidedOf(journal.ShortDecision(r), contract.People)
		body.Decision = &noticeDecided{d.Choice, d.Reason, d.By, d.Through, d.Via}
	case journal.AttemptSkipped:
		if !v.Has("budget") || v.Flag("ask") {
			return "", body
		}
		kind, body.Type, body.Error = effect.NoticeBudget, "budget.reached", v.Sub("error").Text("message")
	case journal.WorkOffered:
		address := t.State.ID + "@" + r.Step
		kind, body.Work = effect.NoticeWork, &noticeWork{r.Step, address, v.Text("for"), "starling claim " + shellQuote(address)}
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		if t.State.Parent != "" || t.State.Session {
			return "", body
		}
		kind, body.Error = effect.NoticeEnd, v.Sub("error").Text("message")
	}
	return kind, body
}

func gateNotice(run string, g *Gate) *noticeGate {
	args, _ := g.Args.View()
	var o effect.Object
	v, _ := o.Raw("args", g.Args).Int("deadline", journal.Micros(g.Deadline)).Int("level", int64(g.Level)).Payload().View()
	d := GateDocument(run, g.Name, g.OpenedAt, v, contract.Agents)
	return &noticeGate{Gate: g.Name, Address: d.Address, Prompt: d.Prompt, Options: d.Options, Target: g.target(args), Deadline: d.Deadline, AnswerWith: d.AnswerWith}
}

// tellAbout adds one notice, with its row. A budget that many steps reach has one id, so that who
// is told of it twice knows.
func (t *Turn) tellAbout(channel string, r *journal.Record, kind string, body noticeBody) {
	what := fmt.Sprint(r.Seq)
	if kind == effect.NoticeBudget && body.Gate == nil {
		what = journal.HashOf([]byte(r.View().Text("budget")))[:12]
	}
	body.ID = fmt.Sprintf("%s_%s_%s", t.State.ID, what, channel)
	text, _ := json.Marshal(body) // plain data
	n := &Notice{ID: body.ID, Run: t.State.ID, Channel: channel, Body: text, Settings: t.State.Settings, Due: t.Now}
	if body.Gate != nil {
		n.Gate, n.Asks = body.Gate.Gate, kind == effect.NoticeGate
		if g := t.State.Gates[r.Step]; g != nil {
			n.Level = g.Level
		}
	}
	if body.Work != nil {
		n.Work = body.Work.Step
	}
	t.Effects.Notices = append(t.Effects.Notices, n)
	t.Rows = append(t.Rows, n.Write())
}

// Key is that of its row.
func (n *Notice) Key() []byte { return []byte(journal.PrefixNotice + n.Run + "/" + n.ID) }

// Write is its row.
func (n *Notice) Write() runtime.Write {
	text, _ := json.Marshal(n) // plain data
	return runtime.Write{Key: n.Key(), Value: text}
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
