package run

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime/journal"
)

// answer answers a request inside the slice; the answer is recorded with it, and on replay the
// record is read instead.
func (t *Turn) answer(r *effect.Request) effect.Outcome {
	o := t.outcome(r)
	t.State.memory.observe(r, o)
	return o
}

func (t *Turn) outcome(r *effect.Request) effect.Outcome {
	if rc := t.State.Reused[r.Step]; rc != nil && rc.kind == r.Kind {
		return rc.outcome
	}
	switch r.Kind {
	case journal.KindVars, journal.KindChat:
		return t.State.memory.answer(r)
	case "now":
		return effect.Outcome{Value: effect.MustEncode(starlark.String(t.Now.UTC().Format(journal.TimeFormat)))}
	case "uuid":
		return effect.Outcome{Value: effect.MustEncode(starlark.String(newUUID(t.Host.World.Random())))}
	case "random":
		return effect.Outcome{Value: effect.MustEncode(starlark.Float(newRandom(t.Host.World.Random())))}
	}
	return effect.Outcome{Err: effect.Errorf(effect.KindRefused, "%s: this build cannot answer %q", r.Where, r.Kind)}
}

// newUUID is a random UUID, version 4 of RFC 9562.
func newUUID(from io.Reader) string {
	var b [16]byte
	_, _ = io.ReadFull(from, b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newRandom is uniform in [0, 1) with 53 random bits.
func newRandom(from io.Reader) float64 {
	var b [8]byte
	_, _ = io.ReadFull(from, b[:])
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// event journals an event of an attempt and hands it to the script's on_event.
func (t *Turn) event(step string, attempt int, kind string, data effect.Payload) {
	st := t.flying(step, attempt)
	if st == nil {
		return
	}
	args, _ := st.Args.View()
	v := effect.ViewOf(must(data.Value()))
	text := func(field string) starlark.Value { return starlark.String(v.Text(field)) }
	ev := effect.MustEncode(effect.NewRecord(effect.EventType, starlark.String(kind), starlark.String(step), starlark.String(journal.AgentName(args)),
		must(data.Value()), text("text"), text("url"), starlark.String(t.Now.UTC().Format(journal.TimeFormat))))
	heard := t.Machine.Hears(step)
	var b effect.Object
	t.record(journal.AgentEvent, step, b.Text("kind", kind).Int("attempt", int64(attempt)).Raw("data", data).Flag("heard", heard).Raw("event", onlyIf(heard, ev)).Payload())
	if heard {
		t.Machine.Event(step, ev)
		t.slice()
	}
}

func onlyIf(ok bool, p effect.Payload) effect.Payload {
	if ok {
		return p
	}
	return nil
}

// must returns the value of a payload that this process has just encoded.
func must(v starlark.Value, err error) starlark.Value {
	if err != nil {
		panic("runtime: " + err.Error())
	}
	return v
}

// maxSaid bounds what is kept of what an agent says while it works, in bytes.
const maxSaid = 64 << 10

// saying notes what an agent says, so that there is something of it when it is stopped. What it
// said before it used a tool was about what it was going to do.
func (st *Step) saying(kind, text string) {
	switch kind {
	case "tool":
		st.Aside = true
		return
	case "message":
		st.Said = text
	case "delta":
		if st.Aside {
			st.Said = ""
		}
		st.Said += text
	default:
		return
	}
	st.Aside = false
	if len(st.Said) > maxSaid {
		st.Said = strings.ToValidUTF8(st.Said[:maxSaid], "")
	}
}

// verdict records what on_event said of the attempt, and carries it out.
func (t *Turn) verdict(e *vm.Emission) {
	name, _ := starlark.AsString(e.Verdict.Field("action"))
	message, _ := starlark.AsString(e.Verdict.Field("message"))
	seq := t.record(journal.VerdictGiven, e.Step, (&effect.Object{}).Text("action", name).Text("message", message).Payload())
	if st := t.State.Steps[e.Step]; st != nil {
		t.carryOut(st, seq, message)
	}
}
