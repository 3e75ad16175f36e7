package agent

import (
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/redact"
)

const (
	maxHeard      = 256 << 20               // bytes of stdout in all: an agent that is at work for an hour tells a lot
	maxTranscript = effect.MaxBlobs - 1<<20 // bytes of the end that are kept
	maxEvents     = 10_000                  // of one attempt
	maxEventText  = 16 << 10                // bytes of one text in an event
)

// outputStream takes what a program writes, line by line as it comes. It is called by one
// goroutine.
type outputStream struct {
	dialect dialect
	emit    emitter
	keys    *redact.Redactor
	end     func() // ends the program

	heard, counted int
	over           bool
	script         *redact.Stream // of what was heard, on its way to kept
	kept           []byte         // the end of it, at most twice maxTranscript
}

func newOutputStream(q Question, d dialect, emit emitter, end func()) *outputStream {
	return &outputStream{dialect: d, emit: emit, keys: q.keys, end: end, script: q.hidden.Stream()}
}

// line takes a line. The last one may have been cut.
func (h *outputStream) line(raw []byte, whole bool) {
	line := h.keys.Redact(string(raw))
	if !whole {
		line = h.keys.Cut(string(raw))
	}
	h.keep(h.script.Next(raw))
	if whole {
		h.keep(h.script.Next([]byte{'\n'}))
	}
	h.heard += len(raw) + 1
	if h.dialect.line(line, h.emit) {
		h.counted += len(raw) + 1
	}
	if h.hopeless() != nil {
		h.end()
	}
	if !h.over && (h.counted > maxReply+1 || h.heard > maxHeard) {
		h.over = true
		h.end()
	}
}

// hopeless is what the program has told that none of its own further tries can mend; nil for
// nothing.
func (h *outputStream) hopeless() *fault {
	if d, tries := h.dialect.(interface{ hopeless() *fault }); tries {
		return d.hopeless()
	}
	return nil
}

func (h *outputStream) keep(shown []byte) {
	h.kept = append(h.kept, shown...)
	if len(h.kept) > 2*maxTranscript {
		h.kept = append([]byte(nil), h.kept[len(h.kept)-maxTranscript:]...)
	}
}

// transcript is the end of what was heard, when there is no more.
func (h *outputStream) transcript() string {
	h.keep(h.script.Rest())
	if n := len(h.kept); n > 0 && h.kept[n-1] != '\n' {
		h.keep([]byte{'\n'})
	}
	return string(h.kept[max(0, len(h.kept)-maxTranscript):])
}

// emitter journals the events of one attempt. It is bounded: whoever tells too much is not heard
// out, but goes on. It is used concurrently.
type emitter struct {
	to   *effect.Attempt
	left *atomic.Int64
}

func newEmitter(to *effect.Attempt) emitter {
	left := new(atomic.Int64)
	left.Store(maxEvents)
	return emitter{to, left}
}

// event journals one event whose data was checked.
func (e emitter) event(kind string, data starlark.Value) {
	switch left := e.left.Add(-1); {
	case left > 0:
		e.to.Emit(kind, data)
	case left == 0:
		e.to.Emit("unheard", dict("text", "further events of this attempt are not recorded"))
	}
}

// say journals an event of pairs of names and values. Texts are cut where they are long.
func (e emitter) say(kind string, pairs ...any) { e.event(kind, dict(pairs...)) }

// used journals what the attempt has taken so far, in all: the runtime counts it as it comes. nil
// is nothing.
func (e emitter) used(usage starlark.Value) {
	if usage != nil {
		e.event("usage", usage)
	}
}

// dict makes a dict of pairs of names and values: texts, ints, bools, raw JSON. Empty texts are
// left out.
func dict(pairs ...any) *starlark.Dict {
	d := starlark.NewDict(len(pairs) / 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := plainValue(pairs[i+1]); v != nil {
			if err := d.SetKey(starlark.String(pairs[i].(string)), v); err != nil {
				panic("agent: " + err.Error()) // a fresh dict with keys that are strings
			}
		}
	}
	return d
}

func plainValue(v any) starlark.Value {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
		return starlark.String(clip(v))
	case int64:
		return starlark.MakeInt64(v)
	case bool:
		return starlark.Bool(v)
	case float64:
		return starlark.Float(v)
	case []byte: // JSON
		if value, err := contract.FromJSON(v); err == nil && len(v) <= maxEventText {
			return value
		}
		return plainValue(string(v))
	}
	return nil
}

// clip cuts a text that is too long for an event, between characters.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxEventText {
		return s
	}
	end := maxEventText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// eventOf reads a line that is an event and nothing else.
func eventOf(line string) (*starlark.Dict, bool) {
	text := strings.TrimSpace(line)
	if !strings.HasPrefix(text, `{`) || !strings.Contains(text, `"event"`) {
		return nil, false
	}
	v, err := contract.FromJSON([]byte(text))
	d, ok := v.(*starlark.Dict)
	if err != nil || !ok || d.Len() != 1 {
		return nil, false
	}
	event, ok := effect.ViewOf(d).Value("event").(*starlark.Dict)
	return event, ok && effect.CheckName(effect.ViewOf(event).Text("kind")) == nil
}

// claimed marks the event of a call to a tool server as the word of whoever tells it: those that
// were made here are told by the proxy.
func claimed(kind string, data starlark.Value) starlark.Value {
	d, ok := data.(*starlark.Dict)
	if !ok || kind != "tool_call" && kind != "tool_denied" {
		return data
	}
	return withKey(d, "claimed", starlark.True)
}

// withKey is a copy of a dict in which one key has a value.
func withKey(d *starlark.Dict, key string, v starlark.Value) *starlark.Dict {
	with := starlark.NewDict(d.Len() + 1)
	for _, item := range d.Items() {
		_ = with.SetKey(item[0], item[1]) // a fresh dict, and keys of another
	}
	_ = with.SetKey(starlark.String(key), v)
	return with
}

// toolNames are the tools of the calls that have begun, by the calls' ids. Nil has none.
type toolNames map[string]string

func (n *toolNames) begin(id, tool string) {
	if *n == nil {
		*n = toolNames{}
	}
	if len(*n) < maxCalls {
		(*n)[id] = tool
	}
}

// end is the tool of a call that has ended, "" where that is not known.
func (n toolNames) end(id string) string {
	tool := n[id]
	delete(n, id)
	return tool
}
