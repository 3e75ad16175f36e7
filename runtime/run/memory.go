package run

import (
	"cmp"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime/journal"
)

// What a run shares between its branches and agents: variables, and chats that agents are given
// whoever serves them. It is answered inside the slice, so that a script reads what it has just
// written. The records of the answers hold what was changed, and the state is their fold like all
// else.

// maxShared is how many bytes the variables and chats of a run may have together; they are part of
// every checkpoint.
const maxShared = effect.MaxPayload

// memory is that of a run.
type memory struct {
	vars  map[string]effect.Payload
	chats map[string]*chat
	size  int             // bytes of it all
	early map[string]bool // steps that were answered in a slice whose records are still to come: their changes are in it
}

// chat is what was said under a name. Entries have numbers that stay theirs when the oldest are
// dropped.
type chat struct {
	first   int // number of the oldest entry that is left
	entries []effect.Payload
}

func (c *chat) next() int { return c.first + len(c.entries) }

func (m *memory) chat(name string) *chat {
	if c := m.chats[name]; c != nil {
		return c
	}
	return new(chat)
}

// said lists the entries of a chat up to one with a number.
func (m *memory) said(name string, next int) starlark.Value {
	c := m.chat(name)
	var list []starlark.Value
	for _, p := range c.entries[:min(max(0, next-c.first), len(c.entries))] {
		list = append(list, must(p.Value()))
	}
	return starlark.NewList(list)
}

// heard is the number behind the newest entry of the chat that an agent's request names, 0 without
// one.
func (m *memory) heard(r *effect.Request) int {
	if !journal.AgentKind(r.Kind) {
		return 0
	}
	args, _ := r.Args.View()
	return m.chat(args.Text("memory")).next()
}

// given is what an attempt of a step is told of the chat that its arguments name, nil when they
// name none.
func (m *memory) given(args starlark.Value, st *Step) starlark.Value {
	name := effect.ViewOf(args).Text("memory")
	if name == "" || !journal.AgentKind(st.Kind) {
		return nil
	}
	return m.said(name, st.Heard)
}

// add puts an entry at the end of a chat.
func (m *memory) add(name string, entry effect.Payload) {
	if m.chats == nil {
		m.chats = map[string]*chat{}
	}
	c := m.chat(name)
	c.entries = append(c.entries, entry)
	m.chats[name] = c
	m.size += len(entry)
}

// set gives a variable a value, or none.
func (m *memory) set(key string, value effect.Payload) {
	if m.vars == nil {
		m.vars = map[string]effect.Payload{}
	}
	m.size += len(value) - len(m.vars[key])
	m.vars[key] = value
	if value == nil {
		delete(m.vars, key)
	}
}

// keep drops all but the newest entries of a chat.
func (m *memory) keep(name string, n int) {
	c := m.chat(name)
	for drop := max(0, len(c.entries)-n); drop > 0; drop-- {
		m.size -= len(c.entries[0])
		c.first, c.entries = c.first+1, c.entries[1:]
	}
}

// change does what an answered request asked for. It is false where the request only reads.
func (m *memory) change(kind string, args effect.View) bool {
	switch kind + "." + args.Text("do") {
	case "memory.vars.set":
		m.set(args.Text("key"), args.Raw("value"))
	case "memory.vars.delete":
		m.set(args.Text("key"), nil)
	case "memory.chat.add":
		m.add(chatName(args), entry(cmp.Or(args.Text("by"), "script"), "", args.Text("text")))
	case "memory.chat.keep":
		m.keep(chatName(args), int(args.Int("last")))
	default:
		return false
	}
	return true
}

func chatName(args effect.View) string { return cmp.Or(args.Text("chat"), "main") }

// entry is one thing that was said; to is whom, "" for everybody.
func entry(by, to, text string) effect.Payload {
	var o effect.Object
	return o.Text("by", by).Text("to", to).Raw("text", effect.MustEncode(starlark.String(text))).Payload()
}

// answer answers a request from what there is, before it is changed.
func (m *memory) answer(r *effect.Request) effect.Outcome {
	args, err := r.Args.View()
	if err != nil {
		return effect.Outcome{Err: effect.Errorf(effect.KindRefused, "%s: %v", r.Kind, err)}
	}
	if grows := len(args.Raw("value")) + len(args.Text("text")); m.size+grows > maxShared && grows > 0 {
		return effect.Outcome{Err: effect.Errorf(effect.KindRefused, "%s.%s: the run's memory would have more than %d bytes; delete what is not needed, or keep the newest of a chat",
			r.Kind, args.Text("do"), maxShared)}
	}
	return effect.Outcome{Value: m.read(r.Kind, args)}
}

func (m *memory) read(kind string, args effect.View) effect.Payload {
	switch kind + "." + args.Text("do") {
	case "memory.vars.get":
		if v, ok := m.vars[args.Text("key")]; ok {
			return v
		}
		return args.Raw("default")
	case "memory.vars.delete":
		_, ok := m.vars[args.Text("key")]
		return effect.MustEncode(starlark.Bool(ok))
	case "memory.vars.all":
		var o effect.Object
		for _, key := range sortedKeys(m.vars) {
			o.Raw(key, m.vars[key])
		}
		return o.Payload()
	case "memory.chat.all":
		return effect.MustEncode(m.said(chatName(args), m.chat(chatName(args)).next()))
	}
	return nil
}

// observe has the rest of a slice see what an answered request has changed. Its record comes later
// and changes nothing again.
func (m *memory) observe(r *effect.Request, o effect.Outcome) {
	if o.Err != nil || r.Kind != journal.KindVars && r.Kind != journal.KindChat {
		return
	}
	if args, err := r.Args.View(); err == nil && m.change(r.Kind, args) {
		if m.early == nil {
			m.early = map[string]bool{}
		}
		m.early[r.Step] = true
	}
}

// answered folds in the record of an answer.
func (m *memory) answered(step string, v effect.View) {
	if m.early[step] {
		delete(m.early, step)
		return
	}
	if v.Has("change") {
		m.change(v.Text("kind"), v.Sub("change"))
	}
}

// changes is the part of an answered request that its record holds, so that a fold of the records
// comes to the same memory; nil where it changes nothing.
func changes(r *effect.Request, o effect.Outcome) effect.Payload {
	args, err := r.Args.View()
	if err != nil || o.Err != nil || r.Kind != journal.KindVars && r.Kind != journal.KindChat {
		return nil
	}
	switch args.Text("do") {
	case "set", "delete", "add", "keep":
		return r.Args
	}
	return nil
}

// converse adds to the chat of an agent's step what was asked of it and what it has replied.
func (s *State) converse(st *Step, value effect.Payload) {
	args, _ := st.Args.View()
	name := args.Text("memory")
	if name == "" || value == nil {
		return
	}
	r, ok := must(value.Value()).(*effect.Record)
	if !ok || !bool(r.Truth()) {
		return
	}
	if task := args.Text("task"); task != "" {
		s.memory.add(name, entry("script", journal.AgentName(args), task))
	}
	text, _ := starlark.AsString(r.Field("text"))
	if text == "" {
		reply, _ := contract.ToJSON(r.Field("output")) // it has been encoded
		text = string(reply)
	}
	s.memory.add(name, entry(journal.AgentName(args), "", text))
}

// payload encodes the memory for a checkpoint, nil where there is none.
func (m *memory) payload() effect.Payload {
	if len(m.vars)+len(m.chats) == 0 {
		return nil
	}
	var vars, chats effect.Object
	for _, key := range sortedKeys(m.vars) {
		vars.Raw(key, m.vars[key])
	}
	for _, name := range sortedKeys(m.chats) {
		var o effect.Object
		chats.Raw(name, o.Int("first", int64(m.chats[name].first)).Raws("entries", m.chats[name].entries).Payload())
	}
	var o effect.Object
	return o.Raw("vars", vars.Payload()).Raw("chats", chats.Payload()).Payload()
}

func memoryOf(v effect.View) memory {
	var m memory
	if v.Empty() {
		return m
	}
	vars := v.Sub("vars")
	vars.Each(func(key string, _ effect.View) { m.set(key, vars.Raw(key)) })
	v.Sub("chats").Each(func(name string, c effect.View) {
		list, _ := c.Value("entries").(*starlark.List)
		if list == nil {
			list = new(starlark.List)
		}
		for e := range list.Elements() {
			m.add(name, effect.MustEncode(e))
		}
		if m.chats == nil {
			m.chats = map[string]*chat{}
		}
		kept := m.chat(name)
		kept.first = int(c.Int("first"))
		m.chats[name] = kept
	})
	return m
}

// share does a function of memory.vars for an attempt that is in flight.
func (t *Turn) share(step string, attempt int, args effect.Payload) effect.Outcome {
	if st := t.flying(step, attempt); st == nil || st.Stopped {
		return effect.Outcome{Err: effect.Errorf(effect.KindCancelled, "%s: the attempt has ended", step)}
	}
	r := &effect.Request{Step: step, Kind: journal.KindVars, Args: args}
	out := t.State.memory.answer(r)
	if change := changes(r, out); change != nil {
		var b effect.Object
		t.record(journal.MemoryChanged, step, b.Int("attempt", int64(attempt)).Text("kind", journal.KindVars).
			Raw("change", change).Payload())
	}
	return out
}
