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
