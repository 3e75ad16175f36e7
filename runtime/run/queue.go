package run

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Enqueue gives the rows that put an item at the end of a queue, and its number. One whose key is
// that of an item in the queue is not put there: it gives that item's number and no rows. It is
// called with the commons locked.
func Enqueue(c Commons, queue string, it *journal.Item) (id uint64, writes []runtime.Write, err error) {
	if it.Key != "" {
		if id, err = journal.NumberAt(c.Get, journal.UniqueKey(queue, it.Key)); id != 0 || err != nil {
			return id, nil, err
		}
	}
	counter := []byte(journal.PrefixQueue + queue)
	if id, err = journal.NumberAt(c.Get, counter); err != nil {
		return 0, nil, err
	}
	id++
	number := binary.BigEndian.AppendUint64(nil, id)
	writes = []runtime.Write{{Key: counter, Value: number}, {Key: journal.ItemKey(journal.PrefixQueue, queue, id), Value: it.Payload()}}
	if it.Key != "" {
		writes = append(writes, runtime.Write{Key: journal.UniqueKey(queue, it.Key), Value: number})
	}
	return id, writes, nil
}

// queueCall is one request to a queue.
type queueCall struct {
	*Turn
	step  *Step
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
		err = q.settle(journal.PrefixParked, func(it *journal.Item) {
			it.Holder, it.Until, it.Reason = q.State.ID, time.Time{}, q.args.Text("reason")
		})
	case "release":
		err = q.settle(journal.PrefixQueue, q.giveBack)
	case "all":
		value, err = q.all()
	}
	return value, true, err
}

// push puts an item at the end and gives its number.
func (q *queueCall) push() (effect.Payload, error) {
	it := &journal.Item{Value: q.args.Raw("value"), By: q.from(q.step), At: q.Now, Key: q.args.Text("key")}
	id, writes, err := Enqueue(q.Host.Commons, q.queue, it)
	if err != nil {
		return nil, err
	}
	for _, w := range writes {
		q.write(w.Key, w.Value)
		q.Effects.Pushed = q.queue
	}
	return effect.MustEncode(starlark.MakeUint64(id)), nil
}

// giveBack lets others take an item, with what the run has made of it.
func (q *queueCall) giveBack(it *journal.Item) {
	it.Holder, it.Until, it.Reason = "", time.Time{}, ""
	if q.args.Has("value") {
		it.Value = q.args.Raw("value")
	}
	q.Effects.Pushed = q.queue
}

// take gives the oldest item that nobody holds, or the one with the number that was asked for.
func (q *queueCall) take() (effect.Payload, bool, error) {
	var taken *journal.Item
	var id uint64
	var next time.Time // when the first lease is over
	wanted, there := uint64(q.args.Int("id")), false
	err := q.Host.Commons.Items(q.queue, func(number uint64, row []byte) error {
		if wanted != 0 && number != wanted {
			return nil
		}
		it, err := journal.ItemOf(row)
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
	taken.Tries, taken.Holder, taken.Until = taken.Tries+1, q.State.ID, time.Time{}
	if lease, _ := contract.ParseDuration(q.args.Text("lease")); lease > 0 { // checked when the call was made
		taken.Until = q.Now.Add(lease)
	}
	q.write(journal.ItemKey(journal.PrefixQueue, q.queue, id), taken.Payload())
	q.State.retryNext(q.step)
	return effect.MustEncode(taken.Record(q.queue, id, journal.ItemHeld)), true, nil
}

// retryNext lets the next request of a run look that waits for an item of the same queue: there may
// be more.
func (s *State) retryNext(served *Step) {
	queue := served.Queue()
	for _, st := range s.Asks {
		if st != served && st.Queue() == queue {
			st.foundNothing = false
			return
		}
	}
}

// held tells whether somebody has an item now.
func (q *queueCall) held(it *journal.Item) bool { return it.IsHeld(q.Now, q.Host.Commons.Ended) }

// settle ends what the run has begun with an item. It goes where change makes it fit for, or leaves
// the queue where that is nil. One that was put aside may be dropped and given back by anybody.
func (q *queueCall) settle(to string, change func(*journal.Item)) error {
	id, tries := uint64(q.args.Int("id")), int(q.args.Int("tries"))
	key := journal.ItemKey(journal.PrefixQueue, q.queue, id)
	it, err := q.item(key)
	if err != nil {
		return err
	}
	if it == nil {
		key = journal.ItemKey(journal.PrefixParked, q.queue, id)
		if it, err = q.item(key); err != nil {
			return err
		}
		if it == nil || to == journal.PrefixParked {
			return effect.Errorf(effect.KindRefused, "%s: item %d is not in the queue %q any more", q.step.Step, id, q.queue)
		}
	} else if it.Holder != q.State.ID || it.Tries != tries {
		return effect.Errorf(effect.KindRefused, "%s: item %d of the queue %q is not held by this call any more: it was taken %d times, last by run %s, and this is number %d",
			q.step.Step, id, q.queue, it.Tries, it.Holder, tries)
	}
	if change == nil {
		q.write(key, nil)
		if it.Key != "" {
			q.write(journal.UniqueKey(q.queue, it.Key), nil)
		}
		return nil
	}
	change(it)
	if other := journal.ItemKey(to, q.queue, id); !bytes.Equal(other, key) {
		q.write(key, nil)
		key = other
	}
	q.write(key, it.Payload())
	if to == journal.PrefixQueue {
		q.Host.Commons.Returned(q.queue, id)
	}
	return nil
}

// item reads a row, nil when there is none.
func (q *queueCall) item(key []byte) (*journal.Item, error) {
	row, err := q.Host.Commons.Get(key)
	switch {
	case errors.Is(err, runtime.ErrNoKey):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return journal.ItemOf(row)
}

// all lists the items in their order, those that were parked behind the others.
func (q *queueCall) all() (effect.Payload, error) {
	var items []starlark.Value
	size := 0
	for _, prefix := range []string{journal.PrefixQueue, journal.PrefixParked} {
		err := q.Host.Commons.Scan(prefix+q.queue+"/", func(key string, row []byte) error {
			it, err := journal.ItemOf(row)
			if err != nil {
				return err
			}
			if size += len(row); size > effect.MaxPayload {
				return effect.Errorf(effect.KindRefused, "%s: the items have more than %d bytes together", q.step.Step, effect.MaxPayload)
			}
			items = append(items, it.Record(q.queue, binary.BigEndian.Uint64([]byte(key)), it.Status(prefix, q.Now, q.Host.Commons.Ended)))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return effect.MustEncode(starlark.NewList(items)), nil
}
