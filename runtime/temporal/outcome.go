package temporal

import (
	"maps"
	"slices"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// outcome is what an attempt came to, or has told of so far.
type outcome struct {
	step    string
	attempt int
	end     int // as run.Replied has it
	events  []event
	reply   effect.Reply
}

// event is something that an attempt has told of.
type event struct {
	kind string
	data effect.Payload
}

func (o *outcome) encode(kind letterKind) []byte {
	b := packer{byte(kind)}
	b.text(o.step)
	b.number(uint64(o.attempt), uint64(o.end), uint64(len(o.events)))
	for _, e := range o.events {
		b.text(e.kind)
		b.bytes(e.data)
	}
	r := &o.reply
	b.bytes(encoded(r.Value))
	for _, s := range []string{r.Text, r.Note, r.Status, r.Backend, r.Session} {
		b.text(s)
	}
	b.bytes(encoded(r.Usage))
	b.number(uint64(len(r.Blobs)))
	for _, name := range slices.Sorted(maps.Keys(r.Blobs)) {
		b.text(name)
		b.bytes(r.Blobs[name])
	}
	b.bytes(r.Err.Payload())
	b.number(uint64(r.Class), uint64(r.After))
	return b
}

// encoded is a value as bytes, none for none.
func encoded(v starlark.Value) effect.Payload {
	if v == nil {
		return nil
	}
	p, err := effect.Encode(v)
	if err != nil {
		return effect.MustEncode(starlark.String("a value that cannot be recorded: " + err.Error()))
	}
	return p
}

// outcomeOf reads what encode wrote, behind its first byte.
func outcomeOf(b []byte) (*outcome, error) {
	u := &unpacker{rest: b}
	o := &outcome{step: u.text(), attempt: int(u.number()), end: int(u.number())}
	for range u.count() {
		o.events = append(o.events, event{u.text(), none(u.bytes())})
	}
	r, value := &o.reply, none(u.bytes())
	for _, s := range []*string{&r.Text, &r.Note, &r.Status, &r.Backend, &r.Session} {
		*s = u.text()
	}
	usage := none(u.bytes())
	for range u.count() {
		if r.Blobs == nil {
			r.Blobs = map[string][]byte{}
		}
		name := u.text()
		r.Blobs[name] = u.bytes()
	}
	r.Err = errorOf(none(u.bytes()))
	r.Class, r.After = effect.Failure(u.number()), time.Duration(u.number())
	if u.err != nil {
		return nil, u.err
	}
	var err error
	if r.Value, err = decoded(value); err == nil {
		r.Usage, err = decoded(usage)
	}
	return o, err
}

func decoded(p effect.Payload) (starlark.Value, error) {
	if p == nil {
		return nil, nil
	}
	return p.Value()
}

// happened are the events as inputs.
func (o *outcome) happened() (all []run.Input) {
	for _, e := range o.events {
		all = append(all, &run.Happened{Step: o.step, Attempt: o.attempt, Kind: e.kind, Data: e.data})
	}
	return all
}

// inputs are the events and the end of the attempt.
func (o *outcome) inputs() []run.Input {
	in := &run.Replied{Step: o.step, Attempt: o.attempt, Reply: &o.reply}
	switch o.end {
	case endLeaving:
		in.End = run.EndLeaving
	case endSteered:
		in.End = run.EndSteered
	}
	return append(o.happened(), in)
}

// How an attempt came to its end, as it is in histories.
const (
	endOwn = iota
	endLeaving
	endSteered
)

// contents are what a reply leaves, by their hashes.
func contents(blobs map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for _, content := range blobs {
		out[journal.HashOf(content)] = content
	}
	return out
}
