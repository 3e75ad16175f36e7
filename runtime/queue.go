package runtime

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// A queue is a list of items that runs share, the oldest first. A run that takes an item holds it until it says that it is done with it (ack) or cannot be (park), until its lease is over, or until the
// run has ended: a run that merely waits, in whichever process, holds on. Nobody gives back what a run held when it ended; whoever looks for an item sees that its holder is no more.
//
// Each taking has a number, which fences the ones before it: what was taken by somebody else since can be neither acknowledged nor parked.

// item is a row of a queue.
type item struct {
	Value  effect.Payload
	By     string // RUN@STEP that pushed it
	At     time.Time
	Tries  int       // how often it was taken
	Holder string    // the run that took it last, or that has parked it
	Until  time.Time // when its lease is over, zero for none
	Reason string    // why it was parked
}

func (it *item) payload() effect.Payload {
	var o effect.Object
	return o.Raw("value", it.Value).Text("by", it.By).Int("at", micros(it.At)).Int("tries", int64(it.Tries)).Text("holder", it.Holder).
		Int("until", micros(it.Until)).Text("reason", it.Reason).Payload()
}

func itemOf(row []byte) (*item, error) {
	v, err := effect.Payload(slices.Clone(row)).View()
	if err != nil {
		return nil, err
	}
	return &item{Value: v.Raw("value"), By: v.Text("by"), At: timeOf(v, "at"), Tries: int(v.Int("tries")), Holder: v.Text("holder"),
		Until: timeOf(v, "until"), Reason: v.Text("reason")}, nil
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

func itemKey(prefix, queue string, id uint64) []byte { return seqKey(prefix, queue+"/", id) }

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
		err = q.settle(nil)
	case "park":
		err = q.settle(func(it *item) { it.Holder, it.Until, it.Reason = q.s.ID, time.Time{}, q.args.Text("reason") })
	case "all":
		value, err = q.all()
	}
	return value, true, err
}

// push puts an item at the end and gives its number.
func (q *queueCall) push() (effect.Payload, error) {
	counter := []byte(prefixQueue + q.queue)
	row, err := q.host.e.store.Get(counter)
	if err != nil && !errors.Is(err, ErrNoKey) {
		return nil, err
	}
	id := uint64(1)
	if len(row) == 8 {
		id = binary.BigEndian.Uint64(row) + 1
	}
	it := &item{Value: q.args.Raw("value"), By: q.from(q.step), At: q.now}
	q.write(counter, binary.BigEndian.AppendUint64(nil, id))
	q.write(itemKey(prefixQueue, q.queue, id), it.payload())
	q.pushed = q.queue
	return effect.MustEncode(starlark.MakeUint64(id)), nil
}

// take gives the oldest item that nobody holds.
func (q *queueCall) take() (effect.Payload, bool, error) {
	var taken *item
	var id uint64
	var next time.Time // when the first lease is over
	err := scan(q.host.e.store, prefixQueue+q.queue+"/", func(key string, row []byte) error {
		it, err := itemOf(row)
		if err != nil {
			return err
		}
		if q.held(it) {
			if !it.Until.IsZero() && (next.IsZero() || it.Until.Before(next)) {
				next = it.Until
			}
			return nil
		}
		taken, id = it, binary.BigEndian.Uint64([]byte(key))
		return ErrStopScan
	})
	switch {
	case err != nil:
		return nil, true, err
	case taken == nil && q.args.Has("wait") && !q.args.Flag("wait"):
		return nil, true, nil
	case taken == nil:
		q.lookAgain(q.step, next)
		return nil, false, nil
	}
	taken.Tries, taken.Holder, taken.Until = taken.Tries+1, q.s.ID, time.Time{}
	if lease, _ := contract.ParseDuration(q.args.Text("lease")); lease > 0 { // checked when the call was made
		taken.Until = q.now.Add(lease)
	}
	q.write(itemKey(prefixQueue, q.queue, id), taken.payload())
	q.s.rouseNext(q.step)
	return effect.MustEncode(taken.record(q.queue, id, itemHeld)), true, nil
}

// rouseNext lets the next request of a run look that waits for an item of the same queue: there may be more.
func (s *state) rouseNext(served *step) {
	queue := served.queue()
	for _, st := range s.asks {
		if st != served && st.queue() == queue {
			st.vain = false
			return
		}
	}
}

// held tells whether somebody has an item: a run that has not ended, within its lease.
func (q *queueCall) held(it *item) bool {
	if it.Holder == "" || !it.Until.IsZero() && !q.now.Before(it.Until) {
		return false
	}
	row, err := q.host.e.summary(it.Holder)
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return false // it was removed, so it had ended
	}
	return err != nil || !row.Status.Ended()
}

// settle ends what the run has begun with an item: it leaves the queue, and is put aside as park says unless that is nil. An item that was put aside may be dropped by anybody.
func (q *queueCall) settle(park func(*item)) error {
	id, tries := uint64(q.args.Int("id")), int(q.args.Int("tries"))
	key := itemKey(prefixQueue, q.queue, id)
	it, err := q.item(key)
	if err != nil {
		return err
	}
	if it == nil {
		key = itemKey(prefixParked, q.queue, id)
		if it, err = q.item(key); err != nil {
			return err
		}
		if it == nil || park != nil {
			return effect.Errorf(effect.KindRefused, "%s: item %d is not in the queue %q any more", q.step.Step, id, q.queue)
		}
	} else if it.Holder != q.s.ID || it.Tries != tries {
		return effect.Errorf(effect.KindRefused, "%s: item %d of the queue %q is not held by this call any more: it was taken %d times, last by run %s, and this is number %d",
			q.step.Step, id, q.queue, it.Tries, it.Holder, tries)
	}
	q.write(key, nil)
	if park != nil {
		park(it)
		q.write(itemKey(prefixParked, q.queue, id), it.payload())
	}
	return nil
}

// item reads a row, nil when there is none.
func (q *queueCall) item(key []byte) (*item, error) {
	row, err := q.host.e.store.Get(key)
	switch {
	case errors.Is(err, ErrNoKey):
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
	for _, prefix := range []string{prefixQueue, prefixParked} {
		err := scan(q.host.e.store, prefix+q.queue+"/", func(key string, row []byte) error {
			it, err := itemOf(row)
			if err != nil {
				return err
			}
			if size += len(row); size > effect.MaxPayload {
				return effect.Errorf(effect.KindRefused, "%s: the items have more than %d bytes together", q.step.Step, effect.MaxPayload)
			}
			status := itemWaiting
			switch {
			case prefix == prefixParked:
				status = itemParked
			case q.held(it):
				status = itemHeld
			}
			items = append(items, it.record(q.queue, binary.BigEndian.Uint64([]byte(key)), status))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return effect.MustEncode(starlark.NewList(items)), nil
}
