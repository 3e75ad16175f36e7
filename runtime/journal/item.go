package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
)

// A queue is a list of items that runs share, the oldest first. A run that takes an item holds it
// until it says that it is done with it (ack) or cannot be (park), until its lease is over, or
// until the run has ended: a run that merely waits, in whichever process, holds on. Nobody gives
// back what a run held when it ended; whoever looks for an item sees that its holder is no more.
//
// Each taking has a number, which fences the ones before it: what was taken by somebody else since
// can be neither acknowledged nor parked.

// Item is a row of a queue.
type Item struct {
	Value  effect.Payload
	By     string // RUN@STEP that pushed it, or who has, from outside
	At     time.Time
	Tries  int       // how often it was taken
	Holder string    // the run that took it last, or that has parked it
	Until  time.Time // when its lease is over, zero for none
	Reason string    // why it was parked
	Key    string    // while it is in the queue no other is pushed under this key; "" for none
}

// Payload is the value of the row.
func (it *Item) Payload() effect.Payload {
	var o effect.Object
	return o.Raw("value", it.Value).Text("by", it.By).Int("at", Micros(it.At)).Int("tries", int64(it.Tries)).Text("holder", it.Holder).
		Int("until", Micros(it.Until)).Text("reason", it.Reason).Text("key", it.Key).Payload()
}

// ItemOf reads a row that may be changed afterwards.
func ItemOf(row []byte) (*Item, error) {
	v, err := effect.Payload(slices.Clone(row)).View()
	if err != nil {
		return nil, err
	}
	return &Item{Value: v.Raw("value"), By: v.Text("by"), At: TimeIn(v, "at"), Tries: int(v.Int("tries")), Holder: v.Text("holder"),
		Until: TimeIn(v, "until"), Reason: v.Text("reason"), Key: v.Text("key")}, nil
}

// The states of an item, as scripts see them.
const (
	ItemWaiting = "waiting"
	ItemHeld    = "held"
	itemParked  = "parked"
)

// Record is the item as scripts see it.
func (it *Item) Record(queue string, id uint64, status string) *effect.Record {
	holder := it.Holder
	if status == ItemWaiting {
		holder = ""
	}
	value, err := it.Value.Value()
	if err != nil {
		panic("runtime: " + err.Error()) // whoever read the row has checked it
	}
	return effect.NewRecord(effect.ItemType, starlark.String(queue), starlark.MakeUint64(id), value, starlark.MakeInt(it.Tries),
		starlark.String(status), starlark.String(holder), starlark.String(it.Reason), starlark.String(it.By), starlark.String(it.At.Format(TimeFormat)))
}

// NumberAt reads a row that is a number, 0 when there is none.
func NumberAt(get func(key []byte) ([]byte, error), key []byte) (uint64, error) {
	row, err := get(key)
	switch {
	case errors.Is(err, runtime.ErrNoKey):
		return 0, nil
	case err == nil && len(row) != 8:
		err = fmt.Errorf("%w: the row %q has %d bytes, want 8", runtime.ErrDamaged, key, len(row))
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(row), nil
}

// IsHeld tells whether somebody has an item: a run that has not ended, within its lease.
func (it *Item) IsHeld(now time.Time, ended func(run string) bool) bool {
	return it.Holder != "" && (it.Until.IsZero() || now.Before(it.Until)) && !ended(it.Holder)
}

// Status is how an item stands that lies under a prefix.
func (it *Item) Status(prefix string, now time.Time, ended func(run string) bool) string {
	switch {
	case prefix == PrefixParked:
		return itemParked
	case it.IsHeld(now, ended):
		return ItemHeld
	}
	return ItemWaiting
}
