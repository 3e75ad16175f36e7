package temporal

import (
	"encoding/json"
	"fmt"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/run"
)

// A letter is what a workflow hands to a turn: something that came in by an update, a signal, or
// the end of an activity. Its first byte says what it is.
type letterKind byte

// The kinds of letter. The numbers are in histories: new kinds go at the end.
const (
	letterWoken letterKind = iota
	letterSignal
	letterCancel
	letterPin
	letterReply
	letterEvents
	letterChild   // a child run has come to rest, moves on, or has ended
	letterOrphan  // the parent waits no more
	letterSteered // the end of an attempt that was ended to go on with a message
	letterHome    // where the worker of an attempt is found: no turn takes it
)

// asked is a letter of somebody who waits for an answer.
type asked struct {
	Caller runtime.Caller         `json:"caller"`
	Signal *runtime.Signal        `json:"signal,omitempty"`
	Any    bool                   `json:"any,omitempty"` // of a claim: [runtime.Signal.Any]
	Who    []string               `json:"who,omitempty"`
	Cancel *runtime.CancelRequest `json:"cancel,omitempty"`
	Pin    []byte                 `json:"pin,omitempty"`
}

// told is what it is answered.
type told struct {
	Receipt *runtime.Receipt `json:"receipt,omitempty"`
	Refused *runtime.Refusal `json:"refused,omitempty"`
}

func (t told) encode() []byte {
	text, _ := json.Marshal(t) // plain data
	return text
}

func (t told) give() (*runtime.Receipt, error) {
	if t.Refused != nil {
		return nil, t.Refused
	}
	return t.Receipt, nil
}

func letterOf(kind letterKind, body any) []byte {
	text, _ := json.Marshal(body) // plain data
	return append([]byte{byte(kind)}, text...)
}

// came is a child run as its parent is told of it.
type came struct {
	Step   string
	Child  string
	Status runtime.Status
	Output effect.Payload
	Failed effect.Payload
}

func (c *came) encode() []byte {
	b := packer{byte(letterChild)}
	b.text(c.Step)
	b.text(c.Child)
	b.text(string(c.Status))
	b.bytes(c.Output)
	b.bytes(c.Failed)
	return b
}

func cameOf(b []byte) (*came, error) {
	u := &unpacker{rest: b}
	c := &came{u.text(), u.text(), runtime.Status(u.text()), none(u.bytes()), none(u.bytes())}
	return c, u.err
}

// input is what the parent's turn takes.
func (c *came) input() run.Input {
	if c.Status.Ended() {
		return &run.ChildEnded{Step: c.Step, Output: c.Output, Failed: errorOf(c.Failed)}
	}
	return &run.ChildChanged{Step: c.Step, Child: c.Child}
}

// none is nil for what has no bytes.
func none(b []byte) effect.Payload {
	if len(b) == 0 {
		return nil
	}
	return b
}

func errorOf(p effect.Payload) *effect.Error {
	if len(p) == 0 {
		return nil
	}
	v, err := p.View()
	if err != nil {
		return effect.Errorf(effect.KindInvalid, "an error that cannot be read: %v", err)
	}
	return effect.ErrorOf(v)
}

// inputs are what a letter brings to a turn.
func (b *book) inputs(letter []byte) ([]run.Input, error) {
	kind, body := letterKind(letter[0]), letter[1:]
	switch kind {
	case letterWoken:
		return []run.Input{run.Woken{}}, nil
	case letterSignal, letterCancel, letterPin:
		in, err := inputAsked(kind, body)
		return []run.Input{in}, err
	case letterReply, letterSteered:
		o, err := outcomeOf(body)
		if err != nil {
			return nil, err
		}
		if kind == letterSteered && o.reply.Err != nil {
			o.end = endSteered
		}
		return o.inputs(), b.keep(o.reply.Blobs)
	case letterEvents:
		o, err := outcomeOf(body)
		if err != nil {
			return nil, err
		}
		return o.happened(), nil
	case letterChild:
		c, err := cameOf(body)
		if err != nil {
			return nil, err
		}
		b.kids[c.Child] = c.Status
		return []run.Input{c.input()}, nil
	case letterOrphan:
		return []run.Input{&run.Cancelled{Who: []string{"run:" + string(body)}, Request: runtime.CancelRequest{Reason: "its parent ended"}}}, nil
	}
	return nil, fmt.Errorf("%w: a letter of the unknown kind %d", runtime.ErrNewer, kind)
}

func inputAsked(kind letterKind, body []byte) (run.Input, error) {
	var a asked
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	switch {
	case kind == letterSignal && a.Signal != nil:
		a.Signal.Any = a.Any
		return &run.Signalled{Caller: a.Caller, Signal: *a.Signal}, nil
	case kind == letterCancel && a.Cancel != nil:
		return &run.Cancelled{Who: a.Who, Request: *a.Cancel}, nil
	case kind == letterPin:
		settings, err := run.SettingsOf(a.Pin)
		return &run.Pinned{Settings: settings, By: a.Caller.Name}, err
	}
	return nil, fmt.Errorf("%w: a letter without its content", runtime.ErrDamaged)
}

// toldOf is what whoever sent an input is answered, nil where nobody waits.
func toldOf(in run.Input) []byte {
	refused := (*runtime.Refusal)(nil)
	if a, ok := in.(run.Answered); ok {
		if err := a.Refusal(); err != nil {
			refused = runtime.AsRefusal(err)
		}
	}
	switch in := in.(type) {
	case *run.Signalled:
		return told{in.Receipt, refused}.encode()
	case *run.Cancelled:
		return told{in.Receipt, refused}.encode()
	case *run.Pinned:
		return told{}.encode()
	}
	return nil
}
