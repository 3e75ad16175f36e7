package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// A queue is a list of items that runs share, the oldest first. A run that takes an item holds it until it says that it is done with it (ack) or cannot be (park), until its lease is over, or until the
// run has ended: a run that merely waits, in whichever process, holds on. Nobody gives back what a run held when it ended; whoever looks for an item sees that its holder is no more.
//
// Each taking has a number, which fences the ones before it: what was taken by somebody else since can be neither acknowledged nor parked.

// item is a row of a queue.
type item struct {
	Value  effect.Payload
	By     string // RUN@STEP that pushed it, or who has, from outside
	At     time.Time
	Tries  int       // how often it was taken
	Holder string    // the run that took it last, or that has parked it
	Until  time.Time // when its lease is over, zero for none
	Reason string    // why it was parked
	Key    string    // while it is in the queue no other is pushed under this key; "" for none
}

func (it *item) payload() effect.Payload {
	var o effect.Object
	return o.Raw("value", it.Value).Text("by", it.By).Int("at", micros(it.At)).Int("tries", int64(it.Tries)).Text("holder", it.Holder).
		Int("until", micros(it.Until)).Text("reason", it.Reason).Text("key", it.Key).Payload()
}

func itemOf(row []byte) (*item, error) {
	v, err := effect.Payload(slices.Clone(row)).View()
	if err != nil {
		return nil, err
	}
	return &item{Value: v.Raw("value"), By: v.Text("by"), At: timeOf(v, "at"), Tries: int(v.Int("tries")), Holder: v.Text("holder"),
		Until: timeOf(v, "until"), Reason: v.Text("reason"), Key: v.Text("key")}, nil
}

// The states of an item, as scripts see them.
const (
	itemWaiting = "waiting"
	itemHeld    = "held"
	itemParked  = "parked"
)

// record is the item as scripts see it.
func (it *item) record(queue string, id uint64, status string) *effect.Record {
	holder := it.Holder
	if status == itemWaiting {
		holder = ""
	}
	return effect.NewRecord(effect.ItemType, starlark.String(queue), starlark.MakeUint64(id), must(it.Value.Value()), starlark.MakeInt(it.Tries),
		starlark.String(status), starlark.String(holder), starlark.String(it.Reason), starlark.String(it.By), starlark.String(it.At.Format(timeFormat)))
}

func itemKey(prefix, queue string, id uint64) []byte { return journal.SeqKey(prefix, queue+"/", id) }

func uniqueKey(queue, key string) []byte { return []byte(journal.PrefixUnique + queue + "/" + key) }

// enqueue gives the rows that put an item at the end of a queue, and its number. One whose key is that of an item in the queue is not put there: it gives that item's number and no rows. It is called
// with the commons locked.
func enqueue(c commons, queue string, it *item) (id uint64, writes []runtime.Write, err error) {
	if it.Key != "" {
		if id, err = numberAt(c.Get, uniqueKey(queue, it.Key)); id != 0 || err != nil {
			return id, nil, err
		}
	}
	counter := []byte(journal.PrefixQueue + queue)
	if id, err = numberAt(c.Get, counter); err != nil {
		return 0, nil, err
	}
	id++
	number := binary.BigEndian.AppendUint64(nil, id)
	writes = []runtime.Write{{Key: counter, Value: number}, {Key: itemKey(journal.PrefixQueue, queue, id), Value: it.payload()}}
	if it.Key != "" {
		writes = append(writes, runtime.Write{Key: uniqueKey(queue, it.Key), Value: number})
	}
	return id, writes, nil
}

// numberAt reads a row that is a number, 0 when there is none.
func numberAt(get func(key []byte) ([]byte, error), key []byte) (uint64, error) {
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

// queueCall is one request to a queue.
type queueCall struct {
	*turn
	step  *step
	args  effect.View
	queue string
}

func (q *queueCall) perform() (value effect.Payload, found bool, err error) {
	switch q.args.Text("do") {
	case "push":
		value, err = q.push()
	case "take":
		return q.take()
	case "ack":
		err = q.settle("", nil)
	case "park":
		err = q.settle(journal.PrefixParked, func(it *item) { it.Holder, it.Until, it.Reason = q.s.ID, time.Time{}, q.args.Text("reason") })
	case "release":
		err = q.settle(journal.PrefixQueue, q.giveBack)
	case "all":
		value, err = q.all()
	}
	return value, true, err
}

// push puts an item at the end and gives its number.
func (q *queueCall) push() (effect.Payload, error) {
	it := &item{Value: q.args.Raw("value"), By: q.from(q.step), At: q.now, Key: q.args.Text("key")}
	id, writes, err := enqueue(q.host.commons, q.queue, it)
	if err != nil {
		return nil, err
	}
	for _, w := range writes {
		q.write(w.Key, w.Value)
		q.effects.pushed = q.queue
	}
	return effect.MustEncode(starlark.MakeUint64(id)), nil
}

// giveBack lets others take an item, with what the run has made of it.
func (q *queueCall) giveBack(it *item) {
	it.Holder, it.Until, it.Reason = "", time.Time{}, ""
	if q.args.Has("value") {
		it.Value = q.args.Raw("value")
	}
	q.effects.pushed = q.queue
}

// take gives the oldest item that nobody holds, or the one with the number that was asked for.
func (q *queueCall) take() (effect.Payload, bool, error) {
	var taken *item
	var id uint64
	var next time.Time // when the first lease is over
	wanted, there := uint64(q.args.Int("id")), false
	err := q.host.commons.Items(q.queue, func(number uint64, row []byte) error {
		if wanted != 0 && number != wanted {
			return nil
		}
		it, err := itemOf(row)
		if err != nil {
			return err
		}
		there = true
		if q.held(it) {
			if !it.Until.IsZero() && (next.IsZero() || it.Until.Before(next)) {
				next = it.Until
			}
			return nil
		}
		taken, id = it, number
		return runtime.ErrStopScan
	})
	switch {
	case err != nil:
		return nil, true, err
	case taken == nil && (wanted != 0 && !there || q.args.Has("wait") && !q.args.Flag("wait")):
		return nil, true, nil // nobody brings back an item that has left
	case taken == nil:
		q.lookAgain(q.step, next)
		return nil, false, nil
	}
	taken.Tries, taken.Holder, taken.Until = taken.Tries+1, q.s.ID, time.Time{}
	if lease, _ := contract.ParseDuration(q.args.Text("lease")); lease > 0 { // checked when the call was made
		taken.Until = q.now.Add(lease)
	}
	q.write(itemKey(journal.PrefixQueue, q.queue, id), taken.payload())
	q.s.retryNext(q.step)
	return effect.MustEncode(taken.record(q.queue, id, itemHeld)), true, nil
}

// retryNext lets the next request of a run look that waits for an item of the same queue: there may be more.
func (s *state) retryNext(served *step) {
	queue := served.queue()
	for _, st := range s.asks {
		if st != served && st.queue() == queue {
			st.foundNothing = false
			return
		}
	}
}

// held tells whether somebody has an item now.
func (q *queueCall) held(it *item) bool { return it.held(q.now, q.host.commons.Ended) }

// held tells whether somebody has an item: a run that has not ended, within its lease.
func (it *item) held(now time.Time, ended func(run string) bool) bool {
	return it.Holder != "" && (it.Until.IsZero() || now.Before(it.Until)) && !ended(it.Holder)
}

// status is how an item stands that lies under a prefix.
func (it *item) status(prefix string, now time.Time, ended func(run string) bool) string {
	switch {
	case prefix == journal.PrefixParked:
		return itemParked
	case it.held(now, ended):
		return itemHeld
	}
	return itemWaiting
}

// settle ends what the run has begun with an item. It goes where change makes it fit for, or leaves the queue where that is nil. One that was put aside may be dropped and given back by anybody.
func (q *queueCall) settle(to string, change func(*item)) error {
	id, tries := uint64(q.args.Int("id")), int(q.args.Int("tries"))
	key := itemKey(journal.PrefixQueue, q.queue, id)
	it, err := q.item(key)
	if err != nil {
		return err
	}
	if it == nil {
		key = itemKey(journal.PrefixParked, q.queue, id)
		if it, err = q.item(key); err != nil {
			return err
		}
		if it == nil || to == journal.PrefixParked {
			return effect.Errorf(effect.KindRefused, "%s: item %d is not in the queue %q any more", q.step.Step, id, q.queue)
		}
	} else if it.Holder != q.s.ID || it.Tries != tries {
		return effect.Errorf(effect.KindRefused, "%s: item %d of the queue %q is not held by this call any more: it was taken %d times, last by run %s, and this is number %d",
			q.step.Step, id, q.queue, it.Tries, it.Holder, tries)
	}
	if change == nil {
		q.write(key, nil)
		if it.Key != "" {
			q.write(uniqueKey(q.queue, it.Key), nil)
		}
		return nil
	}
	change(it)
	if other := itemKey(to, q.queue, id); !bytes.Equal(other, key) {
		q.write(key, nil)
		key = other
	}
	q.write(key, it.payload())
	if to == journal.PrefixQueue {
		q.host.commons.Returned(q.queue, id)
	}
	return nil
}

// item reads a row, nil when there is none.
func (q *queueCall) item(key []byte) (*item, error) {
	row, err := q.host.commons.Get(key)
	switch {
	case errors.Is(err, runtime.ErrNoKey):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return itemOf(row)
}

// all lists the items in their order, those that were parked behind the others.
func (q *queueCall) all() (effect.Payload, error) {
	var items []starlark.Value
	size := 0
	for _, prefix := range []string{journal.PrefixQueue, journal.PrefixParked} {
		err := q.host.commons.Scan(prefix+q.queue+"/", func(key string, row []byte) error {
			it, err := itemOf(row)
			if err != nil {
				return err
			}
			if size += len(row); size > effect.MaxPayload {
				return effect.Errorf(effect.KindRefused, "%s: the items have more than %d bytes together", q.step.Step, effect.MaxPayload)
			}
			items = append(items, it.record(q.queue, binary.BigEndian.Uint64([]byte(key)), it.status(prefix, q.now, q.host.commons.Ended)))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return effect.MustEncode(starlark.NewList(items)), nil
}
