package temporal

import (
	"time"

	"starling/lang/effect"
)

// task is what the worker of an attempt is given.
type task struct {
	run, step string
	timeout   time.Duration
	settings  string // hash
	excerpt   effect.Payload
}

func (k *task) encode() []byte {
	b := packer{version}
	b.text(k.run)
	b.text(k.step)
	b.number(uint64(k.timeout))
	b.text(k.settings)
	b.bytes(k.excerpt)
	return b
}

func taskOf(b []byte) (*task, error) {
	u := &unpacker{rest: b}
	if len(b) == 0 || b[0] != version {
		u.fail()
	} else {
		u.rest = b[1:]
	}
	k := &task{run: u.text(), step: u.text(), timeout: time.Duration(u.number()), settings: u.text(), excerpt: u.bytes()}
	return k, u.err
}

// where is an attempt with the queue of the worker that makes it.
type where struct {
	run, step string
	number    uint64
	home      string
}

func (a *where) encode() []byte {
	b := packer{byte(letterHome)}
	b.text(a.run)
	b.text(a.step)
	b.number(a.number)
	b.text(a.home)
	return b
}

func whereOf(b []byte) (where, error) {
	u := &unpacker{rest: b}
	if len(b) == 0 || letterKind(b[0]) != letterHome {
		u.fail()
	} else {
		u.rest = b[1:]
	}
	a := where{u.text(), u.text(), u.number(), u.text()}
	return a, u.err
}
